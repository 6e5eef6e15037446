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

package ancestry_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/ancestry"
	"kausality.io/operator/internal/generate"
	"kausality.io/operator/internal/generate/plan"
	"kausality.io/operator/internal/lineage"
	"kausality.io/operator/internal/policy"
)

// holders are known by kind, namespace and name.
type holders map[string]*unstructured.Unstructured

func (h holders) Get(_ context.Context, gvk schema.GroupVersionKind, key types.NamespacedName) (*unstructured.Unstructured, error) {
	if obj, ok := h[gvk.Kind+" "+key.String()]; ok {
		return obj, nil
	}
	return nil, apierrors.NewNotFound(schema.GroupResource{Resource: gvk.Kind}, key.Name)
}

func (h holders) Ignores(_ context.Context, obj *unstructured.Unstructured, parent lineage.Ref) bool {
	return obj.GetAnnotations()["ignores"] == parent.ID()
}

func (h holders) ByUID(_ context.Context, uid types.UID) (*unstructured.Unstructured, error) {
	for _, obj := range h {
		if obj.GetUID() == uid {
			return obj, nil
		}
	}
	return nil, apierrors.NewNotFound(schema.GroupResource{}, string(uid))
}

func holdersOf(objects ...*unstructured.Unstructured) holders {
	h := holders{}
	for _, obj := range objects {
		key := types.NamespacedName{Namespace: obj.GetNamespace(), Name: obj.GetName()}
		h[obj.GetKind()+" "+key.String()] = obj
	}
	return h
}

// labeled are namespaces by name.
type labeled map[string]map[string]string

func (l labeled) Labels(_ context.Context, name string) map[string]string { return l[name] }

func object(kind, namespace, name string) *unstructured.Unstructured {
	obj := &unstructured.Unstructured{}
	obj.SetAPIVersion("example.com/v1")
	obj.SetKind(kind)
	obj.SetNamespace(namespace)
	obj.SetName(name)
	obj.SetUID(types.UID("uid-" + name))
	return obj
}

func owned(obj, owner *unstructured.Unstructured) *unstructured.Unstructured {
	obj.SetOwnerReferences([]metav1.OwnerReference{{
		// Owner references may name a version that nobody watches.
		APIVersion: "example.com/v1beta1",
		Kind:       owner.GetKind(),
		Name:       owner.GetName(),
		UID:        owner.GetUID(),
		Controller: new(true),
	}})
	return obj
}

// ignoring has an object ignore a parent.
func ignoring(obj, parent *unstructured.Unstructured) *unstructured.Unstructured {
	obj.SetAnnotations(map[string]string{"ignores": string(parent.GetUID())})
	return obj
}

func indexFor(tb testing.TB, kinds ...string) *policy.Index {
	tb.Helper()
	unserved := func(schema.GroupVersionResource) (schema.GroupVersionKind, bool) {
		return schema.GroupVersionKind{}, false
	}
	policies := make([]*policy.Policy, 0, len(kinds))
	for _, kind := range kinds {
		p, errs := policy.Compile(&v1alpha1.AllowancePolicy{
			ObjectMeta: metav1.ObjectMeta{Name: kind},
			Spec: v1alpha1.AllowancePolicySpec{
				For: v1alpha1.ParentKind{APIGroup: "example.com", APIVersion: "v1", Kind: kind},
			},
		}, unserved)
		if len(errs) > 0 {
			tb.Fatalf("compiling a policy for %s: %v", kind, errs.ToAggregate())
		}
		p.Categorize(func(kind schema.GroupKind) []string {
			return map[string][]string{"Database": {"claim"}, "XDatabase": {"composite"}}[kind.Kind]
		})
		policies = append(policies, p)
	}
	return policy.NewIndex(policies)
}

func kindsOf(chain []policy.Holder) []string {
	kinds := make([]string, 0, len(chain))
	for _, h := range chain {
		kinds = append(kinds, h.Kind.Kind)
	}
	return kinds
}

