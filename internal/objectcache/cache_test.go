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

package objectcache

import (
	"context"
	"fmt"
	"net/http"
	"runtime"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"

	"kausality.io/operator/test/streams"
)

var things = schema.GroupVersionKind{Group: "example.org", Version: "v1", Kind: "Thing"}

// thing returns an object of some 2 KiB.
func thing(i int) map[string]any {
	var items []any
	for j := range 32 {
		items = append(items, map[string]any{"name": fmt.Sprintf("item-%06d", j), "value": fmt.Sprintf("value %d of thing %d", j, i)})
	}
	return map[string]any{
		"apiVersion": "example.org/v1", "kind": "Thing",
		"metadata": map[string]any{
			"namespace": "shop", "name": fmt.Sprint("thing-", i), "uid": fmt.Sprintf("0b5a9bfc-5f5b-4c1f-8dd3-%012d", i),
			"resourceVersion": strconv.Itoa(i + 1), "generation": int64(1),
			"creationTimestamp": fmt.Sprintf("2026-01-02T03:%02d:%02dZ", i/60%60, i%60),
			"annotations":       map[string]any{"kausality.io/allowances": "[]"},
		},
		"spec": map[string]any{"items": items},
	}
}

// watching returns a cache of things that an API server streams, and which reads them as it
// is told they are scoped.
func watching(tb testing.TB, count int, scope apimeta.RESTScope) *Cache {
	tb.Helper()
	server := &streams.Server{
		Count: count, Object: func(i int) any { return thing(i) },
		Bookmark: map[string]any{"apiVersion": "example.org/v1", "kind": "Thing"},
	}
	mapper := apimeta.NewDefaultRESTMapper(nil)
	mapper.Add(things, scope)
	c, err := New(server.Start(tb), http.DefaultClient, mapper)
	if err != nil {
		tb.Fatal(err)
	}
	ctx, cancel := context.WithCancel(tb.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := c.Start(ctx); err != nil {
			tb.Error(err)
		}
	}()
	tb.Cleanup(func() {
		cancel()
		<-ended
	})
	if err := c.Watch(tb.Context(), []schema.GroupVersionKind{things}); err != nil {
		tb.Fatal(err)
	}
	return c
}

func TestReads(t *testing.T) {
	c := watching(t, 3, apimeta.RESTScopeNamespace)
	unknown := schema.GroupVersionKind{Group: "example.org", Version: "v1", Kind: "Other"}

	key := types.NamespacedName{Namespace: "shop", Name: "thing-1"}
	got, err := c.Get(t.Context(), things, key)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(&unstructured.Unstructured{Object: thing(1)}, got); diff != "" {
		t.Errorf("Get() (-want +got):\n%s", diff)
	}
	for gvk, key := range map[schema.GroupVersionKind]types.NamespacedName{
		things:  {Namespace: "shop", Name: "none"},
		unknown: key,
	} {
		if _, err := c.Get(t.Context(), gvk, key); !apierrors.IsNotFound(err) {
			t.Errorf("Get() of %s %s = %v, want that it is not found", gvk.Kind, key, err)
		}
	}

	since := time.Date(2026, time.January, 2, 3, 0, 1, 0, time.UTC)
	var young []string
	for obj, err := range c.CreatedSince(t.Context(), things, since) {
		if err != nil {
			t.Fatal(err)
		}
		young = append(young, obj.GetName())
	}
	slices.Sort(young)
	if diff := cmp.Diff([]string{"thing-1", "thing-2"}, young); diff != "" {
		t.Errorf("CreatedSince() (-want +got):\n%s", diff)
	}

	names := map[string]bool{}
	for obj, err := range c.List(t.Context(), things) {
		if err != nil {
			t.Fatal(err)
		}
		names[obj.GetName()] = true
	}
	if diff := cmp.Diff(map[string]bool{"thing-0": true, "thing-1": true, "thing-2": true}, names); diff != "" {
		t.Errorf("List() (-want +got):\n%s", diff)
	}
	for req := range c.Requests(things) {
		key := req.Key()
		if key.Namespace != "shop" || !names[key.Name] {
			t.Errorf("Requests() has %s", key)
		}
		delete(names, key.Name)
	}
	if len(names) > 0 {
		t.Errorf("Requests() lacks %v", names)
	}
	for req := range c.Requests(unknown) {
		t.Errorf("Requests() of what is not watched has %s", req)
	}
}

// TestReadsOfClusterScoped shows that a namespace does not matter where objects have none:
// an owner reference does not tell.
func TestReadsOfClusterScoped(t *testing.T) {
	c := watching(t, 0, apimeta.RESTScopeRoot)
	c.kindOf(t).objects.Add(pack(t, map[string]any{"metadata": map[string]any{"name": "thing"}})) //nolint:errcheck // It cannot fail.
	for _, namespace := range []string{"", "shop"} {
		if got, err := c.Get(t.Context(), things, types.NamespacedName{Namespace: namespace, Name: "thing"}); err != nil || got.GetName() != "thing" {
			t.Errorf("Get() in namespace %q = %v, %v", namespace, got, err)
		}
	}
}

func (c *Cache) kindOf(t *testing.T) watched {
	t.Helper()
	w, ok := (*c.kinds.Load())[things.GroupKind()]
	if !ok || !toolscache.IsDone(w.synced) {
		t.Fatal("the kind is not watched")
	}
	return w
}

func pack(t *testing.T, content map[string]any) any {
	t.Helper()
	packed, err := new(packing).transform(&unstructured.Unstructured{Object: content})
	if err != nil {
		t.Fatal(err)
	}
	return packed
}

// TestHoldersAreSmall bounds the memory that a holder of 2 KiB takes in the cache.
func TestHoldersAreSmall(t *testing.T) {
	const count, limit = 3_000, 1024
	before := heap()
	c := watching(t, count, apimeta.RESTScopeNamespace)
	took := (heap() - before) / count
	t.Logf("a holder takes %d bytes", took)
	if took > limit {
		t.Errorf("a holder takes %d bytes, want at most %d", took, limit)
	}
	if !c.Watches(things.GroupKind()) {
		t.Error("the holders are not watched")
	}
}

// heap returns how much is allocated that is in use.
func heap() int64 {
	var stats runtime.MemStats
	runtime.GC()
	runtime.GC() // What the first has made free is free after the second.
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}

// BenchmarkGet measures what a read of the webhook costs: of a holder that was read a moment
// ago, and of one that was not.
func BenchmarkGet(b *testing.B) {
	c := watching(b, 10_000, apimeta.RESTScopeNamespace)
	for name, keys := range map[string]int{"again": 1, "another": 10_000} {
		b.Run(name, func(b *testing.B) {
			for i := 0; b.Loop(); i++ {
				key := types.NamespacedName{Namespace: "shop", Name: fmt.Sprint("thing-", i%keys)}
				if _, err := c.Get(b.Context(), things, key); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
