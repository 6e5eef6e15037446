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

package integration

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/objectcache"
	"kausality.io/operator/internal/record"
)

const (
	// comparing bounds a spec of this file.
	comparing = 4 * time.Minute
	// caughtUp bounds the wait for caches whose watches were cut: they try again after up to half a
	// minute.
	caughtUp = 90 * time.Second
)

// Our caches and those of controller-runtime, which use client-go's informers, watch the same API server
// and get the same queries.
var _ = Describe("What is cached compressed", func() {
	It("is what controller-runtime's own cache has of records, whatever becomes of them", func(ctx SpecContext) {
		l := newLine(ctx)
		cfg, opts := throughLine(l)
		opts.DefaultTransform = cache.TransformStripManagedFields()
		ours, err := record.NewCache(cfg, opts, nil, nil)
		Expect(err).NotTo(HaveOccurred())
		theirs, err := cache.New(cfg, opts)
		Expect(err).NotTo(HaveOccurred())
		told := map[cache.Cache]*story{}
		for _, c := range []cache.Cache{ours, theirs} {
			for field, extract := range recordIndices {
				Expect(c.IndexField(ctx, &v1alpha1.AllowanceRecord{}, field, extract)).To(Succeed())
			}
			informer, err := c.GetInformer(ctx, &v1alpha1.AllowanceRecord{}, cache.BlockUntilSynced(false))
			Expect(err).NotTo(HaveOccurred())
			told[c] = &story{}
			_, err = informer.AddEventHandler(told[c])
			Expect(err).NotTo(HaveOccurred())
			run(ctx, c)
			Expect(c.WaitForCacheSync(ctx)).To(BeTrue())
		}

		w := newWriter(ctx, func(namespace, name string) client.Object {
			rec := &v1alpha1.AllowanceRecord{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
			rec.Spec.TargetRef = v1alpha1.TargetReference{Version: "v1", Kind: "ConfigMap", Name: name, UID: "of-" + rec.UID}
			return rec
		})
		for range 5 {
			w.write(ctx, 40)
			sameAnswers(ctx, ours, theirs, w)
		}
		sameStories(ctx, told[ours], told[theirs])

		By("catching up with what happened while nobody was told")
		for range 2 {
			l.cut()
			w.write(ctx, 40)
			l.mend(ctx)
			sameAnswers(ctx, ours, theirs, w)
		}
		sameStories(ctx, told[ours], told[theirs])
	}, SpecTimeout(comparing))

	It("is what controller-runtime's own cache has of holders, whatever becomes of them", func(ctx SpecContext) {
		kind := corev1.SchemeGroupVersion.WithKind("ConfigMap")
		l := newLine(ctx)
		cfg, opts := throughLine(l)
		opts.DefaultTransform = stripped
		ours, err := objectcache.New(cfg, opts.HTTPClient, opts.Mapper)
		Expect(err).NotTo(HaveOccurred())
		theirs, err := cache.New(cfg, opts)
		Expect(err).NotTo(HaveOccurred())
		run(ctx, ours)
		run(ctx, theirs)
		Expect(ours.Watch(ctx, []schema.GroupVersionKind{kind})).To(Succeed())

		w := newWriter(ctx, func(namespace, name string) client.Object {
			return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Data: map[string]string{"is": name}}
		})
		for round := range 7 {
			// The last ones happen while nobody is told.
			away := round > 4
			if away {
				l.cut()
			}
			w.write(ctx, 40)
			if away {
				l.mend(ctx)
			}
			sameHolders(ctx, ours, theirs, w, kind)
		}
	}, SpecTimeout(comparing))

	It("is refused where only some of the records are to be cached, which it could not keep to", func() {
		for name, restrict := range map[string]func(*cache.Options){
			"namespaces": func(o *cache.Options) { o.DefaultNamespaces = map[string]cache.Config{"some": {}} },
			"labels":     func(o *cache.Options) { o.DefaultLabelSelector = labels.SelectorFromSet(labels.Set{"some": "label"}) },
			"fields":     func(o *cache.Options) { o.DefaultFieldSelector = fields.OneTermEqualSelector("metadata.name", "some") },
			"by kind": func(o *cache.Options) {
				o.ByObject = map[client.Object]cache.ByObject{&v1alpha1.AllowanceRecord{}: {Namespaces: map[string]cache.Config{"some": {}}}}
			},
		} {
			opts := cacheOptions(config)
			restrict(&opts)
			_, err := record.NewCache(config, opts, nil, nil)
			Expect(err).To(MatchError(ContainSubstring("AllowanceRecord")), name)
		}
	})
})

