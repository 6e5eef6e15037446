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

package upgrade

import (
	"cmp"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/cli/cluster"
	"kausality.io/operator/internal/policy"
)

// nowhere has nothing outside the cluster.
func nowhere(*asked) map[string]string { return nil }

// TestSuggestOutside has what is let through go on outside the cluster, where a policy has a gate
// for it.
func TestSuggestOutside(t *testing.T) {
	const managed = "managed"
	create, update, drop := v1alpha1.MutationCreateObject, "spec.forProvider.size", v1alpha1.MutationDeleteObject
	external := map[string]string{"apiGroup": "s3.example.com", "kind": "Bucket", "resource": "buckets"}
	entry := func(verbs ...string) *v1alpha1.PolicyEntry {
		return &v1alpha1.PolicyEntry{Target: v1alpha1.Target{External: external}, Relation: v1alpha1.RelationExternal, Verbs: verbs}
	}
	const held = "Delete outside: what a Bucket that is deleted stands for stays there, and its deletion is held back until an initiator deletes it as well or sets kausality.io/orphan, as no UpgradeAllowance deletes outside the cluster"
	tests := map[string]struct {
		paths    []string
		external string
		of       string
		action   string
		category string
		want     *v1alpha1.PolicyEntry
		notes    []string
	}{
		"what is added":               {paths: []string{create}, external: "provider: s3", want: entry("Create")},
		"what is changed":             {paths: []string{update}, external: "provider: s3", want: entry("Update")},
		"what is added and changed":   {paths: []string{update, create}, external: "provider: s3", want: entry("Create", "Update")},
		"what is taken away":          {paths: []string{drop}, external: "provider: s3", notes: []string{held}},
		"what is replaced":            {paths: []string{drop, create}, external: "provider: s3", want: entry("Create"), notes: []string{held}},
		"named in full":               {paths: []string{create}, external: "apiGroup: s3.example.com, kind: Bucket, resource: buckets, name: one", want: entry("Create")},
		"by a policy for it itself":   {paths: []string{create}, external: "kind: Bucket", of: "{apiGroup: s3.example.com, apiVersion: v1, kind: Bucket}", want: entry("Create")},
		"by a policy for others":      {paths: []string{create}, external: "kind: Bucket", of: "{apiGroup: apps, apiVersion: v1, kind: StatefulSet}"},
		"of another kind":             {paths: []string{create}, external: "provider: s3, kind: Queue"},
		"by a key that nobody knows":  {paths: []string{create}, external: "region: north"},
		"that a policy warns of only": {paths: []string{create}, external: "provider: s3", action: "Warn"},
		"of a kind without a gate":    {paths: []string{create}, external: "provider: s3", category: "all"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			bounds := compile(t, `
metadata: {name: deployment}
spec:
  for: {apiGroup: apps, apiVersion: v1, kind: Deployment}
  rules:
  - trigger: spec.size
    policies:
    - target: {apiGroup: s3.example.com, apiVersion: v1, resource: buckets}
      relation: ControllerChild
      mutations: [{jsonPath: spec.forProvider}]
`)
			gates := compile(t, `
metadata: {name: gates}
spec:
  for: `+cmp.Or(tt.of, "{apiGroup: apps, apiVersion: v1, kind: Deployment}")+`
  validationActions: [`+cmp.Or(tt.action, "Deny")+`]
  rules:
  - trigger: spec.size
    policies:
    - target: {external: {`+tt.external+`}}
      relation: External
      verbs: [Update]
`)
			both := cluster.Policies{Index: policy.NewIndex([]*policy.Policy{bounds, gates})}
			rec := recordOf("web", v1alpha1.AllowanceRecordStatus{History: []v1alpha1.HistoryEntry{{
				Event: v1alpha1.EventDenied, Time: before(time.Minute), User: user, Kind: "Bucket", Policies: []string{"deployment"}, Paths: tt.paths,
			}}})
			categories := func(schema.GroupKind) []string { return []string{cmp.Or(tt.category, managed)} }
			s, err := suggestFrom([]v1alpha1.AllowanceRecord{rec}, both, outsideOf(both, categories), user, now.Add(-time.Hour))
			if err != nil {
				t.Fatal(err)
			}
			var got *v1alpha1.PolicyEntry
			if entries := s.upgrade.Spec.Policies; len(entries) > 1 {
				got = &entries[1]
			}
			if diff := gocmp.Diff(tt.want, got); diff != "" {
				t.Errorf("the External entry (-want +got):\n%s", diff)
			}
			if diff := gocmp.Diff(tt.notes, s.notes); diff != "" {
				t.Errorf("notes (-want +got):\n%s", diff)
			}
		})
	}
}

// compile compiles a policy on a cluster that serves ReplicaSets and Buckets.
func compile(t *testing.T, text string) *policy.Policy {
	t.Helper()
	p := &v1alpha1.AllowancePolicy{}
	if err := yaml.UnmarshalStrict([]byte(text), p); err != nil {
		t.Fatal(err)
	}
	kinds := map[string]string{"replicasets": "ReplicaSet", "buckets": "Bucket"}
	compiled, errs := policy.Compile(p, func(gvr schema.GroupVersionResource) (schema.GroupVersionKind, bool) {
		kind, ok := kinds[gvr.Resource]
		return gvr.GroupVersion().WithKind(kind), ok
	})
	if len(errs) > 0 {
		t.Fatal(errs.ToAggregate())
	}
	return compiled
}
