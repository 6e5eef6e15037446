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

package admission

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/gate"
	"kausality.io/operator/internal/policy"
)

// parentKept is what Bucket b says of Shop web, because of which it is gated.
var parentKept = gate.State{Parent: &gate.Parent{UID: "uid-of-web", Kinds: []string{"Shop.example.com"}}}.Annotations()[v1alpha1.AnnotationGateParent]

// TestGateOfWhatHasLostItsParent checks that a gate stays when the parent goes, and who may open it.
func TestGateOfWhatHasLostItsParent(t *testing.T) {
	free := func(obj *unstructured.Unstructured) { obj.SetOwnerReferences(nil) }
	kept, asks := with(v1alpha1.AnnotationGateParent, parentKept), with(v1alpha1.AnnotationReleaseGate, "true")
	edits := func(more ...func(*unstructured.Unstructured)) []func(*unstructured.Unstructured) {
		return append(more, under(t, "size: 1"))
	}
	for name, tt := range map[string]struct {
		requester     policy.Requester
		before, after []func(*unstructured.Unstructured)
		// keeps is true where the object says afterwards because of which parent it was gated.
		keeps bool
		warns string
	}{
		"taking the parent away, with what is known of it": {
			requester: policy.Requester{Username: "alice", Groups: platformTeam}, before: edits(), after: edits(free), keeps: true,
		},
		"a write by Crossplane, which notes the parent": {
			requester: policy.Requester{Username: crossplane}, before: edits(), after: edits(), keeps: true,
		},
		"freeing it, as an initiator of the former parent": {
			requester: policy.Requester{Username: "alice", Groups: platformTeam}, before: edits(free, kept), after: edits(free, kept, asks),
			warns: "the gate of Bucket b goes",
		},
		"freeing it, as a stranger": {
			requester: policy.Requester{Username: "mallory"}, before: edits(free, kept), after: edits(free, kept, asks), keeps: true,
			warns: "it is for who may initiate on it, or on its former parent or above that",
		},
		"freeing it while it has its parent": {
			requester: policy.Requester{Username: "alice", Groups: platformTeam}, before: edits(kept), after: edits(kept, asks), keeps: true,
			warns: "that is for what has kept its gate since it lost its parent",
		},
		"dropping what it says, as a stranger": {
			requester: policy.Requester{Username: "mallory"}, before: edits(free, kept), after: edits(free), keeps: true,
		},
		"an annotation from while nobody looked": {
			requester: policy.Requester{Username: "alice", Groups: platformTeam}, before: edits(free, kept, asks), after: edits(free, kept, asks), keeps: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			shops := map[string]*unstructured.Unstructured{"Shop/web": shop(t)}
			mutator, validator := (&world{cached: shops, live: shops}).hooks(t, shopPolicy)
			before := bucket(t, "size: 1", gateClosed, tt.before...)
			req := asking(t, tt.requester.Username, tt.requester.Groups, before, bucket(t, "size: 1", gateClosed, tt.after...))
			resp := mutator.Handle(t.Context(), req)
			got := applied(t, req, resp)
			if kept := got.GetAnnotations()[v1alpha1.AnnotationGateParent]; (kept == parentKept) != tt.keeps {
				t.Errorf("of its parent it says %q, want %t", kept, tt.keeps)
			}
			if _, left := got.GetAnnotations()[v1alpha1.AnnotationReleaseGate]; left {
				t.Error("the annotation that asks for it is left")
			}
			if got.GetAnnotations()[contentKey] != before.GetAnnotations()[contentKey] {
				t.Error("it is not under its gate any more before the operator has looked")
			}
			if warned := strings.Join(resp.Warnings, "\n"); !strings.Contains(warned, tt.warns) || (tt.warns == "") != (warned == "") {
				t.Errorf("warnings %q do not say %q", warned, tt.warns)
			}
			if resp := validator.Handle(t.Context(), asking(t, tt.requester.Username, tt.requester.Groups, before, got)); !resp.Allowed && name != "taking the parent away, with what is known of it" {
				t.Errorf("refused: %s", resp.Result.Message)
			}
		})
	}
}
