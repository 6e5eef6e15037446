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
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"
)

// items returns the objects of a List, such as "kubectl get -o yaml" writes, each as a document
// of its own with its lines in the file. What is no List is returned as it is.
func (d *Document) items() []*Document {
	listed, ok := d.Object["items"].([]any)
	if !ok || !strings.HasSuffix(d.GVK().Kind, "List") {
		return []*Document{d}
	}
	nodes := d.field("items")
	if nodes == nil || nodes.Kind != yamlv3.SequenceNode || len(nodes.Content) != len(listed) {
		return []*Document{d}
	}
	out := make([]*Document, 0, len(listed))
	for i, item := range listed {
		object, isObject := item.(map[string]any)
		raw, err := gojson.Marshal(item)
		if !isObject || err != nil {
			return []*Document{d}
		}
		root := nodes.Content[i]
		out = append(out, &Document{Object: object, file: d.file, first: root.Line, raw: raw, root: root})
	}
	return out
}

// field returns the node of a field of the document, nil where there is none.
func (d *Document) field(name string) *yamlv3.Node {
	for i := 0; i+1 < len(d.root.Content); i += 2 {
		if d.root.Content[i].Value == name {
			return d.root.Content[i+1]
		}
	}
	return nil
}
