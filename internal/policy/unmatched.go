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
	"fmt"
	"slices"
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/fieldpath"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/change"
	"kausality.io/operator/internal/knowledge"
)

// Declared is what an API server says about kinds.
type Declared interface {
	// KindFor returns the kind of a resource, and false where it is not served.
	KindFor(resource schema.GroupVersionResource) (schema.GroupVersionKind, bool)
	// Namespaced reports whether the objects of a kind live in namespaces, and false
	// for known where the kind is not served.
	Namespaced(kind schema.GroupVersionKind) (namespaced, known bool)
	// Undeclared says why no object of a kind has anything that a pattern names, and
	// nothing where one may.
	Undeclared(kind schema.GroupVersionKind, pattern change.Pattern) string
	// TypeOf is what kind of value objects of a kind have at a pattern, empty where that
	// is not declared.
	TypeOf(kind schema.GroupVersionKind, pattern change.Pattern) change.ValueType
}

// Unmatched says of each part of a policy that can never match why that is so. It
// says nothing of what does not compile, is not served or is not declared, nor of
// kinds that might be children and never are: which kinds own which nobody declares.
func Unmatched(spec *v1alpha1.AllowancePolicySpec, declared Declared) []string {
	u := unmatched{
		Declared: declared,
		parent:   schema.GroupVersionKind{Group: spec.For.APIGroup, Version: spec.For.APIVersion, Kind: spec.For.Kind},
	}
	path := field.NewPath("spec")
	for i := range spec.Subjects {
		u.subject(spec.Subjects[i].Subject, path.Child("subjects").Index(i))
	}
	for _, named := range knowledge.Fields(spec.Knowledge, path.Child("knowledge")) {
		u.pattern(u.parent, named.Path, named.At)
	}
	if s := spec.Initializing; s != nil {
		u.entries(s.Policies, path.Child("initializing", "policies"))
	}
	if s := spec.Deleting; s != nil {
		u.entries(s.Policies, path.Child("deleting", "policies"))
	}
	if s := spec.Maintaining; s != nil {
		for i := range s.Policies {
			at := path.Child("maintaining", "policies").Index(i)
			u.entry(&s.Policies[i].PolicyEntry, at)
			for j, subject := range s.Policies[i].Subjects {
				u.subject(subject, at.Child("subjects").Index(j))
			}
		}
	}
	for i := range spec.Rules {
		rule, at := &spec.Rules[i], path.Child("rules").Index(i)
		u.pattern(u.parent, rule.Trigger, at.Child("trigger"))
		for j, capture := range rule.Capture {
			u.pattern(u.parent, capture, at.Child("capture").Index(j))
		}
		u.entries(rule.Policies, at.Child("policies"))
	}
	return u.found
}

// UnmatchedEntries says the same of entries that are at a path, whatever kind their parents are.
func UnmatchedEntries(entries []v1alpha1.PolicyEntry, at *field.Path, declared Declared) []string {
	u := unmatched{Declared: declared}
	u.entries(entries, at)
	return u.found
}

// unmatched collects what can never match.
type unmatched struct {
	Declared
	parent schema.GroupVersionKind
	found  []string
	// apart are the children that were found to be none.
	apart []schema.GroupVersionKind
}

func (u *unmatched) entries(entries []v1alpha1.PolicyEntry, path *field.Path) {
	for i := range entries {
		u.entry(&entries[i], path.Index(i))
	}
}

func (u *unmatched) subject(s v1alpha1.Subject, path *field.Path) {
	if why := nobody(s); why != "" {
		u.add(path, why)
	}
}

func (u *unmatched) entry(e *v1alpha1.PolicyEntry, path *field.Path) {
	child, served := u.KindFor(ResourceOf(e.Target))
	if e.Target.Resource == "" || !served {
		return
	}
	if Exempt(ResourceOf(e.Target).GroupResource()) {
		if !slices.Contains(u.apart, child) {
			u.apart = append(u.apart, child)
			u.add(path.Child("target"), fmt.Sprintf("Kausality is never asked about %s, and bounds none", ResourceOf(e.Target).GroupResource()))
		}
		return
	}
	u.scopes(child, path.Child("target"))
	for i, m := range e.Mutations {
		u.mutation(child, m.JSONPath, path.Child("mutations").Index(i).Child("jsonPath"))
	}
}

// claimRef is the field by which a composite resource of Crossplane names its claim,
// and noField one that no kind declares.
var (
	claimRef = change.Pattern{fieldpath.Field("spec"), fieldpath.Field("claimRef")}
	noField  = change.Pattern{fieldpath.Field("spec"), fieldpath.Field("-")}
)

// hasClaims reports whether a kind is declared to name claims. A kind that may have any
// field, or of which nothing is known, declares nothing. Those of Kubernetes that have such a field, PersistentVolumes,
// name claims of another sort.
func (u *unmatched) hasClaims(kind schema.GroupVersionKind) bool {
	return strings.Contains(kind.Group, ".") && u.Undeclared(kind, claimRef) == "" && u.Undeclared(kind, noField) != ""
}

// scopes finds children that no owner reference can make children, and that have no
// other way to name a parent, once each.
func (u *unmatched) scopes(child schema.GroupVersionKind, path *field.Path) {
	parentNamespaced, parentKnown := u.Namespaced(u.parent)
	childNamespaced, childKnown := u.Namespaced(child)
	if !parentKnown || !childKnown || !parentNamespaced || childNamespaced || slices.Contains(u.apart, child) || u.hasClaims(child) {
		return
	}
	u.apart = append(u.apart, child)
	u.add(path, fmt.Sprintf("%s objects are in no namespace, so that a %s, which is in one, cannot own them", child.Kind, u.parent.Kind))
}

func (u *unmatched) mutation(child schema.GroupVersionKind, text string, path *field.Path) {
	if pattern, err := change.ParsePattern(text); err == nil && len(pattern) > 0 {
		switch first := pattern[0].Field; first {
		case "status", "apiVersion", kindField:
			u.add(path, fmt.Sprintf("no change of %s counts, so that none needs to be allowed", first))
			return
		}
	}
	u.pattern(child, text, path)
}

func (u *unmatched) pattern(kind schema.GroupVersionKind, text string, path *field.Path) {
	pattern, err := change.ParsePattern(text)
	if err != nil {
		return
	}
	if why := u.Undeclared(kind, pattern); why != "" {
		u.add(path, fmt.Sprintf("in kind %s, %s", kind.Kind, why))
	}
}

func (u *unmatched) add(path *field.Path, why string) {
	u.found = append(u.found, fmt.Sprintf("%s: %s", path, why))
}
