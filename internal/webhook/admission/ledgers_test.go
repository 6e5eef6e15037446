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
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/ledger"
)

// A record that was lost opens nothing: what its object's ledger says counts no more.
func TestParentWithoutRecord(t *testing.T) {
	const controller = "system:serviceaccount:kube-system:deployment-controller"
	for name, tc := range map[string]struct {
		unrecorded, allowed bool
	}{
		"with a record":    {allowed: true},
		"without a record": {unrecorded: true},
	} {
		t.Run(name, func(t *testing.T) {
			web := unsettled(deployment(3, mayScale("alice", 4)))
			w := &world{
				cached:     map[string]*unstructured.Unstructured{key("Deployment", "web"): web},
				live:       map[string]*unstructured.Unstructured{key("Deployment", "web"): web},
				unrecorded: tc.unrecorded,
			}
			_, validator := w.hooks(t, deploymentPolicy, replicaSetPolicy)
			resp := validator.Handle(t.Context(), asking(t, controller, nil, replicaSet(1), replicaSet(3)))
			if resp.Allowed != tc.allowed {
				t.Errorf("allowed %t, want %t: %v", resp.Allowed, tc.allowed, resp.Result)
			}
		})
	}
}

// Who gets a ledger gets a record with it, and what counted for nothing before does not
// begin to count by that.
func TestLedgerIsRecorded(t *testing.T) {
	old := mayScale("alice", 3)
	dry := func(req admission.Request) admission.Request {
		req.DryRun = new(true)
		return req
	}
	for name, tc := range map[string]struct {
		before, after *unstructured.Unstructured
		recorded      bool
		broken        error
		change        func(admission.Request) admission.Request
		want          []ledger.Ledger
		refused       bool
	}{
		"an update that earns something":           {before: deployment(3), after: deployment(5), want: []ledger.Ledger{nil}},
		"one of what has a record":                 {before: deployment(3), after: deployment(5), recorded: true},
		"one of what has lost it, and its old one": {before: unsettled(deployment(3, old)), after: unsettled(deployment(5, old)), want: []ledger.Ledger{{ledger.NewEntry(old)}}},
		"a dry run":                    {before: deployment(3), after: deployment(5), change: dry},
		"one that earns nothing":       {before: deployment(3), after: deployment(3)},
		"a record that cannot be made": {before: deployment(3), after: deployment(5), broken: errAway, want: []ledger.Ledger{nil}, refused: true},
	} {
		t.Run(name, func(t *testing.T) {
			w := &world{unrecorded: !tc.recorded, broken: tc.broken}
			mutator, _ := w.hooks(t, deploymentPolicy)
			req := asking(t, "alice", platformTeam, tc.before, tc.after)
			if tc.change != nil {
				req = tc.change(req)
			}
			resp := mutator.Handle(t.Context(), req)
			if resp.Allowed == tc.refused {
				t.Errorf("allowed %t: %v", resp.Allowed, resp.Result)
			}
			if diff := cmp.Diff(encodings(tc.want), encodings(w.keptLedgers)); diff != "" {
				t.Errorf("void ledgers of records that were made (-want +got):\n%s", diff)
			}
		})
	}
}

