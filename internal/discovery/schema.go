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
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/fieldpath"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"kausality.io/operator/internal/change"
)

// Schema is what the API server declares about the fields of a kind: which there
// are, and what decides what counts as a change, which is by which keys the items of
// lists are told apart, and which fields are quantities. It does not change.
type Schema struct {
	root *node
}

var _ change.Schema = (*Schema)(nil)

// NewSchema takes over what a schema declares that refers to no other, as those of
// CustomResourceDefinitions do.
func NewSchema(declared *spec.Schema) *Schema {
	r := reader{}
	return &Schema{root: r.inline(declared)}
}

// node is a value in an object.
type node struct {
	listKeys []string
	quantity bool
	// fields are those of a map that are declared by name.
	fields map[string]*node
	// each is any item of a list, and any value of a map that fields lacks.
	each *node
	// list tells a list from a map.
	list bool
	// value is the type of the value, empty where it may be of several.
	value change.ValueType
	// open is true where what lies below is not declared, or not all of it.
	open bool
}

// scalars have nothing below them; most fields are one of these.
var scalars = map[change.ValueType]*node{
	"": {}, change.ValueText: {value: change.ValueText}, change.ValueNumber: {value: change.ValueNumber}, change.ValueBool: {value: change.ValueBool},
}

// anything may have anything below it, and everything is a map that may.
var (
	anything   = &node{open: true}
	everything = &node{open: true, value: change.ValueMap}
)

// ListKeys implements change.Schema.
func (s *Schema) ListKeys(path change.Path) []string {
	if n := s.at(path); n != nil {
		return n.listKeys
	}
	return nil
}

// IsQuantity implements change.Schema.
func (s *Schema) IsQuantity(path change.Path) bool {
	n := s.at(path)
	return n != nil && n.quantity
}

func (s *Schema) at(path change.Path) *node {
	n := s.root
	for _, segment := range path {
		if n == nil {
			return nil
		}
		field, ok := n.fields[segment.Field]
		if segment.Type != fieldpath.SegmentField || !ok {
			field = n.each
		}
		n = field
	}
	return n
}

// The extensions by which OpenAPI documents declare what JSON Schema cannot.
const (
	extensionListKeys    = "x-kubernetes-list-map-keys"
	extensionPatchKey    = "x-kubernetes-patch-merge-key"
	extensionIntOrString = "x-kubernetes-int-or-string"
	extensionPreserve    = "x-kubernetes-preserve-unknown-fields"
	extensionEmbedded    = "x-kubernetes-embedded-resource"
)

// formatIntOrString is how Kubernetes' own kinds declare a number or a string.
const formatIntOrString = "int-or-string"

const (
	referencePrefix = "#/components/schemas/"
	quantityName    = "io.k8s.apimachinery.pkg.api.resource.Quantity"
	// quantityPattern is what controller-gen writes for a resource.Quantity into the
	// definitions of custom resources.
	quantityPattern = `^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$`
)

// reader reads the schemas of an OpenAPI document. Those that others refer to are
// read once; they may refer to themselves.
type reader struct {
	components map[string]*spec.Schema
	named      map[string]*node
}

// component reads a schema that has a name, nil where there is none.
func (r *reader) component(name string) *node {
	if n, ok := r.named[name]; ok {
		return n
	}
	if name == quantityName {
		return &node{quantity: true}
	}
	declared, ok := r.components[name]
	if !ok {
		return nil
	}
	n := &node{}
	r.named[name] = n // before its fields, which may be of its own kind
	r.read(declared, n)
	return n
}

// inline reads a schema where it stands, nil where it is that of a component that
// is not there.
func (r *reader) inline(declared *spec.Schema) *node {
	if name, ok := strings.CutPrefix(declared.Ref.String(), referencePrefix); ok {
		return r.component(name)
	}
	// A field with a description or a default of its own refers in allOf.
	if len(declared.AllOf) == 1 && len(declared.Properties) == 0 {
		return r.inline(&declared.AllOf[0])
	}
	n := &node{}
	r.read(declared, n)
	switch {
	case len(n.listKeys) > 0 || n.quantity || len(n.fields) > 0 || n.each != nil:
		return n
	case n.open && n.value == change.ValueMap:
		return everything
	case n.open:
		return anything
	case scalars[n.value] != nil:
		return scalars[n.value]
	default:
		return n
	}
}

// read takes over what is declared.
func (r *reader) read(declared *spec.Schema, n *node) {
	n.listKeys = listKeys(declared)
	n.quantity = isQuantity(declared)
	n.list = declared.Type.Contains("array")
	n.value = valueType(declared)
	n.open = isOpen(declared)
	if len(declared.Properties) > 0 {
		n.fields = make(map[string]*node, len(declared.Properties))
	}
	for name := range declared.Properties {
		property := declared.Properties[name]
		n.fields[name] = r.inline(&property)
	}
	switch {
	case declared.Items != nil && declared.Items.Schema != nil:
		n.each = r.inline(declared.Items.Schema)
	case declared.AdditionalProperties != nil && declared.AdditionalProperties.Schema != nil:
		n.each = r.inline(declared.AdditionalProperties.Schema)
	case n.list:
		n.each = anything
	}
}

// valueTypes are the types of values as OpenAPI names them.
var valueTypes = map[string]change.ValueType{
	"string": change.ValueText, "integer": change.ValueNumber, "number": change.ValueNumber, "boolean": change.ValueBool,
	"array": change.ValueList, "object": change.ValueMap,
}

// valueType returns what kind of value is declared, empty where it may be of several.
func valueType(declared *spec.Schema) change.ValueType {
	if isIntOrString(declared) || len(declared.Type) != 1 {
		return ""
	}
	return valueTypes[declared.Type[0]]
}

func isIntOrString(declared *spec.Schema) bool {
	set, _ := declared.Extensions.GetBool(extensionIntOrString)
	return set || declared.Format == formatIntOrString
}

// isOpen reports whether a value may have something below it that is not declared. In
// doubt it may: a map without any declared field is taken for free-form.
func isOpen(declared *spec.Schema) bool {
	for _, extension := range []string{extensionPreserve, extensionEmbedded} {
		if set, _ := declared.Extensions.GetBool(extension); set {
			return true
		}
	}
	if isIntOrString(declared) {
		return false
	}
	if more := declared.AdditionalProperties; more != nil && more.Schema == nil && more.Allows {
		return true
	}
	return (len(declared.Type) == 0 || declared.Type.Contains("object")) &&
		len(declared.Properties) == 0 && (declared.AdditionalProperties == nil || declared.AdditionalProperties.Schema == nil)
}

// listKeys returns the merge keys of a list. Those for server-side apply are complete;
// the one for strategic merge patches is what older lists have.
func listKeys(declared *spec.Schema) []string {
	if keys, ok := declared.Extensions.GetStringSlice(extensionListKeys); ok {
		return keys
	}
	if key, ok := declared.Extensions.GetString(extensionPatchKey); ok {
		return []string{key}
	}
	return nil
}

func isQuantity(declared *spec.Schema) bool {
	intOrString, _ := declared.Extensions.GetBool(extensionIntOrString)
	return intOrString && declared.Pattern == quantityPattern
}
