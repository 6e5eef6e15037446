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
	"cmp"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kausality.io/operator/api/v1alpha1"
)

// Clash is a kind that a policy names in another version than the policies before it.
//
// An object is judged in one version: the API server asks about it in one, and its ledger and
// what is approved of it name fields as that version has them. With two of them, it would ask
// in the version of the request, and each policy would be blind to what is written through
// the version of the other.
type Clash struct {
	// Kind that is named.
	Kind schema.GroupKind
	// Version in which the policy names it.
	Version string
	// Stands is the version that counts.
	Stands string
	// By is the name of the policy that names it in that version.
	By string
}

// String says which version counts, and why.
func (c Clash) String() string {
	return fmt.Sprintf("%s is named in %s here, and in %s by policy %s",
		c.Kind, schema.GroupVersion{Group: c.Kind.Group, Version: c.Version}, schema.GroupVersion{Group: c.Kind.Group, Version: c.Stands}, c.By)
}

// ClashMessage says what is to be done about clashes.
func ClashMessage(clashes []Clash) string {
	out := make([]string, 0, len(clashes))
	for _, c := range clashes {
		out = append(out, c.String())
	}
	return "None of this policy counts, as a kind is judged in one version: " + strings.Join(out, "; ") +
		". Name that version, or have all policies name the other one: the last that is changed brings all of them into effect."
}

// Rank says how a policy stands among others that name another version of a kind: the
// lower one stands, and of equals the older one.
type Rank int

const (
	// RankInEffect is of a policy that is in effect as it is.
	RankInEffect Rank = iota
	// RankChanged is of one that has been changed since it was.
	RankChanged
	// RankNew is of one that was not in effect, or is known to be in conflict. Whatever others are
	// changed to meanwhile, it does not take the place of these.
	RankNew
)

// RankOf returns the rank of a policy that was last in effect at a generation, 0 for none.
func RankOf(p *v1alpha1.AllowancePolicy, adopted int64) Rank {
	conflicted := slices.ContainsFunc(p.Status.Conditions, func(c metav1.Condition) bool {
		return c.Type == v1alpha1.ConditionAccepted && c.Reason == v1alpha1.ReasonConflicted
	})
	switch {
	case conflicted || adopted == 0:
		return RankNew
	case adopted != p.Generation:
		return RankChanged
	default:
		return RankInEffect
	}
}

// Clashes returns the policies that name a kind in another version than those that stand, each
// with what it clashes in. What clashes stands in nobody's way.
func Clashes(policies []*Policy, rank func(*Policy) Rank) map[*Policy][]Clash {
	sorted := contested(policies)
	slices.SortFunc(sorted, func(a, b *Policy) int { return cmp.Or(cmp.Compare(rank(a), rank(b)), ByAge(a, b)) })
	stands := map[schema.GroupKind]Clash{}
	out := map[*Policy][]Clash{}
	for _, p := range sorted {
		var clashes []Clash
		for _, gvk := range p.named {
			if s, ok := stands[gvk.GroupKind()]; ok && s.Stands != gvk.Version {
				s.Version = gvk.Version
				clashes = append(clashes, s)
			}
		}
		if len(clashes) > 0 {
			out[p] = clashes
			continue
		}
		for _, gvk := range p.named {
			if _, ok := stands[gvk.GroupKind()]; !ok {
				stands[gvk.GroupKind()] = Clash{Kind: gvk.GroupKind(), Stands: gvk.Version, By: p.Name}
			}
		}
	}
	return out
}

// contested returns those of the policies that name a kind which is named in more than one version. No
// other is in a clash, and nearly always these are none.
func contested(policies []*Policy) []*Policy {
	versions, several := map[schema.GroupKind]string{}, map[schema.GroupKind]bool{}
	for _, p := range policies {
		for _, gvk := range p.named {
			if version, ok := versions[gvk.GroupKind()]; !ok {
				versions[gvk.GroupKind()] = gvk.Version
			} else if version != gvk.Version {
				several[gvk.GroupKind()] = true
			}
		}
	}
	if len(several) == 0 {
		return nil
	}
	var out []*Policy
	for _, p := range policies {
		if slices.ContainsFunc(p.named, func(gvk schema.GroupVersionKind) bool { return several[gvk.GroupKind()] }) {
			out = append(out, p)
		}
	}
	return out
}

// WithoutClashing returns the policies that are not among those that clash.
func WithoutClashing(policies []*Policy, clashes map[*Policy][]Clash) []*Policy {
	return slices.DeleteFunc(slices.Clone(policies), func(p *Policy) bool { return len(clashes[p]) > 0 })
}

// namedBy returns the kinds that p names and that are known to be served, each once: its own,
// those of its targets and of their readers.
func namedBy(p *Policy) []schema.GroupVersionKind {
	out := []schema.GroupVersionKind{p.For}
	add := func(kind schema.GroupKind, version string) {
		if gvk := kind.WithVersion(version); !kind.Empty() && !slices.Contains(out, gvk) {
			out = append(out, gvk)
		}
	}
	p.visit(func(_ phases, e Entry) { add(e.Kind, e.Resource.Version) })
	for _, r := range p.Rules {
		for _, e := range r.Through {
			add(e.Kind, e.Resource.Version)
			add(e.Readers.Kind, e.Readers.Version)
		}
	}
	return out
}

// named notes that the policy names a kind in a version, and reports where it has named it in
// another one before.
func (c *compiler) named(gvk schema.GroupVersionKind, path *field.Path) {
	before, ok := c.versions[gvk.GroupKind()]
	switch {
	case !ok:
		c.versions[gvk.GroupKind()] = gvk.Version
	case before != gvk.Version:
		c.report(field.Invalid(path, gvk.Version, fmt.Sprintf(
			"%s is named in %s above: a kind is judged in one version", gvk.GroupKind(), before)))
	}
}
