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
	"errors"
	"fmt"
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/change"
	"kausality.io/operator/internal/derive/draft"
	"kausality.io/operator/internal/derive/flow"
	"kausality.io/operator/internal/generate"
	"kausality.io/operator/internal/policy"
)

// Options are what a GeneratingPolicy does not say.
type Options struct {
	// Initiators are who may change triggers, sources and the policy. Without any, the policies are in
	// effect for nobody.
	Initiators []v1alpha1.Subject
	// ResourceFor returns the resource of a kind, and whether it is known. Where nil, or not known, it
	// is guessed from the kind.
	ResourceFor func(schema.GroupVersionKind) (schema.GroupVersionResource, bool)
	// KindFor returns the kind of a resource, and whether it is known. Without it there is no policy
	// for that resource.
	KindFor func(schema.GroupVersionResource) (schema.GroupVersionKind, bool)
	// PutBack lets what was changed by hand be put back.
	PutBack bool
}

// Derive derives the policies that enforce the chain of a GeneratingPolicy. The first is for the kind
// GeneratingPolicy, and has the notes on all of them. The error says why nothing can be derived.
func Derive(p *v1alpha1.GeneratingPolicy, opts Options) ([]*draft.Derivation, error) {
	if _, _, errs := generate.Compile(p.Name, &p.Spec); len(errs) > 0 {
		return nil, fmt.Errorf("%s: %s", errs[0].Field, errs[0].Detail)
	}
	f, err := follow(&p.Spec)
	if err != nil {
		return nil, err
	}
	d := &derivation{followed: f, opts: opts, name: p.Name, evaluation: p.Spec.Evaluation, fields: map[schema.GroupVersionResource]map[string]change.Pattern{}}
	d.own = d.parent(Name(p.Name), lineageKind, nil)
	d.note(draft.Note{Field: "spec", Message: "the AllowancePolicy for the kind GeneratingPolicy is for all of them: to have it for this one alone, label it, and add an objectSelector"})
	d.triggersOf(p.Spec.MatchConstraints)
	for _, a := range f.applied {
		d.objects(a, a.objects, nil)
	}
	if len(d.all) == 0 {
		return nil, errors.New("spec.generate: of which kind the objects are that it makes cannot be told: write apiVersion and kind as texts")
	}
	for _, m := range d.all {
		d.allow(m)
	}
	d.selected(p.Spec.MatchConstraints)
	d.complete()
	return d.policies(), nil
}

// lineageKind is the kind of the policy itself.
var lineageKind = v1alpha1.GroupVersion.WithKind(v1alpha1.KindGeneratingPolicy)

// Name returns the name of the AllowancePolicy for a GeneratingPolicy itself. Those for its triggers
// and sources have more behind it.
func Name(policy string) string { return draft.Name("generating-" + policy) }

// derivation is what is derived so far.
type derivation struct {
	*followed
	opts       Options
	name       string
	evaluation v1alpha1.GeneratingEvaluation

	// own is for the policy itself.
	own *parent
	// triggers and sources are in the order in which they came.
	triggers, sources []*parent
	all               []*made
	// fields has, for each resource, the fields of metadata that some derived policy names. All of them must
	// name these fields, or one parent would let through what another one bounds.
	fields map[schema.GroupVersionResource]map[string]change.Pattern
}

// parent is an AllowancePolicy for one kind of parents.
type parent struct {
	*draft.Draft
	name     string
	kind     schema.GroupVersionKind
	resource schema.GroupVersionResource
	rows     []draft.Row

	namespaces, objects *metav1.LabelSelector
	// children are the resources that it is about.
	children []schema.GroupVersionResource
	// deletes has the resources whose objects may be deleted along with such a parent.
	deletes map[schema.GroupVersionResource]bool
	// named are the fields of each resource that a rule names, by how they are written.
	named map[schema.GroupVersionResource]map[string]change.Pattern
	// anything is true of a resource of which a rule allows any field.
	anything map[schema.GroupVersionResource]bool
	// members are the rules that let objects come and go.
	members []member
}

type member struct {
	trigger  change.Pattern
	resource schema.GroupVersionResource
}

func (d *derivation) parent(name string, kind schema.GroupVersionKind, resource *schema.GroupVersionResource) *parent {
	out := &parent{
		Draft: draft.New(kind.Kind), name: name, kind: kind,
		deletes: map[schema.GroupVersionResource]bool{}, named: map[schema.GroupVersionResource]map[string]change.Pattern{},
		anything: map[schema.GroupVersionResource]bool{},
	}
	if resource != nil {
		out.resource = *resource
	}
	return out
}

func (d *derivation) note(n draft.Note) { d.own.Note(n) }

func (d *derivation) kindFor(resource schema.GroupVersionResource) (schema.GroupVersionKind, bool) {
	if d.opts.KindFor == nil || resource.Resource == "" {
		return schema.GroupVersionKind{}, false
	}
	return d.opts.KindFor(resource)
}

// kindOf returns what the objects of a resource are called, empty where that is not known.
func (d *derivation) kindOf(resource schema.GroupVersionResource) string {
	kind, _ := d.kindFor(resource)
	return kind.Kind
}

