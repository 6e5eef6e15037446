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

package policy

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kausality.io/operator/internal/change"
	"kausality.io/operator/internal/lifecycle"
	"kausality.io/operator/internal/policy"
)

// silence is how many of the objects of a policy have a status that never tells when they
// have settled, so that only time does.
type silence struct {
	objects, silent int
	// asText is true where their status says a generation, and as a string.
	asText bool
	// awaited is true where an object is so new that its status may be on its way.
	awaited bool
}

// firstStatus is for how long after its creation a status of an object is waited for.
const firstStatus = time.Minute

// look looks at an object, unless a policy says when it settles, or how long it may take.
// One without a status has yet to be looked at by its controller.
func (s *silence) look(policies []*policy.Policy, obj *unstructured.Unstructured, now time.Time) {
	if s.objects == mostAsked ||
		policy.Deciding(policies, policy.FieldConsumptionWhen) != nil || policy.Deciding(policies, policy.FieldTTL) != nil {
		return
	}
	status, _ := obj.Object["status"].(map[string]any)
	if len(status) == 0 {
		s.awaited = s.awaited || now.Sub(obj.GetCreationTimestamp().Time) < firstStatus
		return
	}
	s.objects++
	if lifecycle.Of(obj, policies).Timed {
		s.silent++
		s.asText = s.asText || change.TypeOfValue(status["observedGeneration"]) == change.ValueText
	}
}

// notes say what that means, where it is so of all objects.
func (s *silence) notes(p *policy.Policy) []string {
	if s.objects == 0 || s.silent < s.objects {
		return nil
	}
	help := "say in spec.consumption.when how their status shows it, or in spec.consumption.ttl how long it takes"
	if s.asText {
		help = "their observedGeneration is a string: say in spec.consumption.when what of their status shows it, " +
			"with int(object.status.observedGeneration) >= allowance.generation"
	}
	return []string{fmt.Sprintf("Kausality cannot tell by their status when %s objects have settled: each is initializing for %s after its creation, "+
		"and what a change of it allows lasts as long; %s.", p.For.Kind, policy.DefaultTTL, help)}
}
