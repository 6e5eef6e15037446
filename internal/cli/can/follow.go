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

package can

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/change"
	"kausality.io/operator/internal/cli/cluster"
	"kausality.io/operator/internal/cli/phrase"
	"kausality.io/operator/internal/decision"
	"kausality.io/operator/internal/ledger"
	"kausality.io/operator/internal/policy"
)

// deepest bounds how far down is looked.
const deepest = 8

// follower finds out what may follow from allowances.
type follower struct {
	cluster  *cluster.Cluster
	policies cluster.Policies
	notes    []string
}

// holder is an object whose children are looked for; one that does not exist yet has
// none.
type holder struct {
	obj   *unstructured.Unstructured
	kind  schema.GroupKind
	chain []policy.Holder
}

// permission is something that may happen to children of a kind.
type permission struct {
	kind           schema.GroupKind
	create, delete bool
	fields         []change.Pattern
	what           []string
	external       string
	conditions     []string
	// through says what may happen to children of what reads the holder, or to these: they are not looked for.
	through string
}

// granted returns the permissions of allowances, for the kinds that the policies of their
// holder name.
func (f *follower) granted(h holder, allowances []v1alpha1.Allowance) []permission {
	var out []permission
	for _, a := range allowances {
		if a.Relation == v1alpha1.RelationExternal {
			out = append(out, permission{external: phrase.Allowance(a)})
			continue
		}
		if a.Through != "" {
			out = append(out, permission{through: phrase.Allowance(a)})
			continue
		}
		for _, kind := range childKinds(f.policies.InEffect(h.chain)) {
			if decision.MatchesKind(ledger.NewEntry(a), kind) {
				out = append(out, permissionOf(kind, a))
			}
		}
	}
	return out
}

func permissionOf(kind schema.GroupKind, a v1alpha1.Allowance) permission {
	p := permission{kind: kind}
	anything := a.Mutation == v1alpha1.Any && len(a.Verbs) == 0
	p.create = anything || a.Mutation == v1alpha1.MutationCreateObject
	p.delete = anything || a.Mutation == v1alpha1.MutationDeleteObject
	if anything || !p.create && !p.delete {
		if pattern, err := change.ParsePattern(a.Mutation); err == nil {
			p.fields = []change.Pattern{pattern}
			p.what = []string{fieldText(a.Mutation)}
		}
	}
	return p
}

func fieldText(path string) string {
	if path == v1alpha1.Any {
		return "change any field"
	}
	return "change " + path
}

// possible returns the permissions that changes of a holder would give by its policies:
// changes of fields by their rules, and its creation by the initializing section.
func (f *follower) possible(h holder, fields []change.Pattern, created bool) []permission {
	var out []permission
	policies := f.policies.InEffect(h.chain)
	for _, p := range policies {
		for _, r := range p.Rules {
			if !slices.ContainsFunc(fields, r.Trigger.Overlaps) {
				continue
			}
			out = append(out, f.ofRule(h, &r, policies)...)
		}
		if created && p.Initializing != nil {
			for _, e := range p.Initializing.Entries {
				out = append(out, ofEntry(e, nil))
			}
		}
	}
	if created && len(policies) > 0 && !slices.ContainsFunc(policies, func(p *policy.Policy) bool { return p.Initializing != nil }) {
		out = append(out, anythingTo(childKinds(policies))...)
	}
	return out
}

// ofRule returns the permissions that a rule gives.
func (f *follower) ofRule(h holder, r *policy.Rule, policies []*policy.Policy) []permission {
	if r.AllowsAnything() {
		return anythingTo(childKinds(policies))
	}
	out := make([]permission, 0, len(r.Entries))
	for _, e := range r.Entries {
		out = append(out, ofEntry(e, r.Conditions))
	}
	for _, e := range r.Through {
		out = append(out, ofThrough(e, r.Conditions))
		f.note(fmt.Sprintf("What may follow for each %s that reads a %s is not looked at.", e.Readers.Kind.Kind, h.kind.Kind))
	}
	return out
}

func ofEntry(e policy.Entry, conditions []*policy.Condition) permission {
	p := permission{kind: e.Kind, create: e.Create, delete: e.Delete}
	for _, c := range conditions {
		p.conditions = append(p.conditions, c.Source())
	}
	if e.IsExternal() {
		p.external = phrase.Allowance(v1alpha1.Allowance{Relation: v1alpha1.RelationExternal, External: e.External, Mutations: e.ExternalVerbs})
	}
	for _, field := range e.Fields {
		p.fields = append(p.fields, field.Pattern)
		p.what = append(p.what, fieldText(field.Pattern.String()))
	}
	return p
}

