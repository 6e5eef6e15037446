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
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/ledger"
)

const crossplane = "system:serviceaccount:crossplane-system:crossplane"

const claimPolicy = `
metadata: {name: claim}
spec:
  for: {apiGroup: example.com, apiVersion: v1, kind: Database}
  validationActions: [Deny]
  subjects:
  - {kind: Group, name: platform-team, mayInitiate: true}
  - {kind: ServiceAccount, name: crossplane, namespace: crossplane-system}
  initializing:
    policies:
    - target: {apiGroup: example.com, apiVersion: v1, resource: xdatabases}
      relation: ControllerChild
      verbs: [Create]
  rules:
  - trigger: spec
    policies:
    - target: {apiGroup: example.com, apiVersion: v1, resource: xdatabases}
      relation: ControllerChild
      mutations: [{jsonPath: spec.size}]
`

const compositePolicy = `
metadata: {name: composite}
spec:
  for: {apiGroup: example.com, apiVersion: v1, kind: XDatabase}
  validationActions: [Deny]
  rules:
  - trigger: spec
    policies:
    - target: {apiGroup: example.com, apiVersion: v1, resource: instances}
      relation: ControllerChild
      mutations: [{jsonPath: spec.size}]
`

// parsed returns an object at generation 4.
func parsed(tb testing.TB, text string, allowances ...v1alpha1.Allowance) *unstructured.Unstructured {
	tb.Helper()
	obj := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &obj.Object); err != nil {
		tb.Fatal(err)
	}
	obj.SetUID(types.UID("uid-of-" + obj.GetName()))
	obj.SetGeneration(4)
	return holding(obj, ledgerKey, allowances...)
}

// database returns claim db of XDatabase db-x7, unless the fields of its spec say otherwise.
func database(tb testing.TB, fields string, allowances ...v1alpha1.Allowance) *unstructured.Unstructured {
	tb.Helper()
	return parsed(tb, "{apiVersion: example.com/v1, kind: Database, metadata: {namespace: default, name: db}, spec: {"+fields+"}}", allowances...)
}

// xdatabase returns the composite resource of claim db.
func xdatabase(tb testing.TB, fields string) *unstructured.Unstructured {
	tb.Helper()
	return parsed(tb, "{apiVersion: example.com/v1, kind: XDatabase, metadata: {name: db-x7}, spec: {"+fields+"}}")
}

const (
	pointsAtXR    = "resourceRef: {apiVersion: example.com/v1, kind: XDatabase, name: db-x7}"
	pointsAtClaim = "claimRef: {apiVersion: example.com/v1, kind: Database, namespace: default, name: db}"
)

// mayResize lets the composite resource of claim db be resized.
func mayResize(mutation string) v1alpha1.Allowance {
	return v1alpha1.Allowance{
		APIGroup: "example.com", Kind: "XDatabase", Mutation: mutation, Generation: 4, Initiator: "alice",
		Trace: []v1alpha1.TraceHop{{Kind: "Database", Name: "db", Generation: 4, Field: "spec.size"}},
	}
}

