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

package generating

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/generate"
	"kausality.io/operator/internal/generate/plan"
)

// TestLeftover says of an object that a policy made what is in the way of its deletion, and for which trigger
// it is there.
func TestLeftover(t *testing.T) {
	trigger := generate.ID{Kind: "Blob", Group: "example.org", Namespace: "shop", Name: "b1"}
	id := generate.ID{Kind: "ConfigMap", Namespace: "shop", Name: "b1-gen"}
	content, err := plan.Marked(plan.Step{
		ID: id, Marks: &plan.Marks{Policy: plan.PolicyRef{Name: "wcfg"}, Triggers: []generate.ID{trigger}, Synchronized: true},
		Content: map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"namespace": "shop", "name": "b1-gen"}},
	}, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	maps := schema.GroupResource{Resource: "configmaps"}
	denied := errors.New(`admission webhook "verdict.kausality.io" denied the request: deletion of ConfigMap b1-gen is not allowed`)
	for name, tc := range map[string]struct {
		err             error
		reason, message string
		uncaused        bool
	}{
		"AllowancePolicies": {apierrors.NewForbidden(maps, "b1-gen", denied), "Refused", "deletion of ConfigMap b1-gen is not allowed", true},
		"another webhook": {
			apierrors.NewForbidden(maps, "b1-gen", errors.New(`admission webhook "other.example.org" denied the request: it says "secret"`)),
			"Refused", `the API server refuses it: Forbidden, admission webhook "other.example.org"`, false,
		},
		"a right that is missing": {
			&missingRightError{right{user: "few", verb: verbDelete, GroupResource: maps, namespace: "shop"}}, "Forbidden",
			(&missingRightError{right{user: "few", verb: verbDelete, GroupResource: maps, namespace: "shop"}}).Error(), false,
		},
		"the API server": {errors.New("it is away"), "Failed", "it is away", false},
	} {
		t.Run(name, func(t *testing.T) {
			got := leftoverOf(id, &unstructured.Unstructured{Object: content}, tc.err)
			want := &v1alpha1.GeneratingFailure{Trigger: referenceTo(&trigger), Object: referenceTo(&id), Reason: tc.reason, Message: tc.message}
			if diff := cmp.Diff(want, got.failure); diff != "" {
				t.Errorf("failure: -want, +got:\n%s", diff)
			}
			if got.verdict.uncaused != tc.uncaused {
				t.Errorf("uncaused %t, want %t", got.verdict.uncaused, tc.uncaused)
			}
		})
	}
}

// TestEndingIsWoken has what a policy waits for while it is being deleted wake it, and nothing else.
func TestEndingIsWoken(t *testing.T) {
	trigger, other := generate.ID{Kind: "Blob", Name: "b1"}, generate.ID{Kind: "Blob", Name: "b2"}
	b := newBook()
	b.endsWith("wcfg", map[generate.ID]bool{trigger: true})
	if diff := cmp.Diff([]string{"wcfg"}, b.endingWith(trigger)); diff != "" {
		t.Errorf("by its trigger: -want, +got:\n%s", diff)
	}
	if got := b.endingWith(other); len(got) > 0 {
		t.Errorf("another trigger wakes %v", got)
	}
	b.endsWith("wcfg", nil)
	if got := b.endingWith(trigger); len(got) > 0 {
		t.Errorf("what is gone is woken: %v", got)
	}
}
