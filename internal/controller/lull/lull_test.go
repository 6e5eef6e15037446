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

package lull

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"kausality.io/operator/internal/knowledge"
	"kausality.io/operator/internal/objectcache"
)

func TestWait(t *testing.T) {
	cronJob := schema.GroupVersionKind{Group: "batch", Version: "v1", Kind: "CronJob"}
	deployment := schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}
	minute := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	type step struct {
		at      time.Duration
		version string
		want    time.Duration
	}
	for name, tc := range map[string]struct {
		kind  schema.GroupVersionKind
		steps []step
	}{
		"what goes by no schedule":        {deployment, []step{{0, "1", 0}, {59 * time.Second, "1", 0}}},
		"at a full minute":                {cronJob, []step{{0, "1", knowledge.LullBegins}, {knowledge.LullBegins, "1", 0}}},
		"shortly after one":               {cronJob, []step{{time.Second, "1", 29 * time.Second}}},
		"shortly before one":              {cronJob, []step{{57900 * time.Millisecond, "1", 32100 * time.Millisecond}}},
		"when the lull is over":           {cronJob, []step{{0, "1", knowledge.LullBegins}, {knowledge.LullEnds, "1", 40 * time.Second}}},
		"in the lull, seen first":         {cronJob, []step{{35 * time.Second, "1", rest}, {35*time.Second + rest, "1", 0}}},
		"in the lull, changed meanwhile":  {cronJob, []step{{35 * time.Second, "1", rest}, {36 * time.Second, "2", rest}, {38 * time.Second, "2", 0}}},
		"at the end of the lull, changed": {cronJob, []step{{49 * time.Second, "1", rest}, {51 * time.Second, "1", 39 * time.Second}}},
	} {
		t.Run(name, func(t *testing.T) {
			var f Finder
			req := objectcache.RequestFor(tc.kind, types.NamespacedName{Namespace: "shop", Name: "tick"})
			for i, s := range tc.steps {
				if got := f.Wait(req, s.version, knowledge.BuiltIn(tc.kind.GroupKind()), minute.Add(s.at)); got != s.want {
					t.Errorf("step %d: waits for %s, want %s", i, got, s.want)
				}
			}
		})
	}
}
