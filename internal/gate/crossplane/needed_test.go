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

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/gate"
	"kausality.io/operator/internal/ledger"
)

// inCreation returns a ledger with what the creation of the parent allows for a field.
func inCreation(field string, verbs ...string) ledger.Ledger {
	return ledger.Ledger{}.Merge(v1alpha1.Allowance{
		Relation: v1alpha1.RelationExternal, Mutations: verbs, Initiator: "alice",
		Trace: []v1alpha1.TraceHop{
			{Kind: "XBucket", Name: "x", Field: v1alpha1.FieldCreated}, {Kind: "Bucket", Name: "b", Field: field},
		},
	})
}

func TestNeededVerbs(t *testing.T) {
	const size = "spec.forProvider.size"
	both := []string{"Observe", "Create", "Update", "LateInitialize"}
	saying := func(conditions ...string) func(*unstructured.Unstructured) {
		return func(obj *unstructured.Unstructured) {
			list := make([]any, 0, len(conditions))
			for _, c := range conditions {
				list = append(list, parse(t, c))
			}
			obj.Object["status"] = map[string]any{"atProvider": map[string]any{"size": "1"}, "conditions": list}
		}
	}
	const vanished = `{type: Synced, status: "False", reason: ReconcileError, message: external resource does not exist}`
	ready := saying(synced, available)
	old := func(edits ...func(*unstructured.Unstructured)) *unstructured.Unstructured {
		return bucket("1", closed, append(edits, approved)...)
	}
	anew := func(l ledger.Ledger, was *unstructured.Unstructured, edits ...func(*unstructured.Unstructured)) gate.Write {
		return gate.Write{Old: was, New: bucket("2", closed, append(edits, approved)...), Ledger: l, Brings: true}
	}
	naming := func(w gate.Write) gate.Write {
		w.Names = true
		return w
	}
	following := func(policies []string, status func(*unstructured.Unstructured)) gate.Write {
		obj := bucket("1", policies, approved, status)
		return gate.Write{Old: obj, New: obj, Ledger: inCreation(size, "Create", "Update")}
	}
	for name, tt := range map[string]struct {
		write   gate.Write
		runtime string
		want    []string
	}{
		"what is there is updated":                   {write: anew(inCreation(size, "Create", "Update"), old(ready)), want: updating},
		"of all verbs, too":                          {write: anew(inCreation(size, "*"), old(ready)), want: updating},
		"Create alone is for nothing then":           {write: anew(inCreation(size, "Create"), old(ready)), want: closed},
		"what never says ready, and was seen":        {write: anew(inCreation(size, "Create", "Update"), old(saying(synced))), want: updating},
		"what was never seen":                        {write: anew(inCreation(size, "Create", "Update"), old()), want: both},
		"what is not ready yet":                      {write: anew(inCreation(size, "Create", "Update"), old(saying(synced, notReady))), want: both},
		"what is being created":                      {write: anew(inCreation(size, "Create", "Update"), old(ready, annotated("crossplane.io/external-create-pending", "2026-03-01T10:00:00Z"))), want: both},
		"what could not be created":                  {write: anew(inCreation(size, "Create", "Update"), old(ready, annotated("crossplane.io/external-create-failed", "2026-03-01T10:00:00Z"))), want: both},
		"what was created":                           {write: anew(inCreation(size, "Create", "Update"), old(ready, annotated("crossplane.io/external-create-succeeded", "2026-03-01T10:00:00Z"))), want: updating},
		"what is known to have vanished":             {write: anew(inCreation(size, "Create", "Update"), old(saying(vanished, available))), want: both},
		"what gets another name outside":             {write: naming(anew(inCreation(size, "Create", "Update"), old(ready), annotated(ExternalNameAnnotation, "b-2"))), want: both},
		"what is created":                            {write: gate.Write{New: bucket("1", nil), Ledger: inCreation(v1alpha1.FieldCreated, "Create", "Update"), Brings: true}, want: both},
		"what is still being created, and changed":   {write: anew(inCreation(v1alpha1.FieldCreated, "Create").Merge(inCreation(size, "Update").Allowances()...), old(ready)), want: both},
		"a rule that says Create":                    {write: anew(external("Create", "Update"), old(ready)), want: both},
		"a provider that accepts no less":            {write: anew(inCreation(size, "Create", "Update"), old(ready)), runtime: "v1.16", want: both},
		"open, and not ready for a moment":           {write: following(updating, saying(synced, notReady)), want: updating},
		"open for both, and ready":                   {write: following(both, ready), want: both},
		"open, and vanished":                         {write: following(updating, saying(vanished)), want: both},
		"closed by somebody, and to be opened again": {write: following(closed, ready), want: updating},
	} {
		t.Run(name, func(t *testing.T) {
			d := Driver{}
			if tt.runtime != "" {
				runtime, err := ParseRuntime(tt.runtime)
				if err != nil {
					t.Fatal(err)
				}
				d.Runtimes = map[string]Runtime{"": runtime}
			}
			got := d.Compute(tt.write)
			if diff := cmp.Diff(tt.want, got.Switch); diff != "" {
				t.Errorf("switch (-want +got):\n%s", diff)
			}
			if len(got.Unsupported) > 0 {
				t.Errorf("%v stays closed", got.Unsupported)
			}
		})
	}
}
