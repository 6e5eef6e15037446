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
	"maps"
	"slices"

	"gomodules.xyz/jsonpatch/v2"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/sets"

	"kausality.io/operator/internal/change"
	"kausality.io/operator/internal/gate"
)

// Compute implements gate.Driver. What a request says about the management policies
// is at most a ceiling. Once an object is being deleted they stay as they are: that
// what is deleted outside does not depend on who writes it last.
func (d Driver) Compute(w gate.Write) gate.Setting {
	var before gate.State
	if w.Old != nil {
		before = gate.ReadState(w.Old.GetAnnotations())
		if w.Old.GetDeletionTimestamp() != nil {
			policies, _ := policiesOf(w.Old)
			if w.Releases {
				before = before.Released()
			}
			return gate.Setting{Switch: policies, State: before}
		}
	}
	after := before
	after.Name = d.nameAfter(w, before)
	if w.Old != w.New && w.Provider != "" { // a look alone is no reason to write
		after.Provider = w.Provider
	}
	after.Parent = before.ParentAfter(w)
	content := d.Content(w.New)
	if w.Old == nil || w.Brings || before.Content == d.Content(w.Old) && d.keeps(w, content, after.Name) {
		after.Content = content
		if w.Approved != nil {
			// What is withheld of the object was not granted: it has to go first.
			after.Content = contentOf(w.Approved, w.New)
		}
	}
	after.Unseen = unseenAfter(w, before)
	setFor := func(ceiling []string) (switchTo, unsupported []string) {
		var verbs []string
		limit := limit(w.New, ceiling)
		switch {
		case !d.IsNamed(w.New, after.Name):
			// What is found there is not for the object to have.
			limit.Delete(actionLateInitialize)
		case after.Content == content:
			verbs = gate.Verbs(w.Ledger, []string{actionCreate, actionUpdate})
		}
		set, unsupported := d.open(w, sets.New(verbs...), limit)
		return inOrderOf(w, set), unsupported
	}
	var unheeded bool
	after.Ceiling, unheeded = ceilingAfter(w, before, func(ceiling []string) []string {
		set, _ := setFor(ceiling)
		return set
	}, func(ceiling []string) []string {
		return listOf(d.Runtimes[w.Kind.Provider].closed(limit(w.New, ceiling)))
	})
	after.Requested = requestedAfter(w, before)
	setting := gate.Setting{State: after}
	setting.Switch, setting.Unsupported = setFor(after.Ceiling)
	setting.KeptBack = d.keptBack(after.Ceiling)
	if unheeded {
		setting.Unheeded = specField + "." + SwitchField
	}
	return setting
}

// keptBack returns the verbs that a ceiling does not let through.
func (d Driver) keptBack(ceiling []string) []string {
	if ceiling == nil {
		return nil
	}
	limit := limitOf(ceiling)
	return slices.DeleteFunc(d.Verbs(), limit.Has)
}

// open returns the set for the verbs that a write is allowed, without Create where it needs
// none and the provider accepts that.
func (d Driver) open(w gate.Write, verbs, limit sets.Set[string]) (set sets.Set[string], unsupported []string) {
	runtime := d.Runtimes[w.Kind.Provider]
	if verbs.Has(actionCreate) && sparesCreate(w) {
		if set, unsupported := runtime.open(sets.New(verbs.UnsortedList()...).Delete(actionCreate), limit); len(unsupported) == 0 {
			return set, nil
		}
	}
	return runtime.open(verbs, limit)
}

// ComputeDeletion implements gate.Driver.
func (d Driver) ComputeDeletion(obj *unstructured.Unstructured, kind gate.Kind) gate.Setting {
	state := gate.ReadState(obj.GetAnnotations())
	state.Held = nil
	set, unsupported := d.Runtimes[kind.Provider].deletion(limit(obj, state.Ceiling))
	return gate.Setting{Switch: listOf(set), State: state, Unsupported: unsupported}
}

// Set implements gate.Driver.
func (Driver) Set(obj *unstructured.Unstructured, s gate.Setting) {
	annotations := maps.Clone(obj.GetAnnotations())
	for _, key := range gate.StateKeys() {
		delete(annotations, key)
	}
	if annotations == nil {
		annotations = map[string]string{}
	}
	maps.Copy(annotations, s.State.Annotations())
	obj.SetAnnotations(annotations)

	spec := map[string]any{}
	if old, ok := obj.Object[specField].(map[string]any); ok {
		spec = maps.Clone(old)
	}
	policies := make([]any, 0, len(s.Switch))
	for _, p := range s.Switch {
		policies = append(policies, p)
	}
	spec[SwitchField] = policies
	obj.Object[specField] = spec
}

// Patch implements gate.Driver.
func (Driver) Patch(obj *unstructured.Unstructured, s gate.Setting) []jsonpatch.Operation {
	policies, found := policiesOf(obj)
	if found && slices.Equal(policies, s.Switch) {
		return nil
	}
	var ops []jsonpatch.Operation
	if _, ok := obj.Object[specField].(map[string]any); !ok {
		ops = append(ops, jsonpatch.NewOperation("add", "/"+specField, map[string]any{}))
	}
	return append(ops, jsonpatch.NewOperation("add", "/"+specField+"/"+SwitchField, s.Switch))
}

// keeps reports whether a write leaves what the object says as it is: it changes nothing of
// it, the provider fills in what it has found out, or it only gives what the object stands
// for its right name.
func (d Driver) keeps(w gate.Write, content, name string) bool {
	return d.Content(w.Old) == content || w.BySystem && d.IsLateInitialization(w.Old, w.New) ||
		d.IsNamed(w.New, name) && change.CanonicalHash(specOf(w.Old)) == change.CanonicalHash(specOf(w.New))
}

// limit returns what the ceiling lets through. The older field deletionPolicy is part of
// what an author wants as long as the policies are not: a provider heeds it only
// beside the default.
func limit(obj *unstructured.Unstructured, ceiling []string) sets.Set[string] {
	if ceiling != nil {
		return limitOf(ceiling)
	}
	all := sets.New(actions...)
	if policy, _, _ := unstructured.NestedString(obj.Object, specField, "deletionPolicy"); policy == "Orphan" {
		all.Delete(actionDelete)
	}
	return all
}

// inOrderOf returns the set as the write has it where that is the same in another order:
// a write for the order alone would count up the generation.
func inOrderOf(w gate.Write, set sets.Set[string]) []string {
	for _, obj := range []*unstructured.Unstructured{w.Old, w.New} {
		if obj == nil {
			continue
		}
		if policies, found := policiesOf(obj); found && len(policies) == set.Len() && sets.New(policies...).Equal(set) {
			return slices.Clone(policies)
		}
	}
	return listOf(set)
}
