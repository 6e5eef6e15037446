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

// Package draw draws fields and values from the schemas of kinds, as the API server publishes
// them. Each text and each number that is drawn carries a mark, by which it is known again
// wherever it turns up.
package draw

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Schemas are those of the kinds of some groups.
type Schemas map[string]*Node

// Node is the schema of a value.
type Node struct {
	Ref        string           `json:"$ref"`
	AllOf      []*Node          `json:"allOf"`
	OneOf      []*Node          `json:"oneOf"`
	Type       string           `json:"type"`
	Format     string           `json:"format"`
	Enum       []any            `json:"enum"`
	Properties map[string]*Node `json:"properties"`
	Required   []string         `json:"required"`
	Items      *Node            `json:"items"`
	Additional json.RawMessage  `json:"additionalProperties"`
	Kinds      []struct {
		Group, Version, Kind string
	} `json:"x-kubernetes-group-version-kind"`
	IntOrString bool `json:"x-kubernetes-int-or-string"`
}

// Add adds the schemas of an OpenAPI document.
func (s Schemas) Add(document []byte) error {
	var parsed struct {
		Components struct {
			Schemas map[string]*Node `json:"schemas"`
		} `json:"components"`
	}
	if err := json.Unmarshal(document, &parsed); err != nil {
		return fmt.Errorf("an OpenAPI document does not parse: %w", err)
	}
	maps.Copy(s, parsed.Components.Schemas)
	return nil
}

// Of returns the schema of a kind.
func (s Schemas) Of(kind schema.GroupVersionKind) (*Node, error) {
	for _, name := range slices.Sorted(maps.Keys(s)) {
		for _, known := range s[name].Kinds {
			if known.Group == kind.Group && known.Version == kind.Version && known.Kind == kind.Kind && len(s[name].Properties) > 0 {
				return s[name], nil
			}
		}
	}
	return nil, fmt.Errorf("the API server publishes no schema of %s", kind)
}

const refPrefix = "#/components/schemas/"

// resolve follows references, and says what the schema is called.
func (s Schemas) resolve(n *Node) (*Node, string) {
	name := ""
	for range 8 {
		switch {
		case n == nil:
			return &Node{}, name
		case n.Ref != "":
			name = strings.TrimPrefix(n.Ref, refPrefix)
			n = s[name]
		case len(n.AllOf) == 1 && len(n.Properties) == 0:
			n = n.AllOf[0]
		default:
			return n, name
		}
	}
	return n, name
}

// values returns the schema of the values of a map, or nil.
func (n *Node) values() *Node {
	if len(n.Additional) == 0 {
		return nil
	}
	var values Node
	if json.Unmarshal(n.Additional, &values) != nil {
		return nil // It only says whether there may be any.
	}
	return &values
}
