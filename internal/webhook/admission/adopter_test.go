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

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

const statefulSetPolicy = `
metadata: {name: statefulset}
spec:
  for: {apiGroup: apps, apiVersion: v1, kind: StatefulSet}
  validationActions: [Deny]
  objectSelector: {matchExpressions: [{key: free, operator: DoesNotExist}]}
  subjects:
  - {kind: Group, name: platform-team, mayInitiate: true}
  - {kind: ServiceAccount, name: statefulset-controller, namespace: kube-system}
  rules:
  - trigger: spec.template
    policies:
    - target: {apiVersion: v1, resource: pods}
      relation: ControllerChild
      verbs: [Create, Delete]
`

// TestAdopter checks that a revision without an owner is bounded by the set that
// would adopt it.
func TestAdopter(t *testing.T) {
	const controller = "system:serviceaccount:kube-system:statefulset-controller"
	set := func(labels map[string]string) *unstructured.Unstructured {
		obj := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "apps/v1", "kind": "StatefulSet",
			"metadata": map[string]any{"name": "web", "namespace": "default", "uid": "uid-web"},
			"spec":     map[string]any{"selector": map[string]any{"matchLabels": map[string]any{"app": "web"}}},
		}}
		obj.SetLabels(labels)
		return obj
	}
	revision := func(app string, number int64, owners ...metav1.OwnerReference) *unstructured.Unstructured {
		obj := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "apps/v1", "kind": "ControllerRevision",
			"metadata": map[string]any{"name": "web-1", "namespace": "default", "uid": "uid-web-1"},
			"data":     map[string]any{"spec": map[string]any{}},
			"revision": number,
		}}
		obj.SetLabels(map[string]string{"app": app})
		obj.SetOwnerReferences(owners)
		return obj
	}
	owner := metav1.OwnerReference{APIVersion: "apps/v1", Kind: "StatefulSet", Name: "web", UID: "uid-web", Controller: new(true)}
	bystander := metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: "a", UID: "uid-a"}
	misnamed := owner
	misnamed.Name = "other"
	tests := map[string]struct {
		user          string
		set           *unstructured.Unstructured
		before, after *unstructured.Unstructured
		reason        string
		says          string
	}{
		"created for the set": {after: revision("web", 9), reason: "Denied", says: "creation of ControllerRevision web-1 is not allowed by its parent StatefulSet web"},
		"created for the set, with an owner that controls nothing": {after: revision("web", 9, bystander), reason: "Denied", says: "StatefulSet web"},
		"created for nobody": {after: revision("other", 9), reason: "Root"},
		"created where no policy is in effect for the set":     {set: set(map[string]string{"free": ""}), after: revision("web", 9), reason: "Root"},
		"created for the set by its controller":                {user: controller, after: revision("web", 9), reason: "Bookkeeping"},
		"relabeled for the set":                                {before: revision("other", 9), after: revision("web", 9), reason: "Denied", says: "metadata.labels[app]"},
		"relabeled for nobody":                                 {before: revision("web", 9), after: revision("other", 9), reason: "Unchanged"},
		"renumbered before it is adopted":                      {before: revision("web", 9), after: revision("web", 10), reason: "Denied", says: "changing revision"},
		"deleted before it is adopted":                         {before: revision("web", 9), reason: "Root"},
		"adopted by a stranger":                                {before: revision("web", 9), after: revision("web", 9, owner), reason: "Denied", says: "metadata.ownerReferences"},
		"adopted by the controller":                            {user: controller, before: revision("web", 9), after: revision("web", 9, owner), reason: "Bookkeeping"},
		"released by the controller, although it selects it":   {user: controller, before: revision("web", 9, owner), after: revision("web", 9), reason: "Denied", says: "metadata.ownerReferences"},
		"named otherwise by the controller":                    {user: controller, before: revision("web", 9, owner), after: revision("web", 9, misnamed), reason: "Denied", says: "metadata.ownerReferences"},
		"relabeled by the controller":                          {user: controller, before: revision("web", 9, owner), after: revision("other", 9, owner), reason: "Denied", says: "metadata.labels"},
		"numbered anew by the controller":                      {user: controller, before: revision("web", 8, owner), after: revision("web", 9, owner), reason: "Bookkeeping"},
		"released by the controller, which selects it no more": {user: controller, before: revision("other", 9, owner), after: revision("other", 9), reason: "Released"},
		"released by a stranger":                               {before: revision("web", 9, owner), after: revision("web", 9), reason: "Denied", says: "metadata.ownerReferences"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			w := &world{}
			if tc.set == nil {
				tc.set = set(nil)
			}
			w.cached = map[string]*unstructured.Unstructured{key("StatefulSet", "web"): tc.set}
			w.live = w.cached
			if tc.user == "" {
				tc.user = "mallory"
			}
			_, validator := w.hooks(t, statefulSetPolicy)
			resp := validator.Handle(t.Context(), asking(t, tc.user, nil, tc.before, tc.after))
			if got := resp.AuditAnnotations[auditReason]; got != tc.reason || resp.Allowed != (tc.reason != "Denied") {
				t.Fatalf("allowed %t because %s, want %s: %+v", resp.Allowed, got, tc.reason, resp.Result)
			}
			if tc.says != "" && !strings.Contains(resp.Result.Message, tc.says) {
				t.Errorf("message %q does not say %q", resp.Result.Message, tc.says)
			}
		})
	}
}

func TestNoAdopterOnceItIsGone(t *testing.T) {
	set := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apps/v1", "kind": "StatefulSet",
		"metadata": map[string]any{"name": "web", "namespace": "default", "uid": "uid-web"},
		"spec":     map[string]any{"selector": map[string]any{"matchLabels": map[string]any{"app": "web"}}},
	}}
	w := &world{cached: map[string]*unstructured.Unstructured{key("StatefulSet", "web"): set}}
	_, validator := w.hooks(t, statefulSetPolicy)
	resp := validator.Handle(t.Context(), asking(t, "mallory", nil, nil, &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apps/v1", "kind": "ControllerRevision",
		"metadata": map[string]any{"name": "web-1", "namespace": "default", "labels": map[string]any{"app": "web"}},
	}}))
	if got := resp.AuditAnnotations[auditReason]; !resp.Allowed || got != "Root" || len(resp.Warnings) > 0 {
		t.Errorf("allowed %t because %s with %q, want Root", resp.Allowed, got, resp.Warnings)
	}
}
