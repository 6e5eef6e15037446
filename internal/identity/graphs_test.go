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

package identity

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"kausality.io/operator/internal/upgrade"
)

// revisions stands for an API server with revisions of the graph webapp, or one that does not answer.
type revisions struct {
	client.Reader
	broken error
	text   []string
}

func (r revisions) List(_ context.Context, list client.ObjectList, opts ...client.ListOption) error {
	if r.broken != nil {
		return r.broken
	}
	options := (&client.ListOptions{}).ApplyOptions(opts)
	if of := options.FieldSelector.String(); of != "spec.snapshot.name=webapp" {
		return nil
	}
	for _, text := range r.text {
		var item unstructured.Unstructured
		if err := yaml.Unmarshal([]byte(text), &item.Object); err != nil {
			return err
		}
		out, _ := list.(*unstructured.UnstructuredList)
		out.Items = append(out.Items, item)
	}
	return nil
}

func revisionText(number, image string) string {
	return `
metadata: {name: webapp-r` + number + `, creationTimestamp: "2026-11-25T03:0` + number + `:00Z"}
spec:
  revision: ` + number + `
  snapshot:
    name: webapp
    spec:
      schema: {group: example.com, apiVersion: v1, kind: WebApp}
      resources: [{id: app, template: {image: ` + image + `}}]
status: {conditions: [{type: GraphVerified, status: "True"}]}
`
}

func instance(apiVersion, kind, graph string) *unstructured.Unstructured {
	out := &unstructured.Unstructured{Object: map[string]any{"apiVersion": apiVersion, "kind": kind}}
	out.SetName("web")
	if graph != "" {
		out.SetLabels(map[string]string{graphLabel: graph})
	}
	return out
}

func TestGraphs(t *testing.T) {
	webapp := instance("example.com/v1", "WebApp", "webapp")
	tests := map[string]struct {
		parent  *unstructured.Unstructured
		at      string
		live    revisions
		want    string
		unknown string
		fails   bool
		none    bool
	}{
		"the newest":              {parent: webapp, live: revisions{text: []string{revisionText("1", "a"), revisionText("2", "b")}}, want: "webapp-r2"},
		"the newest at that time": {parent: webapp, at: "2026-11-25T03:01:30Z", live: revisions{text: []string{revisionText("1", "a"), revisionText("2", "b")}}, want: "webapp-r1"},
		"no instance":             {parent: instance("apps/v1", "Deployment", ""), none: true},
		"of another kind":         {parent: instance("example.com/v1", "Shop", "webapp"), live: revisions{text: []string{revisionText("1", "a")}}, unknown: "kro serves no graph webapp for kind Shop"},
		"of another group":        {parent: instance("other.com/v1", "WebApp", "webapp"), live: revisions{text: []string{revisionText("1", "a")}}, unknown: "kro serves no graph webapp for kind WebApp"},
		"of another graph":        {parent: instance("example.com/v1", "WebApp", "other"), live: revisions{text: []string{revisionText("1", "a")}}, unknown: "kro serves no graph other"},
		"another kro":             {parent: webapp, live: revisions{broken: &apimeta.NoKindMatchError{GroupKind: schema.GroupKind{Kind: "GraphRevision"}}}, unknown: "does not serve GraphRevisions"},
		"cannot be read":          {parent: webapp, live: revisions{broken: errors.New("timeout")}, fails: true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			r := upgrade.Request{Parent: tt.parent}
			if tt.at != "" {
				at, err := time.Parse(time.RFC3339, tt.at)
				if err != nil {
					t.Fatal(err)
				}
				r.At = at
			}
			all, err := NewGraphs(tt.live).Of(t.Context(), r)
			if (err != nil) != tt.fails || (len(all) == 0) != (tt.none || tt.fails) {
				t.Fatal(all, err)
			}
			if len(all) == 0 {
				return
			}
			got := all[0]
			if got.Revision != tt.want || !strings.Contains(got.Unknown, tt.unknown) || (got.Unknown == "") != (tt.unknown == "") || got.Trigger != "ResourceGraph" {
				t.Errorf("%+v", got)
			}
			if (got.Digest == "" || got.Created.IsZero()) != (tt.want == "") {
				t.Errorf("digest %q, created %s", got.Digest, got.Created)
			}
		})
	}
}

// TestGraphsThatSayTheSame are one version, whatever their names.
func TestGraphsThatSayTheSame(t *testing.T) {
	digest := func(number, image string) string {
		t.Helper()
		v, err := NewGraphs(revisions{text: []string{revisionText(number, image)}}).Of(t.Context(), upgrade.Request{Parent: instance("example.com/v1", "WebApp", "webapp")})
		if err != nil {
			t.Fatal(err)
		}
		return v[0].Digest
	}
	if digest("1", "a") != digest("3", "a") {
		t.Error("two revisions that say the same differ")
	}
	if digest("1", "a") == digest("2", "b") {
		t.Error("two revisions that say something else do not differ")
	}
}
