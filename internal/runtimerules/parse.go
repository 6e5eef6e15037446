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

package runtimerules

import (
	"bytes"
	"errors"
	"io"
	"regexp"
	"slices"
	"strconv"

	yamlv3 "go.yaml.in/yaml/v3"
)

// Limits of a file, so that a mistaken mount is not read into memory.
const (
	// MaxFileBytes is the size of a file.
	MaxFileBytes = 1 << 20
	// MaxRules is how many rules it may have.
	MaxRules = 10_000
)

const tagString = "!!str"

// The keys of a file.
const (
	keyRules       = "rules"
	keyMethod      = "method"
	keyAction      = "action"
	keyConditions  = "conditions"
	keyFilters     = "filters"
	keyField       = "field"
	keyFilterField = "filterField"
	keyOperator    = "operator"
	keySource      = "source"
	keyValue       = "value"
)

// lineOfError is where YAML's own errors say that they are.
var lineOfError = regexp.MustCompile(`^yaml: (?:line (\d+): )?`)

// parser turns the text of a file into rules, and keeps what it cannot make sense of.
type parser struct {
	problems *ProblemsError
}

// parse reads rules. Their fields and methods are not looked at yet.
func parse(file string, text []byte) ([]*Rule, *ProblemsError) {
	p := &parser{problems: &ProblemsError{File: file}}
	if len(text) > MaxFileBytes {
		p.problems.addf(1, "the file has %d bytes, and may have %d", len(text), MaxFileBytes)
		return nil, p.problems
	}
	root := p.document(text)
	if root == nil {
		return nil, p.problems
	}
	if root.Kind == yamlv3.MappingNode {
		fields := p.mapping(root, "the file", keyRules)
		if root = fields[keyRules]; root == nil {
			if len(p.problems.List) == 0 {
				p.problems.addf(1, "the file has no rules: write a list of rules, or one under \"rules:\"; \"rules: []\" refuses every call")
			}
			return nil, p.problems
		}
	}
	entries := p.list(root, "rules")
	if len(entries) > MaxRules {
		p.problems.addf(entries[MaxRules].Line, "the file has %d rules, and may have %d", len(entries), MaxRules)
		return nil, p.problems
	}
	rules := make([]*Rule, 0, len(entries))
	for i, entry := range entries {
		rules = append(rules, p.rule(i+1, entry))
	}
	return rules, p.problems
}

// document returns the one that a file has.
func (p *parser) document(text []byte) *yamlv3.Node {
	decoder := yamlv3.NewDecoder(bytes.NewReader(text))
	var document, another yamlv3.Node
	if err := decoder.Decode(&document); err != nil {
		if errors.Is(err, io.EOF) {
			p.problems.addf(1, "the file is empty: write a list of rules; \"rules: []\" refuses every call")
		} else {
			p.syntax(err)
		}
		return nil
	}
	switch err := decoder.Decode(&another); {
	case errors.Is(err, io.EOF):
	case err != nil:
		p.syntax(err)
		return nil
	default:
		p.problems.addf(another.Line, "a file has one document: remove the \"---\" and what follows")
		return nil
	}
	if !p.plain(&document) || len(document.Content) != 1 {
		return nil
	}
	return document.Content[0]
}

// syntax tells of text that is not YAML.
func (p *parser) syntax(err error) {
	line := 1
	if found := lineOfError.FindStringSubmatch(err.Error()); len(found) > 1 && found[1] != "" {
		line, _ = strconv.Atoi(found[1])
	}
	p.problems.addf(line, "not YAML: %s", lineOfError.ReplaceAllString(err.Error(), ""))
}

// plain reports whether the document is without aliases, anchors and tags: a reader
// should see what a rule says where it stands.
func (p *parser) plain(node *yamlv3.Node) bool {
	if node.Kind == yamlv3.AliasNode || node.Anchor != "" {
		p.problems.addf(node.Line, "aliases and anchors are not read here: write the value out")
		return false
	}
	if node.Style&yamlv3.TaggedStyle != 0 {
		p.problems.addf(node.Line, "the tag %s is not read here: leave it out", node.Tag)
		return false
	}
	return !slices.ContainsFunc(node.Content, func(child *yamlv3.Node) bool { return !p.plain(child) })
}

