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

package change

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// mustPath reads a path that the test knows to be one.
func mustPath(t *testing.T, s string) Path {
	t.Helper()
	p, err := ParsePath(s)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// path builds a path from field names and indices.
func path(segments ...any) Path {
	p := make(Path, 0, len(segments))
	for _, s := range segments {
		switch s := s.(type) {
		case string:
			p = append(p, fieldSegment(s))
		case int:
			p = append(p, indexSegment(s))
		}
	}
	return p
}

func TestPathText(t *testing.T) {
	tests := map[string]struct {
		path Path
		want string
	}{
		"fields":                     {path("spec", "replicas"), "spec.replicas"},
		"an index":                   {path("spec", "containers", 0, "image"), "spec.containers[0].image"},
		"lists in lists":             {path("spec", "m", 1, 23), "spec.m[1][23]"},
		"an annotation":              {path("metadata", "annotations", "jira"), "metadata.annotations[jira]"},
		"a label with a domain":      {path("metadata", "labels", "app.kubernetes.io/name"), "metadata.labels[app.kubernetes.io/name]"},
		"a file of a ConfigMap":      {path("data", "app.yaml"), "data[app.yaml]"},
		"a node selector":            {path("spec", "nodeSelector", "disk"), "spec.nodeSelector[disk]"},
		"below a user's key":         {path("data", "a", "b"), "data[a].b"},
		"a key with a dash":          {path("spec", "tags", "cost-center"), "spec.tags[cost-center]"},
		"a key with a dot":           {path("spec", "limits", "nvidia.com/gpu"), "spec.limits[nvidia.com/gpu]"},
		"a key that is a number":     {path("data", "0"), "data['0']"},
		"a number as key and index":  {path("spec", "0", 0), "spec['0'][0]"},
		"a key that is negative":     {path("data", "-1"), "data['-1']"},
		"an empty key":               {path("data", ""), "data['']"},
		"a key that is a star":       {path("data", "*"), `data['\x2a']`},
		"a key with brackets":        {path("data", "a[0]"), `data['a\x5b0\x5d']`},
		"a key with quotes":          {path("data", `'a"`), `data['\x27a\x22']`},
		"a key with a backslash":     {path("data", `a\b`), `data['a\\b']`},
		"a key with blanks":          {path("data", " a b\n"), `data['\x20a\x20b\n']`},
		"a key that is no UTF-8":     {path("data", "\xff"), `data['\xff']`},
		"a key in another alphabet":  {path("data", "größe"), `data['größe']`},
		"a strange top-level field":  {path("x-y", "a"), "[x-y].a"},
		"a key that begins as index": {path("spec", "sizes", "3xl"), "spec.sizes[3xl]"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if got := tc.path.String(); got != tc.want {
				t.Errorf("String() = %s, want %s", got, tc.want)
			}
			if diff := cmp.Diff(tc.path, mustPath(t, tc.want)); diff != "" {
				t.Errorf("ParsePath(%s) (-want +got):\n%s", tc.want, diff)
			}
		})
	}
}

func TestParsePathAccepts(t *testing.T) {
	tests := map[string]struct {
		text string
		want string
	}{
		"dots for a user's key":    {"metadata.annotations.jira", "metadata.annotations[jira]"},
		"brackets for a field":     {"spec[replicas]", "spec.replicas"},
		"single quotes":            {"metadata.labels['app']", "metadata.labels[app]"},
		"double quotes":            {`metadata.labels["app.io/x"]`, "metadata.labels[app.io/x]"},
		"a key that is a number":   {"data.0", "data['0']"},
		"an index with zeros":      {"spec.a[007]", "spec.a[7]"},
		"escapes without quotes":   {`data[\x5b]`, `data['\x5b']`},
		"the largest index":        {"spec.a[4294967295]", "spec.a[4294967295]"},
		"as many segments as ever": {"a" + strings.Repeat("[0]", 99), "a" + strings.Repeat("[0]", 99)},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if got := mustPath(t, tc.text).String(); got != tc.want {
				t.Errorf("ParsePath(%s) = %s, want %s", tc.text, got, tc.want)
			}
		})
	}
}

