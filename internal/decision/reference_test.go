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

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/approved"
	"kausality.io/operator/internal/ledger"
	"kausality.io/operator/internal/policy"
)

// What Deployments name, ReplicaSets are made of, or Deployments are restarted for.
const configSpec = `
for: {apiVersion: v1, kind: ConfigMap}
subjects:
- {kind: Group, name: platform-team, mayInitiate: true}
rules:
- trigger: data
  policies:
  - target: {apiGroup: apps, apiVersion: v1, resource: replicasets}
    relation: ControllerChild
    verbs: [Create]
    mutations: [{jsonPath: spec.replicas}]
    through: {apiGroup: apps, apiVersion: v1, resource: deployments, namedBy: [spec.config]}
  - target: {apiGroup: apps, apiVersion: v1, resource: deployments}
    relation: ControllerChild
    mutations: [{jsonPath: spec.template.metadata.annotations}]
    through: {apiGroup: apps, apiVersion: v1, resource: deployments, namedBy: [spec.config]}
`

var configGVK = schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}

// configChange returns what the ledger of a ConfigMap gets that somebody changes.
func configChange(t *testing.T, who policy.Requester) Grant {
	t.Helper()
	r := aRequest(who, Update, configGVK, "config").changing(t, "a", "b", "data.key")
	r.OwnPolicies = []*policy.Policy{compile(t, "configs", configSpec)}
	r.compare()
	v := Decide(t.Context(), &r.Input)
	return Grants(t.Context(), &r.Input, v)
}

// referentOf returns the ConfigMap after the request.
func referentOf(grant Grant) Referent {
	return Referent{GVK: configGVK, Namespace: "default", Name: "config", Ledger: ledger.Ledger{}.Merge(grant.Allowances...), Standing: grant.Standing}
}

func TestReferents(t *testing.T) {
	caused := configChange(t, alice)
	uncaused := configChange(t, mallory)
	if len(caused.Allowances) != 3 || len(uncaused.Withheld) == 0 {
		t.Fatalf("alice's change allows %v, and of mallory's is withheld %v", caused.Allowances, uncaused.Withheld)
	}
	scaled := func(who policy.Requester) *request {
		r := aRequest(who, Update, replicaSetGVK, "web-1").changing(t, int64(1), int64(2), "spec.replicas")
		r.ParentState, r.Parent = ParentFound, Parent{
			GVK: deploymentGVK, Namespace: "default", Name: "web", UID: "web",
			Policies: []*policy.Policy{compile(t, "deployments", deploymentSpec)},
		}
		return r
	}
	tests := map[string]struct {
		request *request
		edit    func(*request)
		want    Reason
	}{
		"nothing is read":        {scaled(deployer), func(*request) {}, ReasonDenied},
		"what is read allows it": {scaled(deployer), func(r *request) { r.Referents = []Referent{referentOf(caused)} }, ReasonCovered},
		"it allows nobody else":  {scaled(mallory), func(r *request) { r.Referents = []Referent{referentOf(caused)} }, ReasonDenied},
		"it allows nothing to those that do not read it": {scaled(deployer), func(r *request) {
			r.Parent.Ledger = referentOf(caused).Ledger
		}, ReasonDenied},
		"somebody else's change is withheld": {scaled(deployer), func(r *request) {
			r.Referents = []Referent{referentOf(caused), referentOf(uncaused)}
		}, ReasonDenied},
		"the parent allows it, and something that it reads is withheld": {scaled(deployer), func(r *request) {
			r.Parent.Ledger = ledger.Ledger{}.Merge(v1alpha1.Allowance{Kind: v1alpha1.Any, Mutation: v1alpha1.Any, Initiator: "alice"})
			r.Referents = []Referent{referentOf(uncaused)}
		}, ReasonDenied},
		"the parent is adopting": {scaled(deployer), func(r *request) {
			r.Parent.Adopting, r.Referents = true, []Referent{referentOf(uncaused)}
		}, ReasonDenied},
		"the parent is being deleted": {scaled(deployer), func(r *request) {
			r.Parent.Deleting, r.Referents = true, []Referent{referentOf(uncaused)}
		}, ReasonDeleting},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			tc.edit(tc.request)
			v := Decide(t.Context(), &tc.request.Input)
			if v.Reason != tc.want {
				t.Errorf("%s, want %s", v.Reason, tc.want)
			}
			if v.Reason != ReasonCovered {
				return
			}
			want := []v1alpha1.TraceHop{
				{Kind: "ConfigMap", Name: "config", Generation: 8, Field: "data[key]"},
				{Kind: "Deployment", Name: "web", Field: v1alpha1.FieldReads},
			}
			if diff := cmp.Diff(want, v.Exercised.Trace); diff != "" || v.Exercised.Initiator != "alice" {
				t.Errorf("by %s (-want +got):\n%s", v.Exercised.Initiator, diff)
			}
		})
	}
}