func TestComposite(t *testing.T) {
	alices := mayResize("spec.size")
	bound := database(t, pointsAtXR, alices)
	created := mayResize("create")
	created.Trace[0].Field = v1alpha1.FieldCreated
	tests := map[string]struct {
		user          string
		before, after *unstructured.Unstructured
		// claim is in the cache, and live is what the API server has, where it differs.
		claim, live *unstructured.Unstructured
		reason      string
		says        []string
		liveReads   int64
	}{
		"resized as the claim allows": {
			user: crossplane, before: xdatabase(t, "size: 1, "+pointsAtClaim), after: xdatabase(t, "size: 2, "+pointsAtClaim),
			claim: bound, reason: "Covered",
		},
		"resized by a stranger": {
			user: "mallory", before: xdatabase(t, "size: 1, "+pointsAtClaim), after: xdatabase(t, "size: 2, "+pointsAtClaim),
			claim: bound, reason: "Denied", liveReads: 1,
		},
		"created by its claim": {
			user: crossplane, after: xdatabase(t, "size: 1, "+pointsAtClaim),
			claim: database(t, "size: 1", created), live: database(t, pointsAtXR, created), reason: "Initializing", liveReads: 1,
		},
		"created for a claim that does not know it": {
			user: "mallory", after: xdatabase(t, "size: 1, "+pointsAtClaim),
			claim: database(t, "size: 1", created), reason: "Denied", liveReads: 1,
			says: []string{"parent Database db", "does not name it in spec.resourceRef", "No allowance of Database db counts until it does"},
		},
		"created for a claim that has lost the name of another": {
			user: crossplane, after: xdatabase(t, "size: 1, "+pointsAtClaim),
			claim: database(t, "size: 1, "+pointsAtXR), reason: "Denied", liveReads: 1,
			says: []string{"If Database db has had another XDatabase before, put the name of that back into its spec.resourceRef"},
		},
		"resized as a claim allows that does not know it": {
			user: crossplane, before: xdatabase(t, "size: 1, "+pointsAtClaim), after: xdatabase(t, "size: 2, "+pointsAtClaim),
			claim: database(t, "size: 1", alices), reason: "Denied", liveReads: 1,
		},
		"resized as a claim allows that has another": {
			user: crossplane, before: xdatabase(t, "size: 1, "+pointsAtClaim), after: xdatabase(t, "size: 2, "+pointsAtClaim),
			claim: database(t, strings.Replace(pointsAtXR, "x7", "y8", 1), alices), reason: "Denied", liveReads: 1,
		},
		"whose claim is gone": {
			user: "mallory", before: xdatabase(t, "size: 1, "+pointsAtClaim), after: xdatabase(t, "size: 2, "+pointsAtClaim),
			reason: "Orphan", liveReads: 1,
		},
		"without a claim": {
			user: "mallory", before: xdatabase(t, "size: 1"), after: xdatabase(t, "size: 2"), reason: "Root",
		},
		"its revision, by Crossplane": {
			user:   crossplane,
			before: xdatabase(t, pointsAtClaim+", compositionRevisionRef: {name: a}"), after: xdatabase(t, pointsAtClaim+", compositionRevisionRef: {name: b}"),
			claim: bound, reason: "Bookkeeping",
		},
		"its revision, by a person": {
			user:   "mallory",
			before: xdatabase(t, pointsAtClaim+", compositionRevisionRef: {name: a}"), after: xdatabase(t, pointsAtClaim+", compositionRevisionRef: {name: b}"),
			claim: bound, reason: "Denied", liveReads: 1, says: []string{"changing spec.compositionRevisionRef.name"},
		},
		"its revision, by a service account that no policy names": {
			user:   "system:serviceaccount:default:default",
			before: xdatabase(t, pointsAtClaim+", compositionRevisionRef: {name: a}"), after: xdatabase(t, pointsAtClaim+", compositionRevisionRef: {name: b}"),
			claim: bound, reason: "Denied", liveReads: 1,
		},
		"its revision together with its size": {
			user:   crossplane,
			before: xdatabase(t, "size: 1, "+pointsAtClaim), after: xdatabase(t, "size: 2, compositionRef: {name: a}, "+pointsAtClaim),
			claim: bound, reason: "Covered",
		},
		"its revision together with what nothing covers": {
			user:   crossplane,
			before: xdatabase(t, "zone: a, "+pointsAtClaim), after: xdatabase(t, "zone: b, compositionRef: {name: a}, "+pointsAtClaim),
			claim: bound, reason: "Denied", liveReads: 1, says: []string{"changing spec.zone of XDatabase db-x7 is not allowed"},
		},
		"its composition, which a stranger has chosen for its claim": {
			user:   crossplane,
			before: xdatabase(t, pointsAtClaim+", compositionRef: {name: a}"), after: xdatabase(t, pointsAtClaim+", compositionRef: {name: b}"),
			claim:  database(t, "compositionRef: {name: b}, "+pointsAtXR, alices, held("spec.compositionRef.name", `"a"`)),
			reason: "Denied", liveReads: 1, says: []string{"changing spec.compositionRef.name"},
		},
		"its revision, while another composition of its claim waits": {
			user:   crossplane,
			before: xdatabase(t, pointsAtClaim+", compositionRevisionRef: {name: a}"), after: xdatabase(t, pointsAtClaim+", compositionRevisionRef: {name: b}"),
			claim: database(t, "compositionRef: {name: b}, "+pointsAtXR, held("spec.compositionRef.name", `"a"`)), reason: "Bookkeeping",
		},
		"bound to its claim": {
			user: crossplane, before: xdatabase(t, "size: 1"), after: xdatabase(t, "size: 1, "+pointsAtClaim), claim: bound, reason: "Bookkeeping",
		},
		"bound to its claim, and resized": {
			user: crossplane, before: xdatabase(t, "size: 1"), after: xdatabase(t, "size: 2, "+pointsAtClaim), claim: bound, reason: "Covered",
		},
		"bound to a claim by a stranger": {
			user: "mallory", before: xdatabase(t, "size: 1"), after: xdatabase(t, "size: 1, "+pointsAtClaim), claim: bound, reason: "Denied", liveReads: 1,
		},
		"let go by Crossplane": {
			user: crossplane, before: xdatabase(t, "size: 1, "+pointsAtClaim), after: xdatabase(t, "size: 1"),
			claim: bound, reason: "Denied", liveReads: 1, says: []string{"removing spec.claimRef of XDatabase db-x7 is not allowed"},
		},
		"let go as the claim allows": {
			user: crossplane, before: xdatabase(t, "size: 1, "+pointsAtClaim), after: xdatabase(t, "size: 1"),
			claim: database(t, pointsAtXR, mayResize("spec.claimRef")), reason: "Covered",
		},
		"handed to another claim": {
			user:   crossplane,
			before: xdatabase(t, "size: 1, "+pointsAtClaim), after: xdatabase(t, "size: 1, "+strings.Replace(pointsAtClaim, "name: db", "name: mine", 1)),
			claim: bound, reason: "Denied", liveReads: 1, says: []string{"removing spec.claimRef"},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			w := &world{cached: map[string]*unstructured.Unstructured{}, live: map[string]*unstructured.Unstructured{}}
			if tc.claim != nil {
				w.cached["Database/db"], w.live["Database/db"] = tc.claim, tc.claim
			}
			if tc.live != nil {
				w.live["Database/db"] = tc.live
			}
			_, validator := w.hooks(t, claimPolicy, compositePolicy)
			after := tc.after.DeepCopy()
			if tc.before != nil {
				after = counted(after)
			}
			resp := validator.Handle(t.Context(), asking(t, tc.user, nil, tc.before, after))
			if got := resp.AuditAnnotations[auditReason]; got != tc.reason {
				t.Errorf("reason %q, want %q: %s", got, tc.reason, resp.Result.Message)
			}
			if wantAllowed := tc.reason != "Denied"; resp.Allowed != wantAllowed || !resp.Allowed && resp.Result.Code != http.StatusForbidden {
				t.Errorf("allowed = %t, code %d", resp.Allowed, resp.Result.Code)
			}
			for _, text := range tc.says {
				if !strings.Contains(resp.Result.Message, text) {
					t.Errorf("the answer does not say %q: %s", text, resp.Result.Message)
				}
			}
			if got := w.liveReads.Load(); got != tc.liveReads {
				t.Errorf("%d reads from the API server, want %d", got, tc.liveReads)
			}
		})
	}
}

