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

package compressed

import (
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"pgregory.net/rapid"
)

func newUnstructuredPacker() *Packer[unstructured.Unstructured] {
	return NewPacker(func(obj *unstructured.Unstructured) any { return &obj.Object })
}

func object(name string, spec any) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "example.org/v1", "kind": "Thing",
		"metadata": map[string]any{"namespace": "shop", "name": name, "resourceVersion": "7"},
		"spec":     spec,
	}}
}

// forget what was unpacked of an object.
func forget(o *Object[unstructured.Unstructured]) { clear(o.packer.recent.unpacked) }

// TestRoundTrip shows that what was packed is unpacked as it was, whatever served as
// the dictionary.
func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		packer := newUnstructuredPacker()
		specs := rapid.SliceOfN(rapid.MapOf(rapid.String(), rapid.OneOf(
			rapid.Map(rapid.String(), func(s string) any { return s }),
			rapid.Map(rapid.Int64(), func(n int64) any { return n }),
			rapid.Map(rapid.Bool(), func(b bool) any { return b }),
			rapid.Map(rapid.IntRange(0, 4096), func(n int) any { return strings.Repeat("long ", n) }),
		)), 1, 5).Draw(t, "specs")
		for i, spec := range specs {
			obj := object(fmt.Sprint("thing-", i), spec)
			packed, err := packer.Pack(obj.DeepCopy(), obj)
			if err != nil {
				t.Fatal(err)
			}
			forget(packed)
			got, err := packed.Unpack()
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(obj, got); diff != "" {
				t.Fatalf("Unpack() (-want +got):\n%s", diff)
			}
		}
	})
}

// TestAlikeObjectsAreSmall shows what the dictionary is for.
func TestAlikeObjectsAreSmall(t *testing.T) {
	packer := newUnstructuredPacker()
	for i := range 10 {
		text := strings.Repeat("abcdefghijklmnopqrstuvwxyz0123456789", 50)
		obj := object(fmt.Sprint("thing-", i), map[string]any{"text": text[i:]})
		packed, err := packer.Pack(obj, obj)
		if err != nil {
			t.Fatal(err)
		}
		if i > 0 && len(packed.text) > len(text)/10 {
			t.Errorf("object %d takes %d bytes of %d", i, len(packed.text), len(text))
		}
	}
}

// TestUnpackIsShared shows that an object is unpacked once while somebody uses it, and
// not kept after that.
func TestUnpackIsShared(t *testing.T) {
	obj := object("thing", nil)
	packed, err := newUnstructuredPacker().Pack(obj.DeepCopy(), obj)
	if err != nil {
		t.Fatal(err)
	}
	first, err := packed.Unpack()
	if err != nil {
		t.Fatal(err)
	}
	runtime.GC()
	if second, err := packed.Unpack(); err != nil || second != first {
		t.Errorf("Unpack() = %p, %v, want what the first one returned, %p", second, err, first)
	}
	runtime.KeepAlive(first) // and not any longer
	runtime.GC()
	if kept := packed.packer.recent.get(packed); kept != nil {
		t.Errorf("an object that nobody uses is kept: %v", kept)
	}
}

// TestFewAreRecent bounds what is remembered of objects that were unpacked, used or not.
func TestFewAreRecent(t *testing.T) {
	packer := newUnstructuredPacker()
	var used []*unstructured.Unstructured
	for i := range 2*recentObjects + 1 {
		obj := object(fmt.Sprint("thing-", i), nil)
		packed, err := packer.Pack(obj, obj)
		if err != nil {
			t.Fatal(err)
		}
		used = append(used, obj)
		if got, err := packed.Unpack(); err != nil || got != obj {
			t.Fatalf("Unpack() = %p, %v, want %p, which was packed last", got, err, obj)
		}
		if n := len(packer.recent.unpacked); n > recentObjects {
			t.Fatalf("%d objects are remembered", n)
		}
	}
	runtime.KeepAlive(used)
}

func TestUnpackConcurrently(t *testing.T) {
	packer := newUnstructuredPacker()
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			obj := object(fmt.Sprint("thing-", i), map[string]any{"n": int64(i)})
			packed, err := packer.Pack(obj, obj)
			if err != nil {
				t.Error(err)
				return
			}
			for range 100 {
				all.Go(func() {
					if got, err := packed.Unpack(); err != nil || got.GetName() != packed.Key().Name {
						t.Errorf("Unpack() = %v, %v", got, err)
					}
				})
			}
		})
	}
	all.Wait()
}

func TestUnpackOfWhatIsBroken(t *testing.T) {
	obj := object("thing", nil)
	packed, err := newUnstructuredPacker().Pack(obj, obj)
	if err != nil {
		t.Fatal(err)
	}
	forget(packed)
	packed.text = packed.text[:len(packed.text)/2]
	if _, err := packed.Unpack(); err == nil || !strings.Contains(err.Error(), "shop/thing") {
		t.Errorf("Unpack() = %v, want an error that names the object", err)
	}
}

// BenchmarkUnpack measures what a read costs that finds an object packed.
func BenchmarkUnpack(b *testing.B) {
	for _, size := range []int{2, 50, 500} {
		b.Run(fmt.Sprintf("%dKiB", size), func(b *testing.B) {
			var items []any
			for i := range size * 1024 / 64 {
				items = append(items, map[string]any{"name": fmt.Sprintf("item-%06d", i), "value": fmt.Sprintf("value of item %06d", i)})
			}
			obj := object("thing", map[string]any{"items": items})
			packed, err := newUnstructuredPacker().Pack(obj, obj)
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				forget(packed)
				if _, err := packed.Unpack(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