func TestChain(t *testing.T) {
	app := object("App", "shop", "app")
	set := owned(object("Set", "shop", "set"), app)
	pod := owned(object("Pod", "shop", "pod"), set)
	fleet := object("Fleet", "", "fleet")
	member := owned(object("Set", "shop", "member"), fleet)
	recreated := object("App", "shop", "app")
	recreated.SetUID("uid-of-another")
	egg := object("App", "shop", "egg")
	hen := owned(object("App", "shop", "hen"), egg)
	owned(egg, hen)

	for name, tc := range map[string]struct {
		known   holders
		indexed []string
		of      *unstructured.Unstructured
		want    []string
	}{
		"up to the root":                           {holdersOf(app, set), []string{"App", "Set", "Pod"}, pod, []string{"Pod", "Set", "App"}},
		"a root":                                   {holdersOf(app, set), []string{"App", "Set", "Pod"}, app, []string{"App"}},
		"an object of a kind without a policy":     {holdersOf(app, set), []string{"App", "Set"}, pod, []string{"Pod", "Set", "App"}},
		"not beyond a kind without a policy":       {holdersOf(app, set), []string{"App", "Pod"}, pod, []string{"Pod"}},
		"not beyond an unknown parent":             {holdersOf(app), []string{"App", "Set", "Pod"}, pod, []string{"Pod"}},
		"an object of the same name is no parent":  {holdersOf(recreated, set), []string{"App", "Set", "Pod"}, pod, []string{"Pod", "Set"}},
		"a cluster-scoped parent":                  {holdersOf(fleet), []string{"Fleet", "Set"}, member, []string{"Set", "Fleet"}},
		"each object of a cycle once":              {holdersOf(egg, hen), []string{"App"}, hen, []string{"App", "App"}},
		"no policies at all":                       {holdersOf(app, set), nil, pod, []string{"Pod"}},
		"an object that is being created, no UID":  {holdersOf(app), []string{"App", "Set"}, owned(object("Set", "shop", ""), app), []string{"Set", "App"}},
		"an owner reference without a UID, forged": {holdersOf(app), []string{"App", "Set"}, forged(app), []string{"Set"}},
		"an owner reference with a broken version": {holdersOf(app), []string{"App", "Set"}, broken(app), []string{"Set"}},
		"a parent by another name":                 {holdersOf(app, set), []string{"App", "Set"}, calling(pod, set, "Set", "other"), []string{"Pod", "Set", "App"}},
		"a parent by another kind":                 {holdersOf(app, set), []string{"App", "Set"}, calling(pod, set, "Other", "set"), []string{"Pod", "Set", "App"}},
		"a parent in another namespace":            {holdersOf(app), []string{"App", "Set"}, owned(object("Set", "other", "set"), app), []string{"Set", "App"}},
		"the owner that has a policy":              {holdersOf(app, set), []string{"App", "Set"}, also(object("Pod", "shop", "pod"), object("Other", "shop", "x"), set), []string{"Pod", "Set", "App"}},
		"not by a parent that is none":             {holdersOf(app, set), []string{"App", "Set"}, ignoring(owned(object("Pod", "shop", "pod"), set), set), []string{"Pod"}},
	} {
		t.Run(name, func(t *testing.T) {
			got := ancestry.Chain(t.Context(), tc.known, labeled{}, indexFor(t, tc.indexed...), tc.of)
			if diff := cmp.Diff(tc.want, kindsOf(got)); diff != "" {
				t.Errorf("Chain() (-want +got):\n%s", diff)
			}
		})
	}
}

