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

package source_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kausality.io/operator/internal/cli/source"
)

func TestReadExpandsLists(t *testing.T) {
	tests := map[string]struct {
		text string
		want []string
	}{
		"a List as kubectl writes it": {
			text: "apiVersion: v1\nkind: List\nitems:\n- kind: A\n  metadata:\n    name: x\n- kind: B\n  metadata:\n    name: y\n",
			want: []string{"A <stdin>:4 name <stdin>:6", "B <stdin>:7 name <stdin>:9"},
		},
		"behind another document": {
			text: "kind: C\n---\nkind: AList\nitems:\n- {kind: A}\n",
			want: []string{"C <stdin>:1 name <stdin>:1", "A <stdin>:5 name <stdin>:5"},
		},
		"an empty one":                            {text: "kind: List\nitems: []\n"},
		"a kind that has items, and is no List":   {text: "kind: Widget\nitems:\n- {kind: A}\n", want: []string{"Widget <stdin>:1 name <stdin>:1"}},
		"a List of what is no object stays whole": {text: "kind: List\nitems: [1]\n", want: []string{"List <stdin>:1 name <stdin>:1"}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			docs, problems, err := source.Read([]string{source.Stdin}, strings.NewReader(tc.text))
			if err != nil || len(problems) > 0 {
				t.Fatal(err, problems)
			}
			var got []string
			for _, doc := range docs {
				got = append(got, doc.GVK().Kind+" "+doc.At("").String()+" name "+doc.At("metadata.name").String())
				if wrong := doc.Decode(&struct {
					Kind string `json:"kind"`
				}{}); len(wrong) > 2 {
					t.Errorf("%s: %v", doc.GVK().Kind, wrong)
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
