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

package kro

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"

	krov1alpha1 "github.com/kubernetes-sigs/kro/api/v1alpha1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/change"
)

// Options are what a graph does not say. The zero value is what kro's own chart installs.
type Options struct {
	// Subjects are who the policy is about. Where nil, kro's service account is, as its
	// chart makes it, and nobody may initiate.
	Subjects []v1alpha1.PolicySubject
	// ResourceFor returns the resource of a kind, and whether it is known. Where nil, or
	// not known, it is guessed from the kind.
	ResourceFor func(schema.GroupVersionKind) (schema.GroupVersionResource, bool)
	// Maintained lets kro make children again that were lost.
	Maintained bool
}

// kroAccount is the service account that kro's chart makes.
var kroAccount = v1alpha1.Subject{Kind: v1alpha1.SubjectServiceAccount, Name: "kro", Namespace: "kro-system"}

// Derivation is what was derived from a graph.
type Derivation struct {
	// Policy for the instances.
	Policy *v1alpha1.AllowancePolicy
	// Rows are what reaches what, in the order of the graph's resources.
	Rows []Row
	// Notes say what could not be derived, and what is allowed more than needed.
	Notes []Note
}

// Row is one way in which a field of an instance, or something that changes by itself,
// reaches a child.
type Row struct {
	// Field of the instance, empty where Observed is set.
	Field string `json:"field,omitempty"`
	// Observed is what changes without a change of the instance.
	Observed string `json:"observed,omitempty"`
	// Resource is the id of the resource in the graph.
	Resource string `json:"resource"`
	// Kind of the objects.
	Kind string `json:"kind"`
	// Reaches is the field that it reaches; empty, it is whether there is such an object.
	Reaches string `json:"reaches,omitempty"`
	// Why says what in the graph makes it so.
	Why string `json:"why"`
}

// Note is something to know about what was derived.
type Note struct {
	// Resource is the id of the resource that it is about, empty for the graph.
	Resource string `json:"resource,omitempty"`
	// Field of the policy or of the resource.
	Field string `json:"field,omitempty"`
	// Lost is true where something was not derived.
	Lost bool `json:"lost,omitempty"`
	// Message says what, and what follows from it.
	Message string `json:"message"`
}

// Derive derives the policy for the instances of a graph. The error says what of the graph
// cannot be read; kro would not accept it.
func Derive(rgd *krov1alpha1.ResourceGraphDefinition, opts Options) (*Derivation, error) {
	g, err := readGraph(rgd)
	if err != nil {
		return nil, err
	}
	b := &builder{graph: g, opts: opts, triggers: map[string]*changes{}, maintaining: &changes{}}
	for _, n := range g.nodes {
		if n.external {
			continue
		}
		reaches, err := g.reaches(n)
		if err != nil {
			return nil, fmt.Errorf("resource %q: %w", n.id, err)
		}
		b.child(n, reaches)
	}
	policy := b.policy(rgd.Name)
	return &Derivation{Policy: policy, Rows: b.rows, Notes: b.notes}, nil
}

// builder collects what a policy is made of.
type builder struct {
	*graph
	opts Options

	rows  []Row
	notes []Note
	// children are the resources of the children, in order.
	children []schema.GroupVersionResource
	// triggers are what changes of the instance allow, by the text of the trigger.
	triggers map[string]*changes
	// maintaining is what needs no change of the instance.
	maintaining *changes
}

// changes are what may happen to some children.
type changes struct {
	trigger change.Pattern
	of      map[schema.GroupVersionResource]*target
}

// target is what may happen to the objects of one resource.
type target struct {
	// membership is true where objects may come and go, made where they may come.
	membership, made bool
	fields           map[string]*field
	// any field is meant, and all that may be done to objects.
	any, all bool
}

// field is one that may change.
type field struct {
	path  change.Pattern
	solid bool
}

func (c *changes) target(resource schema.GroupVersionResource) *target {
	if c.of == nil {
		c.of = map[schema.GroupVersionResource]*target{}
	}
	if c.of[resource] == nil {
		c.of[resource] = &target{fields: map[string]*field{}}
	}
	return c.of[resource]
}