// throughLine returns what makes a cache that reaches the API server by a line.
func throughLine(l *line) (*rest.Config, cache.Options) {
	GinkgoHelper()
	cfg := rest.CopyConfig(config)
	cfg.Host = "https://" + l.address
	return cfg, cacheOptions(cfg)
}

func cacheOptions(cfg *rest.Config) cache.Options {
	GinkgoHelper()
	httpClient, err := rest.HTTPClientFor(cfg)
	Expect(err).NotTo(HaveOccurred())
	return cache.Options{Scheme: scheme, Mapper: k8s.RESTMapper(), HTTPClient: httpClient}
}

// stripped drops what the cache of holders does not keep.
func stripped(in any) (any, error) {
	if obj, ok := in.(client.Object); ok {
		obj.SetManagedFields(nil)
		annotations := obj.GetAnnotations()
		delete(annotations, corev1.LastAppliedConfigAnnotation)
		obj.SetAnnotations(annotations)
	}
	return in, nil
}

// recordIndices are two fields by which records are looked up.
var recordIndices = map[string]client.IndexerFunc{
	"target": func(obj client.Object) []string {
		if rec, ok := obj.(*v1alpha1.AllowanceRecord); ok {
			return []string{rec.Spec.TargetRef.Name}
		}
		return nil
	},
	"colors": func(obj client.Object) []string {
		return slices.DeleteFunc([]string{obj.GetLabels()["color"], obj.GetAnnotations()["color"]}, func(c string) bool { return c == "" })
	},
}

// queries are what is asked about records.
func queries(w *writer) map[string][]client.ListOption {
	selecting := func(text string) client.ListOption {
		selector, err := labels.Parse(text)
		Expect(err).NotTo(HaveOccurred())
		return client.MatchingLabelsSelector{Selector: selector}
	}
	in := client.InNamespace(w.namespaces[0])
	return map[string][]client.ListOption{
		"all":                      nil,
		"of a namespace":           {in},
		"of no namespace":          {client.InNamespace("nowhere")},
		"with a label":             {client.MatchingLabels{"color": "red"}},
		"without a label":          {selecting("!color")},
		"of some labels":           {selecting("color in (red, blue), shape notin (round)")},
		"by a field":               {client.MatchingFields{"target": "name-1"}},
		"by two fields":            {client.MatchingFields{"target": "name-1", "colors": "red"}},
		"by one of several values": {client.MatchingFields{"colors": "blue"}},
		"by all at once":           {in, client.MatchingFields{"colors": "red"}, selecting("shape")},
		"by a value of nobody":     {client.MatchingFields{"target": "nobody"}},
		"by no field of ours":      {client.MatchingFields{"unknown": "red"}},
		"by what a field is not":   {client.MatchingFieldsSelector{Selector: fields.OneTermNotEqualSelector("target", "name-1")}},
		"three":                    {client.Limit(3)},
	}
}

// shapes are the Go types that records can be listed as. Each has a watch of its own.
var shapes = map[string]func() client.ObjectList{
	"typed": func() client.ObjectList { return &v1alpha1.AllowanceRecordList{} },
	"unstructured": func() client.ObjectList {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(listOf(v1alpha1.GroupVersion.WithKind("AllowanceRecord")))
		return list
	},
	"metadata": func() client.ObjectList {
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(listOf(v1alpha1.GroupVersion.WithKind("AllowanceRecord")))
		return list
	},
}

// sameAnswers waits until both have what the API server has, and compares what they say.
func sameAnswers(ctx context.Context, ours, theirs cache.Cache, w *writer) {
	GinkgoHelper()
	Eventually(ctx, func(g Gomega) {
		live := &v1alpha1.AllowanceRecordList{}
		g.Expect(k8s.List(ctx, live)).To(Succeed())
		for shape, list := range shapes {
			for _, c := range []cache.Cache{ours, theirs} {
				cached := list()
				g.Expect(c.List(ctx, cached)).To(Succeed())
				g.Expect(versionsOf(g, cached)).To(Equal(versionsOf(g, live)), shape)
			}
		}
	}).WithTimeout(caughtUp).Should(Succeed())
	for name, options := range queries(w) {
		for shape, list := range shapes {
			if shape != "typed" && hasFields(options) {
				continue // Only typed records are indexed.
			}
			mine, others := list(), list()
			err, theirErr := ours.List(ctx, mine, options...), theirs.List(ctx, others, options...)
			Expect(err == nil).To(Equal(theirErr == nil), "%s, %s: %v, and theirs %v", name, shape, err, theirErr)
			if name == "three" { // Which ones is nobody's promise.
				Expect(apimeta.LenList(mine)).To(Equal(apimeta.LenList(others)), name)
				continue
			}
			Expect(sorted(mine)).To(BeComparableTo(sorted(others)), "%s, %s", name, shape)
		}
	}
	for _, key := range w.keys() {
		mine, others := &v1alpha1.AllowanceRecord{}, &v1alpha1.AllowanceRecord{}
		err, theirErr := ours.Get(ctx, key, mine), theirs.Get(ctx, key, others)
		Expect(apierrors.IsNotFound(err)).To(Equal(apierrors.IsNotFound(theirErr)), "%s: %v, and theirs %v", key, err, theirErr)
		Expect(mine).To(BeComparableTo(others))
	}
}