func TestSplitPaths(t *testing.T) {
	tests := map[string]struct {
		text string
		want []string
	}{
		"one":                        {"spec.replicas", []string{"spec.replicas"}},
		"several":                    {"spec.replicas,spec.paused@0123456789ab,*", []string{"spec.replicas", "spec.paused@0123456789ab", "*"}},
		"blanks around":              {" spec.a , spec.b\t", []string{"spec.a", "spec.b"}},
		"nothing":                    {"", []string{""}},
		"commas only":                {",,", []string{"", "", ""}},
		"a comma in a key":           {"spec.a['x, y'],spec.b", []string{"spec.a['x, y']", "spec.b"}},
		"a comma without quotes":     {"data[x,y].z,data[,]", []string{"data[x,y].z", "data[,]"}},
		"a comma in double quotes":   {`data["x,y"],spec`, []string{`data["x,y"]`, "spec"}},
		"a digest within a key":      {"data['a,b@0123456789ab']@ba9876543210", []string{"data['a,b@0123456789ab']@ba9876543210"}},
		"an escaped bracket":         {`data['\x5d,\x5b,'],spec`, []string{`data['\x5d,\x5b,']`, "spec"}},
		"a bracket that is open":     {"spec,data['a,b", []string{"spec", "data['a,b"}},
		"a bracket that only closes": {"data],spec", []string{"data]", "spec"}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, SplitPaths(tc.text)); diff != "" {
				t.Errorf("SplitPaths(%q) (-want +got):\n%s", tc.text, diff)
			}
		})
	}
}

func TestParsePathRefusesWildcards(t *testing.T) {
	for _, text := range []string{"*", "spec[*]", "spec.*.image", "spec['*']"} {
		if p, err := ParsePath(text); err == nil {
			t.Errorf("ParsePath(%s) = %v, want an error", text, p)
		}
	}
}

func TestPathValue(t *testing.T) {
	obj := map[string]any{"spec": map[string]any{
		"replicas":   int64(3),
		"paused":     nil,
		"containers": []any{map[string]any{"image": "app"}},
		"0":          "zero",
	}}
	tests := map[string]struct {
		path  string
		want  any
		found bool
	}{
		"a field":                  {"spec.replicas", int64(3), true},
		"below an item":            {"spec.containers[0].image", "app", true},
		"an explicit null":         {"spec.paused", nil, true},
		"a key that is a number":   {"spec['0']", "zero", true},
		"an index of a map":        {"spec[0]", nil, false},
		"a field of a list":        {"spec.containers.image", nil, false},
		"an index behind the end":  {"spec.containers[1]", nil, false},
		"a field that is not here": {"spec.selector.app", nil, false},
		"below a scalar":           {"spec.replicas.min", nil, false},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got, found := mustPath(t, tc.path).Value(obj)
			if found != tc.found || !cmp.Equal(got, tc.want) {
				t.Errorf("Value(%s) = %v, %v, want %v, %v", tc.path, got, found, tc.want, tc.found)
			}
		})
	}
}

func TestPathSet(t *testing.T) {
	tests := map[string]struct {
		obj     map[string]any
		path    string
		want    map[string]any
		wantErr bool
	}{
		"a field that is there": {
			obj:  map[string]any{"spec": map[string]any{"replicas": int64(3), "paused": true}},
			path: "spec.replicas",
			want: map[string]any{"spec": map[string]any{"replicas": int64(7), "paused": true}},
		},
		"a field whose parents are missing": {
			obj:  map[string]any{},
			path: "spec.scale.replicas",
			want: map[string]any{"spec": map[string]any{"scale": map[string]any{"replicas": int64(7)}}},
		},
		"a field whose parent is null": {
			obj:  map[string]any{"spec": nil},
			path: "spec.replicas",
			want: map[string]any{"spec": map[string]any{"replicas": int64(7)}},
		},
		"an item": {
			obj:  map[string]any{"spec": []any{int64(1), int64(2)}},
			path: "spec[1]",
			want: map[string]any{"spec": []any{int64(1), int64(7)}},
		},
		"below an item": {
			obj:  map[string]any{"spec": []any{map[string]any{}}},
			path: "spec[0].replicas",
			want: map[string]any{"spec": []any{map[string]any{"replicas": int64(7)}}},
		},
		"an item that is not there": {
			obj:     map[string]any{"spec": []any{int64(1)}},
			path:    "spec[1]",
			wantErr: true,
		},
		"below a scalar": {
			obj:     map[string]any{"spec": "text"},
			path:    "spec.replicas",
			wantErr: true,
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			err := mustPath(t, tc.path).Set(tc.obj, int64(7))
			if tc.wantErr {
				if err == nil {
					t.Errorf("Set(%s) succeeded, want an error", tc.path)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, tc.obj); diff != "" {
				t.Errorf("Set(%s) (-want +got):\n%s", tc.path, diff)
			}
		})
	}
}

func TestPathSetIntoNothing(t *testing.T) {
	if err := path("spec").Set(nil, "x"); err == nil {
		t.Error("Set on a nil object succeeded, want an error")
	}
}

func TestPathIsMetadata(t *testing.T) {
	tests := map[string]struct {
		path string
		want bool
	}{
		"metadata":                       {"metadata", true},
		"a label":                        {"metadata.labels[app]", true},
		"spec":                           {"spec", false},
		"metadata of something embedded": {"spec.template.metadata.labels[app]", false},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if got := mustPath(t, tc.path).IsMetadata(); got != tc.want {
				t.Errorf("IsMetadata() = %v, want %v", got, tc.want)
			}
		})
	}
}