// TestBooksTriggerNothing shows that rules about all of a spec do not take what
// Crossplane writes for itself for somebody's change.
func TestBooksTriggerNothing(t *testing.T) {
	tests := map[string]struct {
		user          string
		before, after *unstructured.Unstructured
		want          []string
	}{
		"a claim that gets its composite resource": {
			user: crossplane, before: database(t, "size: 1"), after: database(t, "size: 1, compositionRef: {name: a}, "+pointsAtXR),
		},
		"a claim that a person gives one": {
			user: "mallory", before: database(t, "size: 1"), after: database(t, "size: 1, "+pointsAtXR),
			want: []string{"Withheld spec.resourceRef"},
		},
		"a composite resource that gets a revision": {
			user: crossplane, before: xdatabase(t, pointsAtClaim), after: xdatabase(t, pointsAtClaim+", compositionRevisionRef: {name: a}"),
		},
		"a composite resource that gets a revision and another size": {
			user: crossplane, before: xdatabase(t, "size: 1, "+pointsAtClaim),
			after: xdatabase(t, "size: 2, "+pointsAtClaim+", compositionRevisionRef: {name: a}"),
			want:  []string{"Instance spec.size at 5"},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			claim := database(t, "size: 2, "+pointsAtXR, mayResize("spec.size"))
			w := &world{
				cached: map[string]*unstructured.Unstructured{"Database/db": claim},
				live:   map[string]*unstructured.Unstructured{"Database/db": claim},
			}
			mutator, _ := w.hooks(t, claimPolicy, compositePolicy)
			resp := mutator.Handle(t.Context(), asking(t, tc.user, nil, tc.before, tc.after.DeepCopy()))
			after := tc.after.DeepCopy()
			after.SetAnnotations(patched(t, after, resp))
			stored, err := new(ledgers).of(after)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, e := range stored {
				switch {
				case e.IsWithheld():
					got = append(got, "Withheld "+e.Mutation)
				case e.Generation == 5:
					got = append(got, e.Kind+" "+e.Mutation+" at 5")
				default:
					got = append(got, e.Kind+" "+e.Mutation)
				}
			}
			slices.Sort(got)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("ledger (-want +got):\n%s", diff)
			}
		})
	}
}