// sameHolders is sameAnswers of the cache of holders.
func sameHolders(ctx context.Context, ours *objectcache.Cache, theirs cache.Cache, w *writer, kind schema.GroupVersionKind) {
	GinkgoHelper()
	Eventually(ctx, func(g Gomega) {
		live, others := &corev1.ConfigMapList{}, &unstructured.UnstructuredList{}
		others.SetGroupVersionKind(listOf(kind))
		g.Expect(k8s.List(ctx, live)).To(Succeed())
		g.Expect(theirs.List(ctx, others)).To(Succeed())
		mine := &unstructured.UnstructuredList{}
		for obj, err := range ours.List(ctx, kind) {
			g.Expect(err).NotTo(HaveOccurred())
			mine.Items = append(mine.Items, *obj.DeepCopy())
		}
		g.Expect(versionsOf(g, mine)).To(Equal(versionsOf(g, live)))
		g.Expect(sorted(mine)).To(BeComparableTo(sorted(others)))
	}).WithTimeout(caughtUp).Should(Succeed())
	for _, key := range w.keys() {
		others := &unstructured.Unstructured{}
		others.SetGroupVersionKind(kind)
		mine, err := ours.Get(ctx, kind, key)
		theirErr := theirs.Get(ctx, key, others)
		Expect(apierrors.IsNotFound(err)).To(Equal(apierrors.IsNotFound(theirErr)), "%s: %v, and theirs %v", key, err, theirErr)
		Expect(ours.Has(kind, key)).To(Equal(theirErr == nil))
		if theirErr == nil {
			Expect(mine).To(BeComparableTo(others))
			Expect(ours.ByUID(ctx, others.GetUID())).To(BeComparableTo(others))
		}
	}
	for _, gone := range w.gone {
		_, err := ours.ByUID(ctx, gone.GetUID())
		Expect(apierrors.IsNotFound(err)).To(BeTrue(), "%s, which is gone: %v", client.ObjectKeyFromObject(gone), err)
	}
	for _, namespace := range w.namespaces {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(listOf(kind))
		Expect(theirs.List(ctx, list, client.InNamespace(namespace))).To(Succeed())
		var names []string
		for i := range list.Items {
			names = append(names, list.Items[i].GetName())
		}
		Expect(slices.Collect(ours.Names(kind, namespace))).To(ConsistOf(names))
	}
}

func listOf(kind schema.GroupVersionKind) schema.GroupVersionKind {
	return kind.GroupVersion().WithKind(kind.Kind + "List")
}

func hasFields(options []client.ListOption) bool {
	return (&client.ListOptions{}).ApplyOptions(options).FieldSelector != nil
}

// sorted returns the objects of a list by their names.
func sorted(list client.ObjectList) []runtime.Object {
	GinkgoHelper()
	items, err := apimeta.ExtractList(list)
	Expect(err).NotTo(HaveOccurred())
	slices.SortFunc(items, func(a, b runtime.Object) int { return cmp.Compare(keyOf(a).String(), keyOf(b).String()) })
	return items
}

func keyOf(obj runtime.Object) client.ObjectKey {
	accessor, err := apimeta.Accessor(obj)
	Expect(err).NotTo(HaveOccurred())
	return client.ObjectKey{Namespace: accessor.GetNamespace(), Name: accessor.GetName()}
}

// versionsOf returns the versions of the objects of a list.
func versionsOf(g Gomega, list client.ObjectList) map[client.ObjectKey]string {
	items, err := apimeta.ExtractList(list)
	g.Expect(err).NotTo(HaveOccurred())
	out := map[client.ObjectKey]string{}
	for _, item := range items {
		accessor, err := apimeta.Accessor(item)
		g.Expect(err).NotTo(HaveOccurred())
		out[keyOf(item)] = accessor.GetResourceVersion()
	}
	return out
}

