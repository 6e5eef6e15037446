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

package interception

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/sets"
	"pgregory.net/rapid"
)

var anySelector = rapid.Custom(func(t *rapid.T) *metav1.LabelSelector {
	selector := &metav1.LabelSelector{}
	for range rapid.IntRange(0, 3).Draw(t, "requirements") {
		r := metav1.LabelSelectorRequirement{
			Key: rapid.SampledFrom([]string{"env", "team", "tier"}).Draw(t, "key"),
			Operator: rapid.SampledFrom([]metav1.LabelSelectorOperator{
				metav1.LabelSelectorOpIn, metav1.LabelSelectorOpNotIn, metav1.LabelSelectorOpExists, metav1.LabelSelectorOpDoesNotExist,
			}).Draw(t, "operator"),
		}
		if r.Operator == metav1.LabelSelectorOpIn || r.Operator == metav1.LabelSelectorOpNotIn {
			r.Values = rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "b", "c"}), 1, 2, rapid.ID).Draw(t, "values")
		}
		selector.MatchExpressions = append(selector.MatchExpressions, r)
	}
	return selector
})

// Each namespace is in one cell: in one of those in where a selector matches, else in one
// of those out.
func TestDivide(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var selectors []labels.Selector
		for _, s := range rapid.SliceOfN(anySelector, 0, 5).Draw(t, "selectors") {
			selectors = append(selectors, compiled(t, s))
		}
		scope := cell{"name": values{missing: true, but: true, listed: sets.New("own")}}
		in, out := divide(scope, selectors)
		if len(in)+len(out) > 2*maxCells {
			t.Fatalf("%d cells", len(in)+len(out))
		}
		parts := partition(scope, selectors)
		if len(parts) > 2*maxCells {
			t.Fatalf("%d parts", len(parts))
		}
		for _, env := range []string{"", "a", "b", "c", "d"} {
			for _, team := range []string{"", "a", "b", "c", "d"} {
				for _, tier := range []string{"", "a", "b", "c"} {
					set := labels.Set{}
					for key, value := range map[string]string{"env": env, "team": team, "tier": tier} {
						if value != "" {
							set[key] = value
						}
					}
					want := false
					for _, s := range selectors {
						want = want || s.Matches(set)
					}
					var matching []sets.Set[string]
					for _, p := range parts {
						if containing(t, []cell{p.cell}, set) == 1 {
							matching = append(matching, p.matching)
						}
					}
					if len(matching) != 1 {
						t.Fatalf("%v is in %d parts", set, len(matching))
					}
					for _, s := range selectors {
						if s.Matches(set) && !matching[0].Has(s.String()) || !want && matching[0].Len() > 0 {
							t.Fatalf("%v is in a part that %v match", set, matching[0])
						}
					}
					if got := containing(t, in, set); got != 1 && want || got != 0 && !want {
						t.Fatalf("%v is in %d cells of those that match, want %t", set, got, want)
					}
					if got := containing(t, out, set); got != 1 && !want || got != 0 && want {
						t.Fatalf("%v is in %d cells of the others, want %t", set, got, !want)
					}
				}
			}
		}
	})
}

// compiled returns a selector as the API server sees it.
func compiled(t interface{ Fatal(...any) }, s *metav1.LabelSelector) labels.Selector {
	selector, err := metav1.LabelSelectorAsSelector(s)
	if err != nil {
		t.Fatal(err)
	}
	return selector
}

func containing(t interface{ Fatal(...any) }, cells []cell, set labels.Set) int {
	n := 0
	for _, c := range cells {
		if compiled(t, c.selector()).Matches(set) {
			n++
		}
	}
	return n
}

// A selector of many labels, or many selectors, do not make many webhooks.
func TestDivideIsShort(t *testing.T) {
	parse := func(texts ...string) []labels.Selector {
		t.Helper()
		var selectors []labels.Selector
		for _, text := range texts {
			s, err := labels.Parse(text)
			if err != nil {
				t.Fatal(err)
			}
			selectors = append(selectors, s)
		}
		return selectors
	}
	cases := map[string]struct {
		selectors []labels.Selector
		in, out   []string
	}{
		"nothing": {in: nil, out: []string{""}},
		"all": {
			selectors: parse("team=a", ""),
			in:        []string{""},
		},
		"one label": {
			selectors: parse("team=a", "team in (b,c)"),
			in:        []string{"team In a,b,c"},
			out:       []string{"team NotIn a,b,c"},
		},
		"two labels": {
			selectors: parse("env=prod,team=a", "env=prod,team=b"),
			in:        []string{"env In prod;team In a,b"},
			out:       []string{"env In prod;team NotIn a,b", "env NotIn prod"},
		},
		"a label that is there": {
			selectors: parse("governed", "governed!=x"),
			in:        []string{""},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			in, out := divide(cell{}, tc.selectors)
			if diff := cmp.Diff([][]string{tc.in, tc.out}, [][]string{texts(in), texts(out)}); diff != "" {
				t.Errorf("cells (-want +got):\n%s", diff)
			}
		})
	}
}

func texts(cells []cell) []string {
	var out []string
	for _, c := range cells {
		out = append(out, c.text())
	}
	return out
}
