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

package audit

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"kausality.io/operator/test/campaign/marks"
)

// Object is what matters of one, as the API server has stored it.
type Object struct {
	Kind, Namespace, Name string
	UID                   types.UID
	// Revision is the order in which versions were stored.
	Revision   uint64
	Generation int64
	// Deleting is true once its end was asked for.
	Deleting            bool
	Finalizers          []string
	Labels, Annotations map[string]string
	Owners              []Owner
	*Content
	Status Status
	// RawStatus is all of the status.
	RawStatus json.RawMessage
}

// Owner is a reference to one.
type Owner struct {
	APIVersion string    `json:"apiVersion"`
	Kind       string    `json:"kind"`
	Name       string    `json:"name"`
	UID        types.UID `json:"uid"`
	Controller bool      `json:"controller"`
}

// Content is what is outside of metadata and status, with the acts whose marks are in it.
// Versions that share it have the same.
type Content struct {
	Fields map[string]any
	Raw    map[string]json.RawMessage
	Marks  []int
}

// Status is what any of the kinds tells of itself.
type Status struct {
	ObservedGeneration     int64 `json:"observedGeneration"`
	Replicas               int64 `json:"replicas"`
	UpdatedReplicas        int64 `json:"updatedReplicas"`
	AvailableReplicas      int64 `json:"availableReplicas"`
	TerminatingReplicas    int64 `json:"terminatingReplicas"`
	DesiredNumberScheduled int64 `json:"desiredNumberScheduled"`
	UpdatedNumberScheduled int64 `json:"updatedNumberScheduled"`
	NumberAvailable        int64 `json:"numberAvailable"`
	LastScheduleTime       any   `json:"lastScheduleTime"`

	Conditions []Condition    `json:"conditions"`
	History    []HistoryEntry `json:"history"`
}

// Condition is one of a status.
type Condition struct {
	Type               string `json:"type"`
	Status             string `json:"status"`
	ObservedGeneration int64  `json:"observedGeneration"`
}

// HistoryEntry is what a record says that happened.
type HistoryEntry struct {
	Event string `json:"event"`
	User  string `json:"user"`
}

// Is reports whether a condition is True.
func (s *Status) Is(kind string) bool {
	return slices.ContainsFunc(s.Conditions, func(c Condition) bool { return c.Type == kind && c.Status == "True" })
}

// Controller returns who controls the object.
func (o *Object) Controller() *Owner {
	for i := range o.Owners {
		if o.Owners[i].Controller {
			return &o.Owners[i]
		}
	}
	return nil
}

// At returns the value at a path of keys of the content.
func (o *Object) At(keys ...string) any {
	if o.Content == nil {
		return nil
	}
	return ValueAt(o.Fields, keys...)
}

// ValueAt returns the value at a path of keys, and of places in lists.
func ValueAt(value any, keys ...string) any {
	for _, key := range keys {
		switch typed := value.(type) {
		case map[string]any:
			value = typed[key]
		case []any:
			i, err := strconv.Atoi(key)
			if err != nil || i < 0 || i >= len(typed) {
				return nil
			}
			value = typed[i]
		default:
			return nil
		}
	}
	return value
}

// count returns a number in the spec, or what stands for it where it is absent.
func (o *Object) count(field string, otherwise int64) int64 {
	n, ok := o.At("spec", field).(float64)
	if !ok {
		return otherwise
	}
	return int64(n)
}

// Replicas returns the number in the spec, or the one that stands for none.
func (o *Object) Replicas() int64 { return o.count("replicas", 1) }

// Decode reads an object.
func (l *Log) Decode(raw []byte) (*Object, error) {
	var parts map[string]json.RawMessage
	if err := json.Unmarshal(raw, &parts); err != nil {
		return nil, err
	}
	var meta struct {
		Namespace         string            `json:"namespace"`
		Name              string            `json:"name"`
		UID               types.UID         `json:"uid"`
		ResourceVersion   string            `json:"resourceVersion"`
		Generation        int64             `json:"generation"`
		DeletionTimestamp *string           `json:"deletionTimestamp"`
		Labels            map[string]string `json:"labels"`
		Annotations       map[string]string `json:"annotations"`
		OwnerReferences   []Owner           `json:"ownerReferences"`
		Finalizers        []string          `json:"finalizers"`
	}
	if err := json.Unmarshal(parts["metadata"], &meta); err != nil {
		return nil, err
	}
	obj := &Object{
		Kind: kindOf(raw), Namespace: meta.Namespace, Name: meta.Name, UID: meta.UID, Revision: number(meta.ResourceVersion),
		Generation: meta.Generation, Deleting: meta.DeletionTimestamp != nil,
		Finalizers: meta.Finalizers, Labels: meta.Labels, Annotations: meta.Annotations, Owners: meta.OwnerReferences,
	}
	l.kinds.name(obj.Owners)
	obj.RawStatus = parts["status"]
	if text := parts["status"]; text != nil {
		// Of a custom kind anything may be there, and then tells nothing.
		if json.Unmarshal(text, &obj.Status) != nil {
			obj.Status = Status{}
		}
	}
	for _, key := range []string{"metadata", "status", "kind", "apiVersion"} {
		delete(parts, key)
	}
	var err error
	obj.Content, err = l.content(parts)
	return obj, err
}

func (l *Log) content(parts map[string]json.RawMessage) (*Content, error) {
	var text strings.Builder
	for _, key := range slices.Sorted(maps.Keys(parts)) {
		text.WriteString(key)
		text.Write(parts[key])
	}
	key := text.String()
	if known := l.contents[key]; known != nil {
		return known, nil
	}
	c := &Content{Fields: map[string]any{}, Raw: parts, Marks: marks.In(key)}
	for name, raw := range parts {
		var value any
		if err := json.Unmarshal(raw, &value); err != nil {
			return nil, err
		}
		c.Fields[name] = value
	}
	l.contents[key] = c
	return c, nil
}

// number reads a resourceVersion.
func number(text string) uint64 {
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0 // There is none that small.
	}
	return n
}
