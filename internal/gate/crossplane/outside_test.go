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

package crossplane

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/gate"
	"kausality.io/operator/internal/ledger"
)

// TestIsUncreated checks that nothing counts as never created that may have been there, or that waits for
// something else.
func TestIsUncreated(t *testing.T) {
	status := func(atProvider map[string]any, conditions ...string) func(*unstructured.Unstructured) {
		return func(obj *unstructured.Unstructured) {
			list := make([]any, 0, len(conditions))
			for _, c := range conditions {
				list = append(list, parse(t, c))
			}
			obj.Object["status"] = map[string]any{"atProvider": atProvider, "conditions": list}
		}
	}
	looked := status(nil, synced)
	opener := func(verb string) ledger.Ledger {
		return ledger.Ledger{}.Merge(v1alpha1.Allowance{Relation: v1alpha1.RelationExternal, Mutations: []string{verb}, Initiator: "alice"})
	}
	mrOf := func(edits ...func(*unstructured.Unstructured)) *unstructured.Unstructured {
		return bucket("1", closed, append(edits, approved)...)
	}
	changed := func(obj *unstructured.Unstructured) *unstructured.Unstructured {
		_ = unstructured.SetNestedField(obj.Object, "other", "spec", "forProvider", "size")
		return obj
	}
	const at = "2026-03-01T10:00:00Z"
	for name, tt := range map[string]struct {
		obj    *unstructured.Unstructured
		ledger ledger.Ledger
		want   bool
	}{
		"its provider has looked":             {obj: mrOf(looked), want: true},
		"its provider found nothing":          {obj: mrOf(status(nil, `{type: Synced, status: "False", reason: ReconcileError, message: external resource does not exist}`)), want: true},
		"its provider has not looked":         {obj: mrOf()},
		"it is there":                         {obj: mrOf(status(map[string]any{"size": "1"}, synced, available))},
		"it was ready, and nothing shows":     {obj: mrOf(status(nil, synced, available))},
		"it is ready no more":                 {obj: mrOf(status(nil, synced, notReady))},
		"it was seen":                         {obj: mrOf(status(map[string]any{"size": "1"}, synced))},
		"it was created":                      {obj: mrOf(looked, annotated("crossplane.io/external-create-succeeded", at))},
		"it may have been created":            {obj: mrOf(looked, annotated("crossplane.io/external-create-pending", at))},
		"it failed to be created":             {obj: mrOf(looked, annotated("crossplane.io/external-create-failed", at))},
		"something goes on in the background": {obj: mrOf(status(nil, synced, `{type: AsyncOperation, status: "False", reason: Ongoing}`))},
		"something went on in the background": {obj: mrOf(status(nil, synced, `{type: LastAsyncOperation, status: "True", reason: Success}`))},
		"it may be created":                   {obj: mrOf(looked), ledger: opener("Create")},
		"anything may be done with it":        {obj: mrOf(looked), ledger: opener("*")},
		"it may be changed only":              {obj: mrOf(looked), ledger: opener("Update"), want: true},
		"what may be changed waits":           {obj: changed(mrOf(looked)), ledger: opener("Update")},
		"it was changed, and nothing waits":   {obj: changed(mrOf(looked)), want: true},
		"it is held":                          {obj: mrOf(looked, annotated(v1alpha1.AnnotationGateHeld, "{}"))},
		"it is not under its gate":            {obj: bucket("1", closed, looked)},
	} {
		t.Run(name, func(t *testing.T) {
			if got := gate.IsUncreated(Driver{}, tt.obj, tt.ledger); got != tt.want {
				t.Errorf("uncreated %t, want %t", got, tt.want)
			}
		})
	}
}
