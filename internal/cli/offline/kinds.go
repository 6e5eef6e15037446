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

// Package offline answers requests as the operator would, from values alone: the
// admission webhooks run as they are, on objects that are not in any cluster.
package offline

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/version"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"sigs.k8s.io/yaml"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/change"
	"kausality.io/operator/internal/discovery"
)

// Kinds are those that Kubernetes itself serves, and those of
// CustomResourceDefinitions.
type Kinds struct {
	mapper     *apimeta.DefaultRESTMapper
	all        sets.Set[schema.GroupVersionKind]
	categories map[schema.GroupKind][]string
	replicas   map[schema.GroupVersionResource]string
	schemas    map[schema.GroupVersionKind]*discovery.Schema
	types      map[schema.GroupVersionKind]reflect.Type
	// names are what people call kinds besides their plural.
	names map[schema.GroupKind][]string
}

// NewKinds knows the kinds of Kubernetes.
func NewKinds() *Kinds {
	k := &Kinds{
		mapper:     apimeta.NewDefaultRESTMapper(nil),
		all:        sets.New[schema.GroupVersionKind](),
		categories: map[schema.GroupKind][]string{},
		replicas:   map[schema.GroupVersionResource]string{},
		schemas:    map[schema.GroupVersionKind]*discovery.Schema{},
		types:      map[schema.GroupVersionKind]reflect.Type{},
		names:      map[schema.GroupKind][]string{},
	}
	// Anybody may add to the scheme of client-go.
	known := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(known))
	// These are in each cluster with Kausality.
	utilruntime.Must(apiextensionsv1.AddToScheme(known))
	utilruntime.Must(v1alpha1.AddToScheme(known))
	for gvk, goType := range known.AllKnownTypes() {
		obj, err := known.New(gvk)
		if err != nil || !isServed(known, gvk, obj) {
			continue
		}
		scope := apimeta.RESTScopeNamespace
		if slices.Contains(clusterScoped, gvk.GroupKind()) {
			scope = apimeta.RESTScopeRoot
		}
		k.types[gvk] = goType
		k.all.Insert(gvk)
		k.mapper.Add(gvk, scope)
	}
	k.all.Insert(apiService)
	k.mapper.Add(apiService, apimeta.RESTScopeRoot)
	return k
}

// IsDefinition reports whether objects of a kind define others.
func IsDefinition(gvk schema.GroupVersionKind) bool {
	return gvk.GroupKind() == schema.GroupKind{Group: apiextensionsv1.GroupName, Kind: "CustomResourceDefinition"}
}

// DefineObject adds the kinds of a CustomResourceDefinition.
func (k *Kinds) DefineObject(object map[string]any) error {
	var definition apiextensionsv1.CustomResourceDefinition
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object, &definition); err != nil {
		return fmt.Errorf("it cannot be read as a CustomResourceDefinition: %w", err)
	}
	return k.Define(&definition)
}

// Define adds the kinds of a CustomResourceDefinition.
func (k *Kinds) Define(definition *apiextensionsv1.CustomResourceDefinition) error {
	names := definition.Spec.Names
	scope := apimeta.RESTScopeNamespace
	if definition.Spec.Scope == apiextensionsv1.ClusterScoped {
		scope = apimeta.RESTScopeRoot
	}
	for i := range definition.Spec.Versions {
		version := &definition.Spec.Versions[i]
		if !version.Served {
			continue
		}
		gv := schema.GroupVersion{Group: definition.Spec.Group, Version: version.Name}
		resource := gv.WithResource(names.Plural)
		k.all.Insert(gv.WithKind(names.Kind))
		k.categories[schema.GroupKind{Group: gv.Group, Kind: names.Kind}] = slices.Concat(names.Categories, discovery.MarkersOf(definition))
		k.names[schema.GroupKind{Group: gv.Group, Kind: names.Kind}] = append([]string{names.Singular}, names.ShortNames...)
		k.mapper.AddSpecific(gv.WithKind(names.Kind), resource, gv.WithResource(strings.ToLower(names.Kind)), scope)
		if s := version.Subresources; s != nil && s.Scale != nil {
			k.replicas[resource] = strings.TrimPrefix(s.Scale.SpecReplicasPath, ".")
		}
		if version.Schema == nil || version.Schema.OpenAPIV3Schema == nil {
			continue
		}
		declared, err := openAPI(version.Schema.OpenAPIV3Schema)
		if err != nil {
			return fmt.Errorf("schema of version %s: %w", version.Name, err)
		}
		k.schemas[gv.WithKind(names.Kind)] = discovery.NewSchema(declared)
	}
	return nil
}

