/*
Copyright 2026 The Kausality Authors.

Licensed under the Apache License, Version 2.0 (the "License");
you may not use this file except in compliance with the License.
You may obtain a copy of the License at

    http://www.apache.org/licenses/LICENSE-2.0

Unless required by applicable law or agreed to in writing, software
distributed under the License is distributed on an "AS IS" BASIS,
WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
See the License for the specific language governing permissions and
limitations under the License.
*/

package lifecycle

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kstatus "sigs.k8s.io/cli-utils/pkg/kstatus/status"
)

// The conditions that tell, for kinds of all sorts, whether the work is done:
// Ready by wide use, Synced by Crossplane, the others by kstatus' convention.
const (
	conditionReady       = "Ready"
	conditionSynced      = "Synced"
	conditionReconciling = string(kstatus.ConditionReconciling)
	conditionStalled     = string(kstatus.ConditionStalled)
	// conditionResponsive is False while Crossplane's circuit breaker keeps events of a
	// composite resource from it.
	conditionResponsive = "Responsive"
)

// conditioned judges kinds that only their conditions tell about: custom
// resources, kro instances and what Crossplane serves among them.
//
// Ready has to be True at the current generation; where Synced is used beside it
// (Crossplane), both. A kind without Ready may use Reconciling, which then has
// to be False. While Reconciling or Stalled is True nothing is settled. kstatus
// itself is not asked: it takes a condition of any generation, and none at all,
// for success.
//
// A condition that says no generation, neither by itself nor through
// status.observedGeneration, may be about any, so that only time can tell.
//
// A composite resource that Crossplane has stopped following, as it changed too often,
// is not settled whatever else it says: what it says may be about an older spec (see
// LagOf), and Crossplane does not look at the newer one before half a minute has
// passed. Observed, an approved change was lost that came as the breaker opened.
func conditioned(obj *unstructured.Unstructured, generation int64, observes bool) (Progress, bool) {
	list := conditionsOf(obj)
	required := requirements(obj, list)
	if len(required) == 0 {
		return timed(whyNoConditions)
	}

	fulfilled := true
	for _, r := range required {
		condition := list.find(r.conditionType)
		if condition == nil {
			fulfilled = false
			continue
		}
		about, says := condition["observedGeneration"].(int64)
		if !says && !observes {
			return timed(whyNoGeneration)
		}
		// A condition without a generation of its own is as current as
		// status.observedGeneration, which has been compared already.
		if (says && about != generation) || text(condition, "status") != string(r.value) {
			fulfilled = false
		}
	}

	switch {
	case list.isTrue(conditionStalled):
		return working(whyFailed)
	case list.isTrue(conditionReconciling):
		return working(whyWorking)
	case composed(obj) && list.isFalse(conditionResponsive):
		return working(whyUnresponsive)
	case !fulfilled:
		return working(whyNotTrue)
	}
	return settled(whyReady, true)
}

// unresponsive says what Crossplane's open circuit breaker means for who waits for a change.
const unresponsive = "too much was changed or refused within seconds, and Crossplane looks at it every half a minute only, for five minutes (condition Responsive)"

// Unresponsive says that Crossplane has stopped following a composite resource for a while, so that what is changed, or
// allowed, arrives late. It is empty where that is not so.
func Unresponsive(obj *unstructured.Unstructured) string {
	if !composed(obj) || !conditionsOf(obj).isFalse(conditionResponsive) {
		return ""
	}
	return unresponsive
}

// requirement is a condition with the status that it has to have.
type requirement struct {
	conditionType string
	value         metav1.ConditionStatus
}

// The sets of requirements; one of them applies to an object.
var (
	readyTrue          = []requirement{{conditionReady, metav1.ConditionTrue}}
	syncedAndReadyTrue = []requirement{{conditionSynced, metav1.ConditionTrue}, {conditionReady, metav1.ConditionTrue}}
	reconcilingFalse   = []requirement{{conditionReconciling, metav1.ConditionFalse}}
)

// requirements returns what the conditions of obj have to be, nothing where none
// of those it has could tell.
func requirements(obj *unstructured.Unstructured, list conditionList) []requirement {
	hasReady := list.find(conditionReady) != nil
	switch {
	case composed(obj), hasReady && list.find(conditionSynced) != nil:
		return syncedAndReadyTrue
	case hasReady:
		return readyTrue
	case list.find(conditionReconciling) != nil:
		return reconcilingFalse
	default:
		return nil
	}
}

// conditionList is status.conditions as the object has it.
type conditionList []any

func conditionsOf(obj *unstructured.Unstructured) conditionList {
	list, _ := section(obj, "status")["conditions"].([]any)
	return list
}

// find returns the condition of a type, nil where there is none.
func (c conditionList) find(conditionType string) map[string]any {
	for i := range c {
		if condition, ok := c[i].(map[string]any); ok && text(condition, "type") == conditionType {
			return condition
		}
	}
	return nil
}

func (c conditionList) isTrue(conditionType string) bool {
	return text(c.find(conditionType), "status") == string(metav1.ConditionTrue)
}

func (c conditionList) isFalse(conditionType string) bool {
	return text(c.find(conditionType), "status") == string(metav1.ConditionFalse)
}
