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

package lineage

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// object is one with labels, and with a spec.
func object(apiVersion, kind string, labels, spec map[string]any) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": apiVersion, "kind": kind,
		"metadata": map[string]any{"name": "web", "labels": labels},
		"spec":     spec,
	}}
}

func TestLettingGo(t *testing.T) {
	type m = map[string]any
	matching := m{"app": "web", "hash": "1", "note": "x"}
	selector := m{"matchLabels": m{"app": "web"}, "matchExpressions": []any{m{"key": "hash", "operator": "Exists"}, m{"key": "old", "operator": "DoesNotExist"}}}
	tests := map[string]struct {
		parent        *unstructured.Unstructured
		before, after m
		want          []string
	}{
		"another value":          {after: m{"app": "other", "hash": "1", "note": "x"}, want: []string{"Mutate metadata.labels[app]"}},
		"a value that fits, too": {after: m{"app": "web", "hash": "2", "note": "y"}},
		"removed":                {after: m{"app": "web", "note": "x"}, want: []string{"Delete metadata.labels[hash]"}},
		"added":                  {after: m{"app": "web", "hash": "1", "old": "", "note": "x"}, want: []string{"Insert metadata.labels[old]"}},
		"all removed":            {after: nil, want: []string{"Delete metadata.labels[app]", "Delete metadata.labels[hash]"}},
		"two at once, and one that does not matter": {
			after: m{"app": "other", "note": "y"}, want: []string{"Delete metadata.labels[hash]", "Mutate metadata.labels[app]"},
		},
		"matched before, by none": {before: m{"app": "other"}, after: m{"app": "third"}},
		"of a kind that selects otherwise": {
			parent: object("example.org/v1", "Selector", nil, m{"selector": selector}), after: m{"app": "other"},
		},
		"without a selector":                  {parent: object("apps/v1", "ReplicaSet", nil, m{}), after: m{"app": "other"}},
		"with a selector that makes no sense": {parent: object("apps/v1", "ReplicaSet", nil, m{"selector": m{"matchLabels": "x"}}), after: m{"app": "other"}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			parent, before := tc.parent, tc.before
			if parent == nil {
				parent = object("apps/v1", "Deployment", nil, m{"selector": selector})
			}
			if before == nil {
				before = matching
			}
			var got []string
			for _, c := range LettingGo(parent, object("apps/v1", "ReplicaSet", before, nil), object("apps/v1", "ReplicaSet", tc.after, nil)) {
				got = append(got, string(c.Verb)+" "+c.Path.String())
				if !IsLabel(c.Path) || !IsLineage(c.Path) {
					t.Errorf("%s is not known as a label that says whose child it is", c.Path)
				}
			}
			if diff := cmp.Diff(tc.want, got, cmpopts.SortSlices(func(a, b string) bool { return a < b })); diff != "" {
				t.Errorf("changes (-want +got):\n%s", diff)
			}
		})
	}
}
