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

package policy

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/change"
)

// The verbs of an entry about objects in the cluster.
const (
	verbCreate = "Create"
	verbUpdate = "Update"
	verbDelete = "Delete"
)

var (
	objectVerbs   = []string{verbCreate, verbUpdate, verbDelete, v1alpha1.Any}
	mutationVerbs = []v1alpha1.MutationVerb{
		v1alpha1.MutationInsert, v1alpha1.MutationDelete, v1alpha1.MutationMutate,
	}
)

// section compiles the entries of a section, nil where none is left.
func (c *compiler) section(entries []v1alpha1.PolicyEntry, path *field.Path) *Section {
	if sound := c.entries(entries, path); len(sound) > 0 {
		return &Section{Entries: sound}
	}
	return nil
}

// entries compiles the entries of a section that have nothing wrong in them.
func (c *compiler) entries(entries []v1alpha1.PolicyEntry, path *field.Path) []Entry {
	var out []Entry
	for i, e := range entries {
		var compiled Entry
		if c.soundly(func() {
			c.notThrough(e, path.Index(i))
			compiled = c.entry(e, path.Index(i))
		}) {
			out = append(out, compiled)
		}
	}
	return out
}

// notThrough reports an entry about readers where only the parent's own children can be
// meant: what readers are made of has no phase.
func (c *compiler) notThrough(e v1alpha1.PolicyEntry, path *field.Path) {
	if e.Through != nil {
		c.report(field.Forbidden(path.Child("through"), "it is for rules: a change of what others read allows something of these, also its creation and its deletion"))
	}
}

// ruleEntries compiles the entries of a rule: those about the parent's own children, and
// those about others that read the parent.
func (c *compiler) ruleEntries(entries []v1alpha1.PolicyEntry, path *field.Path) (own []Entry, through []ThroughEntry) {
	for i, e := range entries {
		switch compiled := c.entry(e, path.Index(i)); {
		case e.Through == nil:
			own = append(own, compiled)
		case e.Relation == v1alpha1.RelationExternal:
			c.report(field.Forbidden(path.Index(i).Child("through"), "it is for relation ControllerChild"))
		default:
			through = append(through, ThroughEntry{Entry: compiled, Readers: c.through(e.Through, path.Index(i).Child("through"))})
		}
	}
	return own, through
}

func (c *compiler) through(t *v1alpha1.Through, path *field.Path) Through {
	out := Through{
		Version:              t.APIVersion,
		SelectedBy:           c.place(t.SelectedBy, path.Child("selectedBy")),
		NamespacesSelectedBy: c.place(t.NamespacesSelectedBy, path.Child("namespacesSelectedBy")),
		NamedBy:              c.places(t.NamedBy, path.Child("namedBy")),
		Names:                c.places(t.Names, path.Child("names")),
	}
	if t.Resource == "" {
		c.report(field.Required(path.Child("resource"), "the resource of the readers in the plural, such as prometheuses"))
	}
	if t.APIVersion == "" {
		c.report(field.Required(path.Child("apiVersion"), "a resource needs the version within its group, such as v1"))
	}
	ways := 0
	for _, given := range []bool{t.SelectedBy != "", len(t.NamedBy) > 0, len(t.Names) > 0} {
		if given {
			ways++
		}
	}
	if ways != 1 {
		c.report(field.Invalid(path, ways, "exactly one of selectedBy, namedBy and names says who reads what"))
	}
	if t.NamespacesSelectedBy != "" && t.SelectedBy == "" {
		c.report(field.Forbidden(path.Child("namespacesSelectedBy"), "it goes with selectedBy"))
	}
	readers := schema.GroupVersionResource{Group: t.APIGroup, Version: t.APIVersion, Resource: t.Resource}
	if kind, served := c.kinds(readers); served {
		c.named(kind, path.Child("apiVersion"))
		out.Kind = kind.GroupKind()
	}
	return out
}

// selectedLabels reports rules about readers that select by labels, where no rule is about
// the labels: whoever changes these would change what the readers read, unseen.
func (c *compiler) selectedLabels(p *Policy, path *field.Path) {
	for i := range p.Rules {
		for _, e := range p.Rules[i].Through {
			if e.Readers.SelectedBy != nil && !p.HasRuleFor(labelsPath) {
				c.report(field.Required(path, "a rule with the trigger metadata.labels, with the same policies: labels say who reads the object"))
				return
			}
		}
	}
}

// place compiles a path without wildcards, nil for an empty one.
func (c *compiler) place(text string, path *field.Path) change.Path {
	if text == "" {
		return nil
	}
	at, err := change.ParsePath(text)
	if err != nil {
		c.report(field.Invalid(path, text, "not the path of one field: "+err.Error()))
	}
	return at
}

func (c *compiler) places(texts []string, path *field.Path) []change.Pattern {
	var out []change.Pattern
	for i, text := range texts {
		if pattern, ok := c.pattern(text, path.Index(i)); ok {
			out = append(out, pattern)
		}
	}
	return out
}

