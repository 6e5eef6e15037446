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
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Holder is what decides which policies are about an object.
type Holder struct {
	// Kind of the object.
	Kind schema.GroupKind
	// Labels of the object.
	Labels map[string]string
	// NamespaceLabels are the labels of its namespace, nil where it has none.
	NamespaceLabels map[string]string
}

// InEffect returns the policies in effect for the first of a chain of holders, of
// which each is the parent of the one before, up to the root or to the last that
// is known. The oldest policy comes first.
//
// A policy is in effect for a holder that it selects if somebody can start the
// chains that it continues: it names an initiator, or a policy in effect for the
// holder's parent names the holder's resource (D2).
func (i *Index) InEffect(chain []Holder) []*Policy {
	if len(chain) == 0 {
		return nil
	}
	holder := chain[0]
	var effective []*Policy
	bounded, asked := false, false
	for p := range i.selecting(holder) {
		if !p.HasInitiator() {
			if !asked {
				bounded, asked = i.bounds(chain[1:], holder.Kind), true
			}
			if !bounded {
				continue
			}
		}
		effective = append(effective, p)
	}
	return effective
}

// bounds tells whether a policy in effect for the first of the chain names the
// resource of the child's kind.
func (i *Index) bounds(chain []Holder, child schema.GroupKind) bool {
	return slices.ContainsFunc(i.InEffect(chain), func(p *Policy) bool { return p.Bounds(child) })
}
