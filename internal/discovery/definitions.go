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
	"fmt"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// +kubebuilder:rbac:groups=apiextensions.k8s.io,resources=customresourcedefinitions,verbs=get;list;watch

// Reader reads CustomResourceDefinitions from the API server. They are large and
// seldom asked for, so that a cache of them would not pay.
type Reader struct {
	client.Reader
	// Metadata reads what their metadata says, which is asked of each kind; nil for the same
	// Reader. See DefinitionCache.
	Metadata client.Reader
}

var _ Definitions = Reader{}

// Markers implements Definitions.
func (r Reader) Markers(ctx context.Context, resource schema.GroupResource) ([]string, error) {
	if !mayBeDefined(resource.Group) {
		return nil, nil
	}
	from := r.Metadata
	if from == nil {
		from = r.Reader
	}
	definition := Definition()
	key := types.NamespacedName{Name: resource.String()}
	if err := client.IgnoreNotFound(from.Get(ctx, key, definition)); err != nil {
		return nil, fmt.Errorf("reading CustomResourceDefinition %s: %w", key.Name, err)
	}
	return MarkersOf(definition), nil
}

// MarkersOf returns the labels of a definition by which a system marks the kinds that are its own.
func MarkersOf(definition metav1.Object) []string {
	var out []string
	for key, value := range definition.GetLabels() {
		if isMarker(key, value) {
			out = append(out, key)
		}
	}
	slices.Sort(out)
	return out
}

// isMarker reports whether a label is a marker. Without a slash it could be taken for a
// category.
func isMarker(key, value string) bool {
	return value == "true" && strings.Contains(key, "/")
}

// definition reads the definition of a resource, and returns an empty one where there is none.
func (r Reader) definition(ctx context.Context, resource schema.GroupResource) (*apiextensionsv1.CustomResourceDefinition, error) {
	if !mayBeDefined(resource.Group) {
		return &apiextensionsv1.CustomResourceDefinition{}, nil
	}
	obj := &unstructured.Unstructured{}
	obj.SetGroupVersionKind(apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinition"))
	key := types.NamespacedName{Name: resource.String()}
	if err := client.IgnoreNotFound(r.Get(ctx, key, obj)); err != nil {
		return nil, fmt.Errorf("reading CustomResourceDefinition %s: %w", key.Name, err)
	}
	definition := &apiextensionsv1.CustomResourceDefinition{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(obj.Object, definition); err != nil {
		return nil, fmt.Errorf("decoding CustomResourceDefinition %s: %w", key.Name, err)
	}
	return definition, nil
}

// Storage implements Definitions.
func (r Reader) Storage(ctx context.Context, resource schema.GroupResource) (Storage, error) {
	definition, err := r.definition(ctx, resource)
	if err != nil {
		return Storage{}, err
	}
	for i := range definition.Spec.Versions {
		version := &definition.Spec.Versions[i]
		if !version.Storage {
			continue
		}
		stored := Storage{Version: version.Name, Converted: isConverted(definition)}
		if version.Schema != nil && version.Schema.OpenAPIV3Schema != nil {
			if stored.Defaults, err = defaultsOf(version.Schema.OpenAPIV3Schema); err != nil {
				return Storage{}, fmt.Errorf("defaults of version %s in CustomResourceDefinition %s: %w", version.Name, resource, err)
			}
			stored.Fields = fieldsOf(definition, version.Schema.OpenAPIV3Schema)
		}
		return stored, nil
	}
	return Storage{}, nil
}

// isConverted reports whether a webhook converts objects between versions.
func isConverted(definition *apiextensionsv1.CustomResourceDefinition) bool {
	return definition.Spec.Conversion != nil && definition.Spec.Conversion.Strategy == apiextensionsv1.WebhookConverter
}

// Scale implements Definitions.
func (r Reader) Scale(ctx context.Context, resource schema.GroupVersionResource) (Scale, error) {
	definition, err := r.definition(ctx, resource.GroupResource())
	if err != nil {
		return Scale{}, err
	}
	for _, version := range definition.Spec.Versions {
		if version.Name == resource.Version && version.Subresources != nil && version.Subresources.Scale != nil {
			return Scale{
				Path:      strings.TrimPrefix(version.Subresources.Scale.SpecReplicasPath, "."),
				Converted: isConverted(definition),
			}, nil
		}
	}
	return Scale{}, nil
}