// source returns the policy for what a read reads, nil where its kind is not known.
func (d *derivation) source(r *read) *parent {
	for _, s := range d.sources {
		if s.resource.GroupResource() == r.resource.GroupResource() {
			return s
		}
	}
	kind, known := d.kindFor(r.resource)
	if !known {
		d.note(draft.Note{Field: "spec", Lost: true, Message: fmt.Sprintf(
			"the kind of %s is not known, so that there is no policy for what is cloned of it: give its CustomResourceDefinition, or write one", r.resource.GroupResource())})
		return nil
	}
	s := d.parent(draft.Name(Name(d.name)+"-source-"+r.resource.GroupResource().String()), kind, &r.resource)
	s.namespaces, s.objects = d.selectorsOf(r.resource.GroupResource())
	d.sources = append(d.sources, s)
	return s
}

// child makes a resource one that a policy is about: its objects may be made while a parent is new, and
// later by what did not come from it, such as a namespace that comes later.
func (p *parent) child(resource schema.GroupVersionResource) {
	p.Child(resource)
	if !slices.Contains(p.children, resource) {
		p.children = append(p.children, resource)
	}
	p.Maintaining().Made(resource)
}

// allow adds what lets objects of one resource be made, changed and deleted.
func (d *derivation) allow(m *made) {
	d.own.child(m.resource)
	d.own.deletes[m.resource] = d.own.deletes[m.resource] || m.data && d.evaluation.Synchronize && !d.evaluation.OrphanDownstreamOnPolicyDelete
	for _, t := range d.triggers {
		t.child(m.resource)
		t.deletes[m.resource] = d.evaluation.Synchronize
	}
	for _, key := range slices.Sorted(maps.Keys(m.sources)) {
		if r := d.reads[key]; r != nil && r.isKnown() {
			if s := d.source(r); s != nil {
				s.child(m.resource)
				s.deletes[m.resource] = d.evaluation.Synchronize
			}
		}
	}
	d.follows(m, m.why, reached{refs: m.whether}, true)
	for _, c := range d.conditions {
		d.follows(m, c.why, reached{refs: c.refs}, true)
	}
	for _, r := range m.reached {
		d.follows(m, m.why, r, false)
	}
}

// follows lets a field of an object follow what it is made of, or, for a membership, the object come
// and go with it.
func (d *derivation) follows(m *made, why string, to reached, membership bool) {
	if !membership && !d.bounds(m.resource, to.field) {
		return
	}
	for _, ref := range to.refs {
		patterns, observed := placesOf(ref, to.content)
		of, unseen := d.parentsOf(m, ref)
		if unseen {
			observed = shown(ref)
		}
		for _, p := range of {
			for _, at := range patterns {
				d.rule(p, at, m.resource, why, to.field, membership)
			}
		}
		if observed != "" && (unseen || len(of) > 0) {
			d.observe(m.resource, observed, why, to.field, membership)
		}
	}
}

// parentsOf returns the policies for those parents of an object that a place is in. It is unseen where
// the place is, or may be, in what is no parent of it.
func (d *derivation) parentsOf(m *made, ref flow.Ref) (of []*parent, unseen bool) {
	r := d.reads[ref.Root]
	switch {
	case ref.Root == rootObject, ref.Root == rootRequest:
		return d.triggers, false
	case r == nil || !r.isKnown():
		return nil, true
	}
	certain, isSource := m.sources[ref.Root]
	if !isSource {
		return nil, true
	}
	s := d.source(r)
	switch {
	case s == nil:
		return nil, true
	case ref.Length:
		return nil, !certain // Another object comes with a policy of its own, or goes.
	default:
		return []*parent{s}, !certain
	}
}

// rule has a change of a parent allow what follows from it.
func (d *derivation) rule(p *parent, trigger change.Pattern, resource schema.GroupVersionResource, why string, field change.Pattern, membership bool) {
	p.row(draft.Row{Field: trigger.String(), Resource: resource.Resource, Kind: d.kindOf(resource), Reaches: shownField(field, membership), Why: why})
	d.let(p, p.Trigger(trigger), resource, field, membership)
	if membership {
		p.members = append(p.members, member{trigger, resource})
	}
}

// observe lets what is made follow what is no parent of it, or changes by itself.
func (d *derivation) observe(resource schema.GroupVersionResource, observed, why string, field change.Pattern, membership bool) {
	of := d.triggers
	if len(of) == 0 {
		of = []*parent{d.own}
	}
	for _, p := range of {
		p.row(draft.Row{Observed: observed, Resource: resource.Resource, Kind: d.kindOf(resource), Reaches: shownField(field, membership), Why: why})
		d.let(p, p.Maintaining(), resource, field, membership)
	}
}

// let allows what follows. Without synchronize, objects are made and never changed.
func (d *derivation) let(p *parent, c *draft.Changes, resource schema.GroupVersionResource, field change.Pattern, membership bool) {
	switch {
	case !d.evaluation.Synchronize:
		c.Made(resource)
	case membership:
		c.Member(resource)
	case field == nil:
		c.Any(resource)
		p.anything[resource] = true
	default:
		c.Reach(resource, field, false)
		d.names(p, resource, field)
	}
}

