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

package decision

import (
	"slices"

	"kausality.io/operator/internal/change"
)

// repeated returns the fields of the parent whose withheld text the child is about to get, although
// neither the parent nor the child has it now. It is for children whose making is not declared: a text
// that only the withheld change had comes from there.
func (in *Input) repeated() []change.Path {
	values := in.written()
	gets := make([]textAt, 0, len(values))
	for _, value := range values {
		gets = append(gets, texts(nil, value)...)
	}
	if len(gets) == 0 {
		return nil
	}
	has := slices.Concat(texts(nil, marked(in.Parent.Fields)), texts(nil, marked(in.Child.Old)))
	var out []change.Path
	for _, before := range in.Parent.TakenBack {
		for _, d := range before.Withheld() {
			if slices.ContainsFunc(texts(d.Path, d.New), func(was textAt) bool {
				return !slices.ContainsFunc(has, was.isText) && slices.ContainsFunc(gets, was.shows)
			}) {
				out = append(out, d.Path)
			}
		}
	}
	return out
}

// written returns the values that a request writes to the child, each under the name of its field.
func (in *Input) written() []any {
	if in.Operation == Create {
		return []any{content(in.Child.New)}
	}
	var out []any
	for _, c := range in.Changes {
		if c.New != nil {
			out = append(out, map[string]any{lastField(c.Path): c.New})
		}
	}
	return out
}

// content returns what an object says, its metadata and status apart.
func content(object map[string]any) map[string]any {
	out := make(map[string]any, len(object))
	for name, value := range object {
		switch name {
		case "apiVersion", "kind", "metadata", "status":
		default:
			out[name] = value
		}
	}
	return out
}

// marked returns what an object says with its labels and annotations, which may be withheld like the rest.
func marked(object map[string]any) map[string]any {
	out := content(object)
	metadata, _ := object["metadata"].(map[string]any)
	out["metadata"] = map[string]any{"labels": metadata["labels"], "annotations": metadata["annotations"]}
	return out
}

// textAt is a text, with the name of the field that it is in.
type textAt struct{ field, text string }

func (t textAt) isText(other textAt) bool { return t.text == other.text }

// shows reports whether the other text is this one, and by no accident. Numbers and truth values are
// everywhere.
func (t textAt) shows(other textAt) bool {
	return t.text == other.text && (len(t.text) >= tellingLength || len(t.text) >= leastLength && t.field == other.field)
}

// texts returns all texts in a value that is at a path.
func texts(at change.Path, value any) []textAt {
	switch value := value.(type) {
	case string:
		return []textAt{{lastField(at), value}}
	case map[string]any:
		var out []textAt
		for name, below := range value {
			out = append(out, texts(change.Path{}.Field(name), below)...)
		}
		return out
	case []any:
		var out []textAt
		for _, below := range value {
			out = append(out, texts(at, below)...)
		}
		return out
	default:
		return nil
	}
}

// lastField returns the name of the last field of a path, or key of a map, without indexes.
func lastField(at change.Path) string {
	for _, s := range slices.Backward(at) {
		if s.Field != "" {
			return s.Field
		}
	}
	return ""
}
