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
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/fieldpath"
	yamlv3 "go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/json"
	"sigs.k8s.io/yaml"

	"kausality.io/operator/internal/cli/text"
)

// Place is where something stands in a file.
type Place struct {
	// File as the user named it.
	File string `json:"file"`
	// Line counts from 1; 0 is the file as a whole.
	Line int `json:"line,omitempty"`
}

// String returns what editors and CI systems jump to.
func (p Place) String() string {
	if p.Line == 0 {
		return p.File
	}
	return p.File + ":" + strconv.Itoa(p.Line)
}

// Problem is something wrong at a place.
type Problem struct {
	Place
	// Field is the path of the field that is wrong, where it is one.
	Field string `json:"field,omitempty"`
	// Message says what is wrong.
	Message string `json:"message"`
}

// Told returns a problem as people read it, behind a label.
func Told(terminal text.Terminal, label string, p Problem) string {
	head := p.String() + ": " + label
	if p.Field != "" {
		head += ": " + p.Field
	}
	return head + "\n" + terminal.Wrap("    ", p.Message)
}

// Document is one object in a file.
type Document struct {
	// Object is what the document holds.
	Object map[string]any

	file  string
	first int
	raw   []byte
	root  *yamlv3.Node
}

// parse reads one document, which begins behind that many lines of the file. It
// returns nil for one that is empty.
func parse(file string, before int, text string) (*Document, *Problem) {
	// With the lines before it, each line has the number that it has in the file.
	padded := strings.Repeat("\n", before) + text
	var root yamlv3.Node
	if err := yamlv3.Unmarshal([]byte(padded), &root); err != nil {
		return nil, malformed(file, before+1, err)
	}
	if len(root.Content) == 0 || root.Content[0].Tag == "!!null" {
		return nil, nil
	}
	d := &Document{file: file, first: root.Content[0].Line, root: root.Content[0]}
	var err error
	if d.raw, err = yaml.YAMLToJSONStrict([]byte(padded)); err != nil {
		return nil, malformed(file, d.first, err)
	}
	if err := utiljson.Unmarshal(d.raw, &d.Object); err != nil {
		return nil, &Problem{Place: Place{File: file, Line: d.first}, Message: "it is no object: a document begins with fields such as apiVersion"}
	}
	return d, nil
}

// Of returns a document that is in no file.
func Of(object map[string]any) (*Document, error) {
	raw, err := gojson.Marshal(object)
	if err != nil {
		return nil, fmt.Errorf("encoding an object: %w", err)
	}
	return &Document{Object: object, raw: raw, root: &yamlv3.Node{}}, nil
}

var lineOf = regexp.MustCompile(`line (\d+): (.*)`)

// malformed returns what is wrong with a text that is no YAML.
func malformed(file string, line int, err error) *Problem {
	message := strings.TrimPrefix(err.Error(), "yaml: ")
	if m := lineOf.FindStringSubmatch(err.Error()); m != nil {
		message = m[2]
		if n, err := strconv.Atoi(m[1]); err == nil {
			line = n
		}
	}
	return &Problem{Place: Place{File: file, Line: line}, Message: "it is no YAML: " + message}
}

// GVK returns the kind of the object.
func (d *Document) GVK() schema.GroupVersionKind {
	apiVersion, _ := d.Object["apiVersion"].(string)
	kind, _ := d.Object["kind"].(string)
	return schema.FromAPIVersionAndKind(apiVersion, kind)
}

// File returns the name of the document's file.
func (d *Document) File() string { return d.file }

// At returns the place of a field, such as spec.rules[0].trigger: where there is none, that
// of the nearest one above it.
func (d *Document) At(path string) Place {
	node := d.root
	line := d.first
	segments, err := fieldpath.Parse(path)
	if err != nil {
		return Place{File: d.file, Line: line}
	}
	for _, s := range segments {
		key, value := child(node, s)
		if value == nil {
			break
		}
		node, line = value, key.Line
	}
	return Place{File: d.file, Line: line}
}

// child returns what a node holds under a segment, and the node whose line is its place.
func child(node *yamlv3.Node, s fieldpath.Segment) (key, value *yamlv3.Node) {
	if node.Kind == yamlv3.AliasNode {
		node = node.Alias
	}
	switch {
	case node.Kind == yamlv3.MappingNode && s.Type == fieldpath.SegmentField:
		for i := 0; i+1 < len(node.Content); i += 2 {
			if node.Content[i].Value == s.Field {
				return node.Content[i], node.Content[i+1]
			}
		}
	case node.Kind == yamlv3.SequenceNode && s.Type == fieldpath.SegmentIndex && s.Index < uint(len(node.Content)):
		return node.Content[s.Index], node.Content[s.Index]
	}
	return nil, nil
}

// Decode reads the document into a value. Each field that the value does not have is a
// Problem of its own.
func (d *Document) Decode(into any) []Problem {
	strict, err := json.UnmarshalStrict(d.raw, into)
	if err != nil {
		return []Problem{d.problem(err)}
	}
	var out []Problem
	for _, err := range strict {
		out = append(out, d.problem(err))
	}
	return out
}

// Problem returns a problem about a field of the document.
func (d *Document) Problem(path, format string, args ...any) Problem {
	return Problem{Place: d.At(path), Field: path, Message: fmt.Sprintf(format, args...)}
}

func (d *Document) problem(err error) Problem {
	if unknown, ok := errors.AsType[json.FieldError](err); ok {
		return Problem{Place: d.At(unknown.FieldPath()), Field: unknown.FieldPath(), Message: "there is no such field"}
	}
	if mismatch, ok := errors.AsType[*gojson.UnmarshalTypeError](err); ok {
		return d.Problem(mismatch.Field, "it is a %s, where a %s is wanted", mismatch.Value, mismatch.Type)
	}
	return Problem{Place: d.At(""), Message: err.Error()}
}
