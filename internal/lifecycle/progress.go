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
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kstatus "sigs.k8s.io/cli-utils/pkg/kstatus/status"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/knowledge"
	"kausality.io/operator/internal/policy"
)

// Progress says how far a holder's controllers are with its current generation.
// The zero value means that they are still at work.
type Progress struct {
	// Settled is true when the status says that the controllers have finished
	// acting on the current metadata.generation (D8).
	Settled bool

	// Timed is true when the status can never say so. Then only time can
	// (spec.consumption.ttl of the policy), and Settled is false.
	Timed bool

	// Why is a short constant text for logs and explanations. It never holds
	// anything taken from the object.
	Why string
}

// Of says how far obj is, by what is known of its kind, itself and by the policies in
// effect for it, the oldest first. The admission of a status write calls it, as does the
// watch that consumes allowances.
//
// obj is the full object as the API server stores it. In an admission request
// that is not for the status sub-resource, the status of the new object is only
// what the client sent: pass the old object there.
//
// Settled is necessary, but not sufficient where the status may lag: see LagOf.
func Of(obj *unstructured.Unstructured, policies []*policy.Policy) Progress {
	progress, _ := assess(obj, knownOf(obj, policies))
	return progress
}

// knownOf returns what is known of the kind of an object.
func knownOf(obj *unstructured.Unstructured, policies []*policy.Policy) *knowledge.Kind {
	return policy.Known(obj.GroupVersionKind().GroupKind(), policies)
}

// Reached says whether the status of obj proves that all of its children are as
// its current generation wants them. It implies that obj has settled, and asks
// for more: a holder that has settled behind a partition, has no children at
// present, or does not tell from which template they were made has not reached
// them. A withheld change that has reached all children is over (D2); one that
// only waits for the next Pod is not.
func Reached(obj *unstructured.Unstructured, policies []*policy.Policy) bool {
	_, reached := assess(obj, knownOf(obj, policies))
	return reached
}

// A family judges objects whose status is read by one convention. The second result
// is that of Reached.
type family func(obj *unstructured.Unstructured) (Progress, bool)

// workloads are the conventions of controllers that are known to write which generation
// they have observed, so that its absence means that they have not seen the object yet.
var workloads = map[v1alpha1.SettledConvention]family{
	v1alpha1.ConventionDaemonSet:   daemonSet,
	v1alpha1.ConventionDeployment:  deployment,
	v1alpha1.ConventionReplicaSet:  replicaSet,
	v1alpha1.ConventionStatefulSet: statefulSet,
}

func assess(obj *unstructured.Unstructured, known *knowledge.Kind) (Progress, bool) {
	if obj.GetDeletionTimestamp() != nil {
		return working(whyDeleting)
	}

	generation := obj.GetGeneration()
	observed, observes := observedGeneration(obj, known.Settled.Generation)
	if observes && observed != generation {
		return working(whyBehind)
	}

	convention := known.Settled.Convention
	if judge, ok := workloads[convention]; ok {
		if !observes || generation == 0 {
			return working(whyUnseen)
		}
		return judge(obj)
	}
	if convention == v1alpha1.ConventionJob {
		return job(obj) // Its status says no generation.
	}
	if generation == 0 {
		return timed(whyNoGeneration)
	}
	if len(known.Settled.Conditions)+len(known.Settled.Fields) > 0 {
		return declared(obj, generation, observes, known.Settled)
	}
	if kstatus.GetLegacyConditionsFn(obj) != nil {
		return wellKnown(obj, observes)
	}
	return conditioned(obj, generation, observes)
}

func settled(why string, reached bool) (Progress, bool) {
	return Progress{Settled: true, Why: why}, reached
}

func working(why string) (Progress, bool) {
	return Progress{Why: why}, false
}

func timed(why string) (Progress, bool) {
	return Progress{Timed: true, Why: why}, false
}