func ofThrough(e policy.ThroughEntry, conditions []*policy.Condition) permission {
	own := ofEntry(e.Entry, conditions)
	what := own.what
	for _, verb := range []struct {
		is   bool
		what string
	}{{own.create, v1alpha1.MutationCreateObject}, {own.delete, v1alpha1.MutationDeleteObject}} {
		if verb.is {
			what = append(what, verb.what)
		}
	}
	return permission{through: phrase.Through(strings.Join(what, ", ")+" of "+e.Kind.Kind, e.Readers.Kind, e.Kind), conditions: own.conditions}
}

func anythingTo(kinds []schema.GroupKind) []permission {
	out := make([]permission, 0, len(kinds))
	for _, kind := range kinds {
		out = append(out, permissionOf(kind, v1alpha1.Allowance{Kind: kind.Kind, Mutation: v1alpha1.Any}))
	}
	return out
}

// childKinds returns the kinds that policies name.
func childKinds(policies []*policy.Policy) []schema.GroupKind {
	var kinds []schema.GroupKind
	for _, p := range policies {
		for _, e := range p.Entries() {
			if !e.Kind.Empty() && !slices.Contains(kinds, e.Kind) {
				kinds = append(kinds, e.Kind)
			}
		}
	}
	return kinds
}

// follow returns what the permissions of a holder come to: the children that there are, and
// those that would be created. above are the kinds further up.
func (f *follower) follow(ctx context.Context, h holder, permissions []permission, possible bool, depth int) []*Node {
	var out []*Node
	for _, p := range permissions {
		if p.through != "" {
			out = add(out, &Node{Kind: h.kind.Kind, Readers: true, What: []string{p.through}, Possible: possible, Conditions: p.conditions})
		}
		if p.external != "" {
			out = add(out, &Node{Kind: string(v1alpha1.RelationExternal), External: true, What: []string{p.external}, Possible: possible, Conditions: p.conditions})
		}
	}
	if depth == deepest {
		f.note(fmt.Sprintf("What may follow below a %s is not looked at: that is %d levels down.", h.kind.Kind, deepest))
		return out
	}
	for _, p := range merged(permissions) {
		if p.create {
			child := holder{kind: p.kind, chain: append([]policy.Holder{{Kind: p.kind, NamespaceLabels: h.namespaceLabels()}}, h.chain...)}
			out = append(out, &Node{
				Kind: p.kind.Kind, What: []string{v1alpha1.MutationCreateObject}, Possible: possible, Conditions: p.conditions,
				Next: f.follow(ctx, child, f.possible(child, nil, true), true, depth+1),
			})
		}
		if h.obj == nil || !p.delete && len(p.fields) == 0 {
			continue
		}
		out = append(out, f.existing(ctx, h, p, possible, depth)...)
	}
	return out
}

// existing returns the children that there are of which something may happen.
func (f *follower) existing(ctx context.Context, h holder, p permission, possible bool, depth int) []*Node {
	children, err := f.cluster.Children(ctx, f.policies, p.kind, h.obj)
	if err != nil {
		f.note(fmt.Sprintf("Which children of kind %s there are cannot be told: %v", p.kind.Kind, err))
	}
	what := p.what
	if p.delete {
		what = append(slices.Clone(what), v1alpha1.MutationDeleteObject)
	}
	out := make([]*Node, 0, len(children))
	for _, obj := range children {
		child := holder{obj: obj, kind: p.kind}
		child.chain, f.notes = f.cluster.Ancestry(ctx, f.policies, obj, f.notes)
		out = append(out, &Node{
			Kind: p.kind.Kind, Name: obj.GetName(), What: what, Possible: possible, Conditions: p.conditions,
			Next: f.follow(ctx, child, f.possible(child, p.fields, false), true, depth+1),
		})
	}
	return out
}

func (h *holder) namespaceLabels() map[string]string {
	if len(h.chain) == 0 {
		return nil
	}
	return h.chain[0].NamespaceLabels
}

func (f *follower) note(text string) {
	if !slices.Contains(f.notes, text) {
		f.notes = append(f.notes, text)
	}
}

// merged puts together what is about one kind under the same conditions.
func merged(permissions []permission) []permission {
	var out []permission
	for _, p := range permissions {
		if p.external != "" || p.through != "" {
			continue
		}
		i := slices.IndexFunc(out, func(o permission) bool { return o.kind == p.kind && slices.Equal(o.conditions, p.conditions) })
		if i < 0 {
			out = append(out, permission{kind: p.kind, conditions: p.conditions})
			i = len(out) - 1
		}
		known := &out[i]
		known.create, known.delete = known.create || p.create, known.delete || p.delete
		for j, text := range p.what {
			if !slices.Contains(known.what, text) {
				known.what, known.fields = append(known.what, text), append(known.fields, p.fields[j])
			}
		}
	}
	return out
}

// add adds a node, once.
func add(nodes []*Node, n *Node) []*Node {
	if slices.ContainsFunc(nodes, func(o *Node) bool {
		return o.Kind == n.Kind && slices.Equal(o.What, n.What) && slices.Equal(o.Conditions, n.Conditions)
	}) {
		return nodes
	}
	return append(nodes, n)
}
