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

package compressed_test

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/objectcache/compressed"
	"kausality.io/operator/test/streams"
)

type recordCache = compressed.Cache[v1alpha1.AllowanceRecord, *v1alpha1.AllowanceRecord, *v1alpha1.AllowanceRecordList]

// record returns the i-th of those that are streamed: half of them about web, the others about
// objects of their own.
func record(i int) *v1alpha1.AllowanceRecord {
	target := "web"
	if i%2 == 1 {
		target = fmt.Sprint("web-", i)
	}
	return &v1alpha1.AllowanceRecord{
		TypeMeta: metav1.TypeMeta{APIVersion: "kausality.io/v1alpha1", Kind: "AllowanceRecord"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "shop", Name: fmt.Sprint("record-", i), ResourceVersion: strconv.Itoa(i + 1), UID: types.UID(fmt.Sprint("uid-", i)),
			Labels:        map[string]string{"even": strconv.FormatBool(i%2 == 0)},
			ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "kausality", Operation: metav1.ManagedFieldsOperationUpdate}},
		},
		Spec: v1alpha1.AllowanceRecordSpec{TargetRef: v1alpha1.TargetReference{Kind: "Deployment", Namespace: "shop", Name: target}},
	}
}

// cached returns what a reader gets of it.
func cached(i int) v1alpha1.AllowanceRecord {
	rec := record(i)
	rec.ManagedFields = nil
	return *rec
}

// startCache starts a cache of records that are indexed by the name of their target.
func startCache(tb testing.TB, server *streams.Server) *recordCache {
	tb.Helper()
	server.Bookmark = map[string]any{"apiVersion": "kausality.io/v1alpha1", "kind": "AllowanceRecord"}
	scheme := apiruntime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		tb.Fatal(err)
	}
	mapper := apimeta.NewDefaultRESTMapper(nil)
	mapper.Add(v1alpha1.GroupVersion.WithKind("AllowanceRecord"), apimeta.RESTScopeNamespace)
	c, err := compressed.NewCache[v1alpha1.AllowanceRecord, *v1alpha1.AllowanceRecord, *v1alpha1.AllowanceRecordList](
		server.Start(tb), cache.Options{Scheme: scheme, Mapper: mapper}, func(rec *v1alpha1.AllowanceRecord) any { return rec.Spec.TargetRef.Name }, nil)
	if err != nil {
		tb.Fatal(err)
	}
	err = c.IndexField(tb.Context(), &v1alpha1.AllowanceRecord{}, "target", func(obj client.Object) []string {
		if rec, ok := obj.(*v1alpha1.AllowanceRecord); ok {
			return []string{rec.Spec.TargetRef.Name}
		}
		return nil
	})
	if err != nil {
		tb.Fatal(err)
	}
	if err := c.Get(tb.Context(), client.ObjectKey{Name: "any"}, &v1alpha1.AllowanceRecord{}); err == nil || apierrors.IsNotFound(err) {
		tb.Errorf("a cache that has not started says %v of what it cannot know", err)
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
	if !c.WaitForCacheSync(tb.Context()) {
		tb.Fatal("the cache does not sync")
	}
	return c
}

// TestCacheNotes shows that events have what was noted, with nothing unpacked.
func TestCacheNotes(t *testing.T) {
	server := &streams.Server{Count: 2, Object: func(i int) any { return record(i) }}
	c := startCache(t, server)
	informer, err := c.PackedInformer(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	notes := make(chan any, 8)
	tell := func(obj any) {
		if packed, ok := obj.(interface{ Note() any }); ok {
			notes <- packed.Note()
		}
	}
	_, err = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc: tell, UpdateFunc: func(_, obj any) { tell(obj) }, DeleteFunc: tell,
	})
	if err != nil {
		t.Fatal(err)
	}
	got := map[any]bool{<-notes: true, <-notes: true}
	if diff := cmp.Diff(map[any]bool{"web": true, "web-1": true}, got); diff != "" {
		t.Errorf("notes (-want +got):\n%s", diff)
	}
	server.Send(t, watch.Modified, record(1))
	if note := <-notes; note != "web-1" {
		t.Errorf("the note of a change is %v", note)
	}
	server.Send(t, watch.Deleted, record(0))
	if note := <-notes; note != "web" {
		t.Errorf("the note of a deletion is %v", note)
	}
}