// TestCopiesOfClaim shows what becomes of the annotations of a claim on its composite
// resource, where Crossplane puts them on each sync.
func TestCopiesOfClaim(t *testing.T) {
	const (
		blocked  = "kausality.io/Blocked"
		affected = "kausality.io/AllowancePolicyAffected"
		approve  = "kausality.io/approve"
		glass    = "kausality.io/break-glass"
	)
	claims := ledger.Ledger{}.Merge(mayResize("spec.size")).Encode()
	own := ledger.Ledger{}.Merge(mayResize("spec.other")).Encode()
	annotated := func(annotations map[string]string) *unstructured.Unstructured {
		obj := xdatabase(t, "size: 1, "+pointsAtClaim)
		obj.SetAnnotations(annotations)
		return obj
	}
	copies := map[string]string{
		ledgerKey: claims, blocked: "the claim", affected: "the claim", approve: "spec.size", glass: "delete: the claim", "ticket": "T-1",
	}
	tests := map[string]struct {
		user          string
		before, after map[string]string
		want          map[string]string
		warns         int
	}{
		"onto one that has its own": {
			user: crossplane, before: map[string]string{ledgerKey: own, affected: "its own"}, after: copies,
			want: map[string]string{ledgerKey: own, affected: "its own", "ticket": "T-1"},
		},
		"onto one that has none": {user: crossplane, after: copies, want: map[string]string{"ticket": "T-1"}},
		"taken off again": {
			user: crossplane, before: map[string]string{ledgerKey: own, blocked: "its own", affected: "its own"},
			want: map[string]string{ledgerKey: own, blocked: "its own", affected: "its own"},
		},
		"by somebody else": {user: "mallory", after: copies, want: map[string]string{"ticket": "T-1"}, warns: 3},
		"marks of the operator": {
			user: operatorUser, before: map[string]string{affected: "before"}, after: map[string]string{affected: "after", blocked: "now"},
			want: map[string]string{affected: "after", blocked: "now"},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			claim := database(t, "size: 1, "+pointsAtXR)
			w := &world{
				cached: map[string]*unstructured.Unstructured{"Database/db": claim},
				live:   map[string]*unstructured.Unstructured{"Database/db": claim},
			}
			mutator, _ := w.hooks(t, claimPolicy, compositePolicy)
			after := annotated(tc.after)
			resp := mutator.Handle(t.Context(), asking(t, tc.user, nil, annotated(tc.before), after))
			if diff := cmp.Diff(tc.want, patched(t, after, resp)); diff != "" {
				t.Errorf("annotations (-want +got):\n%s", diff)
			}
			if len(resp.Warnings) != tc.warns {
				t.Errorf("warnings %q, want %d", resp.Warnings, tc.warns)
			}
			if tc.warns == 0 && len(w.observed) > 0 {
				t.Errorf("observed %v", w.observed)
			}
		})
	}
}
