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

package crossplane

import (
	"encoding/json"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/sets"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/change"
	"kausality.io/operator/internal/gate"
)

// ComposedManager begins the name of the field manager by which Crossplane applies
// what it composes. Anybody may call himself so: it tells apart what Crossplane writes,
// and not who does.
const ComposedManager = "apiextensions.crossplane.io/composed/"

// ceilingAfter returns the ceiling after a write: what the object's author says about the
// management policies, in a creation or later. Of what is composed that is what Crossplane
// applies: providers and others write back what they have read. Of anything else it is what whoever
// may initiate wants, in whatever way they write it, but for what they have read of an object whose
// gate was closed. setFor returns the policies that a ceiling leads to, and closedFor those by which it lets
// nothing through.
//
// It also returns whether the request wants other policies than the ceiling lets through, or,
// where it is none of an author's, than the gate does, and has no say in that.
func ceilingAfter(w gate.Write, before gate.State, setFor, closedFor func(ceiling []string) []string) (ceiling []string, unheeded bool) {
	if w.Again {
		return gate.ReadState(w.New.GetAnnotations()).Ceiling, false
	}
	policies, found := policiesOf(w.New)
	switch {
	case w.Old == nil && !isApplied(w) && isExported(w.New, anyEntry, policies, closedFor):
		return gate.ReadState(w.New.GetAnnotations()).Ceiling, false
	case w.Old == nil:
		return asCeilingIf(found, policies), false
	case isApplied(w) && isComposedNote(w.New):
		return asCeiling(noteOf(w.New).Policies), false
	case isComposedNote(w.Old) && isComposedNote(w.New):
		return asCeiling(noteOf(w.Old).Policies), false // what was composed while the webhook was down
	case isApplied(w):
		return asCeilingIf(found && owns(w.New, w.FieldManager), policies), false
	}
	wanted, says := wantedBy(w, before, setFor, closedFor)
	isSaid := says && w.ByAuthor && metav1.GetControllerOf(w.New) == nil
	if isSaid {
		return wanted, false
	}
	// An author says again and again what the ceiling is, however far the gate is open. Anybody else
	// who says so has the field put back.
	isHeard := sameCeiling(wanted, before.Ceiling) &&
		(w.ByAuthor || limit(w.New, wanted).Equal(sets.New(setFor(before.Ceiling)...)))
	return before.Ceiling, says && !w.BySystem && !isHeard
}

// wantedBy returns the ceiling that a request wants for what nobody composes, and false where it
// wants none. What the object says when our webhook is asked once more is what it has made of
// the object itself, by the ceiling that it has noted.
func wantedBy(w gate.Write, before gate.State, setFor, closedFor func(ceiling []string) []string) (ceiling []string, says bool) {
	if bringsExport(w, before, closedFor) {
		return nil, false
	}
	n, noted := noteOf(w.New), w.New.GetAnnotations()[v1alpha1.AnnotationGateRequested]
	isOwn := noted != "" && !isComposedNote(w.New) && n.User == w.User
	if isOwn && noted != before.Requested {
		return asCeiling(n.Policies), true
	}
	if applied := appliedByClient(w); applied != nil {
		if policies, ok := policiesOf(applied); ok {
			return asCeiling(policies), true
		}
	}
	brought := before.Ceiling
	if w.ByAuthor {
		brought = gate.ReadState(w.New.GetAnnotations()).Ceiling
	}
	policies, found := policiesOf(w.New)
	old, had := policiesOf(w.Old)
	isAsBefore := found == had && slices.Equal(policies, old)
	switch {
	case isAsBefore && isOwn:
		return asCeiling(n.Policies), true
	case isAsBefore && sameCeiling(brought, before.Ceiling):
		return nil, false
	case found && sets.New(policies...).Equal(sets.New(setFor(brought)...)):
		return brought, !sameCeiling(brought, before.Ceiling)
	case isAsBefore:
		return nil, false
	default:
		return asCeilingIf(found, policies), true
	}
}

// lastApplied is the annotation in which "kubectl apply" keeps what it has applied.
const lastApplied = corev1.LastAppliedConfigAnnotation

// appliedByClient returns the object that a request applies in the way of kubectl, which
// sends no more of the object than what is otherwise than in the cluster; nil where it applies none.
func appliedByClient(w gate.Write) *unstructured.Unstructured {
	text, ok := w.New.GetAnnotations()[lastApplied]
	if !ok || w.Old.GetAnnotations()[lastApplied] == text {
		return nil
	}
	var applied unstructured.Unstructured
	if err := json.Unmarshal([]byte(text), &applied.Object); err != nil {
		return nil
	}
	return &applied
}