func TestCacheReads(t *testing.T) {
	c := startCache(t, &streams.Server{Count: 6, Object: func(i int) any { return record(i) }})

	var got v1alpha1.AllowanceRecord
	if err := c.Get(t.Context(), client.ObjectKey{Namespace: "shop", Name: "record-3"}, &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(cached(3), got); diff != "" {
		t.Errorf("Get() (-want +got):\n%s", diff)
	}
	got.Labels["even"] = "changed by whoever read it"
	if err := c.Get(t.Context(), client.ObjectKey{Namespace: "shop", Name: "record-3"}, &got); err != nil || got.Labels["even"] != "false" {
		t.Errorf("Get() = %v, %v: a reader has changed the cache", got.Labels, err)
	}
	if err := c.Get(t.Context(), client.ObjectKey{Namespace: "shop", Name: "none"}, &got); !apierrors.IsNotFound(err) {
		t.Errorf("Get() of what is not there = %v", err)
	}

	for name, tc := range map[string]struct {
		opts []client.ListOption
		want []int
	}{
		"all":                      {want: []int{0, 1, 2, 3, 4, 5}},
		"of a namespace":           {opts: []client.ListOption{client.InNamespace("shop")}, want: []int{0, 1, 2, 3, 4, 5}},
		"of another namespace":     {opts: []client.ListOption{client.InNamespace("other")}},
		"by field":                 {opts: []client.ListOption{client.MatchingFields{"target": "web"}}, want: []int{0, 2, 4}},
		"by field, one":            {opts: []client.ListOption{client.MatchingFields{"target": "web-3"}}, want: []int{3}},
		"by field, none":           {opts: []client.ListOption{client.MatchingFields{"target": "other"}}},
		"by label":                 {opts: []client.ListOption{client.MatchingLabels{"even": "true"}}, want: []int{0, 2, 4}},
		"by field and other label": {opts: []client.ListOption{client.MatchingFields{"target": "web"}, client.MatchingLabels{"even": "false"}}},
	} {
		t.Run(name, func(t *testing.T) {
			var list v1alpha1.AllowanceRecordList
			if err := c.List(t.Context(), &list, tc.opts...); err != nil {
				t.Fatal(err)
			}
			var want []v1alpha1.AllowanceRecord
			for _, i := range tc.want {
				want = append(want, cached(i))
			}
			slices.SortFunc(list.Items, func(a, b v1alpha1.AllowanceRecord) int { return strings.Compare(a.Name, b.Name) })
			if diff := cmp.Diff(want, list.Items, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("List() (-want +got):\n%s", diff)
			}
		})
	}
	var limited v1alpha1.AllowanceRecordList
	if err := c.List(t.Context(), &limited, client.Limit(2)); err != nil || len(limited.Items) != 2 {
		t.Errorf("List() of two at most = %d, %v", len(limited.Items), err)
	}
	if err := c.List(t.Context(), &limited, client.MatchingFields{"unknown": "x"}); err == nil {
		t.Error("List() by what nothing is indexed by does not fail")
	}
}

// TestCacheEvents shows that handlers get the objects themselves, and the cache what
// happens to them.
func TestCacheEvents(t *testing.T) {
	server := &streams.Server{Count: 1, Object: func(i int) any { return record(i) }}
	c := startCache(t, server)
	informer, err := c.GetInformer(t.Context(), &v1alpha1.AllowanceRecord{})
	if err != nil {
		t.Fatal(err)
	}
	events := make(chan string, 8)
	tell := func(event string, obj any) {
		rec, ok := obj.(*v1alpha1.AllowanceRecord)
		if !ok {
			t.Errorf("%s of a %T", event, obj)
			return
		}
		events <- event + " " + rec.Name + " " + rec.Spec.TargetRef.Name
	}
	_, err = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc:    func(obj any) { tell("add", obj) },
		UpdateFunc: func(_, obj any) { tell("update", obj) },
		DeleteFunc: func(obj any) { tell("delete", obj) },
	})
	if err != nil {
		t.Fatal(err)
	}
	changed := record(1)
	changed.Spec.TargetRef.Name, changed.ResourceVersion = "other", "100"
	server.Send(t, watch.Added, record(1))
	server.Send(t, watch.Modified, changed)
	server.Send(t, watch.Deleted, changed)
	for _, want := range []string{"add record-0 web", "add record-1 web-1", "update record-1 other", "delete record-1 other"} {
		select {
		case got := <-events:
			if got != want {
				t.Errorf("event %q, want %q", got, want)
			}
		case <-time.After(10 * time.Second):
			t.Fatalf("no event %q", want)
		}
	}
	var list v1alpha1.AllowanceRecordList
	if err := c.List(t.Context(), &list, client.MatchingFields{"target": "other"}); err != nil || len(list.Items) != 0 {
		t.Errorf("List() of what was deleted = %v, %v", list.Items, err)
	}
}

// TestCacheIsSmall bounds the memory that a record takes in the cache, its names and
// indices included.
func TestCacheIsSmall(t *testing.T) {
	const count, limit = 3_000, 1024
	history := make([]v1alpha1.HistoryEntry, 4)
	for i := range history {
		history[i] = v1alpha1.HistoryEntry{Event: "Granted", User: "alice", Initiator: "alice", Message: "Deployment spec.replicas", Policies: []string{"deployments"}}
	}
	before := heap()
	c := startCache(t, &streams.Server{Count: count, Object: func(i int) any {
		rec := record(i)
		rec.Status.History = history
		return rec
	}})
	if took := (heap() - before) / count; took > limit {
		t.Errorf("a record takes %d bytes, want at most %d", took, limit)
	} else {
		t.Logf("a record takes %d bytes", took)
	}
	n := 0
	for rec, err := range c.All(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if len(rec.Status.History) == len(history) {
			n++
		}
	}
	if n != count {
		t.Errorf("All() goes through %d records, want %d", n, count)
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
