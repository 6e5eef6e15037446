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

package composition

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	testingclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/yaml"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/lineage"
	"kausality.io/operator/internal/upgrade"
)

var noon = metav1.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)

// categorized are kinds with their category.
type categorized map[string]string

func (c categorized) HasCategory(kind schema.GroupKind, category string) bool {
	return c[kind.Kind] == category
}

func parse(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	obj := &unstructured.Unstructured{}
	if err := yaml.UnmarshalStrict([]byte(text), &obj.Object); err != nil {
		t.Fatal(err)
	}
	return obj
}

// composition returns a revision, with a number, that adds a field.
func composition(t *testing.T, name, number, adds string) *unstructured.Unstructured {
	t.Helper()
	obj := parse(t, `
apiVersion: apiextensions.crossplane.io/v1
kind: CompositionRevision
metadata: {name: `+name+`, labels: {release: `+name+`}}
spec:
  revision: `+number+`
  compositeTypeRef: {apiVersion: example.com/v1, kind: Database}
  pipeline:
  - {step: second, functionRef: {name: ready}}
  - {step: first, functionRef: {name: compose}, input: {adds: `+adds+`}}
  - {step: third, functionRef: {name: compose}}
`)
	obj.SetCreationTimestamp(noon)
	return obj
}

func function(t *testing.T, name, of, state, image string) *unstructured.Unstructured {
	t.Helper()
	obj := parse(t, `
apiVersion: pkg.crossplane.io/v1
kind: FunctionRevision
metadata: {name: `+name+`, labels: {pkg.crossplane.io/package: `+of+`}}
spec: {desiredState: `+state+`, image: "`+image+`", revision: 1}
`)
	obj.SetCreationTimestamp(noon)
	return obj
}

func composite(t *testing.T, kind, spec string) *unstructured.Unstructured {
	t.Helper()
	return parse(t, `{apiVersion: example.com/v1, kind: `+kind+`, metadata: {name: main}, spec: `+spec+`}`)
}

// read returns Revisions of some objects, with a count of what is read.
func read(t *testing.T, broken func(kind string) error, objects ...*unstructured.Unstructured) (*Revisions, *int) {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, gvk := range []schema.GroupVersionKind{compositionRevision, functionRevisionList.GroupVersion().WithKind("FunctionRevision")} {
		scheme.AddKnownTypeWithName(gvk, &unstructured.Unstructured{})
		scheme.AddKnownTypeWithName(gvk.GroupVersion().WithKind(gvk.Kind+"List"), &unstructured.UnstructuredList{})
	}
	builder, reads := fake.NewClientBuilder().WithScheme(scheme), 0
	for _, obj := range objects {
		builder = builder.WithObjects(obj)
	}
	c := builder.WithInterceptorFuncs(interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
			reads++
			if err := broken("CompositionRevision"); err != nil {
				return err
			}
			return c.Get(ctx, key, obj, opts...)
		},
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			reads++
			if err := broken("FunctionRevision"); err != nil {
				return err
			}
			return c.List(ctx, list, opts...)
		},
	}).Build()
	kinds := categorized{"Database": lineage.CategoryComposite, "DatabaseClaim": lineage.CategoryClaim}
	return NewRevisions(c, func() Kinds { return kinds }, testingclock.NewFakePassiveClock(noon.Time)), &reads
}

func sound(string) error { return nil }

func brokenBy(kind string, err error) func(string) error {
	return func(k string) error {
		if k == kind {
			return err
		}
		return nil
	}
}

var forbidden = apierrors.NewForbidden(schema.GroupResource{}, "", nil)

