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

package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/yaml"
)

// What may stand for a value in an object, and becomes a part of a template.
type (
	// inline is an expression for a scalar.
	inline string
	// block is an expression for an object or a list, left out where it is empty.
	block string
	// items is an expression for strings that are added to a list.
	items string
	// orElse is an expression for an object, and what is there where it is empty.
	orElse struct {
		Expression string
		Otherwise  any
	}
	// either is one value or another, as a condition says; nil is none at all.
	either struct {
		Condition       string
		Then, Otherwise any
	}
)

// merge returns one value where the condition holds, and another one where it does not.
func merge(condition string, then, otherwise any) any {
	if equality.Semantic.DeepEqual(then, otherwise) {
		return then
	}
	switch a := then.(type) {
	case object:
		if b, ok := otherwise.(object); ok {
			merged := object{}
			for key := range maps.Keys(a) {
				merged[key] = merge(condition, a[key], b[key])
			}
			for key := range maps.Keys(b) {
				merged[key] = merge(condition, a[key], b[key])
			}
			return merged
		}
	case []any:
		if b, ok := otherwise.([]any); ok {
			return mergeLists(condition, a, b)
		}
	}
	return either{condition, then, otherwise}
}

// mergeLists goes by places. What values add at the end stays there.
func mergeLists(condition string, then, otherwise []any) []any {
	var added []any
	if i, j := len(then)-1, len(otherwise)-1; i >= 0 && j >= 0 && equality.Semantic.DeepEqual(then[i], otherwise[j]) {
		if _, ok := then[i].(items); ok {
			then, otherwise, added = then[:i], otherwise[:j], then[i:]
		}
	}
	var merged []any
	for i := range max(len(then), len(otherwise)) {
		merged = append(merged, merge(condition, at(then, i), at(otherwise, i)))
	}
	return append(merged, added...)
}

func at(list []any, i int) any {
	if i < len(list) {
		return list[i]
	}
	return nil
}

// template writes an object, as YAML with expressions in it.
func template(o object) string {
	var w writer
	w.fields(o, 0)
	return w.text.String()
}

// writer gathers the text of a template.
type writer struct{ text strings.Builder }

// put adds text. A Builder never fails.
func (w *writer) put(text string) { _, _ = w.text.WriteString(text) }

func (w *writer) linef(indent int, format string, args ...any) {
	w.put(strings.Repeat(" ", indent) + fmt.Sprintf(format, args...) + "\n")
}

func (w *writer) fields(o object, indent int) {
	for _, key := range slices.Sorted(maps.Keys(o)) {
		w.entry(scalar(key, 0)+":", o[key], indent)
	}
}

// entry writes a value after what leads to it: the key of a field, or the dash of an item.
func (w *writer) entry(lead string, value any, indent int) {
	switch v := value.(type) {
	case either:
		switch {
		case v.Otherwise == nil:
			w.linef(indent, "{{- if %s }}", v.Condition)
			w.entry(lead, v.Then, indent)
		case v.Then == nil:
			w.linef(indent, "{{- if not (%s) }}", v.Condition)
			w.entry(lead, v.Otherwise, indent)
		default:
			w.linef(indent, "{{- if %s }}", v.Condition)
			w.entry(lead, v.Then, indent)
			w.linef(indent, "{{- else }}")
			w.entry(lead, v.Otherwise, indent)
		}
		w.linef(indent, "{{- end }}")
	case inline:
		w.linef(indent, "%s {{ %s }}", lead, string(v))
	case block:
		w.linef(indent, "{{- with %s }}", string(v))
		w.linef(indent, "%s", lead)
		w.linef(indent+2, "{{- toYaml . | nindent %d }}", indent+2)
		w.linef(indent, "{{- end }}")
	case items:
		w.linef(indent, "{{- range %s }}", string(v))
		w.linef(indent, "%s {{ . | quote }}", lead)
		w.linef(indent, "{{- end }}")
	case orElse:
		w.linef(indent, "%s", lead)
		w.linef(indent+2, "{{- with %s }}", v.Expression)
		w.linef(indent+2, "{{- toYaml . | nindent %d }}", indent+2)
		w.linef(indent+2, "{{- else }}")
		var rest writer
		rest.entry("", v.Otherwise, indent)
		w.put(strings.TrimPrefix(rest.text.String(), strings.Repeat(" ", indent)+"\n"))
		w.linef(indent+2, "{{- end }}")
	case object:
		if len(v) == 0 {
			w.linef(indent, "%s {}", lead)
			return
		}
		w.nested(lead, indent, func(w *writer) { w.fields(v, indent+2) })
	case []any:
		if len(v) == 0 {
			w.linef(indent, "%s []", lead)
			return
		}
		w.linef(indent, "%s", lead)
		for _, item := range v {
			w.entry("-", item, indent+2)
		}
	default:
		w.linef(indent, "%s %s", lead, scalar(v, indent))
	}
}

// nested writes fields below their lead. The first field of an item stands beside its dash,
// unless a condition does.
func (w *writer) nested(lead string, indent int, fields func(*writer)) {
	var below writer
	fields(&below)
	text := below.text.String()
	if lead == "-" && !strings.HasPrefix(strings.TrimSpace(text), "{{") {
		text = strings.Repeat(" ", indent) + "- " + text[indent+2:]
		w.put(text)
		return
	}
	w.linef(indent, "%s", lead)
	w.put(text)
}

// scalar returns a value as YAML has it, in the namespace of the release. Braces that would be
// taken for an expression are written by one.
func scalar(value any, indent int) string {
	if value == namespace {
		return "{{ .Release.Namespace | quote }}"
	}
	raw, err := yaml.Marshal(value)
	if err != nil {
		panic(fmt.Sprintf("a value of an object that was read as YAML cannot be written as such: %v", err))
	}
	text := strings.TrimRight(string(raw), "\n")
	text = strings.ReplaceAll(text, "{{", `{{ "{{" }}`)
	text = strings.ReplaceAll(text, namespace, "{{ .Release.Namespace }}")
	margin := "\n" + strings.Repeat(" ", indent)
	text = strings.ReplaceAll(text, "\n", margin)
	return strings.ReplaceAll(text, margin+"\n", "\n\n")
}