// TestReferentsCause shows who is said to have caused what several may have.
func TestReferentsCause(t *testing.T) {
	read := func(name, version string, generation int64, who policy.Requester) Referent {
		caused := configChange(t, who)
		for i := range caused.Allowances {
			caused.Allowances[i].Initiator, caused.Allowances[i].Generation = name, generation
		}
		r := referentOf(caused)
		r.Name, r.ResourceVersion = name, version
		return r
	}
	// A Secret or ConfigMap counts no generations.
	created := read("creator", "9", 1, alice)
	for _, a := range created.Ledger.Allowances() {
		a.Trace = []v1alpha1.TraceHop{{Kind: "ConfigMap", Name: "config", Field: v1alpha1.FieldCreated}}
		changed := a
		changed.Initiator, changed.Generation, changed.Trace = "changer", 0, []v1alpha1.TraceHop{{Kind: "ConfigMap", Name: "config", Field: "data[key]"}}
		created.Ledger = ledger.Ledger{}.Merge(a, changed)
	}
	own := ledger.Ledger{}.Merge(v1alpha1.Allowance{Kind: v1alpha1.Any, Mutation: v1alpha1.Any, Initiator: "parent", Generation: 1})
	tests := map[string]struct {
		ledger    ledger.Ledger
		referents []Referent
		want      string
	}{
		"what was written last":                 {nil, []Referent{read("first", "9", 4, alice), read("last", "10", 2, alice)}, "last"},
		"the parent's own":                      {own, []Referent{read("first", "9", 4, alice)}, "parent"},
		"the change, of what has no generation": {nil, []Referent{created}, "changer"},
		"versions that nobody can compare":      {nil, []Referent{read("a", "", 4, alice), read("b", "", 4, alice)}, "a"},
		"the only one whose change is allowed":  {nil, []Referent{read("first", "9", 4, alice), {Name: "last", ResourceVersion: "10"}}, "first"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			r := aRequest(deployer, Update, replicaSetGVK, "web-1").changing(t, int64(1), int64(2), "spec.replicas")
			r.ParentState, r.Parent = ParentFound, Parent{
				GVK: deploymentGVK, Name: "web", UID: "web", Policies: []*policy.Policy{compile(t, "deployments", deploymentSpec)}, Ledger: tc.ledger,
			}
			r.Referents = tc.referents
			v := Decide(t.Context(), &r.Input)
			if v.Exercised == nil || v.Exercised.Initiator != tc.want {
				t.Errorf("%s, because of %v, want %s", v.Reason, v.Exercised, tc.want)
			}
		})
	}
}

