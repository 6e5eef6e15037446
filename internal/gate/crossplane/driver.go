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

// Package crossplane gates Crossplane's managed resources: objects that each stand
// for one resource in a cloud, and whose provider does there what
// spec.managementPolicies lets it do.
package crossplane

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kausality.io/operator/internal/change"
	"kausality.io/operator/internal/gate"
)

const (
	// Category of the kinds of managed resources.
	Category = "managed"
	// PausedAnnotation keeps a provider from doing anything with an object, while it
	// is "true".
	PausedAnnotation = "crossplane.io/paused"
	// ExternalNameAnnotation names the resource in the cloud that an object stands
	// for.
	ExternalNameAnnotation = "crossplane.io/external-name"

	// finalizerName is the finalizer of providers that are built with crossplane-runtime and choose no other.
	finalizerName = "finalizer.managedresource.crossplane.io"

	// SwitchField is the field of spec that is the switch.
	SwitchField = "managementPolicies"

	specField = "spec"
)

// The keys of an External target.
const (
	// KeyProvider is the name of the Provider that the kind was installed with.
	KeyProvider = "provider"
	// KeyAPIGroup is the API group of the kind.
	KeyAPIGroup = "apiGroup"
	// KeyKind is the kind.
	KeyKind = "kind"
	// KeyResource is its name in the plural.
	KeyResource = "resource"
	// KeyName is the name of the object.
	KeyName = "name"
)

// Driver is the gate.Driver of Crossplane.
type Driver struct {
	// Runtimes are the versions of crossplane-runtime that providers are built with,
	// by provider, where they are older than all that make a difference.
	Runtimes map[string]Runtime
}

var _ gate.Driver = Driver{}

// System implements gate.Driver.
func (Driver) System() string { return "Crossplane" }

// Category implements gate.Driver.
func (Driver) Category() string { return Category }

// Keys implements gate.Driver.
func (Driver) Keys() []string {
	return []string{KeyAPIGroup, KeyKind, KeyName, KeyProvider, KeyResource}
}

// Verbs implements gate.Driver.
func (Driver) Verbs() []string { return []string{actionCreate, actionDelete, actionUpdate} }

// Finalizer implements gate.Driver.
func (Driver) Finalizer() string { return finalizerName }

// DeletesOutside implements gate.Driver.
func (Driver) DeletesOutside(obj *unstructured.Unstructured) bool {
	return limit(obj, gate.ReadState(obj.GetAnnotations()).Ceiling).Has(actionDelete)
}

// Annotations implements gate.Driver. By what kubectl has applied an author may say what the
// switch is anyway.
func (Driver) Annotations() []string {
	return []string{ExternalNameAnnotation, PausedAnnotation, lastApplied}
}

// IsSwitch implements gate.Driver.
func (Driver) IsSwitch(path change.Path) bool {
	return len(path) > 1 && path[0].Field == specField && path[1].Field == SwitchField
}

// HasSwitch implements gate.Driver.
func (Driver) HasSwitch(obj *unstructured.Unstructured) bool {
	_, has := policiesOf(obj)
	return has
}

// Lets implements gate.Driver. A field that is absent is the default, which is
// everything.
func (d Driver) Lets(obj *unstructured.Unstructured) []string {
	policies, found := policiesOf(obj)
	if !found {
		return d.Verbs()
	}
	limit := limitOf(policies)
	return slices.DeleteFunc(d.Verbs(), func(verb string) bool { return !limit.Has(verb) })
}

// policiesOf returns the management policies that an object has. An entry that is no
// text is none that anybody knows.
func policiesOf(obj *unstructured.Unstructured) ([]string, bool) {
	list, found, err := unstructured.NestedSlice(obj.Object, specField, SwitchField)
	if err != nil || !found {
		return nil, false
	}
	out := make([]string, 0, len(list))
	for _, item := range list {
		text, _ := item.(string)
		out = append(out, text)
	}
	return out, true
}
