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

package source

import (
	gojson "encoding/json"
	"fmt"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"
)

// Block returns a value as YAML, its fields in the order in which its type has them.
func Block(value any) (string, error) { return write(value, 0) }

// Line returns a value as YAML in one line.
func Line(value any) (string, error) {
	text, err := write(value, yamlv3.FlowStyle)
	return strings.TrimSpace(text), err
}

func write(value any, style yamlv3.Style) (string, error) {
	text, err := gojson.Marshal(value)
	if err != nil {
		return "", fmt.Errorf("encoding: %w", err)
	}
	// JSON is YAML, and keeps the order.
	var node yamlv3.Node
	if err := yamlv3.Unmarshal(text, &node); err != nil {
		return "", fmt.Errorf("encoding: %w", err)
	}
	restyle(&node, style)
	var out strings.Builder
	encoder := yamlv3.NewEncoder(&out)
	encoder.SetIndent(2)
	encoder.CompactSeqIndent()
	if err := encoder.Encode(&node); err != nil {
		return "", fmt.Errorf("encoding: %w", err)
	}
	return out.String(), nil
}

// restyle takes the quotes off what needs none.
func restyle(node *yamlv3.Node, style yamlv3.Style) {
	node.Style = 0
	if node.Kind != yamlv3.ScalarNode {
		node.Style = style
	}
	for _, child := range node.Content {
		restyle(child, style)
	}
}
