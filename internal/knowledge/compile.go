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
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/change"
)

// Compile compiles a declaration; nil is one that says nothing. What is wrong is reported,
// with its path.
func Compile(declaration *v1alpha1.Knowledge, path *field.Path) (*Kind, field.ErrorList) {
	if declaration == nil {
		return nil, nil
	}
	c := compiler{}
	out := &Kind{
		source:           declaration,
		Settled:          c.settled(ptr.Deref(declaration.Settled, v1alpha1.SettledKnowledge{}), path.Child("settled")),
		Proves:           c.patterns(declaration.Proves, path.Child("proves")),
		TemplateMetadata: oneOf(&c, declaration.ChildMetadata, path.Child("childMetadata"), v1alpha1.ChildMetadataObject, v1alpha1.ChildMetadataTemplate) == v1alpha1.ChildMetadataTemplate,
		Steering:         c.paths(declaration.Steering, path.Child("steering")),
		CannotWait:       c.paths(declaration.CannotWait, path.Child("cannotWait")),
		Selector:         oneOf(&c, declaration.Selector, path.Child("selector"), v1alpha1.SelectorKeeps, v1alpha1.SelectorAdopts),
		Writers:          slices.Clone(declaration.Writers),
		AnnotationsCount: declaration.AnnotationsCount,
		FullMinutes:      declaration.FullMinutes,
		OwnAnnotations:   slices.Clone(declaration.OwnAnnotations),
	}
	for i, w := range declaration.CannotWaitWith {
		at := path.Child("cannotWaitWith").Index(i)
		out.CannotWaitWith = append(out.CannotWaitWith, CannotWaitWith{Set: c.needed(w.Set, at.Child("set")), Fields: c.paths(w.Fields, at.Child("fields"))})
	}
	for i, child := range declaration.Children {
		out.Children = append(out.Children, c.child(child, path.Child("children").Index(i)))
	}
	for i, b := range declaration.Bookkeeping {
		out.Bookkeeping = append(out.Bookkeeping, c.bookkeeping(b, path.Child("bookkeeping").Index(i)))
	}
	for i, a := range declaration.Actions {
		out.Actions = append(out.Actions, c.action(a, path.Child("actions").Index(i)))
	}
	for i, text := range declaration.Reported {
		out.Reported = append(out.Reported, c.ofStatus(text, path.Child("reported").Index(i)))
	}
	if h := declaration.History; h != nil {
		out.History = c.history(h, path.Child("history"))
	}
	if s := declaration.Scales; s != nil {
		out.Scales = c.scales(s, path.Child("scales"))
	}
	return out, c.errs
}

// compiler collects what is wrong while it compiles.
type compiler struct{ errs field.ErrorList }

func (c *compiler) report(err *field.Error) { c.errs = append(c.errs, err) }

// oneOf returns a value that is one of those that are allowed, or empty.
func oneOf[T ~string](c *compiler, value T, path *field.Path, allowed ...T) T {
	if value != "" && !slices.Contains(allowed, value) {
		c.report(field.NotSupported(path, value, allowed))
		return ""
	}
	return value
}

// path compiles a path to one field, nil for none.
func (c *compiler) path(text string, at *field.Path) change.Path {
	if text == "" {
		return nil
	}
	path, err := change.ParsePath(text)
	if err != nil {
		c.report(field.Invalid(at, text, "not a field path: "+err.Error()))
		return nil
	}
	return path
}

// needed compiles a path that has to be there.
func (c *compiler) needed(text string, at *field.Path) change.Path {
	if text == "" {
		c.report(field.Required(at, "the path of a field"))
	}
	return c.path(text, at)
}

// inStatus compiles a path of the status.
func (c *compiler) inStatus(text string, at *field.Path) change.Path {
	path := c.path(text, at)
	if path != nil && (len(path) < 2 || path[0].Field != statusField) {
		c.report(field.Invalid(at, text, "has to be a field of the status"))
	}
	return path
}

// ofStatus compiles a path of the status, or that of all of it.
func (c *compiler) ofStatus(text string, at *field.Path) change.Path {
	path := c.needed(text, at)
	if path != nil && path[0].Field != statusField {
		c.report(field.Invalid(at, text, "has to be the status, or a field of it"))
	}
	return path
}

func (c *compiler) paths(texts []string, at *field.Path) []change.Path {
	if len(texts) == 0 {
		return nil
	}
	out := make([]change.Path, 0, len(texts))
	for i, text := range texts {
		out = append(out, c.needed(text, at.Index(i)))
	}
	return out
}

func (c *compiler) patterns(texts []string, at *field.Path) []change.Pattern {
	out := make([]change.Pattern, 0, len(texts))
	for i, text := range texts {
		pattern, err := change.ParsePattern(text)
		if err != nil {
			c.report(field.Invalid(at.Index(i), text, "not a field path: "+err.Error()))
			continue
		}
		out = append(out, pattern)
	}
	return out
}

// Where labels and annotations are.
var (
	labelsOf      = change.Pattern(change.Path{}.Field("metadata").Field("labels"))
	annotationsOf = change.Pattern(change.Path{}.Field("metadata").Field("annotations"))
)

const statusField = "status"

// observedGeneration is where the status says which generation it is about, by convention.
const observedGeneration = "status.observedGeneration"

