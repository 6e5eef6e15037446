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

package convert

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"
)

// templates turns templates, which are objects as YAML, into expressions that apply these objects.
func (c *converter) templates(spec map[string]any) {
	c.each(spec, "spec", "generate", func(generation map[string]any, path string) {
		template, ok := generation["template"].(map[string]any)
		if !ok {
			return
		}
		delete(generation, "template")
		path += ".template"
		c.others(template, path+".", "value", "interpolate")
		value, _ := template["value"].(string)
		t := &translator{interpolate: template["interpolate"] == "cel"}
		objects, err := t.objects(value)
		if err != nil {
			c.losef(path+".value", "%v", err)
			c.unusable[strings.TrimSuffix(path, ".template")+".expression"] = true
			return
		}
		generation["expression"] = fmt.Sprintf("generator.ApplyAll(%s, [\n%s\n])", strconv.Quote(c.namespace), strings.Join(objects, ",\n"))
		for _, namespace := range t.namespaces {
			if c.namespace != "" && namespace != c.namespace {
				c.losef(path+".value", "an object is in namespace %s, which Kyverno does not accept in a policy of namespace %s; here it is left out", namespace, c.namespace)
			}
		}
	})
}

// translator writes YAML as CEL.
type translator struct {
	// interpolate reads what is between (( and )) as an expression.
	interpolate bool
	// namespaces are the namespaces that objects name as they are, not by an expression.
	namespaces []string
}

// objects returns the objects of a template as expressions.
func (t *translator) objects(text string) ([]string, error) {
	var out []string
	for decoder := yamlv3.NewDecoder(strings.NewReader(text)); ; {
		var doc yamlv3.Node
		if err := decoder.Decode(&doc); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, fmt.Errorf("it is no YAML: %w", err)
		}
		root := &doc
		if root.Kind == yamlv3.DocumentNode && len(root.Content) > 0 {
			root = root.Content[0]
		}
		if root.Tag == "!!null" {
			continue
		}
		object, err := t.value(root, "  ")
		if err != nil {
			return nil, err
		}
		var at struct {
			Metadata struct {
				Namespace string `yaml:"namespace"`
			} `yaml:"metadata"`
		}
		if err := root.Decode(&at); err == nil && at.Metadata.Namespace != "" && (!t.interpolate || !strings.Contains(at.Metadata.Namespace, "((")) {
			t.namespaces = append(t.namespaces, at.Metadata.Namespace)
		}
		out = append(out, "  "+object)
	}
	if len(out) == 0 {
		return nil, errors.New("it has no objects")
	}
	return out, nil
}

// value returns a value as an expression.
func (t *translator) value(n *yamlv3.Node, indent string) (string, error) {
	if n.Kind == yamlv3.AliasNode {
		n = n.Alias
	}
	switch n.Kind {
	case yamlv3.MappingNode:
		return t.mapping(n, indent)
	case yamlv3.SequenceNode:
		items := make([]string, 0, len(n.Content))
		for _, item := range n.Content {
			held, err := t.value(item, indent+"  ")
			if err != nil {
				return "", err
			}
			items = append(items, indent+"  "+held)
		}
		return bracketed("[", items, "]", indent), nil
	case yamlv3.ScalarNode:
		return t.scalar(n)
	default:
		return "", fmt.Errorf("line %d is no value", n.Line)
	}
}

func (t *translator) mapping(n *yamlv3.Node, indent string) (string, error) {
	if slices.ContainsFunc(n.Content, func(key *yamlv3.Node) bool { return key.Tag == "!!merge" }) {
		return t.merged(n, indent)
	}
	entries := make([]string, 0, len(n.Content)/2)
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		if key.Kind != yamlv3.ScalarNode || t.interpolate && strings.Contains(key.Value, "((") {
			return "", fmt.Errorf("line %d: the key of a field is no name", key.Line)
		}
		held, err := t.value(n.Content[i+1], indent+"  ")
		if err != nil {
			return "", err
		}
		entries = append(entries, indent+"  "+strconv.Quote(key.Value)+": "+held)
	}
	return bracketed("{", entries, "}", indent), nil
}

