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

package draw

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
)

// Mark is the number of an act.
type Mark int

// Text returns a text that may be part of nearly any.
func (m Mark) Text() string { return fmt.Sprintf("zq%dz", int(m)) }

// numbers are above all that anything else counts to.
const numbers = 7_000_000

// Number returns a number that fits into 32 bits.
func (m Mark) Number() int64 { return numbers + int64(m) }

const (
	// deepest is how far down a field may be.
	deepest = 9
	// ports is where those begin that are drawn: they bear no mark, as there are too few.
	ports = 20_000
)

// drawing is one draw.
type drawing struct {
	schemas Schemas
	r       *rand.Rand
	mark    Mark
}

// Field draws a field of an object and a value for it. Where it is of the status, the rest is
// left alone, and the other way around.
func (s Schemas) Field(r *rand.Rand, root *Node, object map[string]any, status bool, mark Mark) (path []string, value any) {
	d := drawing{s, r, mark}
	top := "status"
	if !status {
		top = d.pick(d.tops(root))
	}
	node, ok := root.Properties[top]
	if !ok {
		return nil, nil
	}
	return d.descend([]string{top}, node, object[top])
}

// tops returns the fields at the top that may be written, the content more often than metadata.
func (d drawing) tops(root *Node) []string {
	var out []string
	for _, key := range slices.Sorted(maps.Keys(root.Properties)) {
		switch key {
		case "apiVersion", "kind", "status":
		case "metadata":
			out = append(out, key)
		default:
			out = append(out, key, key, key)
		}
	}
	return out
}

func (d drawing) pick(all []string) string { return all[d.r.IntN(len(all))] }

// fixed are fields of metadata that nobody writes.
var fixed = []string{
	"name", "namespace", "uid", "resourceVersion", "generation", "creationTimestamp", "managedFields", "selfLink",
	"deletionTimestamp", "deletionGracePeriodSeconds", "generateName",
}

// descend goes down to a field that is there, or that might be.
func (d drawing) descend(path []string, node *Node, there any) ([]string, any) {
	node, name := d.schemas.resolve(node)
	if len(path) > 2 && d.r.IntN(6) == 0 || len(path) > deepest {
		return path, d.make(path, node, name, 0)
	}
	switch {
	case len(node.Properties) > 0:
		keys := slices.DeleteFunc(slices.Sorted(maps.Keys(node.Properties)), func(key string) bool {
			return len(path) == 1 && path[0] == "metadata" && slices.Contains(fixed, key)
		})
		fields, _ := there.(map[string]any)
		// What is there already is more likely to be let in.
		key := d.pick(keys)
		if known := slices.Sorted(maps.Keys(fields)); len(known) > 0 && d.r.IntN(2) == 0 {
			if k := d.pick(known); slices.Contains(keys, k) {
				key = k
			}
		}
		return d.descend(append(slices.Clip(path), key), node.Properties[key], fields[key])
	case node.Items != nil:
		list, _ := there.([]any)
		i := d.r.IntN(len(list) + 1)
		if i == len(list) {
			below, belowName := d.schemas.resolve(node.Items)
			return append(slices.Clip(path), strconv.Itoa(i)), d.make(append(slices.Clip(path), "item"), below, belowName, 0)
		}
		return d.descend(append(slices.Clip(path), strconv.Itoa(i)), node.Items, list[i])
	case node.values() != nil:
		fields, _ := there.(map[string]any)
		key := d.mark.Text()
		if known := slices.Sorted(maps.Keys(fields)); len(known) > 0 && d.r.IntN(2) == 0 {
			key = d.pick(known)
		}
		return d.descend(append(slices.Clip(path), key), node.values(), fields[key])
	}
	return path, d.make(path, node, name, 0)
}

// make makes a value.
func (d drawing) make(path []string, node *Node, name string, depth int) any {
	last := path[len(path)-1]
	switch {
	case strings.HasSuffix(name, "Quantity"):
		return fmt.Sprintf("%dm", d.mark.Number())
	case strings.HasSuffix(name, "IntOrString"), node.IntOrString, node.Format == "int-or-string":
		return []any{int64(d.r.IntN(4)), fmt.Sprintf("%d%%", d.r.IntN(100))}[d.r.IntN(2)]
	case len(node.Enum) > 0:
		return node.Enum[d.r.IntN(len(node.Enum))]
	case node.Format == "date-time":
		return "2030-01-01T00:00:00Z"
	}
	switch node.Type {
	case "boolean":
		return d.r.IntN(2) == 0
	case "integer", "number":
		return d.number(last)
	case "array":
		below, belowName := d.schemas.resolve(node.Items)
		if depth > 2 {
			return []any{}
		}
		return []any{d.make(append(slices.Clip(path), "item"), below, belowName, depth+1)}
	case "object", "":
		return d.object(path, node, depth)
	}
	return d.text(last)
}

// small are the fields whose numbers make objects, or places among them.
var small = []string{
	"replicas", "parallelism", "completions", "partition", "revisionHistoryLimit", "failedJobsHistoryLimit", "successfulJobsHistoryLimit",
	"backoffLimit", "backoffLimitPerIndex", "maxFailedIndexes", "start",
}

func (d drawing) number(field string) any {
	switch {
	case slices.Contains(small, field):
		return int64(d.r.IntN(7))
	case strings.HasSuffix(strings.ToLower(field), "port"):
		return int64(ports + int(d.mark)%ports)
	}
	return d.mark.Number()
}

func (d drawing) text(field string) string {
	switch field {
	case "image":
		return d.mark.Text() + ":1"
	case "mountPath", "path":
		return "/" + d.mark.Text()
	case "schedule":
		return "* * * * *"
	}
	return d.mark.Text()
}

// object makes one with what it needs and something more.
func (d drawing) object(path []string, node *Node, depth int) any {
	out := map[string]any{}
	if values := node.values(); values != nil && len(node.Properties) == 0 {
		below, name := d.schemas.resolve(values)
		out[d.mark.Text()] = d.make(append(slices.Clip(path), "value"), below, name, depth+1)
		return out
	}
	if depth > 3 {
		return out
	}
	keys := slices.Clone(node.Required)
	if all := slices.Sorted(maps.Keys(node.Properties)); len(all) > 0 {
		keys = append(keys, d.pick(all))
	}
	for _, key := range keys {
		below, name := d.schemas.resolve(node.Properties[key])
		out[key] = d.make(append(slices.Clip(path), key), below, name, depth+1)
	}
	return out
}
