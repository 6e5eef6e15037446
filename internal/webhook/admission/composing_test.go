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
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/decision"
	"kausality.io/operator/internal/record"
)

const instancePolicy = `
metadata: {name: instances}
spec:
  for: {apiGroup: example.com, apiVersion: v1, kind: Instance}
  validationActions: [Deny]
  subjects: [{kind: Group, name: platform-team, mayInitiate: true}]
  rules:
  - trigger: spec
    policies: [{target: {external: {provider: cloud}}, relation: External, verbs: [Update]}]
`

// composingPolicy is that of composite resources, with the sections given.
func composingPolicy(sections string) string {
	return `
metadata: {name: composite}
spec:
  for: {apiGroup: example.com, apiVersion: v1, kind: XDatabase}
  validationActions: [Deny]
  subjects:
  - {kind: User, name: mallory, mayInitiate: true}
  - {kind: ServiceAccount, name: crossplane, namespace: crossplane-system}
` + sections
}

const (
	composesInside = `
  initializing:
    policies:
    - target: {apiGroup: example.com, apiVersion: v1, resource: instances}
      relation: ControllerChild
      verbs: [Create]
      mutations: [{jsonPath: "*"}]
  rules:
  - trigger: spec.size
    policies: [{target: {apiGroup: example.com, apiVersion: v1, resource: instances}, relation: ControllerChild, mutations: [{jsonPath: spec.size}]}]
`
	composesOutside = `
  initializing: {policies: [{target: {external: {provider: cloud}}, relation: External, verbs: [Create, Update]}]}
`
)

// TestComposing shows for which composite resources Crossplane takes what nobody controls and
// somebody may initiate on.
func TestComposing(t *testing.T) {
	const attaching = "is for who may initiate on it"
	allows := func(kind, mutation, field, initiator string, groups ...string) v1alpha1.Allowance {
		hop := v1alpha1.TraceHop{Kind: "XDatabase", Name: "x", Generation: 4, Field: field}
		if len(groups) > 0 {
			hop.Attestations = map[string]string{decision.GroupsAttestation: strings.Join(groups, "\n")}
		}
		return v1alpha1.Allowance{APIGroup: "example.com", Kind: kind, Mutation: mutation, Generation: 4, Initiator: initiator, Trace: []v1alpha1.TraceHop{hop}}
	}
	created := func(initiator string, groups ...string) v1alpha1.Allowance {
		return allows("Instance", "create", v1alpha1.FieldCreated, initiator, groups...)
	}
	external := allows("", "", v1alpha1.FieldCreated, "alice", "platform-team")
	external.APIGroup, external.Relation, external.Mutations = "", v1alpha1.RelationExternal, []string{"Create"}
	external.External = map[string]string{"provider": "cloud"}
	foreign := external
	foreign.Initiator, foreign.Trace = "mallory", created("mallory").Trace
	changed := external
	changed.Trace = allows("", "", "spec.size", "alice", "platform-team").Trace
	made := func(initiator, by string) v1alpha1.HistoryEntry {
		return v1alpha1.HistoryEntry{Time: metav1.NewTime(time.Unix(200, 0)), Event: v1alpha1.EventGranted, Initiator: initiator, Trace: []v1alpha1.TraceHop{
			{Kind: "XDatabase", Name: by, Generation: 1, Field: v1alpha1.FieldCreated}, {Kind: "Instance", Name: "i", Field: v1alpha1.FieldCreated},
		}}
	}
	resized := func(by string) v1alpha1.HistoryEntry {
		e := made("alice", by)
		e.Event, e.Trace[1].Field = v1alpha1.EventConsumed, "spec.size"
		return e
	}
	for name, tc := range map[string]struct {
		allowances []v1alpha1.Allowance
		sections   string
		history    []v1alpha1.HistoryEntry
		own        v1alpha1.Allowance // of the instance
		older      bool               // the instance, and what is known of it, is older than the composite resource
		user       string
		adopting   bool
		denied     string
	}{
		"begun by a stranger":                      {allowances: []v1alpha1.Allowance{created("mallory")}, denied: attaching},
		"begun by a stranger, with groups of hers": {allowances: []v1alpha1.Allowance{created("mallory", "guests")}, denied: attaching},
		"begun by who may":                         {allowances: []v1alpha1.Allowance{created("alice", "platform-team")}},
		"begun by who may, among others":           {allowances: []v1alpha1.Allowance{created("alice", "guests", "platform-team")}},
		"begun by who may, which nothing attests":  {allowances: []v1alpha1.Allowance{created("alice")}, denied: attaching},
		"settled":                                        {denied: attaching},
		"of which who may had such a thing made":         {allowances: []v1alpha1.Allowance{allows("Instance", "create", "spec.size", "alice", "platform-team")}},
		"of which who may had something else changed":    {allowances: []v1alpha1.Allowance{created("mallory"), allows("Instance", "spec.size", "spec.size", "alice", "platform-team")}, denied: attaching},
		"that finishes what it did before":               {adopting: true},
		"bounded outside, begun by a stranger":           {sections: composesOutside, allowances: []v1alpha1.Allowance{foreign}, denied: attaching},
		"bounded outside, begun by who may":              {sections: composesOutside, allowances: []v1alpha1.Allowance{external}},
		"bounded inside, changed outside by who may":     {allowances: []v1alpha1.Allowance{created("mallory"), changed}, denied: attaching},
		"to which it was given":                          {history: []v1alpha1.HistoryEntry{resized("x")}},
		"of the name of the one to which it was given":   {history: []v1alpha1.HistoryEntry{resized("x")}, older: true, denied: attaching},
		"begun by who changed what it was given to":      {allowances: []v1alpha1.Allowance{created("alice")}, history: []v1alpha1.HistoryEntry{resized("before")}, denied: attaching},
		"that made it":                                   {history: []v1alpha1.HistoryEntry{made("bob", "x")}},
		"of the name of the one that made it":            {history: []v1alpha1.HistoryEntry{made("bob", "x")}, older: true, denied: attaching},
		"begun by who began what made it":                {allowances: []v1alpha1.Allowance{created("bob")}, history: []v1alpha1.HistoryEntry{made("bob", "before")}, older: true},
		"begun by somebody else than what made it":       {allowances: []v1alpha1.Allowance{created("mallory")}, history: []v1alpha1.HistoryEntry{made("bob", "before")}, denied: attaching},
		"begun by who has just made it":                  {allowances: []v1alpha1.Allowance{created("bob")}, own: created("bob")},
		"begun by who may, asked for by a stranger":      {user: "mallory", allowances: []v1alpha1.Allowance{created("alice", "platform-team")}, denied: attaching},
		"begun by who may, asked for by a robot of hers": {user: "system:serviceaccount:shop:default", allowances: []v1alpha1.Allowance{created("alice", "platform-team")}, denied: attaching},
	} {
		t.Run(name, func(t *testing.T) {
			sections := composesInside
			if tc.sections != "" {
				sections = tc.sections
			}
			x := parsed(t, "{apiVersion: example.com/v1, kind: XDatabase, metadata: {name: x, namespace: default}, spec: {size: 1}}", tc.allowances...)
			i := parsed(t, "{apiVersion: example.com/v1, kind: Instance, metadata: {name: i, namespace: default}, spec: {size: 1}}")
			if tc.own.Kind != "" {
				i = parsed(t, "{apiVersion: example.com/v1, kind: Instance, metadata: {name: i, namespace: default}, spec: {size: 1}}", tc.own)
			}
			x.SetCreationTimestamp(metav1.NewTime(time.Unix(100, 0)))
			i.SetCreationTimestamp(metav1.NewTime(time.Unix(200, 0)))
			if tc.older {
				x.SetCreationTimestamp(metav1.NewTime(time.Unix(300, 0)))
			}
			w := &world{cached: map[string]*unstructured.Unstructured{key("XDatabase", "x"): x}, records: map[types.UID]*v1alpha1.AllowanceRecord{
				x.GetUID(): {Spec: v1alpha1.AllowanceRecordSpec{TargetRef: record.TargetOf(x)}, Status: v1alpha1.AllowanceRecordStatus{Adopting: tc.adopting}},
				i.GetUID(): {Spec: v1alpha1.AllowanceRecordSpec{TargetRef: record.TargetOf(i)}, Status: v1alpha1.AllowanceRecordStatus{History: tc.history}},
			}}
			w.live = w.cached
			_, hook := w.hooks(t, instancePolicy, composingPolicy(sections))
			after := i.DeepCopy()
			after.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "example.com/v1", Kind: "XDatabase", Name: "x", UID: x.GetUID(), Controller: new(true)}})
			user := crossplane
			if tc.user != "" {
				user = tc.user
			}
			resp := hook.Handle(t.Context(), asking(t, user, nil, i, after))
			if resp.Allowed != (tc.denied == "") || !resp.Allowed && !strings.Contains(resp.Result.Message, tc.denied) {
				t.Errorf("allowed = %v, want it denied for %q: %+v", resp.Allowed, tc.denied, resp.Result)
			}
		})
	}
}

