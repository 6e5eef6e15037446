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
	"fmt"
	"slices"

	krov1alpha1 "github.com/kubernetes-sigs/kro/api/v1alpha1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/change"
	"kausality.io/operator/internal/derive/draft"
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
	// Former are resources of children that instances may have of earlier revisions of the graph.
	// Where the graph has them no more they stay bounded: what they are is for whoever lets an
	// edit of the graph through.
	Former []schema.GroupVersionResource
}

// kroAccount is the service account that kro's chart makes.
var kroAccount = v1alpha1.Subject{Kind: v1alpha1.SubjectServiceAccount, Name: "kro", Namespace: "kro-system"}

// Derive derives the policy for the instances of a graph. The error says what of the graph
// cannot be read; kro would not accept it.
func Derive(rgd *krov1alpha1.ResourceGraphDefinition, opts Options) (*draft.Derivation, error) {
	g, err := readGraph(rgd)
	if err != nil {
		return nil, err
	}
	b := &builder{graph: g, Draft: draft.New(g.instance.Kind), opts: opts}
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
	for _, resource := range opts.Former {
		b.Former(resource)
	}
	policy := b.policy(rgd.Name)
	return &draft.Derivation{Policy: policy, Rows: b.rows, Notes: b.Notes()}, nil
}

// Kinds returns the kinds of the children that a graph makes, as far as it can be read.
func Kinds(spec *krov1alpha1.ResourceGraphDefinitionSpec) []schema.GroupVersionKind {
	var out []schema.GroupVersionKind
	for _, r := range spec.Resources {
		if n, err := readNode(r); err == nil && !n.external {
			out = append(out, n.kind)
		}
	}
	return out
}

// builder collects what a policy is made of.
type builder struct {
	*graph
	*draft.Draft
	opts Options

	rows []draft.Row
}

// child adds what reaches the objects of one resource.
func (b *builder) child(n *node, reaches []reach) {
	resource := b.resource(n)
	b.Child(resource)
	if b.opts.Maintained {
		b.Maintaining().Made(resource)
	}
	for _, r := range reaches {
		if r.field != nil && !b.bounds(n, r.field) {
			continue
		}
		row := draft.Row{Resource: n.id, Kind: n.kind.Kind, Why: r.why, Observed: r.from.observed}
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
		if r.field == nil {
			b.changes(r.from).Member(resource)
			continue
		}
		b.changes(r.from).Reach(resource, r.field, r.solid)
	}
}

// changes returns what something allows.
func (b *builder) changes(from found) *draft.Changes {
	if from.path == nil {
		return b.Maintaining()
	}
	return b.Trigger(from.path)
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
	b.Note(draft.Note{Resource: n.id, Field: at.String(), Lost: true,
		Message: "it is not bounded: other controllers write there too, and would be refused. What changes it passes"})
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
	note := draft.Note{Resource: n.id, Message: fmt.Sprintf("the resource of the kind %s is not known, and taken to be %s", n.kind.GroupKind(), resource.GroupResource())}
	if b.opts.ResourceFor != nil {
		b.Note(note)
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
	b.Fit()
	p := &v1alpha1.AllowancePolicy{
		TypeMeta: metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "AllowancePolicy"},
		ObjectMeta: metav1.ObjectMeta{
			Name:        PolicyName(name),
			Annotations: map[string]string{v1alpha1.AnnotationDerivedFrom: name},
		},
		Spec: v1alpha1.AllowancePolicySpec{
			For:          v1alpha1.ParentKind{APIGroup: b.instance.Group, APIVersion: b.instance.Version, Kind: b.instance.Kind},
			Subjects:     subjects,
			Initializing: b.Initializing(),
			Maintaining:  b.Maintained(),
			Deleting:     b.Deleting(),
			Rules:        b.Rules(),
		},
	}
	if b.conditions {
		p.Spec.Consumption = &v1alpha1.Consumption{When: settledWhen}
	}
	return p
}

// PolicyName returns the name of the policy for a graph. That of a graph may be as long as any.
func PolicyName(graph string) string {
	return draft.Name("kro-" + graph)
}