func TestCompositions(t *testing.T) {
	const byV2 = `{crossplane: {compositionRevisionRef: {name: db-a}}}`
	a := composition(t, "db-a", "1", "a")
	known := upgrade.Version{Trigger: v1alpha1.UpgradeOfComposition, Revision: "db-a", Digest: digest(a), Created: noon.Time}
	unknown := func(why string) []upgrade.Version {
		return []upgrade.Version{{Trigger: v1alpha1.UpgradeOfComposition, Revision: "db-a", Unknown: why}}
	}
	tests := map[string]struct {
		parent  *unstructured.Unstructured
		objects []*unstructured.Unstructured
		broken  func(string) error
		want    []upgrade.Version
		fails   bool
	}{
		"of a composite resource":        {parent: composite(t, "Database", byV2), objects: []*unstructured.Unstructured{a}, want: []upgrade.Version{known}},
		"of a legacy composite resource": {parent: composite(t, "Database", `{compositionRevisionRef: {name: db-a}}`), objects: []*unstructured.Unstructured{a}, want: []upgrade.Version{known}},
		"of a claim":                     {parent: composite(t, "DatabaseClaim", `{compositionRevisionRef: {name: db-a}}`), objects: []*unstructured.Unstructured{a}},
		"of anything else":               {parent: composite(t, "Deployment", byV2), objects: []*unstructured.Unstructured{a}},
		"of what is not composed yet":    {parent: composite(t, "Database", `{}`), objects: []*unstructured.Unstructured{a}},
		"of nothing":                     {},
		"that is gone":                   {parent: composite(t, "Database", byV2), want: unknown("CompositionRevision db-a does not exist")},
		"that may not be read":           {parent: composite(t, "Database", byV2), broken: brokenBy("CompositionRevision", forbidden), want: unknown("Kausality may not read CompositionRevisions")},
		"that cannot be read now":        {parent: composite(t, "Database", byV2), broken: brokenBy("CompositionRevision", errors.New("away")), fails: true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if tt.broken == nil {
				tt.broken = sound
			}
			revisions, reads := read(t, tt.broken, tt.objects...)
			for range 2 {
				got, err := Compositions{revisions}.Of(t.Context(), upgrade.Request{Parent: tt.parent})
				if (err != nil) != tt.fails {
					t.Fatal(err)
				}
				if diff := cmp.Diff(tt.want, got); diff != "" {
					t.Errorf("versions (-want +got):\n%s", diff)
				}
			}
			if len(tt.want) == 1 && tt.want[0].Unknown == "" && *reads != 1 {
				t.Errorf("read %d times", *reads)
			}
		})
	}
}

func TestDigest(t *testing.T) {
	a := digest(composition(t, "db-a", "1", "a"))
	if got := digest(composition(t, "db-a", "3", "a")); got != a {
		t.Error("its number counts")
	}
	if got := digest(composition(t, "db-c", "1", "a")); got != a {
		t.Error("its labels count")
	}
	if got := digest(composition(t, "db-a", "1", "b")); got == a {
		t.Error("what it composes does not count")
	}
}

func TestLeft(t *testing.T) {
	a, b := composition(t, "db-a", "1", "a"), composition(t, "db-b", "2", "b")
	ref := func(name string) *unstructured.Unstructured {
		return composite(t, "Database", `{crossplane: {compositionRevisionRef: {name: `+name+`}}}`)
	}
	of := func(obj *unstructured.Unstructured) upgrade.Version {
		return upgrade.Version{Trigger: v1alpha1.UpgradeOfComposition, Revision: obj.GetName(), Digest: digest(obj), Created: noon.Time}
	}
	tests := map[string]struct {
		before, after *unstructured.Unstructured
		left, next    upgrade.Version
		ok            bool
	}{
		"another one":     {before: ref("db-a"), after: ref("db-b"), left: of(a), next: of(b), ok: true},
		"the same":        {before: ref("db-a"), after: ref("db-a")},
		"the first":       {before: composite(t, "Database", `{}`), after: ref("db-a")},
		"one that is not": {before: ref("db-a"), after: ref("db-c"), left: of(a), next: upgrade.Version{Trigger: v1alpha1.UpgradeOfComposition, Revision: "db-c"}, ok: true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			revisions, _ := read(t, sound, a, b)
			left, next, ok := Compositions{revisions}.Left(t.Context(), tt.before, tt.after)
			if diff := cmp.Diff([]any{tt.left, tt.next, tt.ok}, []any{left, next, ok}); diff != "" {
				t.Errorf("left (-want +got):\n%s", diff)
			}
		})
	}
}