// TestAttestingGroups shows which groups of an initiator a chain attests, for what is taken by
// its name below.
func TestAttestingGroups(t *testing.T) {
	groups := []string{"guests", "platform-team"}
	attested := map[string]string{decision.GroupsAttestation: "platform-team"}
	claim := "{apiVersion: example.com/v1, kind: Database, metadata: {namespace: default, name: db}, spec: {size: 1}}"
	for name, tc := range map[string]struct {
		object   string
		user     string
		policies []string
		want     map[string]string
	}{
		"of a claim whose composite resources compose what is for them": {
			object: claim, user: "alice", policies: []string{instancePolicy, claimPolicy, composingPolicy(composesInside)}, want: attested,
		},
		"of a claim below which nothing is": {object: claim, user: "alice", policies: []string{claimPolicy, composingPolicy(composesInside)}},
		"of what makes its children itself": {
			object: "{apiVersion: apps/v1, kind: Deployment, metadata: {namespace: default, name: web}, spec: {replicas: 1}}",
			user:   "alice", policies: []string{deploymentPolicy},
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := &world{}
			mutator, _ := w.hooks(t, tc.policies...)
			obj := parsed(t, tc.object)
			obj.SetAnnotations(nil)
			resp := mutator.Handle(t.Context(), asking(t, tc.user, groups, nil, obj.DeepCopy()))
			obj.SetAnnotations(patched(t, obj, resp))
			stored, err := new(ledgers).of(obj)
			if err != nil || len(stored) == 0 {
				t.Fatalf("ledger %v, error %v", stored, err)
			}
			for _, e := range stored {
				if diff := cmp.Diff(tc.want, e.Trace[0].Attestations); diff != "" {
					t.Errorf("attestations (-want +got):\n%s", diff)
				}
			}
		})
	}
}
