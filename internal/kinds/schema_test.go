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

package kinds_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/openapi"
	clocktesting "k8s.io/utils/clock/testing"

	"kausality.io/operator/internal/change"
	"kausality.io/operator/internal/kinds"
)

// document is an OpenAPI document of the cluster.
type document struct {
	*cluster
	text string
}

// ServerRelativeURL names the document by what it says, as the API server does.
func (d document) ServerRelativeURL() string { return d.text }

func (d document) SchemaWithContext(context.Context, string) ([]byte, error) {
	d.read++
	return []byte(d.text), d.documentErr
}

func (c *cluster) PathsWithContext(context.Context) (map[string]openapi.GroupVersionWithContext, error) {
	paths := map[string]openapi.GroupVersionWithContext{}
	for path, text := range c.documents {
		paths[path] = document{cluster: c, text: text}
	}
	return paths, nil
}

// widgetDocument is as an API server publishes the schema of a custom resource,
// with a component of Kubernetes' own that refers to itself.
const widgetDocument = `{"openapi": "3.0.0", "components": {"schemas": {
  "com.example.v1.Widget": {
    "type": "object",
    "x-kubernetes-group-version-kind": [{"group": "example.com", "version": "v1", "kind": "Widget"}],
    "properties": {"spec": {"type": "object", "properties": {
      "rules": {
        "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["id", "zone"],
        "items": {"type": "object", "properties": {
          "ports": {"type": "array", "x-kubernetes-patch-merge-key": "number", "items": {"type": "object"}},
          "size": {"x-kubernetes-int-or-string": true, "pattern": "^(\\+|-)?(([0-9]+(\\.[0-9]*)?)|(\\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\\+|-)?(([0-9]+(\\.[0-9]*)?)|(\\.[0-9]+))))?$"},
          "port": {"x-kubernetes-int-or-string": true}
        }}
      },
      "tags": {"type": "array", "items": {"type": "string"}},
      "pools": {"type": "object", "additionalProperties": {"type": "object", "properties": {
        "quota": {"allOf": [{"$ref": "#/components/schemas/io.k8s.apimachinery.pkg.api.resource.Quantity"}], "default": "1"}
      }}},
      "tree": {"$ref": "#/components/schemas/com.example.v1.Tree"},
      "elsewhere": {"$ref": "#/components/schemas/com.example.v1.Missing"}
    }}}
  },
  "com.example.v1.Tree": {"type": "object", "properties": {
    "children": {"type": "array", "x-kubernetes-list-map-keys": ["branch"], "items": {"$ref": "#/components/schemas/com.example.v1.Tree"}}
  }},
  "io.k8s.apimachinery.pkg.api.resource.Quantity": {"type": "string"},
  "io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions": {
    "type": "object",
    "x-kubernetes-group-version-kind": [{"group": "a", "version": "v1", "kind": "DeleteOptions"}, {"group": "b", "version": "v1", "kind": "DeleteOptions"}]
  }
}}}`

// widgets are served, with a schema.
func widgets() *cluster {
	c := workloads()
	c.served["example.com/v1"] = widgetResources
	c.documents = map[string]string{"apis/example.com/v1": widgetDocument}
	return c
}

func TestSchema(t *testing.T) {
	served := widgets()
	r := kinds.New(served, served, served, clocktesting.NewFakePassiveClock(time.Unix(1000, 0)))
	if _, err := r.Update(t.Context(), []schema.GroupVersion{apps, example}); err != nil {
		t.Fatalf("Update(): %v", err)
	}
	if r.Schema(apps.WithKind("Deployment")) != nil {
		t.Error("Schema() knows what no document declares")
	}
	declared := r.Schema(example.WithKind("Widget"))
	if declared == nil {
		t.Fatal("Schema() does not know a kind of a document")
	}
	for path, want := range map[string]struct {
		keys     []string
		quantity bool
	}{
		"spec.rules":                                 {keys: []string{"id", "zone"}},
		"spec.rules[3]":                              {},
		"spec.rules[3].ports":                        {keys: []string{"number"}},
		"spec.rules[3].size":                         {quantity: true},
		"spec.rules[3].port":                         {},
		"spec.tags":                                  {},
		"spec.tags[0]":                               {},
		"spec.pools.west.quota":                      {quantity: true},
		"spec.pools.west.other":                      {},
		"spec.tree.children":                         {keys: []string{"branch"}},
		"spec.tree.children[0].children[7]":          {},
		"spec.tree.children[0].children[7].children": {keys: []string{"branch"}},
		"spec.elsewhere.rules":                       {},
		"data.rules":                                 {},
	} {
		t.Run(path, func(t *testing.T) {
			at, err := change.ParsePath(path)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want.keys, declared.ListKeys(at)); diff != "" {
				t.Errorf("ListKeys() (-want +got):\n%s", diff)
			}
			if got := declared.IsQuantity(at); got != want.quantity {
				t.Errorf("IsQuantity() = %t", got)
			}
		})
	}
}

func TestSchemasAreReadWhenTheyChange(t *testing.T) {
	served := widgets()
	clock := clocktesting.NewFakePassiveClock(time.Unix(1000, 0))
	r := kinds.New(served, served, served, clock)
	update := func(wantRead int, wantErr error) {
		t.Helper()
		served.read = 0
		r.Invalidate("example.com")
		if _, err := r.Update(t.Context(), []schema.GroupVersion{example}); !errors.Is(err, wantErr) {
			t.Errorf("Update() = %v, want %v", err, wantErr)
		}
		if served.read != wantRead {
			t.Errorf("Update() read %d documents, want %d", served.read, wantRead)
		}
		clock.SetTime(clock.Now().Add(time.Second))
	}
	known := func() bool { return r.Schema(example.WithKind("Widget")) != nil }

	served.documentErr = errors.New("the API server is shutting down")
	update(1, served.documentErr)
	if !hasWidgets(r) || known() {
		t.Error("a document that cannot be read hides its kinds, or has a schema")
	}
	served.documentErr = nil
	update(1, nil)
	update(0, nil)
	if !known() {
		t.Error("Schema() does not know what could be read in the end")
	}
	served.documents["apis/example.com/v1"] = `{"openapi": "3.0.0"}`
	update(1, nil)
	if known() {
		t.Error("Schema() knows what is not declared any more")
	}
	served.documents["apis/example.com/v1"] = `not a document`
	if _, err := r.Update(t.Context(), []schema.GroupVersion{example}); err == nil {
		t.Error("Update() takes any text for a document")
	}
}
