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

package generating

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kausality.io/operator/internal/generate"
)

var (
	allSecrets  = schema.GroupVersionResource{Version: "v1", Resource: "secrets"}
	deployments = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}
)

func TestReaders(t *testing.T) {
	read := func(namespace, name, selector string) []generate.Read {
		return []generate.Read{{Resource: allSecrets, Namespace: namespace, Name: name, Selector: selector}}
	}
	for name, tc := range map[string]struct {
		read   []generate.Read
		of     schema.GroupVersionResource
		labels []labels.Set
		want   bool
	}{
		"by its name":                      {read: read("shop", "ca", ""), want: true},
		"another name":                     {read: read("shop", "db", "")},
		"another namespace":                {read: read("other", "ca", "")},
		"another resource":                 {read: read("shop", "ca", ""), of: deployments},
		"all of a namespace":               {read: read("shop", "", ""), want: true},
		"all of another namespace":         {read: read("other", "", "")},
		"all there are":                    {read: read("", "", ""), want: true},
		"all that are selected":            {read: read("shop", "", "app=web"), want: true},
		"all that are selected, before":    {read: read("shop", "", "app=web"), labels: []labels.Set{{"app": "web"}, {}}, want: true},
		"all that are selected, since now": {read: read("shop", "", "app=web"), labels: []labels.Set{nil, {"app": "web"}}, want: true},
		"others are selected":              {read: read("shop", "", "app=db")},
		"nobody knows what is selected":    {read: read("shop", "", "=="), want: true},
		"one of several":                   {read: slices.Concat(read("shop", "db", ""), read("shop", "ca", "")), want: true},
		"read twice":                       {read: slices.Concat(read("shop", "", ""), read("shop", "ca", "")), want: true},
	} {
		t.Run(name, func(t *testing.T) {
			if tc.of.Empty() {
				tc.of = allSecrets
			}
			if tc.labels == nil {
				tc.labels = []labels.Set{{"app": "web"}}
			}
			trigger, other := generate.ID{Kind: "Namespace", Name: "shop"}, generate.ID{Kind: "Namespace", Name: "other"}
			x := readers{}
			x.add(trigger, tc.read)
			x.add(other, tc.read)
			x.remove(other, tc.read)
			var want []generate.ID
			if tc.want {
				want = []generate.ID{trigger}
			}
			if diff := cmp.Diff(want, x.of(tc.of, "shop", "ca", tc.labels...)); diff != "" {
				t.Errorf("triggers (-want +got):\n%s", diff)
			}
			x.remove(trigger, tc.read)
			if len(x) > 0 {
				t.Errorf("what was forgotten is kept: %v", x)
			}
		})
	}
}

// BenchmarkReaders looks up who has read a Secret that nobody has, and one that all have, where 5,000 triggers
// read two each.
func BenchmarkReaders(b *testing.B) {
	const triggers = 5000
	x := readers{}
	for i := range triggers {
		namespace := fmt.Sprintf("shop-%d", i)
		x.add(generate.ID{Kind: "Namespace", Name: namespace}, []generate.Read{
			{Resource: allSecrets, Namespace: "platform", Name: "ca"}, {Resource: allSecrets, Namespace: namespace, Name: "settings"},
		})
	}
	for name, in := range map[string]string{"nobody's": "other", "everybody's": "platform"} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				x.of(allSecrets, in, "ca", nil)
			}
		})
	}
}

// TestReadersAgree compares what is found with what a look at all triggers finds.
func TestReadersAgree(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	pick := func(of ...string) string { return of[r.IntN(len(of))] }
	some := func() []generate.Read {
		out := make([]generate.Read, r.IntN(4))
		for i := range out {
			out[i] = generate.Read{Resource: allSecrets, Namespace: pick("", "a", "b"), Name: pick("", "x", "y"), Selector: pick("", "", "app=web")}
		}
		return out
	}
	x, known := readers{}, map[generate.ID][]generate.Read{}
	for range 2000 {
		trigger := generate.ID{Name: pick("1", "2", "3", "4", "5")}
		x.remove(trigger, known[trigger])
		known[trigger] = some()
		x.add(trigger, known[trigger])
		namespace, name, set := pick("a", "b"), pick("x", "y", "z"), labels.Set{"app": pick("web", "db")}
		var want []generate.ID
		for trigger, reads := range known {
			if slices.ContainsFunc(reads, func(r generate.Read) bool {
				return (r.Namespace == "" || r.Namespace == namespace) && (r.Name == "" || r.Name == name) && selects(r.Selector, []labels.Set{set})
			}) {
				want = append(want, trigger)
			}
		}
		got := x.of(allSecrets, namespace, name, set)
		slices.SortFunc(want, generate.ID.Compare)
		slices.SortFunc(got, generate.ID.Compare)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("of %s/%s, %v (-want +got):\n%s", namespace, name, set, diff)
		}
	}
}