func (p *parser) rule(number int, node *yamlv3.Node) *Rule {
	rule := &Rule{Number: number, Line: node.Line}
	fields := p.mapping(node, "a rule", keyMethod, keyAction, keyConditions, keyFilters)
	if fields == nil {
		return rule
	}
	rule.Method = p.required(node, fields, "a rule", keyMethod)
	switch action := Action(p.required(node, fields, "a rule", keyAction)); action {
	case Allow, Deny:
		rule.Action = action
	case "":
	default:
		p.problems.addf(fields[keyAction].Line, "unknown action %q: use %s or %s", action, Allow, Deny)
	}
	if conditions := fields[keyConditions]; conditions != nil {
		for _, entry := range p.list(conditions, keyConditions) {
			rule.Conditions = append(rule.Conditions, p.condition(entry))
		}
	}
	if filters := fields[keyFilters]; filters != nil {
		for _, entry := range p.list(filters, keyFilters) {
			rule.Filters = append(rule.Filters, p.filter(entry))
		}
	}
	if rule.Action == Deny {
		for _, key := range []string{keyConditions, keyFilters} {
			if fields[key] != nil {
				p.problems.addf(fields[key].Line,
					"%s under %s: a rule that denies does so always; allow what shall pass above it", key, Deny)
			}
		}
	}
	return rule
}

func (p *parser) condition(node *yamlv3.Node) Condition {
	condition := Condition{Line: node.Line}
	fields := p.mapping(node, "a condition", keyField, keyOperator, keyValue, keySource)
	if fields == nil {
		return condition
	}
	condition.Field = p.required(node, fields, "a condition", keyField)
	condition.Operator = p.operator(node, fields, "a condition")
	value, source := fields[keyValue], fields[keySource]
	switch {
	case value != nil && source != nil:
		p.problems.addf(value.Line, "a condition has a value or a source, and not both")
	case source != nil:
		condition.Source = p.source(source)
	case value == nil:
		p.problems.addf(node.Line, "a condition needs a value, or the source %s", CallersPod)
	case condition.Operator == BelongsToPod:
		p.problems.addf(value.Line, "%s asks about the Pod of a source: write \"source: %s\" in place of the value", BelongsToPod, CallersPod)
	case value.Kind != yamlv3.ScalarNode || value.Tag == "!!null":
		p.problems.addf(value.Line, "a value is a string, a number, true or false")
	default:
		condition.Value = &Scalar{Tag: value.Tag, Text: value.Value}
	}
	return condition
}

func (p *parser) filter(node *yamlv3.Node) Filter {
	filter := Filter{Line: node.Line}
	fields := p.mapping(node, "a filter", keyField, keyFilterField, keyOperator, keySource)
	if fields == nil {
		return filter
	}
	filter.Field = p.required(node, fields, "a filter", keyField)
	filter.FilterField = p.required(node, fields, "a filter", keyFilterField)
	filter.Operator = p.operator(node, fields, "a filter")
	if p.required(node, fields, "a filter", keySource) != "" {
		filter.Source = p.source(fields[keySource])
	}
	return filter
}

func (p *parser) operator(node *yamlv3.Node, fields map[string]*yamlv3.Node, what string) Operator {
	switch operator := Operator(p.required(node, fields, what, keyOperator)); operator {
	case Equals, BelongsToPod:
		return operator
	case "":
	default:
		p.problems.addf(fields[keyOperator].Line, "unknown operator %q: use %s or %s", operator, Equals, BelongsToPod)
	}
	return ""
}

func (p *parser) source(node *yamlv3.Node) string {
	text := p.text(node, keySource)
	if text != "" && text != CallersPod {
		p.problems.addf(node.Line, "unknown source %q: use %s", text, CallersPod)
		return ""
	}
	return text
}

// required returns the text of a key that has to be there.
func (p *parser) required(node *yamlv3.Node, fields map[string]*yamlv3.Node, what, key string) string {
	field := fields[key]
	if field == nil {
		p.problems.addf(node.Line, "%s needs %q", what, key)
		return ""
	}
	return p.text(field, key)
}

func (p *parser) text(node *yamlv3.Node, key string) string {
	if node.Kind != yamlv3.ScalarNode || node.Tag != tagString || node.Value == "" {
		p.problems.addf(node.Line, "%s is a text that is not empty", key)
		return ""
	}
	return node.Value
}

// mapping returns the values of a mapping by key. It is nil for what is none.
func (p *parser) mapping(node *yamlv3.Node, what string, keys ...string) map[string]*yamlv3.Node {
	if node.Kind != yamlv3.MappingNode {
		p.problems.addf(node.Line, "%s is a mapping with the keys %v", what, keys)
		return nil
	}
	fields := map[string]*yamlv3.Node{}
	for i := 0; i+1 < len(node.Content); i += 2 {
		key, value := node.Content[i], node.Content[i+1]
		switch {
		case key.Kind != yamlv3.ScalarNode || !slices.Contains(keys, key.Value):
			p.problems.addf(key.Line, "%s has no key %q: %s", what, key.Value, meant(key.Value, keys))
		case fields[key.Value] != nil:
			p.problems.addf(key.Line, "the key %q is there twice", key.Value)
		default:
			fields[key.Value] = value
		}
	}
	return fields
}

func (p *parser) list(node *yamlv3.Node, what string) []*yamlv3.Node {
	if node.Kind != yamlv3.SequenceNode {
		p.problems.addf(node.Line, "%s is a list: begin each entry with \"- \"", what)
		return nil
	}
	return node.Content
}