func TestFunctions(t *testing.T) {
	db := composite(t, "Database", `{crossplane: {compositionRevisionRef: {name: db-a}}}`)
	a := composition(t, "db-a", "1", "a")
	version := func(of, name, image string) upgrade.Version {
		return upgrade.Version{Trigger: v1alpha1.UpgradeOfFunction, Of: of, Revision: name, Image: image, Created: noon.Time}
	}
	ready := function(t, "ready-1", "ready", "Active", "ready:v1")
	tests := map[string]struct {
		parent  *unstructured.Unstructured
		objects []*unstructured.Unstructured
		broken  func(string) error
		want    []upgrade.Version
		fails   bool
	}{
		"the active ones of its pipeline, each once": {
			parent: db,
			objects: []*unstructured.Unstructured{a, ready, function(t, "compose-1", "compose", "Inactive", "compose:v1"),
				function(t, "compose-2", "compose", "Active", "compose:v2"), function(t, "other-1", "other", "Active", "other:v1")},
			want: []upgrade.Version{version("compose", "compose-2", "compose:v2"), version("ready", "ready-1", "ready:v1")},
		},
		"none that is active": {
			parent: db, objects: []*unstructured.Unstructured{a, ready, function(t, "compose-1", "compose", "Inactive", "compose:v1")},
			want: []upgrade.Version{{Trigger: v1alpha1.UpgradeOfFunction, Of: "compose", Unknown: "Function compose has no active FunctionRevision"}, version("ready", "ready-1", "ready:v1")},
		},
		"of what is not composed":           {parent: composite(t, "Deployment", `{}`), objects: []*unstructured.Unstructured{a}},
		"of a revision that is gone":        {parent: db, want: []upgrade.Version{{Trigger: v1alpha1.UpgradeOfFunction, Unknown: "CompositionRevision db-a does not exist"}}},
		"of a revision that cannot be read": {parent: db, broken: brokenBy("CompositionRevision", errors.New("away")), fails: true},
		"that cannot be listed now":         {parent: db, objects: []*unstructured.Unstructured{a}, broken: brokenBy("FunctionRevision", errors.New("away")), fails: true},
		"that may not be listed": {
			parent: db, objects: []*unstructured.Unstructured{a}, broken: brokenBy("FunctionRevision", forbidden),
			want: []upgrade.Version{
				{Trigger: v1alpha1.UpgradeOfFunction, Of: "compose", Unknown: "Kausality may not list FunctionRevisions"},
				{Trigger: v1alpha1.UpgradeOfFunction, Of: "ready", Unknown: "Kausality may not list FunctionRevisions"},
			},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if tt.broken == nil {
				tt.broken = sound
			}
			revisions, _ := read(t, tt.broken, tt.objects...)
			got, err := Functions{revisions}.Of(t.Context(), upgrade.Request{Parent: tt.parent})
			if (err != nil) != tt.fails {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("versions (-want +got):\n%s", diff)
			}
		})
	}
}

func TestRunning(t *testing.T) {
	revisions, _ := read(t, sound, function(t, "compose-1", "compose", "Inactive", "compose:v1"),
		function(t, "compose-2", "compose", "Active", "compose:v2"), function(t, "other-1", "other", "Active", "a:v1"))
	got, err := Functions{revisions}.Running(t.Context(), "")
	if diff := cmp.Diff([]string{"a:v1", "compose:v2"}, got); diff != "" || err != nil {
		t.Errorf("running (-want +got):\n%s%v", diff, err)
	}
}