func (c *compiler) settled(s v1alpha1.SettledKnowledge, path *field.Path) Settled {
	out := Settled{
		Convention: oneOf(c, s.Convention, path.Child("convention"), v1alpha1.ConventionDaemonSet, v1alpha1.ConventionDeployment,
			v1alpha1.ConventionJob, v1alpha1.ConventionReplicaSet, v1alpha1.ConventionStatefulSet),
		Generation: c.inStatus(s.Generation, path.Child("generation")),
		Created:    c.inStatus(s.Created, path.Child("created")),
		Fields:     c.fields(s.Fields, path.Child("fields")),
		Late:       s.Quiet,
	}
	if out.Generation == nil {
		out.Generation = change.MustParsePath(observedGeneration)
	}
	for i, condition := range s.Conditions {
		if condition.Type == "" {
			c.report(field.Required(path.Child("conditions").Index(i).Child("type"), "the type of the condition"))
		}
		if condition.Status == "" {
			condition.Status = "True"
		}
		out.Conditions = append(out.Conditions, condition)
	}
	if out.Convention != "" && len(out.Conditions)+len(out.Fields) > 0 {
		c.report(field.Forbidden(path.Child("convention"), "a convention says which conditions and fields have to be how; leave them out, or it"))
	}
	return out
}

func (c *compiler) fields(fields []v1alpha1.FieldValue, path *field.Path) []Field {
	out := make([]Field, 0, len(fields))
	for i, f := range fields {
		out = append(out, Field{Path: c.needed(f.Path, path.Index(i).Child("path")), Value: f.Value, OrAbsent: f.OrAbsent})
	}
	return out
}

func (c *compiler) child(k v1alpha1.ChildKnowledge, path *field.Path) Child {
	out := Child{
		Kind:     schema.GroupKind{Group: k.APIGroup, Kind: k.Kind},
		Template: c.path(k.Template, path.Child("template")),
		At:       c.path(k.At, path.Child("at")),
		Counts:   c.paths(k.Counts, path.Child("counts")),
		Suspend:  c.path(k.Suspend, path.Child("suspend")),
		Unshown:  c.paths(k.Unshown, path.Child("unshown")),
		Marks:    c.patterns(k.Marks, path.Child("marks")),
		Upkeep:   k.Upkeep,
		AtRest:   k.AtRest,
	}
	for i, mark := range out.Marks {
		if !labelsOf.Covers(change.Path(mark)) && !annotationsOf.Covers(change.Path(mark)) {
			c.report(field.Invalid(path.Child("marks").Index(i), k.Marks[i], "a label or an annotation, such as metadata.labels[name]"))
		}
	}
	if k.Kind == "" {
		c.report(field.Required(path.Child("kind"), "the kind of the children in the singular, such as Pod"))
	}
	if k.Template == "" && (k.At != "" || len(k.Counts) > 0 || k.Suspend != "" || len(k.Unshown) > 0 ||
		k.Surge != nil || k.Ordinals != nil || k.Completions != nil) {
		c.report(field.Required(path.Child("template"), "the field that such children are made of"))
	}
	if k.Upkeep != "" && k.AtRest {
		c.report(field.Forbidden(path.Child("upkeep"), "nothing stops where nothing happens"))
	}
	if s := k.Surge; s != nil {
		at := path.Child("surge")
		out.Surge = &Surge{Max: c.needed(s.Max, at.Child("max")), Strategy: c.needed(s.Strategy, at.Child("strategy"))}
	}
	if o := k.Ordinals; o != nil {
		at := path.Child("ordinals")
		out.Ordinals = &Ordinals{
			Start: c.needed(o.Start, at.Child("start")), Strategy: c.needed(o.Strategy, at.Child("strategy")),
			Partition: c.needed(o.Partition, at.Child("partition")), Label: o.Label,
			CurrentRevision: c.inStatus(o.CurrentRevision, at.Child("currentRevision")),
			UpdateRevision:  c.inStatus(o.UpdateRevision, at.Child("updateRevision")),
		}
	}
	if o := k.Completions; o != nil {
		out.Completions = &Completions{Annotation: o.Annotation, Count: c.needed(o.Count, path.Child("completions", "count"))}
	}
	return out
}

func (c *compiler) bookkeeping(b v1alpha1.BookkeepingKnowledge, path *field.Path) Bookkeeping {
	out := Bookkeeping{Fields: c.fields(b.Fields, path.Child("fields"))}
	if len(b.Operations) == 0 {
		c.report(field.Required(path.Child("operations"), "what is done to keep the books"))
	}
	for i, operation := range b.Operations {
		oneOf(c, operation, path.Child("operations").Index(i), "Create", "Update", "Delete")
		out.Operations = append(out.Operations, strings.ToUpper(operation))
	}
	return out
}

func (c *compiler) history(h *v1alpha1.HistoryKnowledge, path *field.Path) *History {
	return &History{
		Resource: c.resource(h.Target, path.Child("target")),
		Of:       c.resource(h.Of, path.Child("of")).GroupResource(),
		Labels:   slices.Clone(h.Labels),
	}
}

func (c *compiler) scales(s *v1alpha1.ScaleKnowledge, path *field.Path) *Scales {
	return &Scales{
		Resource:    c.resource(s.Target, path.Child("target")),
		Reference:   c.needed(s.Reference, path.Child("reference")),
		Otherwise:   schema.GroupKind{Group: s.APIGroup, Kind: s.Kind},
		Annotations: slices.Clone(s.Annotations),
	}
}

func (c *compiler) resource(t v1alpha1.Target, path *field.Path) schema.GroupVersionResource {
	if t.Resource == "" || t.APIVersion == "" {
		c.report(field.Required(path.Child("resource"), "the resource in the plural, with its apiVersion"))
	}
	return schema.GroupVersionResource{Group: ptr.Deref(t.APIGroup, ""), Version: t.APIVersion, Resource: t.Resource}
}
