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

package writeloop

import (
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"kausality.io/operator/internal/controller/controllertest"
	"kausality.io/operator/internal/objectcache"
)

func TestLoops(t *testing.T) {
	start := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	// annotate changes nothing but an annotation.
	annotate := func(obj *unstructured.Unstructured, n int) {
		obj.SetAnnotations(map[string]string{"history": strconv.Itoa(n)})
	}
	tests := map[string]struct {
		writes int
		every  time.Duration
		write  func(obj *unstructured.Unstructured, n int)
		// want is how often a loop is noticed, and goesOn whether one is remembered at the end.
		want   int
		goesOn bool
	}{
		"twenty a second":      {writes: 100, every: 50 * time.Millisecond, write: annotate, want: 1, goesOn: true},
		"for three minutes":    {writes: 3600, every: 50 * time.Millisecond, write: annotate, want: 3, goesOn: true},
		"one less than a loop": {writes: loopWrites - 1, every: 50 * time.Millisecond, write: annotate},
		"every three seconds":  {writes: 100, every: 3 * time.Second, write: annotate},
		"a generation as well": {writes: 100, every: 50 * time.Millisecond, write: func(obj *unstructured.Unstructured, n int) { annotate(obj, n); obj.SetGeneration(int64(n)) }, want: 1, goesOn: true},
		"a rollout": {writes: 100, every: 50 * time.Millisecond, write: func(obj *unstructured.Unstructured, n int) {
			obj.Object["spec"] = map[string]any{"replicas": int64(n)}
		}},
		"a status that counts": {writes: 100, every: 50 * time.Millisecond, write: func(obj *unstructured.Unstructured, n int) {
			obj.Object["status"] = map[string]any{"ready": int64(n)}
		}},
		"what Kausality shows in the status": {writes: 100, every: 50 * time.Millisecond, want: 1, goesOn: true, write: func(obj *unstructured.Unstructured, n int) {
			conditions := []any{map[string]any{"type": "Ready", "status": "True"}}
			if n%2 == 0 {
				conditions = append(conditions, map[string]any{"type": "kausality.io/Gate", "status": "True"})
			}
			obj.Object["status"] = map[string]any{"conditions": conditions}
		}},
		"a condition of others": {writes: 100, every: 50 * time.Millisecond, write: func(obj *unstructured.Unstructured, n int) {
			obj.Object["status"] = map[string]any{"conditions": []any{map[string]any{"type": "Ready", "status": strconv.Itoa(n)}}}
		}},
		"a label": {writes: 100, every: 50 * time.Millisecond, write: func(obj *unstructured.Unstructured, n int) {
			obj.SetLabels(map[string]string{"n": strconv.Itoa(n)})
		}},
		"another object of the name": {writes: 100, every: 50 * time.Millisecond, write: func(obj *unstructured.Unstructured, n int) {
			obj.SetUID(types.UID(strconv.Itoa(n)))
		}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			l := NewFinder()
			obj := controllertest.Workload("StatefulSet", "web")
			req := objectcache.RequestFor(obj.GroupVersionKind(), types.NamespacedName{Name: "web"})
			now, got := start, 0
			for n := range tc.writes + 1 {
				obj = obj.DeepCopy()
				tc.write(obj, n)
				obj.SetResourceVersion(strconv.Itoa(n + 1))
				now = now.Add(tc.every)
				for range 2 { // It may be looked at more often than it is written.
					if l.Saw(req, obj, now) {
						got++
					}
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("noticed (-want +got):\n%s", diff)
			}
			if _, ok := l.GoesOn(req, now); ok != tc.goesOn {
				t.Errorf("a loop is remembered: %v, want %v", ok, tc.goesOn)
			}
			if _, ok := l.GoesOn(req, now.Add(loopMemory)); ok {
				t.Error("it is never forgotten")
			}
		})
	}
}