// child adds what reaches the objects of one resource.
func (b *builder) child(n *node, reaches []reach) {
	resource := b.resource(n)
	if !slices.Contains(b.children, resource) {
		b.children = append(b.children, resource)
	}
	for _, r := range reaches {
		if r.field != nil && !b.bounds(n, r.field) {
			continue
		}
		row := Row{Resource: n.id, Kind: n.kind.Kind, Why: r.why, Observed: r.from.observed}
		if r.from.path != nil {
			row.Field = r.from.path.String()
		}
		if r.field != nil {
			row.Reaches = r.field.String()
		}
		if !slices.Contains(b.rows, row) {
			b.rows = append(b.rows, row)
		}
		if r.held {
			continue
		}
		b.changes(r.from).target(resource).add(r)
	}
}

func (t *target) add(r reach) {
	if r.field == nil {
		t.membership = true
		return
	}
	key := r.field.String()
	if known, ok := t.fields[key]; ok {
		known.solid = known.solid && r.solid
		return
	}
	t.fields[key] = &field{r.field, r.solid}
}

// changes returns what something allows.
func (b *builder) changes(from found) *changes {
	if from.path == nil {
		return b.maintaining
	}
	key := from.path.String()
	if b.triggers[key] == nil {
		b.triggers[key] = &changes{trigger: from.path}
	}
	return b.triggers[key]
}

// bounds reports whether a field is one that a policy may name. Metadata counts once a policy
// names it, for everybody: what others write there too is left alone.
func (b *builder) bounds(n *node, at change.Pattern) bool {
	if !change.Path(at).IsMetadata() {
		return true
	}
	if len(at) > 2 && keyedMetadata[at[1].Field] && at[2] != change.Wildcard {
		return true
	}
	note := Note{Resource: n.id, Field: at.String(), Lost: true,
		Message: "it is not bounded: other controllers write there too, and would be refused. What changes it passes"}
	if !slices.Contains(b.notes, note) {
		b.notes = append(b.notes, note)
	}
	return false
}

// resource of the objects of a node.
func (b *builder) resource(n *node) schema.GroupVersionResource {
	if b.opts.ResourceFor != nil {
		if resource, known := b.opts.ResourceFor(n.kind); known {
			return resource
		}
	}
	resource, _ := apimeta.UnsafeGuessKindToResource(n.kind)
	note := Note{Resource: n.id, Message: fmt.Sprintf("the resource of the kind %s is not known, and taken to be %s", n.kind.GroupKind(), resource.GroupResource())}
	if b.opts.ResourceFor != nil && !slices.Contains(b.notes, note) {
		b.notes = append(b.notes, note)
	}
	return resource
}

// settledWhen is how kro says that an instance has settled whose graph replaces its
// conditions by others.
const settledWhen = "object.status.state == 'ACTIVE' && object.status.conditions.exists(c, c.observedGeneration >= allowance.generation)"

// policy of all that was collected.
func (b *builder) policy(name string) *v1alpha1.AllowancePolicy {
	subjects := b.opts.Subjects
	if subjects == nil {
		subjects = []v1alpha1.PolicySubject{{Subject: kroAccount}}
	}
	b.fit()
	p := &v1alpha1.AllowancePolicy{
		TypeMeta: metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "AllowancePolicy"},
		ObjectMeta: metav1.ObjectMeta{
			Name:        PolicyName(name),
			Annotations: map[string]string{v1alpha1.AnnotationDerivedFrom: name},
		},
		Spec: v1alpha1.AllowancePolicySpec{
			For:          v1alpha1.ParentKind{APIGroup: b.instance.Group, APIVersion: b.instance.Version, Kind: b.instance.Kind},
			Subjects:     subjects,
			Initializing: b.initializing(),
			Maintaining:  b.maintained(),
			Deleting:     b.deleting(),
			Rules:        b.rules(),
		},
	}
	if b.conditions {
		p.Spec.Consumption = &v1alpha1.Consumption{When: settledWhen}
	}
	return p
}

// PolicyName returns the name of the policy for a graph. That of a graph may be as long as any.
func PolicyName(graph string) string {
	name := "kro-" + graph
	if len(name) <= validation.DNS1123SubdomainMaxLength {
		return name
	}
	digest := sha256.Sum256([]byte(graph))
	end := "-" + hex.EncodeToString(digest[:8])
	return strings.TrimRight(name[:validation.DNS1123SubdomainMaxLength-len(end)], "-.") + end
}