// merged returns a mapping that takes over fields of others. Its fields are ordered by name.
func (t *translator) merged(n *yamlv3.Node, indent string) (string, error) {
	var fields map[string]yamlv3.Node
	if err := n.Decode(&fields); err != nil {
		return "", fmt.Errorf("line %d: %w", n.Line, err)
	}
	entries := make([]string, 0, len(fields))
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		field := fields[name]
		held, err := t.value(&field, indent+"  ")
		if err != nil {
			return "", err
		}
		entries = append(entries, indent+"  "+strconv.Quote(name)+": "+held)
	}
	return bracketed("{", entries, "}", indent), nil
}

func bracketed(open string, items []string, closing, indent string) string {
	if len(items) == 0 {
		return open + closing
	}
	return open + "\n" + strings.Join(items, ",\n") + "\n" + indent + closing
}

func (t *translator) scalar(n *yamlv3.Node) (string, error) {
	if t.interpolate && strings.Contains(n.Value, "((") {
		return t.interpolated(n)
	}
	switch n.ShortTag() {
	case "!!null":
		return "null", nil
	case "!!bool", "!!int", "!!float":
		var value any
		if err := n.Decode(&value); err != nil {
			return "", fmt.Errorf("line %d: %w", n.Line, err)
		}
		return literal(value), nil
	default:
		return strconv.Quote(n.Value), nil
	}
}

// literal returns a scalar as CEL writes it.
func literal(value any) string {
	text := fmt.Sprint(value)
	if _, isFloat := value.(float64); isFloat && !strings.ContainsAny(text, ".eE") {
		text += ".0"
	}
	return text
}

// interpolated returns a text with expressions in it. One that is nothing but an expression has the
// type of that.
func (t *translator) interpolated(n *yamlv3.Node) (string, error) {
	segments, err := segmentsOf(n.Value)
	if err != nil {
		return "", fmt.Errorf("line %d: %w", n.Line, err)
	}
	if len(segments) == 1 && segments[0].isExpression {
		return ended(segments[0].text), nil
	}
	parts := make([]string, 0, len(segments))
	for _, s := range segments {
		if s.isExpression {
			parts = append(parts, "string("+ended(s.text)+")")
		} else {
			parts = append(parts, strconv.Quote(s.text))
		}
	}
	return strings.Join(parts, " + "), nil
}

// ended returns an expression after which something may follow, in spite of a comment at its end.
func ended(expression string) string {
	if strings.Contains(expression, "//") {
		return expression + "\n"
	}
	return expression
}

// segment is a part of a text.
type segment struct {
	text         string
	isExpression bool
}

const (
	begins = "(("
	ends   = "))"
	// escaped is how a text has what an expression begins with.
	escaped = `\((`
)

// segmentsOf parts a text into what is literal and the expressions in it.
func segmentsOf(text string) ([]segment, error) {
	var out []segment
	var plain strings.Builder
	flush := func() {
		if plain.Len() > 0 {
			out = append(out, segment{text: plain.String()})
			plain.Reset()
		}
	}
	for text != "" {
		if rest, ok := strings.CutPrefix(text, escaped); ok {
			plain.WriteString(begins)
			text = rest
			continue
		}
		if !strings.HasPrefix(text, begins) {
			plain.WriteByte(text[0])
			text = text[1:]
			continue
		}
		w := &written{text: []rune(text)}
		// The second parenthesis is closed by the first of those that end the expression.
		_, closing, ok := w.arguments(1)
		if !ok || !strings.HasPrefix(string(w.text[closing:]), ends) {
			return nil, errors.New("an expression that begins with (( does not end with ))")
		}
		expression := strings.TrimSpace(string(w.text[2:closing]))
		if expression == "" {
			return nil, errors.New("there is no expression between (( and ))")
		}
		flush()
		out = append(out, segment{text: expression, isExpression: true})
		text = string(w.text[closing+len(ends):])
	}
	flush()
	return out, nil
}
