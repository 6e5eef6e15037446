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

package decision

import (
	"testing"

	"kausality.io/operator/internal/approved"
)

// later makes of a birth while something is withheld one of after it was taken back.
func later(in *Input) *Input {
	st := in.Parent.Standing
	in.Parent.TakenBack, in.Parent.Fields = []*approved.Standing{st}, st.Content()
	in.Parent.Standing = nil
	return in
}

// A child is not made of what was taken back, by a controller that has not heard of it,
// whatever that was and whatever was added to the child.
func TestTakenBack(t *testing.T) {
	for _, gvk := range podMakers {
		for name, fields := range templateChanges() {
			t.Run(gvk.Kind+"/"+name, func(t *testing.T) {
				b := birth{parent: gvk, changed: below("spec.template", fields), ofPresent: true}
				if got := Decide(t.Context(), later(&b.request(t).Input)); got.Allowed || len(got.TakenBack) == 0 {
					t.Errorf("of what was taken back: %s, %v", got.Reason, got.TakenBack)
				}
				b.ofPresent = false
				if got := Decide(t.Context(), later(&b.request(t).Input)); !got.Allowed {
					t.Errorf("of what there is: %s, %v", got.Reason, got.TakenBack)
				}
			})
		}
	}
}

// What was approved as it is, and what an older revision has, nobody has taken back.
func TestNotTakenBack(t *testing.T) {
	evil := map[string]any{"spec.template.spec.containers[0].image": "evil"}
	tests := map[string]struct {
		birth birth
		edit  func(*Input)
	}{
		"approved as it is": {
			birth: birth{parent: replicaSetGVK, changed: evil, ofPresent: true},
			edit:  func(in *Input) { in.Parent.Fields = in.Parent.TakenBack[0].Object.Fields },
		},
		"of an older revision": {
			birth: birth{
				parent: setGVK, changed: evil, ofPresent: true, current: "web-1", update: "web-2",
				edit: map[string]any{"metadata.labels.controller-revision-hash": "web-1"},
			},
		},
		"not withheld where it differs": {
			birth: birth{parent: replicaSetGVK, changed: map[string]any{"spec.replicas": int64(9)}},
			edit: func(in *Input) {
				in.Parent.Fields = edit(t, in.Parent.Fields, evil)
			},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			in := later(&tc.birth.request(t).Input)
			if tc.edit != nil {
				tc.edit(in)
			}
			if got := Decide(t.Context(), in); !got.Allowed {
				t.Errorf("%s, %v", got.Reason, got.TakenBack)
			}
		})
	}
}

// While its parent settles after a policy came, a child may be made of anything but that.
func TestTakenBackWhileAdopting(t *testing.T) {
	b := birth{parent: replicaSetGVK, changed: map[string]any{"spec.template.spec.containers[0].image": "evil"}, ofPresent: true}
	in := later(&b.request(t).Input)
	in.Parent.Adopting = true
	if got := Decide(t.Context(), in); got.Allowed {
		t.Errorf("allowed: %s", got.Reason)
	}
}