// entry of a policy about one resource.
func entry(resource schema.GroupVersionResource, t *target, verbs ...string) v1alpha1.PolicyEntry {
	group := resource.Group
	e := v1alpha1.PolicyEntry{
		Target:   v1alpha1.Target{APIGroup: &group, APIVersion: resource.Version, Resource: resource.Resource},
		Relation: v1alpha1.RelationControllerChild,
		Verbs:    verbs,
	}
	if t == nil || t.any || t.all {
		return e
	}
	for _, key := range slices.Sorted(maps.Keys(t.fields)) {
		m := v1alpha1.FieldMutation{JSONPath: key}
		if t.fields[key].solid {
			m.Verbs = []v1alpha1.MutationVerb{v1alpha1.MutationMutate}
		}
		e.Mutations = append(e.Mutations, m)
	}
	return e
}

// verbs returns what may be done to objects.
func (t *target) verbs() []string {
	if t.all {
		return []string{v1alpha1.Any}
	}
	var verbs []string
	if t.membership || t.made {
		verbs = append(verbs, verbCreate)
	}
	if len(t.fields) > 0 || t.any {
		verbs = append(verbs, verbUpdate)
	}
	if t.membership {
		verbs = append(verbs, verbDelete)
	}
	return verbs
}

// entries of all targets, in the order of the graph.
func (b *builder) entries(c *changes) []v1alpha1.PolicyEntry {
	var out []v1alpha1.PolicyEntry
	for _, resource := range b.children {
		t, ok := c.of[resource]
		if !ok {
			continue
		}
		out = append(out, entry(resource, t, t.verbs()...))
	}
	return out
}

// The verbs of entries.
const (
	verbCreate = "Create"
	verbDelete = "Delete"
	verbUpdate = "Update"
)

// initializing returns what kro may do until an instance has settled for the first time: make
// its children, and follow what they say meanwhile.
func (b *builder) initializing() *v1alpha1.InitializingSection {
	if len(b.children) == 0 {
		return nil
	}
	if len(b.children) > maxEntries {
		b.note(Note{Field: "spec.initializing", Message: fmt.Sprintf(
			"left out, as the graph has children of %d kinds and a section names %d: until an instance has settled for the first time its children are not bounded",
			len(b.children), maxEntries)})
		return nil
	}
	out := &v1alpha1.InitializingSection{}
	for _, resource := range b.children {
		t := target{membership: false, made: true}
		if m := b.maintaining.of[resource]; m != nil {
			t = *m
			t.made = true
		}
		out.Policies = append(out.Policies, entry(resource, &t, t.verbs()...))
	}
	return out
}

// maintained returns what kro may do without a change of the instance.
func (b *builder) maintained() *v1alpha1.MaintainingSection {
	if b.opts.Maintained {
		for _, resource := range b.children {
			b.maintaining.target(resource).made = true
		}
	}
	entries := b.entries(b.maintaining)
	if len(entries) > maxEntries {
		for _, e := range entries[maxEntries:] {
			b.note(Note{Field: "spec.maintaining", Lost: true, Message: fmt.Sprintf(
				"%s are left out, as a section names %d resources: what follows other objects there is refused until the instance changes",
				e.Target.Resource, maxEntries)})
		}
		entries = entries[:maxEntries]
	}
	if len(entries) == 0 {
		return nil
	}
	out := &v1alpha1.MaintainingSection{}
	for _, e := range entries {
		out.Policies = append(out.Policies, v1alpha1.MaintainingEntry{PolicyEntry: e})
	}
	return out
}

// deleting returns what kro may do while an instance is being deleted.
func (b *builder) deleting() *v1alpha1.DeletingSection {
	if len(b.children) == 0 {
		return nil
	}
	if len(b.children) > maxEntries {
		b.note(Note{Field: "spec.deleting", Message: fmt.Sprintf(
			"left out, as the graph has children of %d kinds and a section names %d: while an instance is being deleted its children are not bounded",
			len(b.children), maxEntries)})
		return nil
	}
	out := &v1alpha1.DeletingSection{}
	for _, resource := range b.children {
		out.Policies = append(out.Policies, entry(resource, nil, verbDelete))
	}
	return out
}

func (b *builder) note(n Note) {
	if !slices.Contains(b.notes, n) {
		b.notes = append(b.notes, n)
	}
}
