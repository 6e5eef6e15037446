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
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/change"
)

// Kind is what is known of a kind, compiled. It must not be changed.
type Kind struct {
	// Settled says how a status shows that an object has settled.
	Settled Settled
	// Proves are the fields that all children have once the object has settled.
	Proves []change.Pattern
	// Children are the kinds of children that are known.
	Children []Child
	// TemplateMetadata is true where labels and annotations of children have nothing of
	// the object but what is in their template.
	TemplateMetadata bool
	// Bookkeeping is what controllers do to objects of the kind without a cause.
	Bookkeeping []Bookkeeping
	// OwnAnnotations are what controllers write into objects of the kind for themselves.
	OwnAnnotations []string
	// Actions are what people change in the status.
	Actions []Action
	// Reported are the fields of the status that only who reports them writes.
	Reported []change.Path
	// Steering are the fields that say what controllers do with the children.
	Steering []change.Path
	// CannotWait are the fields that are carried out otherwise than by a change of children.
	CannotWait []change.Path
	// CannotWaitWith are further such fields, of objects in which another field is set.
	CannotWaitWith []CannotWaitWith
	// Selector says what spec.selector is for, empty where there is none.
	Selector v1alpha1.SelectorUse
	// History is where the templates are kept that an object had, nil where nowhere.
	History *History
	// Writers are the service accounts that write objects of the kind for their owners.
	Writers []v1alpha1.Subject
	// Scales says what an object has its controller scale, nil where it has nothing scaled.
	Scales *Scales
	// AnnotationsCount is true where a change of an annotation makes another generation.
	AnnotationsCount bool
	// FullMinutes is true where controllers start something at full minutes, and may lose it to a
	// write of the object in that moment.
	FullMinutes bool

	// source is the declaration.
	source *v1alpha1.Knowledge
}

// CannotWaitWith are fields that are carried out otherwise than by a change of children in objects in
// which another field is set.
type CannotWaitWith struct {
	Set    change.Path
	Fields []change.Path
}

// Waits reports whether a change of a field of an object may be withheld: its controller can carry it
// out by changes of children alone.
func (k *Kind) Waits(object map[string]any, field change.Path) bool {
	if slices.ContainsFunc(k.CannotWait, field.Overlaps) {
		return false
	}
	return !slices.ContainsFunc(k.CannotWaitWith, func(w CannotWaitWith) bool {
		return isSet(object, w.Set) && slices.ContainsFunc(w.Fields, field.Overlaps)
	})
}

// isSet reports whether an object holds something in a field that is not empty.
func isSet(object map[string]any, field change.Path) bool {
	held, _ := field.Value(object)
	switch held := held.(type) {
	case nil:
		return false
	case []any:
		return len(held) > 0
	case map[string]any:
		return len(held) > 0
	}
	return true
}

// Settled says how a status shows that an object has settled.
type Settled struct {
	// Convention is how the status is to be read, empty where the other fields say.
	Convention v1alpha1.SettledConvention
	// Generation is where the status says which generation it is about.
	Generation change.Path
	// Conditions all have to have their status.
	Conditions []v1alpha1.SettledCondition
	// Fields all have to have their value.
	Fields []Field
	// Late is true where the status is declared to lag: it may be about an older spec than the
	// generation in it says.
	Late bool
	// Created is where the status has the time at which the creation had its effect, nil
	// for nowhere.
	Created change.Path
}

// MayLag reports whether the status may be about an older spec than the generation in it says: it is
// declared to lag, or nobody has declared how to read it.
func (s *Settled) MayLag() bool {
	return s.Late || s.Convention == "" && len(s.Conditions)+len(s.Fields) == 0
}

// Field is a field that has to have a value.
type Field struct {
	// Path of the field.
	Path change.Path
	// Value that it has to have, as text.
	Value string
	// OrAbsent is true where it may be absent.
	OrAbsent bool
}

