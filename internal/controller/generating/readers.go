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

package generating

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kausality.io/operator/internal/generate"
)

// readers finds the triggers whose evaluation read an object, by what was read and its selector. Thousands of
// triggers may read the same, and of a kind that is read each change of each object is looked up.
type readers map[readKey]map[string]map[generate.ID]bool

// readKey is what was read. An empty namespace or name stands for any.
type readKey struct {
	resource        schema.GroupVersionResource
	namespace, name string
}

func keyOf(r generate.Read) readKey { return readKey{r.Resource, r.Namespace, r.Name} }

// add notes what was read for a trigger.
func (x readers) add(trigger generate.ID, reads []generate.Read) {
	for _, r := range reads {
		by := x[keyOf(r)]
		if by == nil {
			by = map[string]map[generate.ID]bool{}
			x[keyOf(r)] = by
		}
		if by[r.Selector] == nil {
			by[r.Selector] = map[generate.ID]bool{}
		}
		by[r.Selector][trigger] = true
	}
}

// remove forgets what was read for a trigger.
func (x readers) remove(trigger generate.ID, reads []generate.Read) {
	for _, r := range reads {
		by := x[keyOf(r)]
		delete(by[r.Selector], trigger)
		if len(by[r.Selector]) == 0 {
			delete(by, r.Selector)
		}
		if len(by) == 0 {
			delete(x, keyOf(r))
		}
	}
}

// of returns the triggers for which an object was read that has one of some sets of labels: as it is, or as it was.
func (x readers) of(resource schema.GroupVersionResource, namespace, name string, sets ...labels.Set) []generate.ID {
	found := map[generate.ID]bool{}
	for _, key := range []readKey{{resource, namespace, name}, {resource, "", name}, {resource, namespace, ""}, {resource, "", ""}} {
		for selector, triggers := range x[key] {
			if selects(selector, sets) {
				maps.Copy(found, triggers)
			}
		}
	}
	return slices.Collect(maps.Keys(found))
}

// selects reports whether a selector matches one of some sets of labels. One that nobody understands may.
func selects(selector string, sets []labels.Set) bool {
	parsed, err := labels.Parse(selector)
	return err != nil || slices.ContainsFunc(sets, func(set labels.Set) bool { return parsed.Matches(set) })
}

// changes collects the objects that change during a look. Only at its end is known which of them it has read.
type changes struct {
	objects []changedObject
}

type changedObject struct {
	resource        schema.GroupVersionResource
	namespace, name string
	// sets are its labels, as it is, and as it was.
	sets []labels.Set
}

// add notes that an object has changed.
func (c *changes) add(resource schema.GroupVersionResource, namespace, name string, sets ...labels.Set) {
	c.objects = append(c.objects, changedObject{resource, namespace, name, sets})
}

// concern reports whether one of the objects was read.
func (c *changes) concern(reads []generate.Read) bool {
	if len(c.objects) == 0 {
		return false
	}
	read := readers{}
	read.add(generate.ID{}, reads)
	return slices.ContainsFunc(c.objects, func(o changedObject) bool {
		return len(read.of(o.resource, o.namespace, o.name, o.sets...)) > 0
	})
}