// TestCreationIsRecorded shows of which creations a record is made. It tells a later leader that somebody was
// asked, when the ledger does not any more.
func TestCreationIsRecorded(t *testing.T) {
	dry := func(req admission.Request) admission.Request {
		req.DryRun = new(true)
		return req
	}
	for name, tc := range map[string]struct {
		policies []string
		broken   error
		change   func(admission.Request) admission.Request
		// taken is true where another webhook has taken the ledger away.
		taken   bool
		want    []types.UID
		refused bool
	}{
		"under a policy":               {policies: []string{deploymentPolicy}, want: []types.UID{"uid-web"}},
		"and another webhook drops it": {policies: []string{deploymentPolicy}, taken: true, want: []types.UID{"uid-web"}},
		"under none":                   {},
		"a dry run":                    {policies: []string{deploymentPolicy}, change: dry},
		"a record that cannot be made": {policies: []string{deploymentPolicy}, broken: errAway, want: []types.UID{"uid-web"}, refused: true},
	} {
		t.Run(name, func(t *testing.T) {
			w := &world{unrecorded: true, broken: tc.broken}
			mutator, validator := w.hooks(t, tc.policies...)
			created := unsettled(deployment(3))
			created.SetGeneration(1)
			if tc.change == nil {
				tc.change = func(req admission.Request) admission.Request { return req }
			}
			req := tc.change(asking(t, "alice", platformTeam, nil, created))
			if resp := mutator.Handle(t.Context(), req); !tc.taken {
				created = applied(t, req, resp)
			}
			resp := validator.Handle(t.Context(), tc.change(asking(t, "alice", platformTeam, nil, created)))
			if resp.Allowed == tc.refused {
				t.Errorf("allowed %t: %v", resp.Allowed, resp.Result)
			}
			if diff := cmp.Diff(tc.want, w.keptCreations); diff != "" {
				t.Errorf("records that were made (-want +got):\n%s", diff)
			}
		})
	}
}

// The UID of what is created is known to the validating hook only.
func TestCreatedLedgerIsRecorded(t *testing.T) {
	w := &world{unrecorded: true}
	mutator, validator := w.hooks(t, deploymentPolicy)
	created := unsettled(deployment(3))
	created.SetGeneration(1)
	created.SetUID("")
	req := asking(t, "alice", platformTeam, nil, created)
	created = applied(t, req, mutator.Handle(t.Context(), req))
	if len(w.keptLedgers)+len(w.keptCreations) > 0 {
		t.Error("the mutating hook made a record of what has no UID")
	}
	created.SetUID("uid-web")
	resp := validator.Handle(t.Context(), asking(t, "alice", platformTeam, nil, created))
	if !resp.Allowed || len(w.keptCreations) != 1 {
		t.Errorf("allowed %t, and %d records were made: %v", resp.Allowed, len(w.keptCreations), resp.Result)
	}
}

func encodings(ledgers []ledger.Ledger) []string {
	var out []string
	for _, l := range ledgers {
		out = append(out, l.Encode())
	}
	return out
}

// TestMarksWithoutPolicy shows that a ledger goes on telling of what is withheld as long as the approved
// content waits for a policy to come back.
func TestMarksWithoutPolicy(t *testing.T) {
	mark := held("spec.replicas", "")
	told := ledger.Ledger{}.Merge(mark).Encode()
	waiting := func(allowances ...v1alpha1.Allowance) *unstructured.Unstructured {
		return annotate(deployment(5, allowances...), approvedKey, "v1:state")
	}
	for name, tc := range map[string]struct {
		user     string
		old, new *unstructured.Unstructured
		want     string
	}{
		"somebody's change":           {user: "mallory", old: waiting(mark), new: waiting(mark), want: told},
		"somebody takes it off":       {user: "mallory", old: waiting(mark), new: deployment(5), want: told},
		"somebody forges it":          {user: "mallory", old: waiting(), new: waiting(mark)},
		"nothing waits":               {user: "mallory", old: deployment(5, mark), new: deployment(5, mark)},
		"the operator writes it anew": {user: operatorUser, old: waiting(), new: waiting(mark), want: told},
		"the operator takes it off":   {user: operatorUser, old: waiting(mark), new: deployment(5)},
	} {
		t.Run(name, func(t *testing.T) {
			w := &world{cached: map[string]*unstructured.Unstructured{}, live: map[string]*unstructured.Unstructured{}}
			mutator, _ := w.hooks(t, replicaSetPolicy)
			resp := mutator.Handle(t.Context(), asking(t, tc.user, nil, tc.old, tc.new))
			got := patched(t, tc.new, resp)[ledgerKey]
			if got != tc.want {
				t.Errorf("ledger %q, want %q", got, tc.want)
			}
		})
	}
}
