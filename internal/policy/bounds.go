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
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kausality.io/operator/api/v1alpha1"
)

// phases is a set of phases.
type phases uint8

const (
	inInitializing phases = 1 << iota
	inSteady
	inDeleting
)

func phaseSet(phase v1alpha1.Phase) phases {
	switch phase {
	case v1alpha1.PhaseInitializing:
		return inInitializing
	case v1alpha1.PhaseSteady:
		return inSteady
	case v1alpha1.PhaseDeleting:
		return inDeleting
	default:
		return 0
	}
}

// Bounds reports whether any section of the policy names the resource of the kind
// as a ControllerChild target, or bounds it by implication.
func (p *Policy) Bounds(child schema.GroupKind) bool { return p.bounds[child] != 0 }

// BoundsIn reports whether what the policy says about parents in the phase names the
// resource of the kind: the initializing or the deleting section, or, for steady
// parents, the rules and the maintaining section. In a phase in which it is not
// named, the policy restricts nothing (D2, D9).
func (p *Policy) BoundsIn(phase v1alpha1.Phase, child schema.GroupKind) bool {
	return p.bounds[child]&phaseSet(phase) != 0
}

// boundsOf collects what each section of p names.
func boundsOf(p *Policy) map[schema.GroupKind]phases {
	bounds := map[schema.GroupKind]phases{}
	p.visit(func(in phases, e Entry) {
		if !e.Kind.Empty() {
			bounds[e.Kind] |= in
		}
	})
	return bounds
}
