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

package gate

import (
	"encoding/json"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"kausality.io/operator/internal/policy"
)

// Lost begins what is said of an object that has kept its gate since it lost its parent.
const Lost = "It has lost its parent"

// Parent is the parent because of which policies gate an object. It is kept on the object, as
// policies for a parent are not in effect for what has none: whoever takes a parent away would
// open the gate otherwise.
type Parent struct {
	// UID of the parent.
	UID types.UID `json:"uid"`
	// Kinds are its kind, and those above it that policies are for.
	Kinds []string `json:"kinds"`
}

// ParentOf returns the parent with a UID whose chain is given, from the parent upwards.
func ParentOf(uid types.UID, chain []policy.Holder) *Parent {
	p := &Parent{UID: uid}
	for _, holder := range chain {
		if kind := holder.Kind.String(); !slices.Contains(p.Kinds, kind) {
			p.Kinds = append(p.Kinds, kind)
		}
	}
	return p
}

// readParent reads what an object says. What cannot be read is nothing: no policy could be
// found for it.
func readParent(text string) *Parent {
	var p Parent
	if json.Unmarshal([]byte(text), &p) != nil || p.UID == "" || len(p.Kinds) == 0 {
		return nil
	}
	return &p
}

// Gates reports whether a policy that names what an object stands for gates it as the child of
// such a parent: it is for the parent's kind; or for the object's own, and in effect only while a parent
// starts chains.
func (p *Parent) Gates(by *policy.Policy, own schema.GroupKind) bool {
	return by.For.GroupKind().String() == p.Kinds[0] || by.For.GroupKind() == own && !by.HasInitiator()
}

// IsAbove reports whether a policy is for the kind of the parent, or for one above it.
func (p *Parent) IsAbove(by *policy.Policy) bool {
	return slices.Contains(p.Kinds, by.For.GroupKind().String())
}

// since returns what is kept of a parent where there was one before: of the same one the
// longer chain, as a cache that lacks somebody above is no reason to write the object.
func (p *Parent) since(before *Parent) *Parent {
	if before != nil && before.UID == p.UID && len(before.Kinds) >= len(p.Kinds) {
		return before
	}
	return p
}

// HasLostParent reports whether an object is no child any more of the parent because of which it was
// gated. parent is the UID of the one that it has, and known is false where nobody can tell.
func (s State) HasLostParent(parent types.UID, known bool) bool {
	return s.Parent != nil && known && parent != s.Parent.UID
}

// ParentAfter returns the parent that is kept of an object after a write.
func (s State) ParentAfter(w Write) *Parent {
	switch {
	case w.Old == w.New: // A look alone is no reason to write.
		return s.Parent
	case w.Parent != nil:
		return w.Parent.since(s.Parent)
	case w.Releases:
		return nil
	default:
		return s.Parent
	}
}

// Released returns the state of an object that is let out of the gate that it kept when it lost its
// parent. Its deletion goes on if that was held back, with what it stands for outside.
func (s State) Released() State {
	s.Parent = nil
	if s.Held != nil {
		held := *s.Held
		held.Allowed = true
		s.Held = &held
	}
	return s
}
