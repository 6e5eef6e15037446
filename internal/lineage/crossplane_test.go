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

package lineage

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"kausality.io/operator/internal/change"
)

// platform has a claim Database with the composite resource XDatabase, and a composite
// resource without claims.
var platform = categorized{"Database": CategoryClaim, "XDatabase": CategoryComposite, "App": CategoryComposite}

func parse(tb testing.TB, text string) *unstructured.Unstructured {
	tb.Helper()
	obj := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &obj.Object); err != nil {
		tb.Fatal(err)
	}
	return obj
}

// composite returns XDatabase db-x7, with more of a spec.
func composite(tb testing.TB, spec string) *unstructured.Unstructured {
	tb.Helper()
	return parse(tb, "{apiVersion: example.com/v1, kind: XDatabase, metadata: {name: db-x7}, spec: {size: 1"+spec+"}}")
}

const toClaim = ", claimRef: {apiVersion: example.com/v1, kind: Database, namespace: shop, name: db}"

func TestParentOfComposite(t *testing.T) {
	claim := Ref{
		GVK:       schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Database"},
		Namespace: "shop", Name: "db", Path: "spec.claimRef", Mutual: true,
	}
	composed := composite(t, toClaim)
	composed.SetOwnerReferences(owned(t, controller).GetOwnerReferences())
	used := composite(t, toClaim)
	used.SetOwnerReferences(owned(t, owner).GetOwnerReferences())
	other := composite(t, toClaim)
	other.SetKind("PersistentVolume")
	tests := map[string]struct {
		obj  *unstructured.Unstructured
		want Ref
	}{
		"its claim":                       {composite(t, toClaim), claim},
		"its claim, whoever else owns it": {used, claim},
		"the composite resource that composes it": {composed, Ref{
			GVK:  schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "ReplicaSet"},
			Name: "rs", UID: "u1", Path: "metadata.ownerReferences[0]", Controller: true,
		}},
		"none":                           {obj: composite(t, "")},
		"a claim of a kind that is none": {obj: composite(t, ", claimRef: {apiVersion: v1, kind: ConfigMap, namespace: shop, name: db}")},
		"a kind that is no composite":    {obj: other},
		"half a reference":               {obj: composite(t, ", claimRef: {apiVersion: example.com/v1, kind: Database, namespace: shop}")},
		"a reference without a kind":     {obj: composite(t, ", claimRef: {apiVersion: example.com/v1, namespace: shop, name: db}")},
		"a malformed reference":          {obj: composite(t, ", claimRef: {apiVersion: a/b/c, kind: Database, namespace: shop, name: db}")},
		"a reference of another type":    {obj: composite(t, ", claimRef: db")},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got, ok := Parent(platform, tc.obj)
			if !ok {
				got = Ref{}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("Parent() = %t (-want +got):\n%s", ok, diff)
			}
		})
	}
}

func TestPointsBack(t *testing.T) {
	const back = "resourceRef: {apiVersion: example.com/v1beta1, kind: XDatabase, name: db-x7}"
	tests := map[string]struct {
		spec string
		want bool
	}{
		"at it, in whatever version": {back, true},
		"at nothing":                 {"size: 1", false},
		"at another one":             {"resourceRef: {apiVersion: example.com/v1, kind: XDatabase, name: db-y8}", false},
		"at another kind":            {"resourceRef: {apiVersion: example.com/v1, kind: XBucket, name: db-x7}", false},
		"at another group":           {"resourceRef: {apiVersion: example.org/v1, kind: XDatabase, name: db-x7}", false},
		"at what cannot be read":     {"resourceRef: {apiVersion: a/b/c, kind: XDatabase, name: db-x7}", false},
	}
	child := composite(t, toClaim)
	ref, _ := Parent(platform, child)
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			claim := parse(t, "{apiVersion: example.com/v1, kind: Database, metadata: {namespace: shop, name: db, uid: u7}, spec: {"+tc.spec+"}}")
			if !ref.Names(claim) {
				t.Error("the reference does not name the claim")
			}
			if got := ref.PointsBack(claim, child); got != tc.want {
				t.Errorf("PointsBack() = %t", got)
			}
		})
	}
	pod := owned(t, controller)
	ref, _ = Parent(platform, pod)
	if !ref.PointsBack(object("apps/v1", "ReplicaSet", nil, nil), pod) {
		t.Error("PointsBack() asks an owner to know what it owns")
	}
}

