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
	"fmt"
	"slices"
	"strconv"
	"strings"

	"kausality.io/operator/internal/change"
)

// repeated returns the fields of the parent whose withheld value the child is about to get, although
// neither the parent nor the child has it now. It is for children whose making is not declared: a value
// that only the withheld change had comes from there.
//
// Where it is declared how a controller counts its children, numbers and short texts may come up on the way
// from one number to another. Where it is not they tell as much as long texts. *Observed* where only these
// counted: a stranger's size of four letters, overwritten within a second, was in the cloud in 6 of 19 rounds.
func (in *Input) repeated(isDeclared bool) []change.Path {
	gets, loses := in.written()
	if len(gets)+len(loses) == 0 {
		return nil
	}
	has := leaves(nil, marked(in.Parent.Fields))
	inChild := leaves(nil, marked(in.Child.Old))
	isNew := func(was leaf) bool {
		return !slices.ContainsFunc(has, was.isAt) && (was.isNumber || !slices.ContainsFunc(inChild, was.isAt))
	}
	var out []change.Path
	for _, before := range in.Parent.TakenBack {
		for _, d := range before.Withheld() {
			shown := slices.ContainsFunc(leaves(d.Path, d.New), func(was leaf) bool {
				return isNew(was) && slices.ContainsFunc(gets, func(got leaf) bool { return was.shows(got, isDeclared) })
			})
			// What was taken out is back in the parent, and goes from the child.
			gone := d.New == nil && !isDeclared && slices.ContainsFunc(leaves(d.Path, d.Old), func(was leaf) bool {
				return slices.ContainsFunc(has, was.isAt) && slices.ContainsFunc(loses, func(got leaf) bool { return was.shows(got, isDeclared) })
			})
			if shown || gone {
				out = append(out, d.Path)
			}
		}
	}
	return out
}

// written returns what a request writes to the child, and what it takes out there, each under the name of its field.
func (in *Input) written() (gets, loses []leaf) {
	if in.Operation == Create {
		return leaves(nil, content(in.Child.New)), nil
	}
	for _, c := range in.Changes {
		if c.New != nil {
			gets = append(gets, leaves(c.Path, c.New)...)
		} else {
			loses = append(loses, leaves(c.Path, c.Old)...)
		}
	}
	return gets, loses
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

// leaf is a text, a number or a truth value, with the name of the field that it is in.
type leaf struct {
	field, text       string
	isNumber, isTruth bool
}

// isCommon reports whether the value is in many fields by accident, so that it tells only under its name.
func (l leaf) isCommon() bool { return l.isTruth || l.text == "" || l.text == "0" || l.text == "1" }

// isAt reports whether the other value is this one.
func (l leaf) isAt(other leaf) bool {
	return l.text == other.text && (!l.isCommon() || l.field == other.field)
}

// shows reports whether the other value is this one, and by no accident, or is a text in which it is.
func (l leaf) shows(other leaf, isDeclared bool) bool {
	switch {
	case len(l.text) >= tellingLength && !l.isNumber && strings.Contains(other.text, l.text):
		return l.text == other.text || !isDeclared
	case isDeclared:
		return !l.isNumber && !l.isTruth && len(l.text) >= leastLength && l.isAt(other) && l.field == other.field
	default:
		return l.isAt(other)
	}
}

// leaves returns all texts, numbers and truth values in a value that is at a path.
func leaves(at change.Path, value any) []leaf {
	switch value := value.(type) {
	case nil:
		return nil
	case map[string]any:
		var out []leaf
		for name, below := range value {
			out = append(out, leaves(change.Path{}.Field(name), below)...)
		}
		return out
	case []any:
		var out []leaf
		for _, below := range value {
			out = append(out, leaves(at, below)...)
		}
		return out
	case string:
		return []leaf{{field: lastField(at), text: value}}
	case bool:
		return []leaf{{field: lastField(at), text: strconv.FormatBool(value), isTruth: true}}
	default:
		return []leaf{{field: lastField(at), text: fmt.Sprint(value), isNumber: true}}
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