// Child is what is known of one kind of children.
type Child struct {
	// Kind of the children.
	Kind schema.GroupKind
	// Template is what they are made of, nil for nothing that is known.
	Template change.Path
	// At is where a child has the template, nil where its own metadata and spec are made of it.
	At change.Path
	// Counts are the fields that say how many there are.
	Counts []change.Path
	// Suspend stops the object from making any, nil for nothing.
	Suspend change.Path
	// Unshown are the fields that never show in a child.
	Unshown []change.Path
	// Surge makes children beside those that they replace, nil for nothing.
	Surge *Surge
	// Ordinals says how they are numbered, nil where they are not.
	Ordinals *Ordinals
	// Completions says which index a child completes, nil for none.
	Completions *Completions
	// Marks are the metadata by which the controller tells what a child is, beside those
	// that Ordinals and Completions name.
	Marks []change.Pattern
	// Upkeep is what stops where nothing happens without a change.
	Upkeep string
	// AtRest is true where nothing happens without one.
	AtRest bool
}

// AllMarks returns the metadata by which the controller tells what a child is.
func (c *Child) AllMarks() []change.Pattern {
	out := slices.Clone(c.Marks)
	if c.Ordinals != nil {
		out = append(out, change.Pattern(change.Path(labelsOf).Field(c.Ordinals.Label)))
	}
	if c.Completions != nil {
		out = append(out, change.Pattern(change.Path(annotationsOf).Field(c.Completions.Annotation)))
	}
	return out
}

// Surge says which fields make children beside those that they replace.
type Surge struct{ Max, Strategy change.Path }

// Ordinals says how children are numbered, and of which revision each is.
type Ordinals struct {
	Start, Strategy, Partition, CurrentRevision, UpdateRevision change.Path
	// Label of a child that names its revision.
	Label string
}

// Completions says which index a child completes.
type Completions struct {
	// Annotation of a child that says its index.
	Annotation string
	// Count is how many there are.
	Count change.Path
}

// History is where a controller keeps the templates that an object had.
type History struct {
	// Resource holds one template in each object.
	Resource schema.GroupVersionResource
	// Of is the resource of the children that are made of them, in any version.
	Of schema.GroupResource
	// Labels relate children to one of the templates.
	Labels []string
}

// Bookkeeping is something that needs no cause.
type Bookkeeping struct {
	// Operations are CREATE, UPDATE and DELETE, as admission names them.
	Operations []string
	// Fields all have to have their value.
	Fields []Field
}

// Source returns the declaration, nil where nothing is known.
func (k *Kind) Source() *v1alpha1.Knowledge { return k.source }

// Child returns what is known of a kind of children.
func (k *Kind) Child(kind schema.GroupKind) (Child, bool) {
	i := slices.IndexFunc(k.Children, func(c Child) bool { return c.Kind == kind })
	if i < 0 {
		return Child{}, false
	}
	return k.Children[i], true
}

// HasTemplates reports whether it is known of some children what they are made of.
func (k *Kind) HasTemplates() bool {
	return slices.ContainsFunc(k.Children, func(c Child) bool { return c.Template != nil })
}

// IsBookkeeping reports whether an operation on an object of the kind is what controllers
// do to keep their books. The object is as it was before the operation, or, where that
// creates it, as it will be.
func (k *Kind) IsBookkeeping(operation string, object map[string]any) bool {
	return slices.ContainsFunc(k.Bookkeeping, func(b Bookkeeping) bool {
		return slices.Contains(b.Operations, operation) &&
			!slices.ContainsFunc(b.Fields, func(f Field) bool { return !f.Holds(object) })
	})
}

// IsOwnAnnotation reports whether a path is that of an annotation which controllers write into
// objects of the kind for themselves.
func (k *Kind) IsOwnAnnotation(path change.Path) bool {
	return len(path) == 3 && path.IsMetadata() && path[1].Field == "annotations" && slices.Contains(k.OwnAnnotations, path[2].Field)
}

