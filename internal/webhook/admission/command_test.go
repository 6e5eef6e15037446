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
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kausality.io/operator/internal/ledger"
)

// TestRollback has an initiator tell the Deployment controller to go back, both webhooks agree
// on that, and what the controller then does be traced to the initiator.
func TestRollback(t *testing.T) {
	const policy = `
metadata: {name: deployment}
spec:
  for: {apiGroup: apps, apiVersion: v1, kind: Deployment}
  validationActions: [Deny]
  subjects:
  - {kind: User, name: alice, mayInitiate: true}
  - {kind: ServiceAccount, name: deployment-controller, namespace: kube-system}
  rules:
  - trigger: spec.template
    policies:
    - target: {apiGroup: apps, apiVersion: v1, resource: replicasets}
      relation: ControllerChild
      mutations: [{jsonPath: spec.replicas}]
`
	const command = "deprecated.deployment.rollback.to"
	with := func(to, image string) *unstructured.Unstructured {
		d := deployment(3)
		if to != "" {
			d.SetAnnotations(map[string]string{command: to})
		}
		if err := unstructured.SetNestedField(d.Object, image, "spec", "template", "metadata", "name"); err != nil {
			t.Fatal(err)
		}
		return d
	}
	tests := map[string]struct {
		user       string
		old, new   *unstructured.Unstructured
		refused    bool
		initiators []string
	}{
		"an initiator":               {user: "alice", old: with("", "web:2"), new: with("1", "web:2"), initiators: []string{"alice"}},
		"a stranger":                 {user: "mallory", old: with("", "web:2"), new: with("1", "web:2"), refused: true},
		"a stranger says another":    {user: "mallory", old: with("2", "web:2"), new: with("1", "web:2"), refused: true},
		"a stranger takes it back":   {user: "mallory", old: with("1", "web:2"), new: with("", "web:2")},
		"a stranger leaves it there": {user: "mallory", old: with("1", "web:2"), new: with("1", "web:2")},
		"the controller finds none":  {user: deployer, old: with("1", "web:2"), new: with("", "web:2")},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			w := &world{}
			m, v := w.hooks(t, policy)
			after := counted(tc.new)
			written := patched(t, after, m.Handle(t.Context(), asking(t, tc.user, nil, tc.old, after)))
			after.SetAnnotations(written)
			resp := v.Handle(t.Context(), asking(t, tc.user, nil, tc.old, after))
			if resp.Allowed == tc.refused {
				t.Fatalf("allowed %t: %+v", resp.Allowed, resp.Result)
			}
			if tc.refused {
				return
			}
			if diff := cmp.Diff(tc.initiators, initiatorsInLedger(t, written[ledgerKey])); diff != "" {
				t.Errorf("initiators in the ledger (-want +got):\n%s", diff)
			}
			if tc.initiators == nil {
				return
			}
			done := with("", "web:1")
			done.SetAnnotations(map[string]string{ledgerKey: written[ledgerKey]})
			done.SetGeneration(after.GetGeneration() + 1)
			done = done.DeepCopy()
			written = patched(t, done, m.Handle(t.Context(), asking(t, deployer, nil, after, done)))
			if diff := cmp.Diff(tc.initiators, initiatorsInLedger(t, written[ledgerKey])); diff != "" || written[approvedKey] != "" {
				t.Errorf("initiators after the rollback, %q is approved (-want +got):\n%s", written[approvedKey], diff)
			}
		})
	}
}

// initiatorsInLedger returns the initiators of the entries of a ledger, each once, those of changes that
// are withheld included.
func initiatorsInLedger(t *testing.T, text string) []string {
	t.Helper()
	if text == "" {
		return nil
	}
	l, err := ledger.Decode(text)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, e := range l {
		if len(out) == 0 || out[len(out)-1] != e.Initiator {
			out = append(out, e.Initiator)
		}
	}
	return out
}