func TestIsWhole(t *testing.T) {
	app := object("App", "shop", "app")
	set := owned(object("Set", "shop", "set"), app)
	pod := owned(object("Pod", "shop", "pod"), set)
	egg := object("App", "shop", "egg")
	hen := owned(object("App", "shop", "hen"), egg)
	owned(egg, hen)

	for name, tc := range map[string]struct {
		known   holders
		indexed []string
		of      *unstructured.Unstructured
		want    bool
	}{
		"all are known":                    {holdersOf(app, set), []string{"App", "Set", "Pod"}, pod, true},
		"a root":                           {holdersOf(), []string{"App"}, app, true},
		"its parent is missing":            {holdersOf(app), []string{"App", "Set"}, pod, false},
		"its parent's parent is missing":   {holdersOf(set), []string{"App", "Set"}, pod, false},
		"one is missing who has no policy": {holdersOf(set), []string{"Set"}, pod, true},
		"a cycle":                          {holdersOf(egg, hen), []string{"App"}, hen, true},
	} {
		t.Run(name, func(t *testing.T) {
			if got := ancestry.IsWhole(t.Context(), tc.known, indexFor(t, tc.indexed...), tc.of); got != tc.want {
				t.Errorf("IsWhole() = %v, want %v", got, tc.want)
			}
		})
	}
}

func TestParentUID(t *testing.T) {
	app := object("App", "shop", "app")
	set := owned(object("Set", "shop", "set"), app)
	claim := object("Database", "shop", "db")
	composite := object("XDatabase", "", "db-x7")
	composite.Object["spec"] = map[string]any{"claimRef": map[string]any{
		"apiVersion": "example.com/v1", "kind": "Database", "namespace": "shop", "name": "db",
	}}
	for name, tc := range map[string]struct {
		known  holders
		of     *unstructured.Unstructured
		uid    types.UID
		doubts bool
	}{
		"of an owner":                  {known: holdersOf(), of: set, uid: app.GetUID()},
		"of a root":                    {known: holdersOf(), of: app},
		"of a claim":                   {known: holdersOf(claim), of: composite, uid: claim.GetUID()},
		"of a claim that is not known": {known: holdersOf(app), of: composite, doubts: true},
	} {
		t.Run(name, func(t *testing.T) {
			index := indexFor(t, "App", "Set", "Database", "XDatabase")
			uid, known := ancestry.ParentUID(t.Context(), tc.known, index, tc.of)
			if uid != tc.uid || known == tc.doubts {
				t.Errorf("ParentUID() = %q, %t", uid, known)
			}
		})
	}
}

// TestRefs shows which of the owners that an object names are its parents, and where they are found.
func TestRefs(t *testing.T) {
	set, other, free := object("Set", "shop", "set"), object("Set", "shop", "other"), object("Free", "shop", "free")
	fleet := object("Fleet", "", "fleet")
	pod := func() *unstructured.Unstructured { return object("Pod", "shop", "pod") }
	recreated := object("Set", "shop", "set")
	recreated.SetUID("uid-of-another")
	for name, tc := range map[string]struct {
		known holders
		of    *unstructured.Unstructured
		first string
		all   []string
	}{
		"none":                            {known: holdersOf(set), of: pod()},
		"one":                             {known: holdersOf(set), of: owned(pod(), set), first: "Set shop/set", all: []string{"Set shop/set"}},
		"one that is too new to be known": {known: holdersOf(), of: owned(pod(), set), first: "Set shop/set", all: []string{"Set shop/set"}},
		"one after another of its name":   {known: holdersOf(recreated), of: owned(pod(), set), first: "Set shop/set", all: []string{"Set shop/set"}},
		"one by the name of another one":  {known: holdersOf(set, other), of: calling(pod(), set, "Set", "other"), first: "Set shop/set", all: []string{"Set shop/set"}},
		"one by the kind of nobody":       {known: holdersOf(set), of: calling(pod(), set, "Other", "x"), first: "Set shop/set", all: []string{"Set shop/set"}},
		"one outside of namespaces":       {known: holdersOf(fleet), of: calling(pod(), fleet, "Set", "x"), first: "Fleet /fleet", all: []string{"Fleet /fleet"}},
		"of a kind without policies":      {known: holdersOf(free), of: owned(pod(), free), first: "Free shop/free"},
		"of a kind without policies, by the kind of one that has some": {
			known: holdersOf(free), of: calling(pod(), free, "Set", "x"), first: "Set shop/x", all: []string{"Set shop/x"},
		},
		"two, and one of a kind without policies": {
			known: holdersOf(set, other, free), of: also(pod(), free, set, other), first: "Set shop/set", all: []string{"Set shop/set", "Set shop/other"},
		},
		"two of kinds without policies": {known: holdersOf(free), of: also(pod(), free, object("Free", "shop", "second")), first: "Free shop/free"},
	} {
		t.Run(name, func(t *testing.T) {
			index := indexFor(t, "Set", "Fleet")
			text := func(ref lineage.Ref) string { return ref.GVK.Kind + " " + ref.Namespace + "/" + ref.Name }
			var first string
			if ref, ok := ancestry.Ref(t.Context(), tc.known, index, tc.of); ok {
				first = text(ref)
			}
			if first != tc.first {
				t.Errorf("Ref() = %q, want %q", first, tc.first)
			}
			var all []string
			for _, ref := range ancestry.Refs(t.Context(), tc.known, index, tc.of) {
				all = append(all, text(ref))
			}
			if diff := cmp.Diff(tc.all, all); diff != "" {
				t.Errorf("Refs() (-want +got):\n%s", diff)
			}
		})
	}
}

