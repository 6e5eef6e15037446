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

package discovery

import (
	"context"
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/openapi"
	"k8s.io/kube-openapi/pkg/spec3"
)

// Documents reads the OpenAPI documents of an API server.
type Documents interface {
	// PathsWithContext returns the documents by their paths, such as apis/apps/v1.
	PathsWithContext(ctx context.Context) (map[string]openapi.GroupVersionWithContext, error)
}

// declarations are the schemas of one OpenAPI document.
type declarations struct {
	// url names the document in its present state.
	url    string
	byKind map[schema.GroupVersionKind]*Schema
}

// declared reads what is declared of the kinds of a group version, nothing where
// no document is about it. As long as the document stays what it was, that is what
// is known already.
func declared(ctx context.Context, documents Documents, gv schema.GroupVersion, known *declarations) (*declarations, error) {
	paths, err := documents.PathsWithContext(ctx)
	if err != nil {
		return nil, fmt.Errorf("asking the API server for its OpenAPI documents: %w", err)
	}
	document, ok := paths[documentPath(gv)]
	if !ok {
		return nil, nil
	}
	url := document.ServerRelativeURL()
	if known != nil && known.url == url {
		return known, nil
	}
	text, err := document.SchemaWithContext(ctx, runtime.ContentTypeJSON)
	if err != nil {
		return nil, fmt.Errorf("reading the OpenAPI document of %s: %w", gv, err)
	}
	byKind, err := readDocument(text)
	if err != nil {
		return nil, fmt.Errorf("OpenAPI document of %s: %w", gv, err)
	}
	return &declarations{url: url, byKind: byKind}, nil
}

func documentPath(gv schema.GroupVersion) string {
	if gv.Group == "" {
		return "api/" + gv.Version
	}
	return "apis/" + gv.Group + "/" + gv.Version
}

// extensionKinds names the kinds of which a schema is.
const extensionKinds = "x-kubernetes-group-version-kind"

// readDocument reads the schemas of all kinds of a document.
func readDocument(text []byte) (map[schema.GroupVersionKind]*Schema, error) {
	var document spec3.OpenAPI
	if err := json.Unmarshal(text, &document); err != nil {
		return nil, fmt.Errorf("not an OpenAPI document: %w", err)
	}
	if document.Components == nil {
		return nil, nil
	}
	r := reader{components: document.Components.Schemas, named: map[string]*node{}}
	byKind := map[schema.GroupVersionKind]*Schema{}
	for name, component := range document.Components.Schemas {
		var kinds []schema.GroupVersionKind
		if err := component.Extensions.GetObject(extensionKinds, &kinds); err != nil {
			return nil, fmt.Errorf("kinds of schema %s: %w", name, err)
		}
		if len(kinds) == 1 { // Options of requests are of all kinds.
			byKind[kinds[0]] = &Schema{root: r.component(name)}
		}
	}
	return byKind, nil
}
