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

package plan

import (
	"maps"

	"k8s.io/apimachinery/pkg/runtime"

	"kausality.io/operator/internal/generate"
)

// world is what there is: it does what a plan says, as the API server and records would.
type world struct {
	policy   Policy
	triggers map[generate.ID]*Trigger
	objects  map[generate.ID]*Existing
	rivals   map[generate.ID][]PolicyRef
}

func newWorld(p Policy) *world {
	return &world{policy: p, triggers: map[generate.ID]*Trigger{}, objects: map[generate.ID]*Existing{}, rivals: map[generate.ID][]PolicyRef{}}
}

// trigger has a trigger want these objects.
func (w *world) trigger(id generate.ID, state State, wanted ...generate.Wanted) {
	t := w.triggers[id]
	if t == nil {
		t = &Trigger{ID: id, Made: map[generate.ID]bool{}}
		w.triggers[id] = t
	}
	t.State, t.Wanted = state, wanted
}

// plan returns what there is to do.
func (w *world) plan() []Step {
	var triggers []Trigger
	for _, t := range w.triggers {
		triggers = append(triggers, *t)
	}
	var existing []Existing
	for _, e := range w.objects {
		existing = append(existing, *e)
	}
	return For(w.policy, triggers, existing, w.rivals)
}

// carryOut does it.
func (w *world) carryOut(steps []Step) {
	for _, s := range steps {
		switch s.Do {
		case Create:
			w.objects[s.ID] = applied(s.ID, s.Content, s.Marks)
		case Apply:
			before := w.objects[s.ID].Content
			w.objects[s.ID] = applied(s.ID, s.Content, s.Marks)
			leaveOthers(before, w.objects[s.ID].Content)
			for _, path := range s.Remove {
				path.Remove(w.objects[s.ID].Content)
			}
		case Delete:
			delete(w.objects, s.ID)
		case Leave:
		}
		for _, id := range s.MadeFor {
			w.triggers[id].Made[s.ID] = true
		}
	}
}

// leaveOthers keeps data that was not applied, as the API server does.
func leaveOthers(before, after map[string]any) {
	had, _ := before["data"].(map[string]any)
	has, _ := after["data"].(map[string]any)
	for key, value := range had {
		if _, ok := has[key]; !ok {
			has[key] = value
		}
	}
}

// applied returns an object as the API server has it after it was applied.
func applied(id generate.ID, content map[string]any, marks *Marks) *Existing {
	content = runtime.DeepCopyJSON(content)
	fields := owns(content)
	metadata, _ := content["metadata"].(map[string]any)
	if metadata == nil {
		metadata = map[string]any{}
		content["metadata"] = metadata
	}
	metadata["managedFields"] = []any{map[string]any{
		"manager": FieldManager, "operation": "Apply", "apiVersion": content["apiVersion"], "fieldsType": "FieldsV1", "fieldsV1": fields,
	}}
	return &Existing{ID: id, Content: content, Marks: marks}
}

// owns returns the managed fields for all that an object has; lists are atomic.
func owns(content map[string]any) map[string]any {
	out := map[string]any{}
	for name, held := range content {
		if name == "apiVersion" || name == "kind" {
			continue
		}
		below, _ := held.(map[string]any)
		out["f:"+name] = owns(below)
	}
	return out
}

// modify changes a field of data of an object, as somebody else does.
func (w *world) modify(id generate.ID, key, value string) {
	object := w.objects[id]
	content := runtime.DeepCopyJSON(object.Content)
	data, _ := content["data"].(map[string]any)
	data[key] = value
	metadata, _ := content["metadata"].(map[string]any)
	entries, _ := metadata["managedFields"].([]any)
	for _, held := range entries {
		entry, _ := held.(map[string]any)
		fields, _ := entry["fieldsV1"].(map[string]any)
		owned, _ := fields["f:data"].(map[string]any)
		delete(owned, "f:"+key)
		if len(owned) == 0 {
			// The API server keeps no field of which nothing is left.
			delete(fields, "f:data")
		}
	}
	w.objects[id] = &Existing{ID: id, Content: content, Marks: object.Marks}
}

// copyOf returns a copy of the world, which does not change with it.
func (w *world) copyOf() *world {
	out := newWorld(w.policy)
	for id, t := range w.triggers {
		c := *t
		c.Made = maps.Clone(t.Made)
		out.triggers[id] = &c
	}
	maps.Copy(out.objects, w.objects)
	maps.Copy(out.rivals, w.rivals)
	return out
}

// beingDeleted returns an object on its way out.
func beingDeleted(object *Existing) *Existing {
	content := runtime.DeepCopyJSON(object.Content)
	metadata, _ := content["metadata"].(map[string]any)
	metadata["deletionTimestamp"] = "2026-01-01T00:00:00Z"
	return &Existing{ID: object.ID, Content: content, Marks: object.Marks}
}

// configMap returns a ConfigMap of one value that is wanted.
func configMap(name, value string, source *generate.ID) generate.Wanted {
	return generate.Wanted{
		ID: generate.ID{Kind: "ConfigMap", Namespace: "shop", Name: name},
		Content: map[string]any{
			"apiVersion": "v1", "kind": "ConfigMap",
			"metadata": map[string]any{"name": name, "namespace": "shop"},
			"data":     map[string]any{"key": value},
		},
		Source: source,
	}
}