// TestRefOfAGeneratingPolicy shows by which of the triggers that are named the chain goes on: by one that is there.
func TestRefOfAGeneratingPolicy(t *testing.T) {
	gone, there := object("Set", "shop", "gone"), object("Set", "shop", "there")
	for name, tc := range map[string]struct {
		triggers []*unstructured.Unstructured
		want     string
	}{
		"of which the first is gone": {[]*unstructured.Unstructured{gone, there}, "there"},
		"of which the last is gone":  {[]*unstructured.Unstructured{there, gone}, "there"},
		"of which all are gone":      {[]*unstructured.Unstructured{gone, object("Set", "shop", "gone-too")}, "gone"},
	} {
		t.Run(name, func(t *testing.T) {
			made := object("ConfigMap", "shop", "made")
			marks := plan.Marks{Policy: plan.PolicyRef{Name: "generating"}}
			for _, trigger := range tc.triggers {
				marks.Triggers = append(marks.Triggers, generate.IDOf(trigger.Object))
			}
			content, err := plan.Marked(plan.Step{ID: generate.IDOf(made.Object), Content: made.Object, Marks: &marks}, nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			made.Object = content
			ref, ok := ancestry.Ref(t.Context(), holdersOf(there), indexFor(t, "Set"), made)
			if !ok || ref.Name != tc.want {
				t.Errorf("Ref() = %+v, %t, want %s", ref, ok, tc.want)
			}
		})
	}
}

// calling returns an object that knows its owner as another one.
func calling(obj, owner *unstructured.Unstructured, kind, name string) *unstructured.Unstructured {
	obj = obj.DeepCopy()
	obj.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "example.com/v1", Kind: kind, Name: name, UID: owner.GetUID()}})
	return obj
}

// also returns an object with several owners, of which none controls it.
func also(obj *unstructured.Unstructured, owners ...*unstructured.Unstructured) *unstructured.Unstructured {
	var refs []metav1.OwnerReference
	for _, o := range owners {
		refs = append(refs, metav1.OwnerReference{APIVersion: o.GetAPIVersion(), Kind: o.GetKind(), Name: o.GetName(), UID: o.GetUID()})
	}
	obj.SetOwnerReferences(refs)
	return obj
}

func forged(owner *unstructured.Unstructured) *unstructured.Unstructured {
	obj := owned(object("Set", "shop", "set"), owner)
	obj.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "example.com/v1", Kind: "App", Name: owner.GetName()}})
	return obj
}

func broken(owner *unstructured.Unstructured) *unstructured.Unstructured {
	obj := owned(object("Set", "shop", "set"), owner)
	obj.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "a/b/c", Kind: "App", Name: owner.GetName(), UID: owner.GetUID()}})
	return obj
}