// WithoutOwnAnnotations returns an object without these, and as it is where it has none. The
// object itself stays as it is.
func (k *Kind) WithoutOwnAnnotations(obj map[string]any) map[string]any {
	metadata, _ := obj["metadata"].(map[string]any)
	annotations, _ := metadata["annotations"].(map[string]any)
	if !slices.ContainsFunc(k.OwnAnnotations, func(key string) bool { _, has := annotations[key]; return has }) {
		return obj
	}
	annotations, metadata, obj = maps.Clone(annotations), maps.Clone(metadata), maps.Clone(obj)
	for _, key := range k.OwnAnnotations {
		delete(annotations, key)
	}
	if metadata["annotations"] = annotations; len(annotations) == 0 {
		delete(metadata, "annotations")
	}
	obj["metadata"] = metadata
	return obj
}

// Holds reports whether an object has the value in the field.
func (f Field) Holds(object map[string]any) bool {
	value, there := f.Path.Value(object)
	if !there || value == nil {
		return f.OrAbsent
	}
	if text, ok := value.(string); ok {
		return text == f.Value
	}
	encoded, err := json.Marshal(value)
	return err == nil && string(encoded) == f.Value
}

// Over returns what is known of a kind by a declaration that leaves out what another one says.
func (k *Kind) Over(other *Kind) *Kind {
	if k == nil || k.source == nil {
		return other
	}
	merged := &v1alpha1.Knowledge{}
	if other.source != nil {
		*merged = *other.source
	}
	into, from := reflect.ValueOf(merged).Elem(), reflect.ValueOf(k.source).Elem()
	out := *other
	for i := range from.NumField() {
		if from.Field(i).IsZero() {
			continue
		}
		into.Field(i).Set(from.Field(i))
		setters[fieldName(i)](&out, k)
	}
	out.source = merged
	return &out
}

// setters take one field of a declaration over, by its name.
var setters = map[string]func(to, from *Kind){
	"settled":          func(to, from *Kind) { to.Settled = from.Settled },
	"proves":           func(to, from *Kind) { to.Proves = from.Proves },
	"children":         func(to, from *Kind) { to.Children = from.Children },
	"childMetadata":    func(to, from *Kind) { to.TemplateMetadata = from.TemplateMetadata },
	"bookkeeping":      func(to, from *Kind) { to.Bookkeeping = from.Bookkeeping },
	"ownAnnotations":   func(to, from *Kind) { to.OwnAnnotations = from.OwnAnnotations },
	"actions":          func(to, from *Kind) { to.Actions = from.Actions },
	"reported":         func(to, from *Kind) { to.Reported = from.Reported },
	"steering":         func(to, from *Kind) { to.Steering = from.Steering },
	"cannotWait":       func(to, from *Kind) { to.CannotWait = from.CannotWait },
	"cannotWaitWith":   func(to, from *Kind) { to.CannotWaitWith = from.CannotWaitWith },
	"selector":         func(to, from *Kind) { to.Selector = from.Selector },
	"history":          func(to, from *Kind) { to.History = from.History },
	"writers":          func(to, from *Kind) { to.Writers = from.Writers },
	"scales":           func(to, from *Kind) { to.Scales = from.Scales },
	"annotationsCount": func(to, from *Kind) { to.AnnotationsCount = from.AnnotationsCount },
	"fullMinutes":      func(to, from *Kind) { to.FullMinutes = from.FullMinutes },
}

// fieldName returns the name of a field of Knowledge in JSON.
func fieldName(i int) string {
	name, _, _ := strings.Cut(reflect.TypeFor[v1alpha1.Knowledge]().Field(i).Tag.Get("json"), ",")
	return name
}

// Said returns what a declaration says, by the names of its fields, as text to compare.
func Said(declaration *v1alpha1.Knowledge) map[string]string {
	out := map[string]string{}
	if declaration == nil {
		return out
	}
	fields := reflect.ValueOf(declaration).Elem()
	for i := range fields.NumField() {
		if fields.Field(i).IsZero() {
			continue
		}
		text, err := json.Marshal(fields.Field(i).Interface())
		if err != nil {
			// A declaration is made of strings, booleans, and lists and maps of them.
			panic("knowledge: a declaration that cannot be encoded: " + err.Error())
		}
		out[fieldName(i)] = string(text)
	}
	return out
}