// Who restarts what reads a change does so because of it.
func TestOwnReferents(t *testing.T) {
	caused := configChange(t, alice)
	uncaused := configChange(t, mallory)
	tests := map[string]struct {
		who       policy.Requester
		referents []Referent
		withheld  bool
	}{
		"by a change of what it reads":      {deployer, []Referent{referentOf(caused)}, false},
		"by nothing":                        {deployer, nil, true},
		"by a change that is withheld":      {deployer, []Referent{referentOf(uncaused)}, true},
		"by one, while another is withheld": {deployer, []Referent{referentOf(caused), referentOf(uncaused)}, true},
		"by somebody who may not use it":    {mallory, []Referent{referentOf(caused)}, true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			r := aRequest(tc.who, Update, deploymentGVK, "web").changing(t, "a", "b", "spec.template.metadata.annotations.at")
			r.OwnPolicies = []*policy.Policy{compile(t, "deployments", deploymentSpec)}
			r.OwnReferents = tc.referents
			r.compare()
			grant := Grants(t.Context(), &r.Input, Decide(t.Context(), &r.Input))
			if got := len(grant.Withheld) > 0; got != tc.withheld {
				t.Errorf("withheld: %v, granted: %v", grant.Withheld, grant.Allowances)
			}
		})
	}
}

// What others read is made and taken away by those who may initiate on it.
func TestDisturbs(t *testing.T) {
	web := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"name": "web", "generation": int64(3)}}}
	web.SetGroupVersionKind(deploymentGVK)
	readers := []Reader{{Object: web, Lost: true}}
	audit := compile(t, "configs", configSpec+"validationActions: [Audit]\n")
	tests := map[string]struct {
		who     policy.Requester
		op      Operation
		readers []Reader
		edit    func(*request)
		want    bool
	}{
		"a stranger makes it":                {mallory, Create, readers, nil, true},
		"a stranger deletes it":              {mallory, Delete, readers, nil, true},
		"a stranger changes it":              {mallory, Update, readers, nil, false},
		"a stranger makes what nobody reads": {mallory, Create, nil, nil, false},
		"an initiator makes it":              {alice, Create, readers, nil, false},
		"an initiator deletes it":            {alice, Delete, readers, nil, false},
		"the collector deletes it":           {collector, Delete, readers, nil, false},
		"a stranger breaks the glass":        {mallory, Delete, readers, func(r *request) { r.BreakGlass = "fire" }, false},
		"a stranger where it is only noted":  {mallory, Delete, readers, func(r *request) { r.OwnPolicies = []*policy.Policy{audit} }, false},
		"an initiator of what is above it":   {mallory, Delete, readers, func(r *request) { r.AncestorInitiator = true }, false},
		"a controller whose parent has said so": {deployer, Create, readers, func(r *request) {
			r.ParentState, r.Parent = ParentFound, Parent{
				GVK: deploymentGVK, Name: "above", Policies: []*policy.Policy{compile(t, "deployments", deploymentSpec)},
				Ledger: ledger.Ledger{}.Merge(v1alpha1.Allowance{Kind: "ConfigMap", Mutation: v1alpha1.MutationCreateObject, Initiator: "alice"}),
			}
		}, false},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			r := aRequest(tc.who, tc.op, configGVK, "config")
			r.OwnPolicies, r.Readers = []*policy.Policy{compile(t, "configs", configSpec)}, tc.readers
			if tc.edit != nil {
				tc.edit(r)
			}
			v := Decide(t.Context(), &r.Input)
			if got := r.Disturbs(v); got != tc.want {
				t.Errorf("%v, want %v (%s)", got, tc.want, v.Reason)
			}
			if tc.op != Delete || tc.who.Username != "alice" {
				return
			}
			got := r.ForReader(tc.readers[0], v, Grant{})
			if len(got) != 3 || got[0].Through != "" || got[0].Generation != 4 || got[0].Initiator != "alice" {
				t.Errorf("its reader gets %+v", got)
			}
			// What has gone was in a namespace, and the reader is in none.
			namespaces := []string{got[0].Trace[0].Namespace, got[0].Trace[1].Namespace}
			if diff := cmp.Diff([]string{"default", ""}, namespaces); diff != "" {
				t.Errorf("namespaces of the trace (-want +got):\n%s", diff)
			}
		})
	}
}

// The approved content of what others read is nothing that holds them back.
func TestReferentIsWithheld(t *testing.T) {
	if (&Referent{}).IsWithheld() || (&Referent{Standing: &approved.Standing{}}).IsWithheld() {
		t.Error("nothing of it is withheld")
	}
}
