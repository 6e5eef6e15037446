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

package discovery_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/openapi"
	clocktesting "k8s.io/utils/clock/testing"

	"kausality.io/operator/internal/change"
	"kausality.io/operator/internal/discovery"
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
	r := discovery.New(served, served, served, clocktesting.NewFakePassiveClock(time.Unix(1000, 0)))
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

// fieldsDocument has one of each sort of value.
const fieldsDocument = `{"openapi": "3.0.0", "components": {"schemas": {
  "com.example.v1.Widget": {
    "type": "object",
    "x-kubernetes-group-version-kind": [{"group": "example.com", "version": "v1", "kind": "Widget"}],
    "properties": {
      "metadata": {"allOf": [{"$ref": "#/components/schemas/Meta"}], "default": {}},
      "spec": {"type": "object", "properties": {
        "size": {"type": "integer"},
        "port": {"x-kubernetes-int-or-string": true},
        "limit": {"oneOf": [{"type": "integer"}, {"type": "string"}], "format": "int-or-string"},
        "parts": {"type": "array", "items": {"type": "object", "properties": {
          "name": {"type": "string"}, "parts": {"type": "array", "items": {"$ref": "#/components/schemas/com.example.v1.Part"}}}}},
        "plain": {"type": "array"},
        "tags": {"type": "object", "additionalProperties": {"type": "string"}},
        "pools": {"type": "object", "additionalProperties": {"type": "object", "properties": {"zone": {"type": "string"}}}},
        "free": {"type": "object"},
        "more": {"type": "object", "additionalProperties": true},
        "none": {"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": false},
        "kept": {"type": "object", "x-kubernetes-preserve-unknown-fields": true, "properties": {"a": {"type": "string"}}},
        "object": {"type": "object", "x-kubernetes-embedded-resource": true, "properties": {"spec": {"type": "object"}}},
        "untyped": {},
        "elsewhere": {"$ref": "#/components/schemas/Missing"}
      }}
    }
  },
  "com.example.v1.Part": {"type": "object", "properties": {"parts": {"type": "array", "items": {"$ref": "#/components/schemas/com.example.v1.Part"}}}},
  "Meta": {"type": "object", "properties": {"labels": {"type": "object", "additionalProperties": {"type": "string"}}}}
}}}`

func TestUndeclared(t *testing.T) {
	served := widgets()
	served.documents["apis/example.com/v1"] = fieldsDocument
	r := discovery.New(served, served, served, clocktesting.NewFakePassiveClock(time.Unix(1000, 0)))
	widget := example.WithKind("Widget")
	patterns := map[string]string{
		"*":                                     "",
		"metadata.labels[tier]":                 "",
		"metadata.lables[tier]":                 "there is no field metadata.lables",
		"metadata.labels[tier].name":            "metadata.labels[tier] has no fields",
		"spec":                                  "",
		"specs.size":                            "there is no field specs",
		"spec.size":                             "",
		"spec.sizes":                            "there is no field spec.sizes",
		"spec.size.of":                          "spec.size has no fields",
		"spec.port.name":                        "spec.port has no fields",
		"spec.limit.name":                       "spec.limit has no fields",
		"spec.parts[0].name":                    "",
		"spec.parts[*].name":                    "",
		"spec.parts.name":                       "spec.parts is a list: name an item of it, or all of them by spec.parts[*]",
		"spec.parts[*].nam":                     "there is no field spec.parts[*].nam",
		"spec.parts[*].parts[1].parts":          "",
		"spec.parts[*].parts[1].name":           "there is no field spec.parts[*].parts[1].name",
		"spec.plain[0].anything":                "",
		"spec.tags[a]":                          "",
		"spec.tags[0]":                          "there is no field spec.tags[0]",
		"spec.tags[*]":                          "",
		"spec.tags[a].b":                        "spec.tags.a has no fields",
		"spec.pools[west].zone":                 "",
		"spec.pools[west].zones":                "there is no field spec.pools.west.zones",
		"spec.free.anything[0]":                 "",
		"spec.more.anything.at.all":             "",
		"spec.none.b":                           "there is no field spec.none.b",
		"spec.kept.a":                           "",
		"spec.kept.b.c":                         "",
		"spec.object.anything":                  "",
		"spec.untyped.anything":                 "",
		"spec.elsewhere.anything":               "",
		"spec[*].name":                          "",
		"spec[*][*].zone":                       "",
		"metadata[*][*].name":                   "metadata[*][*] has no fields",
		"metadata[*].labels":                    "",
		"status.replicas":                       "there is no field status",
		"spec.none." + strings.Repeat("x", 300): "there is no field spec.none." + strings.Repeat("x", 90) + "…",
	}
	check := func(undeclared func(change.Pattern) string) {
		t.Helper()
		for text, want := range patterns {
			pattern, err := change.ParsePattern(text)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, undeclared(pattern)); diff != "" {
				t.Errorf("Undeclared(%s) (-want +got):\n%s", text, diff)
			}
		}
	}

	// Before anything is known of the kind, it is read.
	schemas, err := r.Schemas(t.Context(), widget, example.WithKind("Gadget"), apps.WithKind("Deployment"), widget)
	if err != nil || len(schemas) != 1 || served.read != 1 {
		t.Fatalf("Schemas() = %v, %v after reading %d documents; want that of Widget, by reading one", schemas, err, served.read)
	}
	check(schemas[widget].Undeclared)
	if got := r.Undeclared(widget, change.Pattern{}); got != "" {
		t.Errorf("Undeclared() of what is not known = %q", got)
	}

	if changed, err := r.Update(t.Context(), []schema.GroupVersion{example}); err != nil || !changed {
		t.Fatalf("Update() = %t, %v", changed, err)
	}
	served.read = 0
	if _, err := r.Schemas(t.Context(), widget); err != nil || served.read != 0 {
		t.Errorf("Schemas() read %d documents, %v; want what is known", served.read, err)
	}
	check(func(p change.Pattern) string { return r.Undeclared(widget, p) })

	r.Invalidate("example.com")
	served.documents["apis/example.com/v1"] = widgetDocument
	if changed, err := r.Update(t.Context(), []schema.GroupVersion{example}); err != nil || !changed {
		t.Errorf("Update() = %t, %v; want a change of schemas to be one", changed, err)
	}

	served.documentErr = errors.New("the API server is shutting down")
	r.Invalidate("example.com")
	if schemas, err := discovery.New(served, served, served, clocktesting.NewFakePassiveClock(time.Unix(1000, 0))).Schemas(t.Context(), widget); !errors.Is(err, served.documentErr) || len(schemas) != 0 {
		t.Errorf("Schemas() = %v, %v", schemas, err)
	}
}

func TestSchemasAreReadWhenTheyChange(t *testing.T) {
	served := widgets()
	clock := clocktesting.NewFakePassiveClock(time.Unix(1000, 0))
	r := discovery.New(served, served, served, clock)
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