func TestNames(t *testing.T) {
	ref, _ := Parent(platform, composite(t, toClaim))
	for name, other := range map[string]string{
		"another name":      "{apiVersion: example.com/v1, kind: Database, metadata: {namespace: shop, name: other}}",
		"another namespace": "{apiVersion: example.com/v1, kind: Database, metadata: {namespace: test, name: db}}",
		"another kind":      "{apiVersion: example.com/v1, kind: Bucket, metadata: {namespace: shop, name: db}}",
		"another group":     "{apiVersion: example.org/v1, kind: Database, metadata: {namespace: shop, name: db}}",
	} {
		if ref.Names(parse(t, other)) {
			t.Errorf("the reference names one of %s", name)
		}
	}
}

func TestChangesOfComposite(t *testing.T) {
	const other = ", claimRef: {apiVersion: example.com/v1, kind: Database, namespace: shop, name: other}"
	composed := func(spec string) *unstructured.Unstructured {
		obj := composite(t, spec)
		obj.SetOwnerReferences(owned(t, controller).GetOwnerReferences())
		return obj
	}
	tests := map[string]struct {
		before, after *unstructured.Unstructured
		want          []string
	}{
		"the same": {before: composite(t, toClaim), after: composite(t, toClaim)},
		"in another version": {
			before: composite(t, toClaim),
			after:  composite(t, ", claimRef: {apiVersion: example.com/v2, kind: Database, namespace: shop, name: db}"),
		},
		"bound":         {before: composite(t, ""), after: composite(t, toClaim), want: []string{"Insert spec.claimRef"}},
		"let go":        {before: composite(t, toClaim), after: composite(t, ""), want: []string{"Delete spec.claimRef"}},
		"another claim": {before: composite(t, toClaim), after: composite(t, other), want: []string{"Delete spec.claimRef", "Insert spec.claimRef"}},
		"taken over by an owner": {
			before: composite(t, toClaim), after: composed(toClaim),
			want: []string{"Insert metadata.ownerReferences[0]"},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, c := range Changes(platform, tc.before, tc.after, Counting{Binds: func(Ref) bool { return false }}) {
				got = append(got, string(c.Verb)+" "+c.Path.String())
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("Changes() (-want +got):\n%s", diff)
			}
		})
	}
}

func TestBookkeepingField(t *testing.T) {
	tests := map[string]struct {
		kind string
		verb change.Verb
		path string
		want bool
	}{
		"a new revision":                           {"XDatabase", change.Mutate, "spec.compositionRevisionRef.name", true},
		"the selected composition":                 {"XDatabase", change.Insert, "spec.compositionRef", true},
		"what is composed":                         {"XDatabase", change.Mutate, "spec.resourceRefs[0].name", true},
		"where connection details go":              {"XDatabase", change.Insert, "spec.writeConnectionSecretToRef", true},
		"all of it, without claims":                {"App", change.Mutate, "spec.crossplane.compositionRevisionRef.name", true},
		"being bound":                              {"XDatabase", change.Insert, "spec.claimRef", true},
		"being let go":                             {"XDatabase", change.Delete, "spec.claimRef", false},
		"being bound to another claim":             {"XDatabase", change.Mutate, "spec.claimRef.name", false},
		"a field of the platform's":                {"XDatabase", change.Mutate, "spec.size", false},
		"one that begins like one of Crossplane's": {"XDatabase", change.Mutate, "spec.compositionNotes", false},
		"the whole spec":                           {"XDatabase", change.Delete, "spec", false},
		"another section":                          {"XDatabase", change.Insert, "data.crossplane", false},
		"of a claim":                               {"Database", change.Insert, "spec.resourceRef", true},
		"of a claim, its revision":                 {"Database", change.Mutate, "spec.compositionRevisionRef.name", true},
		"of a claim, what only the other has":      {"Database", change.Insert, "spec.resourceRefs", false},
		"of a claim, its size":                     {"Database", change.Mutate, "spec.size", false},
		"of any other kind":                        {"Deployment", change.Insert, "spec.compositionRef", false},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			path, err := change.ParsePath(tc.path)
			if err != nil {
				t.Fatal(err)
			}
			kind := schema.GroupKind{Group: "example.com", Kind: tc.kind}
			if got := BookkeepingField(platform, kind, change.Change{Path: path, Verb: tc.verb}); got != tc.want {
				t.Errorf("BookkeepingField(%s %s of %s) = %t", tc.verb, tc.path, tc.kind, got)
			}
		})
	}
}

