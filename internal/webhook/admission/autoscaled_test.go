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
	"errors"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/approved"
)

// A number that an autoscaler goes by would be carried out by that.
func TestNumberOfAnAutoscaler(t *testing.T) {
	elsewhere := autoscaler("v2", 9)
	_ = unstructured.SetNestedField(elsewhere.Object, "other", "spec", "scaleTargetRef", "name")
	lowered := autoscaler("v2", 9)
	_ = unstructured.SetNestedField(lowered.Object, "deployment", "spec", "scaleTargetRef", "kind")
	labeled := deployment(3)
	labeled.SetLabels(map[string]string{"a": "b"})
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "horizontalpodautoscalers"}, "", errors.New("no"))
	const waits = "It could not wait: HorizontalPodAutoscaler web goes on from the number that Deployment web has"
	tests := map[string]struct {
		user     string
		groups   []string
		after    *unstructured.Unstructured
		scalers  []*unstructured.Unstructured
		unlisted error
		refused  string
		warned   string
	}{
		"a stranger's number":                              {user: "mallory", after: deployment(30), scalers: []*unstructured.Unstructured{autoscaler("v2", 9)}, refused: waits},
		"a stranger's number, of a kind written otherwise": {user: "mallory", after: deployment(0), scalers: []*unstructured.Unstructured{lowered}, refused: waits},
		"a stranger's number, and a ScaledObject": {
			user: "mallory", after: deployment(30), scalers: []*unstructured.Unstructured{scaledObject()}, refused: "ScaledObject web goes on from",
		},
		"a stranger's number without an autoscaler":      {user: "mallory", after: deployment(30)},
		"a stranger's number, and one of something else": {user: "mallory", after: deployment(30), scalers: []*unstructured.Unstructured{elsewhere}},
		"something else": {user: "mallory", after: labeled, scalers: []*unstructured.Unstructured{autoscaler("v2", 9)}},
		"who may":        {user: "alice", groups: platformTeam, after: deployment(30), scalers: []*unstructured.Unstructured{autoscaler("v2", 9)}},
		"a stranger's number where nobody may look": {user: "mallory", after: deployment(30), unlisted: forbidden},
		"a stranger's number while nobody can look": {user: "mallory", after: deployment(30), unlisted: errAway, warned: "not judged"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			live := map[string]*unstructured.Unstructured{}
			for _, obj := range tc.scalers {
				live[key(obj.GetKind(), obj.GetName())] = obj
			}
			w := &world{live: live, records: map[types.UID]*v1alpha1.AllowanceRecord{}, unlisted: tc.unlisted}
			_, validator := w.hooks(t, deploymentPolicy)
			resp := validator.Handle(t.Context(), asking(t, tc.user, tc.groups, deployment(3), tc.after))
			if resp.Allowed != (tc.refused == "") {
				t.Fatalf("allowed %t: %+v", resp.Allowed, resp.Result)
			}
			if tc.refused != "" && !strings.Contains(resp.Result.Message, tc.refused) {
				t.Errorf("%q does not say %q", resp.Result.Message, tc.refused)
			}
			if warned := strings.Join(resp.Warnings, " "); !strings.Contains(warned, tc.warned) {
				t.Errorf("warned %q, want %q", warned, tc.warned)
			}
		})
	}
}

// An autoscaler that comes later would carry out what is withheld, whoever makes it.
func TestAutoscalerOfWhatIsWithheld(t *testing.T) {
	state := &approved.State{
		Generation: 4, Version: "apps/v1", Content: map[string]any{"spec": map[string]any{"replicas": int64(3)}},
		Withheld: []approved.Author{{Path: "spec.replicas", User: "mallory", Generation: 4}},
	}
	held := deployment(3)
	_ = unstructured.SetNestedField(held.Object, int64(30), "spec", "replicas")
	held = annotate(held, v1alpha1.AnnotationApproved, state.Encode("uid-web"))
	w := &world{
		cached: map[string]*unstructured.Unstructured{key("Deployment", "web"): held}, live: map[string]*unstructured.Unstructured{key("Deployment", "web"): held},
		records: map[types.UID]*v1alpha1.AllowanceRecord{},
	}
	_, validator := w.hooks(t, deploymentPolicy)
	resp := validator.Handle(t.Context(), asking(t, "alice", platformTeam, nil, autoscaler("v2", 9)))
	if resp.Allowed {
		t.Fatal("it passes")
	}
	for _, part := range []string{
		"HorizontalPodAutoscaler web would carry out what is withheld of Deployment web", "the change of spec.replicas by mallory is withheld",
		"put the number back first, or Group platform-team may approve it: kubectl annotate -n default deployment web kausality.io/approve=",
	} {
		if !strings.Contains(resp.Result.Message, part) {
			t.Errorf("%q does not say %q", resp.Result.Message, part)
		}
	}
}