// writer creates, changes and deletes objects of one kind, at random and the same each time.
type writer struct {
	random     *rand.Rand
	namespaces []string
	made       func(namespace, name string) client.Object
	// there maps keys to the objects that exist; gone holds those that were deleted.
	there map[client.ObjectKey]client.Object
	gone  []client.Object
}

func newWriter(ctx context.Context, made func(namespace, name string) client.Object) *writer {
	GinkgoHelper()
	w := &writer{
		random: rand.New(rand.NewPCG(1, 2)), namespaces: []string{newNamespace(ctx), newNamespace(ctx), newNamespace(ctx)},
		made: made, there: map[client.ObjectKey]client.Object{},
	}
	DeferCleanup(func(ctx context.Context) {
		for _, obj := range w.there {
			Expect(k8s.Delete(ctx, obj)).To(Succeed())
		}
	})
	return w
}

// namesOfEach is how many names there are in a namespace.
const namesOfEach = 6

func (w *writer) keys() []client.ObjectKey {
	var out []client.ObjectKey
	for _, namespace := range w.namespaces {
		for i := range namesOfEach {
			out = append(out, client.ObjectKey{Namespace: namespace, Name: fmt.Sprintf("name-%d", i)})
		}
	}
	return out
}

// write writes n times.
func (w *writer) write(ctx context.Context, n int) {
	GinkgoHelper()
	keys := w.keys()
	for range n {
		key := keys[w.random.IntN(len(keys))]
		obj, exists := w.there[key]
		switch {
		case !exists:
			obj = w.made(key.Namespace, key.Name)
			w.label(obj)
			Expect(k8s.Create(ctx, obj)).To(Succeed())
			w.there[key] = obj
		case w.random.IntN(4) == 0:
			Expect(k8s.Delete(ctx, obj)).To(Succeed())
			delete(w.there, key)
			w.gone = append(w.gone, obj)
		default:
			w.label(obj)
			Expect(k8s.Update(ctx, obj)).To(Succeed())
		}
	}
}

// label gives an object labels and annotations.
func (w *writer) label(obj client.Object) {
	colors, shapes := []string{"", "red", "blue", `"{é\`}, []string{"", "round", "square"}
	set := map[string]string{}
	if color := colors[w.random.IntN(3)]; color != "" {
		set["color"] = color
	}
	if shape := shapes[w.random.IntN(3)]; shape != "" {
		set["shape"] = shape
	}
	obj.SetLabels(set)
	obj.SetAnnotations(map[string]string{
		"color": colors[w.random.IntN(4)], "n": strconv.FormatUint(w.random.Uint64(), 10), corev1.LastAppliedConfigAnnotation: "{}",
	})
}

// sameStories waits until two handlers were called for the same events of each object.
func sameStories(ctx context.Context, ours, theirs *story) {
	GinkgoHelper()
	Eventually(ctx, func(g Gomega) {
		g.Expect(theirs.all()).NotTo(BeEmpty())
		g.Expect(ours.all()).To(Equal(theirs.all()))
	}).Should(Succeed())
}

// story records the events of each object that a handler was called for.
type story struct {
	mu     sync.Mutex
	events map[client.ObjectKey][]string
}

func (s *story) add(what string, obj any) {
	defer GinkgoRecover()
	if gone, ok := obj.(toolscache.DeletedFinalStateUnknown); ok {
		obj = gone.Obj
	}
	of, ok := obj.(client.Object)
	Expect(ok).To(BeTrue(), "%T", obj)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.events == nil {
		s.events = map[client.ObjectKey][]string{}
	}
	key := client.ObjectKeyFromObject(of)
	if what != "delete" { // At which version it was deleted, only some events tell.
		what += " " + of.GetResourceVersion()
	}
	s.events[key] = append(s.events[key], what)
}

// OnAdd implements toolscache.ResourceEventHandler.
func (s *story) OnAdd(obj any, _ bool) { s.add("add", obj) }

// OnUpdate implements toolscache.ResourceEventHandler.
func (s *story) OnUpdate(before, after any) {
	defer GinkgoRecover()
	old, ok := before.(client.Object)
	Expect(ok).To(BeTrue(), "%T", before)
	s.add("update from "+old.GetResourceVersion()+" to", after)
}

// OnDelete implements toolscache.ResourceEventHandler.
func (s *story) OnDelete(obj any) { s.add("delete", obj) }

// all returns a copy of the events, by objects.
func (s *story) all() map[client.ObjectKey][]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := map[client.ObjectKey][]string{}
	for key, events := range s.events {
		out[key] = slices.Clone(events)
	}
	return out
}