// openAPI returns the schema as the API server publishes it: with what every object has, whatever
// the definition says of that.
func openAPI(definition *apiextensionsv1.JSONSchemaProps) (*spec.Schema, error) {
	text, err := yaml.Marshal(definition)
	if err != nil {
		return nil, err
	}
	out := &spec.Schema{}
	if err := yaml.Unmarshal(text, out); err != nil {
		return nil, err
	}
	out.SetProperty("apiVersion", *spec.StringProperty())
	out.SetProperty("kind", *spec.StringProperty())
	out.SetProperty("metadata", *declared(reflect.TypeFor[metav1.ObjectMeta]()))
	return out, nil
}

// Mapper returns the kinds as clients ask for them.
func (k *Kinds) Mapper() apimeta.RESTMapper { return k.mapper }

// Categories returns the categories that a kind says it belongs to.
func (k *Kinds) Categories(kind schema.GroupKind) []string { return k.categories[kind] }

// KindFor implements admission.Kinds.
func (k *Kinds) KindFor(resource schema.GroupVersionResource) (schema.GroupVersionKind, bool) {
	found, err := k.mapper.KindsFor(resource)
	if err != nil {
		return schema.GroupVersionKind{}, false
	}
	// To a mapper, an empty group means any group.
	for _, gvk := range found {
		if known, ok := k.ResourceFor(gvk); ok && known == resource {
			return gvk, true
		}
	}
	return schema.GroupVersionKind{}, false
}

// ResourceFor returns the resource of a kind.
func (k *Kinds) ResourceFor(gvk schema.GroupVersionKind) (schema.GroupVersionResource, bool) {
	mapping, err := k.mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	if err != nil {
		return schema.GroupVersionResource{}, false
	}
	return mapping.Resource, true
}

// versionsOf returns the resources of a kind, in all its versions.
func (k *Kinds) versionsOf(kind schema.GroupKind) []schema.GroupVersionResource {
	var out []schema.GroupVersionResource
	for gvk := range k.all {
		if resource, known := k.ResourceFor(gvk); gvk.GroupKind() == kind && known {
			out = append(out, resource)
		}
	}
	slices.SortFunc(out, func(a, b schema.GroupVersionResource) int { return cmp.Compare(a.Version, b.Version) })
	return out
}

// extensions is a group that Kubernetes no longer serves.
const extensions = "extensions"

// Named returns the kinds of a name, of each group in its best version: that of the core
// group first, and then the others by group.
func (k *Kinds) Named(kind string) []schema.GroupVersionKind {
	best := map[string]schema.GroupVersionKind{}
	for gvk := range k.all {
		known, ok := best[gvk.Group]
		if gvk.Kind == kind && (!ok || version.CompareKubeAwareVersionStrings(gvk.Version, known.Version) > 0) {
			best[gvk.Group] = gvk
		}
	}
	delete(best, extensions)
	return slices.SortedFunc(maps.Values(best), func(a, b schema.GroupVersionKind) int { return cmp.Compare(a.Group, b.Group) })
}

// Namespaced implements admission.Kinds.
func (k *Kinds) Namespaced(gvk schema.GroupVersionKind) bool {
	mapping, err := k.mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	return err == nil && mapping.Scope.Name() == apimeta.RESTScopeNameNamespace
}

// ReplicasPath implements admission.Kinds. Here objects are scaled in their own version only.
func (k *Kinds) ReplicasPath(resource schema.GroupVersionResource, _ string) string {
	if path, ok := k.replicas[resource]; ok {
		return path
	}
	return discovery.DefaultReplicas
}

// GroupKindFor implements admission.Kinds.
func (k *Kinds) GroupKindFor(resource schema.GroupVersionResource) (schema.GroupKind, bool) {
	kind, ok := k.KindFor(resource)
	return kind.GroupKind(), ok
}

// Losing implements admission.Kinds. Here objects are written in their own version only.
func (*Kinds) Losing(schema.GroupVersionResource, string) *discovery.Losing { return nil }

// Storing implements admission.Kinds, for the same reason.
func (*Kinds) Storing(schema.GroupVersionResource, string) *discovery.Storing { return nil }

// VersionToName says that commands need no version: files do not tell which one kubectl takes in a cluster.
func (*Kinds) VersionToName(schema.GroupKind) string { return "" }

// Schema implements admission.Kinds. Of Kubernetes' own kinds nothing is declared
// here: what they have in common is known without.
func (k *Kinds) Schema(gvk schema.GroupVersionKind) change.Schema {
	if s, ok := k.schemas[gvk]; ok {
		return s
	}
	return nil
}

// Schemas implements what the webhook of AllowancePolicies asks: which fields there
// are. Those of Kubernetes' own kinds are those of the Go types.
func (k *Kinds) Schemas(_ context.Context, gvks ...schema.GroupVersionKind) (map[schema.GroupVersionKind]*discovery.Schema, error) {
	out := map[schema.GroupVersionKind]*discovery.Schema{}
	for _, gvk := range gvks {
		if s, ok := k.schemas[gvk]; ok {
			out[gvk] = s
		} else if t, ok := k.types[gvk]; ok {
			out[gvk] = discovery.NewSchema(declared(t))
		}
	}
	return out, nil
}
