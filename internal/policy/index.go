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
	"iter"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Index is an immutable snapshot of policies. A nil Index is an empty one.
type Index struct {
	policies   []*Policy
	byKind     map[schema.GroupKind]*candidates
	categories map[schema.GroupKind][]string
	// keepers are, by the kind of a history, the kinds whose history it is.
	keepers map[schema.GroupKind][]schema.GroupVersionKind
	// versions are the kinds that policies name, whether as parents or as children, each
	// in a version that one of them has.
	versions map[schema.GroupKind]schema.GroupVersionKind
	// readBy are the policies whose objects others read, by who reads them and what that
	// has a bearing on.
	readBy map[reading][]*Policy
}

// NewIndex indexes the policies; it keeps the slice's elements, not the slice.
func NewIndex(policies []*Policy) *Index {
	i := &Index{
		policies:   slices.Clone(policies),
		byKind:     map[schema.GroupKind]*candidates{},
		categories: map[schema.GroupKind][]string{},
		keepers:    map[schema.GroupKind][]schema.GroupVersionKind{},
		versions:   map[schema.GroupKind]schema.GroupVersionKind{},
		readBy:     map[reading][]*Policy{},
	}
	slices.SortFunc(i.policies, ByAge)
	for _, p := range i.policies {
		kind := p.For.GroupKind()
		if i.byKind[kind] == nil {
			i.byKind[kind] = &candidates{}
		}
		i.byKind[kind].add(p)
		maps.Copy(i.categories, p.Categories)
		i.noteReaders(p)
		i.versions[kind] = p.For
		p.visit(func(_ phases, e Entry) {
			if _, known := i.versions[e.Kind]; !known && !e.Kind.Empty() {
				i.versions[e.Kind] = e.Kind.WithVersion(e.Resource.Version)
			}
		})
		for _, e := range p.implied {
			if !slices.Contains(i.keepers[e.Kind], p.For) {
				i.keepers[e.Kind] = append(i.keepers[e.Kind], p.For)
			}
		}
	}
	return i
}

// ByAge puts the oldest policy first, and of two of the same age the one whose
// name comes first (D19).
func ByAge(a, b *Policy) int {
	return cmp.Or(a.Created.Compare(b.Created.Time), cmp.Compare(a.Name, b.Name))
}

// Policies returns all policies, the oldest first. The slice must not be changed.
func (i *Index) Policies() []*Policy {
	if i == nil {
		return nil
	}
	return i.policies
}

// For returns the policies for a kind in any version, the oldest first, whether or not
// they select an object. The slice must not be changed.
func (i *Index) For(kind schema.GroupKind) []*Policy {
	if i == nil || i.byKind[kind] == nil {
		return nil
	}
	return i.byKind[kind].policies
}

// Keepers returns the kinds that keep their history in objects of the kind, where a policy
// bounds it. The slice must not be changed.
func (i *Index) Keepers(history schema.GroupKind) []schema.GroupVersionKind {
	if i == nil {
		return nil
	}
	return i.keepers[history]
}

// Called returns a kind that policies name, in a version that one of them has, and false
// where none names it. The case of its name does not matter: kinds in references that people
// write are found so, observed of the controller of HorizontalPodAutoscalers, which scales
// what is called a deployment.
func (i *Index) Called(kind schema.GroupKind) (schema.GroupVersionKind, bool) {
	if i == nil {
		return schema.GroupVersionKind{}, false
	}
	if version, named := i.versions[kind]; named {
		return version, true
	}
	for named, version := range i.versions {
		if named.Group == kind.Group && strings.EqualFold(named.Kind, kind.Kind) {
			return version, true
		}
	}
	return schema.GroupVersionKind{}, false
}

// selecting returns the policies that select a holder, the oldest first.
func (i *Index) selecting(h Holder) iter.Seq[*Policy] {
	if i == nil {
		return (*candidates)(nil).selecting(h)
	}
	return i.byKind[h.Kind].selecting(h)
}