func (d *derivation) names(p *parent, resource schema.GroupVersionResource, field change.Pattern) {
	add := func(to map[schema.GroupVersionResource]map[string]change.Pattern) {
		if to[resource] == nil {
			to[resource] = map[string]change.Pattern{}
		}
		to[resource][field.String()] = field
	}
	add(p.named)
	if change.Path(field).IsMetadata() {
		add(d.fields)
	}
}

func (p *parent) row(r draft.Row) {
	if !slices.Contains(p.rows, r) {
		p.rows = append(p.rows, r)
	}
}

// shownField returns a field as a row has it.
func shownField(field change.Pattern, membership bool) string {
	switch {
	case membership:
		return ""
	case field == nil:
		return "*"
	default:
		return field.String()
	}
}

// shown returns a place as people see it.
func shown(ref flow.Ref) string {
	if len(ref.Path) == 0 {
		return ref.Root
	}
	return ref.Root + " " + ref.Path.String()
}

// complete adds what follows from all that was derived together.
func (d *derivation) complete() {
	for _, resource := range d.own.children {
		d.ofSpec(resource)
	}
	if !d.evaluation.Synchronize {
		return
	}
	for _, p := range slices.Concat([]*parent{d.own}, d.triggers, d.sources) {
		p.takeOver()
		for _, resource := range p.children {
			d.nameAll(p, resource)
			if d.opts.PutBack && p != d.own {
				d.putBack(p, resource)
			}
		}
	}
}

// ofSpec has a change of the policy itself allow whatever follows.
func (d *derivation) ofSpec(resource schema.GroupVersionResource) {
	c := d.own.Trigger(change.Pattern{flow.FieldSegment("spec")})
	d.own.row(draft.Row{Field: "spec", Resource: resource.Resource, Kind: d.kindOf(resource), Why: "it says what is made"})
	d.let(d.own, c, resource, nil, true)
	if !d.evaluation.Synchronize {
		return
	}
	c.Any(resource)
	for _, key := range slices.Sorted(maps.Keys(d.fields[resource])) {
		c.Reach(resource, d.fields[resource][key], false)
		d.names(d.own, resource, d.fields[resource][key])
	}
}

// takeOver lets objects that come and go with a parent change as well: where one is no more wanted for
// it, it is made for another that wants it too.
func (p *parent) takeOver() {
	for _, m := range p.members {
		if p.anything[m.resource] {
			p.Trigger(m.trigger).Any(m.resource)
		}
		for _, key := range slices.Sorted(maps.Keys(p.named[m.resource])) {
			p.Trigger(m.trigger).Reach(m.resource, p.named[m.resource][key], false)
		}
	}
}

// nameAll has a policy name the metadata of a resource that another one names.
func (d *derivation) nameAll(p *parent, resource schema.GroupVersionResource) {
	for key, field := range d.fields[resource] {
		if _, named := p.named[resource][key]; !named {
			p.Maintaining().Reach(resource, field, false)
		}
	}
}

// putBack lets objects of a resource be put back.
func (d *derivation) putBack(p *parent, resource schema.GroupVersionResource) {
	p.Maintaining().Any(resource)
	for _, field := range d.fields[resource] {
		p.Maintaining().Reach(resource, field, false)
	}
}

// policies returns what was collected.
func (d *derivation) policies() []*draft.Derivation {
	subjects := make([]v1alpha1.PolicySubject, 0, len(d.opts.Initiators))
	for _, initiator := range d.opts.Initiators {
		subjects = append(subjects, v1alpha1.PolicySubject{Subject: initiator, MayInitiate: true})
	}
	parents := slices.Concat([]*parent{d.own}, d.triggers, d.sources)
	out := make([]*draft.Derivation, 0, len(parents))
	for _, p := range parents {
		p.Fit()
		policy := &v1alpha1.AllowancePolicy{
			TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "AllowancePolicy"},
			ObjectMeta: metav1.ObjectMeta{Name: p.name},
			Spec: v1alpha1.AllowancePolicySpec{
				For:               v1alpha1.ParentKind{APIGroup: p.kind.Group, APIVersion: p.kind.Version, Kind: p.kind.Kind},
				NamespaceSelector: p.namespaces, ObjectSelector: p.objects,
				Subjects:     subjects,
				Initializing: p.Initializing(),
				Maintaining:  p.Maintained(),
				Deleting:     p.deleting(),
				Rules:        p.Rules(),
			},
		}
		out = append(out, &draft.Derivation{Policy: policy, Rows: p.rows, Notes: p.Notes()})
	}
	return out
}

// deleting returns what may be deleted with a parent: nothing says so where nothing is.
func (p *parent) deleting() *v1alpha1.DeletingSection {
	out := p.Deleting()
	if out == nil {
		return nil
	}
	out.Policies = slices.DeleteFunc(out.Policies, func(e v1alpha1.PolicyEntry) bool {
		return !p.deletes[policy.ResourceOf(e.Target)]
	})
	if len(out.Policies) == 0 {
		return nil
	}
	return out
}