func TestWithoutBooks(t *testing.T) {
	const fields = ", resourceRef: {name: a}, resourceRefs: [], crossplane: {}, compositionRef: {name: b}, writeConnectionSecretToRef: {}"
	given := composite(t, toClaim+fields)
	if diff := cmp.Diff(composite(t, "").Object, WithoutBooks(given.Object)); diff != "" {
		t.Errorf("WithoutBooks() (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(composite(t, toClaim+fields).Object, given.Object); diff != "" {
		t.Errorf("the object was changed (-want +got):\n%s", diff)
	}
	config := parse(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: {claimRef: x}}")
	if diff := cmp.Diff(config.Object, WithoutBooks(config.Object)); diff != "" {
		t.Errorf("of an object without a spec (-want +got):\n%s", diff)
	}
}

func TestFoundOtherwise(t *testing.T) {
	const refs = "spec: {crossplane: {resourceRefs: [{kind: Instance, name: a}], compositionRef: {name: b}}}"
	for name, tc := range map[string]struct {
		kind, before, after string
		want                []string
	}{
		"what a composite resource is composed of": {
			kind: "App", before: refs, after: "spec: {crossplane: {resourceRefs: [{kind: Instance, name: z}], compositionRef: {name: b}}}",
			want: []string{"spec.crossplane.resourceRefs"},
		},
		"taken away": {kind: "App", before: refs, after: "spec: {size: 1}", want: []string{"spec.crossplane.resourceRefs"}},
		"of an older definition": {
			kind: "XDatabase", before: "spec: {size: 1}", after: "spec: {resourceRefs: [{name: z}]}", want: []string{"spec.resourceRefs"},
		},
		"which composite resource a claim has": {
			kind: "Database", before: "spec: {resourceRef: {name: a}}", after: "spec: {resourceRef: {name: z}}", want: []string{"spec.resourceRef"},
		},
		"the composition":                {kind: "App", before: refs, after: "spec: {crossplane: {resourceRefs: [{kind: Instance, name: a}]}}"},
		"nothing, written as a list":     {kind: "App", before: "spec: {size: 1}", after: "spec: {crossplane: {resourceRefs: []}}"},
		"nothing, written as a map":      {kind: "Database", before: "spec: {}", after: "spec: {resourceRef: {}}"},
		"the field of a claim elsewhere": {kind: "App", before: "spec: {}", after: "spec: {resourceRef: {name: z}}"},
		"the same field of another kind": {kind: "ConfigMap", before: "spec: {}", after: refs},
	} {
		t.Run(name, func(t *testing.T) {
			kind := schema.GroupKind{Group: "example.com", Kind: tc.kind}
			got := FoundOtherwise(platform, kind, parse(t, "{"+tc.before+"}").Object, parse(t, "{"+tc.after+"}").Object)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("FoundOtherwise() (-want +got):\n%s", diff)
			}
		})
	}
}