func (c *compiler) entry(e v1alpha1.PolicyEntry, path *field.Path) Entry {
	for i, verb := range e.Verbs {
		if slices.Contains(e.Verbs[:i], verb) {
			c.report(field.Duplicate(path.Child("verbs").Index(i), verb))
		}
	}
	switch e.Relation {
	case v1alpha1.RelationControllerChild:
		return c.childEntry(e, path)
	case v1alpha1.RelationExternal:
		return c.externalEntry(e, path)
	default:
		c.report(field.NotSupported(path.Child("relation"), e.Relation,
			[]v1alpha1.Relation{v1alpha1.RelationControllerChild, v1alpha1.RelationExternal}))
		return Entry{}
	}
}

// externalEntry compiles an entry about a system outside the cluster. What its
// target and verbs mean is that system's own.
func (c *compiler) externalEntry(e v1alpha1.PolicyEntry, path *field.Path) Entry {
	target := path.Child("target")
	if len(e.Target.External) == 0 {
		c.report(field.Required(target.Child("external"), "relation External needs the keys that identify the external system"))
	}
	notOfExternal := func(set bool, name string) {
		if set {
			c.report(field.Forbidden(target.Child(name), "relation External has no "+name+"; name it as a key of external"))
		}
	}
	notOfExternal(e.Target.APIGroup != nil, "apiGroup")
	notOfExternal(e.Target.APIVersion != "", "apiVersion")
	notOfExternal(e.Target.Resource != "", "resource")
	if len(e.Verbs) == 0 {
		c.report(field.Required(path.Child("verbs"), `relation External needs the verbs of that system, or "*"`))
	}
	for i, verb := range e.Verbs {
		if verb == "" {
			c.report(field.Invalid(path.Child("verbs").Index(i), verb, "a verb of the external system"))
		}
	}
	if len(e.Mutations) > 0 {
		c.report(field.Forbidden(path.Child("mutations"), "mutations are for relation ControllerChild; an External entry has verbs only"))
	}
	return Entry{External: maps.Clone(e.Target.External), ExternalVerbs: slices.Clone(e.Verbs)}
}

// childEntry compiles an entry about objects in the cluster (D7): Update without
// mutations is any field, mutations are those fields whether or not Update is
// listed, and no verbs at all mean Update.
func (c *compiler) childEntry(e v1alpha1.PolicyEntry, path *field.Path) Entry {
	out := Entry{Resource: c.resource(e.Target, path.Child("target"))}
	if kind, served := c.kinds(out.Resource); served {
		c.named(kind, path.Child("target", "apiVersion"))
		out.Kind = kind.GroupKind()
	}
	verbs := sets.New(e.Verbs...)
	for i, verb := range e.Verbs {
		if !slices.Contains(objectVerbs, verb) {
			c.report(field.NotSupported(path.Child("verbs").Index(i), verb, objectVerbs))
		}
	}
	out.Create = verbs.HasAny(verbCreate, v1alpha1.Any)
	out.Delete = verbs.HasAny(verbDelete, v1alpha1.Any)
	for i, m := range e.Mutations {
		out.Fields = append(out.Fields, c.mutation(m, path.Child("mutations").Index(i)))
	}
	if len(e.Mutations) == 0 && (len(verbs) == 0 || verbs.HasAny(verbUpdate, v1alpha1.Any)) {
		out.Fields = []FieldBound{{Pattern: anyField}}
	}
	return out
}

var labelsPath = func() change.Path {
	path, err := change.ParsePath("metadata.labels")
	if err != nil {
		panic(err) // it is one
	}
	return path
}()

var anyField = func() change.Pattern {
	pattern, err := change.ParsePattern(v1alpha1.Any)
	if err != nil {
		panic(err) // the wildcard is part of the syntax
	}
	return pattern
}()

func (c *compiler) resource(t v1alpha1.Target, path *field.Path) schema.GroupVersionResource {
	if len(t.External) > 0 {
		c.report(field.Forbidden(path.Child("external"), "external is for relation External; relation ControllerChild has a resource"))
	}
	if t.Resource == "" {
		c.report(field.Required(path.Child("resource"), "relation ControllerChild needs the resource in the plural, such as replicasets"))
	}
	if t.APIVersion == "" {
		c.report(field.Required(path.Child("apiVersion"), "a resource needs the version within its group, such as v1"))
	}
	return ResourceOf(t)
}

func (c *compiler) mutation(m v1alpha1.FieldMutation, path *field.Path) FieldBound {
	pattern, _ := c.pattern(m.JSONPath, path.Child("jsonPath"))
	// The ledger holds the canonical text of the path, however it is written here.
	if text := pattern.String(); text == v1alpha1.MutationCreateObject || text == v1alpha1.MutationDeleteObject {
		c.report(field.Invalid(path.Child("jsonPath"), m.JSONPath,
			"an allowance of that name is for whole objects: say verbs: [Create] or [Delete] for these, or name a field below it"))
	}
	for i, verb := range m.Verbs {
		at := path.Child("verbs").Index(i)
		switch {
		case !slices.Contains(mutationVerbs, verb):
			c.report(field.NotSupported(at, verb, mutationVerbs))
		case slices.Contains(m.Verbs[:i], verb):
			c.report(field.Duplicate(at, verb))
		}
	}
	return FieldBound{Pattern: pattern, Verbs: slices.Clone(m.Verbs)}
}