func TestChainIsBounded(t *testing.T) {
	known := holders{}
	obj := object("App", "shop", "root")
	for i := range 40 {
		known["App shop/"+obj.GetName()] = obj
		obj = owned(object("App", "shop", fmt.Sprintf("child-%d", i)), obj)
	}
	if got := len(ancestry.Chain(t.Context(), known, labeled{}, indexFor(t, "App"), obj)); got != 16 {
		t.Errorf("Chain() has %d objects, want 16", got)
	}
}

func TestHolder(t *testing.T) {
	namespaces := labeled{"shop": {"env": "prod"}}
	inNamespace := object("App", "shop", "app")
	inNamespace.SetLabels(map[string]string{"app": "cart"})
	namespace := object("Namespace", "", "shop")
	namespace.SetAPIVersion("v1")
	namespace.SetLabels(map[string]string{"env": "prod"})

	for name, tc := range map[string]struct {
		of   *unstructured.Unstructured
		want policy.Holder
	}{
		"an object in a namespace": {inNamespace, policy.Holder{
			Kind:            schema.GroupKind{Group: "example.com", Kind: "App"},
			Labels:          map[string]string{"app": "cart"},
			NamespaceLabels: map[string]string{"env": "prod"},
		}},
		"a cluster-scoped object": {object("App", "", "app"), policy.Holder{
			Kind: schema.GroupKind{Group: "example.com", Kind: "App"},
		}},
		"a namespace has its own labels": {namespace, policy.Holder{
			Kind:            schema.GroupKind{Kind: "Namespace"},
			Labels:          map[string]string{"env": "prod"},
			NamespaceLabels: map[string]string{"env": "prod"},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, ancestry.Holder(t.Context(), namespaces, tc.of)); diff != "" {
				t.Errorf("Holder() (-want +got):\n%s", diff)
			}
		})
	}
}

func TestNamespaceReader(t *testing.T) {
	cached := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "cached", Labels: map[string]string{"seen": "in-cache"}}}
	fresh := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "fresh", Labels: map[string]string{"seen": "live"}}}
	changed := cached.DeepCopy()
	changed.Labels["seen"] = "live"
	away := interceptor.NewClient(fake.NewClientBuilder().Build(), interceptor.Funcs{
		Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
			return errors.New("the API server is away")
		},
	})
	live := fake.NewClientBuilder().WithObjects(fresh, changed).Build()
	for name, tc := range map[string]struct {
		of     string
		live   client.Reader
		behind bool
		want   map[string]string
	}{
		"cached":                           {of: "cached", live: live, want: map[string]string{"seen": "in-cache"}},
		"fresh":                            {of: "fresh", live: live, want: map[string]string{"seen": "live"}},
		"gone":                             {of: "gone", live: live, want: map[string]string{}},
		"behind":                           {of: "cached", live: live, behind: true, want: map[string]string{"seen": "live"}},
		"behind, and nothing can be read":  {of: "cached", live: away, behind: true, want: map[string]string{"seen": "in-cache"}},
		"unknown, and nothing can be read": {of: "gone", live: away, behind: true, want: map[string]string{}},
	} {
		t.Run(name, func(t *testing.T) {
			reader := ancestry.NamespaceReader{
				Cached: fake.NewClientBuilder().WithObjects(cached).Build(), Live: tc.live, Behind: func() bool { return tc.behind },
			}
			if diff := cmp.Diff(tc.want, reader.Labels(t.Context(), tc.of)); diff != "" {
				t.Errorf("Labels(%q) (-want +got):\n%s", tc.of, diff)
			}
		})
	}
}

func BenchmarkChain(b *testing.B) {
	app := object("App", "shop", "app")
	set := owned(object("Set", "shop", "set"), app)
	pod := owned(object("Pod", "shop", "pod"), set)
	known, namespaces, index := holdersOf(app, set), labeled{"shop": {"env": "prod"}}, indexFor(b, "App", "Set", "Pod")
	b.ReportAllocs()
	for b.Loop() {
		ancestry.Chain(b.Context(), known, namespaces, index, pod)
	}
}