// bringsExport reports whether an update brings what somebody has read of an object while its gate was
// closed: that is what the gate has written, and nobody's wish. What is replaced, or edited, tells of that by what
// kubectl has applied.
func bringsExport(w gate.Write, before gate.State, closedFor func(ceiling []string) []string) bool {
	if applied := appliedByClient(w); applied != nil {
		policies, _ := policiesOf(applied)
		return isExported(applied, anyEntry, policies, closedFor)
	}
	policies, found := policiesOf(w.New)
	if noted := w.New.GetAnnotations()[v1alpha1.AnnotationGateRequested]; noted != before.Requested && !isComposedNote(w.New) {
		policies, found = noteOf(w.New).Policies, true
	}
	// What an update leaves of the notes is there whoever makes it: only what is applied tells.
	applied := &unstructured.Unstructured{Object: map[string]any{}}
	applied.SetManagedFields(w.New.GetManagedFields())
	if text, ok := w.New.GetAnnotations()[v1alpha1.AnnotationGateCeiling]; ok {
		applied.SetAnnotations(map[string]string{v1alpha1.AnnotationGateCeiling: text})
	}
	return found && isExported(applied, appliedBy(w.FieldManager), policies, closedFor)
}

// note is what the admission policy inside the API server notes when it puts back the policies that
// there were: in this request, or in one while the webhook was down. Without a user it is
// what Crossplane composes, as that is known there, and a list.
type note struct {
	User     string   `json:"user,omitempty"`
	Policies []string `json:"policies"`
}

// noteOf returns what is noted in an object. What cannot be read is of nobody.
func noteOf(obj *unstructured.Unstructured) note {
	text := obj.GetAnnotations()[v1alpha1.AnnotationGateRequested]
	var n note
	if json.Unmarshal([]byte(text), &n) == nil || json.Unmarshal([]byte(text), &n.Policies) == nil {
		return n
	}
	return note{}
}

// isComposedNote reports whether what is noted in an object is what Crossplane composes.
func isComposedNote(obj *unstructured.Unstructured) bool {
	var policies []string
	return json.Unmarshal([]byte(obj.GetAnnotations()[v1alpha1.AnnotationGateRequested]), &policies) == nil
}

// requestedAfter returns what stays noted after a write: what somebody else wanted of an
// object that nobody composes, until they come back.
func requestedAfter(w gate.Write, before gate.State) string {
	if w.Old == nil || isComposedNote(w.Old) || metav1.GetControllerOf(w.New) != nil || noteOf(w.Old).User == w.User {
		return ""
	}
	return before.Requested
}

// isApplied reports whether Crossplane applies what it composes.
func isApplied(w gate.Write) bool {
	return w.ByAuthor && metav1.GetControllerOf(w.New) != nil && strings.HasPrefix(w.FieldManager, ComposedManager)
}

// isExported reports whether an object, or what the managers of some entries write of it, carries what the
// operator notes of a gate, and policies by which that lets nothing through: so it was read while it was closed. The
// API server takes the note out of what is created, and the managers stay.
func isExported(obj *unstructured.Unstructured, counts func(metav1.ManagedFieldsEntry) bool, policies []string, closedFor func(ceiling []string) []string) bool {
	ceiling := gate.ReadState(obj.GetAnnotations()).Ceiling
	if len(policies) == 0 || !sets.New(policies...).Equal(sets.New(closedFor(ceiling)...)) {
		return false
	}
	_, noted := obj.GetAnnotations()[v1alpha1.AnnotationGateContent]
	return noted || slices.ContainsFunc(obj.GetManagedFields(), func(e metav1.ManagedFieldsEntry) bool {
		return counts(e) && has(e, specField, SwitchField) && has(e, "metadata", "annotations", v1alpha1.AnnotationGateContent)
	})
}

// anyEntry counts those of all managers.
func anyEntry(metav1.ManagedFieldsEntry) bool { return true }

// owns reports whether what a manager applies has the field.
func owns(obj *unstructured.Unstructured, manager string) bool {
	applied := appliedBy(manager)
	return slices.ContainsFunc(obj.GetManagedFields(), func(e metav1.ManagedFieldsEntry) bool {
		return applied(e) && has(e, specField, SwitchField)
	})
}

// has reports whether an entry has a field.
func has(e metav1.ManagedFieldsEntry, path ...string) bool {
	if e.FieldsV1 == nil {
		return false
	}
	raw := e.FieldsV1.GetRawBytes()
	for _, name := range path {
		var fields map[string]json.RawMessage
		if err := json.Unmarshal(raw, &fields); err != nil {
			return false
		}
		below, ok := fields["f:"+name]
		if !ok {
			return false
		}
		raw = below
	}
	return true
}

func appliedBy(manager string) func(metav1.ManagedFieldsEntry) bool {
	return func(e metav1.ManagedFieldsEntry) bool {
		return manager != "" && e.Manager == manager && e.Operation == metav1.ManagedFieldsOperationApply && e.Subresource == ""
	}
}

// switchPattern is of the field by which an author says what the ceiling is.
var switchPattern = change.MustParsePattern(specField + "." + SwitchField)

// SwitchPath implements gate.Driver.
func (Driver) SwitchPath() change.Pattern { return switchPattern }

// sameCeiling reports whether two ceilings let the same through.
func sameCeiling(a, b []string) bool {
	return (a == nil) == (b == nil) && sets.New(a...).Equal(sets.New(b...))
}

func asCeilingIf(said bool, policies []string) []string {
	if !said {
		return nil
	}
	return asCeiling(policies)
}

// asCeiling returns a list of policies as a ceiling, nil where it limits nothing. One that
// is empty pauses the object: it lets nothing through.
func asCeiling(policies []string) []string {
	if slices.Contains(policies, actionAll) {
		return nil
	}
	return append([]string{}, policies...)
}
