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

package knowledge

import (
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/change"
)

// Action is what people change in the status to have a controller act.
type Action struct {
	// Pattern names the field, or each item of the list.
	Pattern change.Pattern
	// Item are the fields, with their values, by which the item is known; nil where the
	// field itself is meant.
	Item map[string]string
}

func (c *compiler) action(a v1alpha1.StatusAction, path *field.Path) Action {
	at := c.inStatus(a.Path, path.Child("path"))
	if a.Path == "" {
		c.report(field.Required(path.Child("path"), "a field of the status"))
	}
	out := Action{Pattern: change.Pattern(at), Item: a.Item}
	if len(a.Item) > 0 {
		out.Pattern = append(slices.Clone(out.Pattern), change.Wildcard)
	}
	return out
}

// Changes returns the changes of actions between two versions of an object, in the order of
// the actions. A field that comes or goes with the status is changed.
func (k *Kind) Changes(old, updated map[string]any) []change.Change {
	var out []change.Change
	for _, a := range k.Actions {
		if c, changed := a.changed(old, updated); changed {
			out = append(out, c)
		}
	}
	return out
}

// changed returns the change of what the action is about.
func (a Action) changed(old, updated map[string]any) (change.Change, bool) {
	was, before := a.find(old)
	is, after := a.find(updated)
	c := change.Change{Path: is, Verb: change.Mutate, Old: before, New: after}
	switch {
	case before == nil && after == nil, equality.Semantic.DeepEqual(before, after):
		return change.Change{}, false
	case before == nil:
		c.Verb = change.Insert
	case after == nil:
		c.Path, c.Verb = was, change.Delete
	}
	return c, true
}

// find returns where an object has what the action is about, and what.
func (a Action) find(object map[string]any) (change.Path, any) {
	if len(a.Item) == 0 {
		value, _ := change.Path(a.Pattern).Value(object)
		return change.Path(a.Pattern), value
	}
	for _, path := range a.Pattern.Expand(object) {
		value, _ := path.Value(object)
		item, _ := value.(map[string]any)
		matches := item != nil
		for name, want := range a.Item {
			text, _ := item[name].(string)
			matches = matches && text == want
		}
		if matches {
			return path, value
		}
	}
	return nil, nil
}
