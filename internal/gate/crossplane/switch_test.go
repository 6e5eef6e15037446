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
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/sets"
	"pgregory.net/rapid"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/gate"
	"kausality.io/operator/internal/ledger"
)

var (
	closed   = []string{"Observe", "LateInitialize"}
	updating = []string{"Observe", "Update", "LateInitialize"}
	creating = []string{"Observe", "Create", "LateInitialize"}
)

// bucket returns a managed resource that somebody composed.
func bucket(size string, policies []string, edits ...func(*unstructured.Unstructured)) *unstructured.Unstructured {
	obj := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "cloud.example.org/v1", "kind": "Bucket",
		"metadata": map[string]any{"name": "b", "ownerReferences": []any{map[string]any{
			"apiVersion": "example.org/v1", "kind": "XBucket", "name": "x", "uid": "1", "controller": true,
		}}},
		"spec": map[string]any{"forProvider": map[string]any{"size": size}},
	}}
	if policies != nil {
		Driver{}.Set(obj, gate.Setting{Switch: policies})
	}
	for _, edit := range edits {
		edit(obj)
	}
	return obj
}

func annotated(key, value string) func(*unstructured.Unstructured) {
	return func(obj *unstructured.Unstructured) {
		annotations := obj.GetAnnotations()
		if annotations == nil {
			annotations = map[string]string{}
		}
		annotations[key] = value
		obj.SetAnnotations(annotations)
	}
}

// approved marks the content of a bucket of size 1 as what the entries were granted
// for.
func approved(obj *unstructured.Unstructured) {
	state := gate.State{Content: Driver{}.Content(bucket("1", nil)), Name: Driver{}.NameOf(bucket("1", nil))}
	annotated(v1alpha1.AnnotationGateContent, state.Annotations()[v1alpha1.AnnotationGateContent])(obj)
}

// granted marks the content of a bucket of a size, which had a name that it should not have,
// as what the entries were granted for.
func granted(size, name string) func(*unstructured.Unstructured) {
	state := gate.State{Content: Driver{}.Content(bucket(size, nil, annotated(ExternalNameAnnotation, name))), Name: Driver{}.NameOf(bucket(size, nil))}
	return annotated(v1alpha1.AnnotationGateContent, state.Annotations()[v1alpha1.AnnotationGateContent])
}

// set sets a field below spec.
func set(value any, path ...string) func(*unstructured.Unstructured) {
	return func(obj *unstructured.Unstructured) {
		if err := unstructured.SetNestedField(obj.Object, value, append([]string{"spec"}, path...)...); err != nil {
			panic(err)
		}
	}
}

// region is a parameter that the cloud chose.
func region(obj *unstructured.Unstructured) {
	set("eu", "forProvider", "region")(obj)
}

// applied says that Crossplane applied the object, with or without the policies.
func applied(fields string) func(*unstructured.Unstructured) {
	return func(obj *unstructured.Unstructured) {
		obj.SetManagedFields([]metav1.ManagedFieldsEntry{{
			Manager: composer, Operation: metav1.ManagedFieldsOperationApply,
			FieldsV1: metav1.NewFieldsV1(`{"f:spec":{` + fields + `}}`),
		}})
	}
}

const (
	composer  = ComposedManager + "abc"
	ownsField = `"f:managementPolicies":{},"f:forProvider":{}`
	ownsNone  = `"f:forProvider":{}`
	// ownsExport says that the object was made of what was read of one under its gate.
	ownsExport = ownsField + `},"f:metadata":{"f:annotations":{"f:` + v1alpha1.AnnotationGateContent + `":{}}`
)

func external(verbs ...string) ledger.Ledger {
	return ledger.Ledger{}.Merge(v1alpha1.Allowance{Relation: v1alpha1.RelationExternal, Mutations: verbs})
}

func deleting(obj *unstructured.Unstructured) {
	now := metav1.Unix(1_700_000_000, 0)
	obj.SetDeletionTimestamp(&now)
}

func TestCompute(t *testing.T) {
	tests := map[string]struct {
		write gate.Write
		// policies and ceiling are what the write sets; content is the size of the
		// bucket whose content the entries are for.
		policies []string
		ceiling  []string
		// requested is what stays noted.
		requested string
		// unheeded is true where the requester wants other policies and has no say in them.
		unheeded bool
		content  string
		// named is what it is named in the cloud.
		named string
	}{
		"a creation without a cause is closed": {
			write:    gate.Write{New: bucket("1", []string{"*"})},
			policies: closed, content: "1",
		},
		"a creation with one is open": {
			write:    gate.Write{New: bucket("1", []string{"*"}), Ledger: external("Create"), Brings: true},
			policies: creating, content: "1",
		},
		"what a creation says is the ceiling": {
			write:    gate.Write{New: bucket("1", []string{"Observe"}), Ledger: external("Create"), Brings: true},
			policies: []string{"Observe"}, ceiling: []string{"Observe"}, content: "1",
		},
		"a covered change opens in the same write": {
			write: gate.Write{
				Old: bucket("1", closed, approved), New: bucket("2", closed, approved),
				Ledger: external("Update"), Brings: true,
			},
			policies: updating, content: "2",
		},
		"a change without a cause closes": {
			write: gate.Write{
				Old: bucket("1", updating, approved), New: bucket("2", updating, approved),
				Ledger: external("Update"),
			},
			policies: closed, content: "1",
		},
		"what is granted beside what is withheld waits": {
			write: gate.Write{
				Old: bucket("evil", closed, approved), New: bucket("evil", closed, approved, region), Approved: bucket("1", closed, region).Object,
				Ledger: external("Update"), Brings: true,
			},
			policies: closed, content: "1 eu",
		},
		"what is put back opens again": {
			write: gate.Write{
				Old: bucket("2", closed, approved), New: bucket("1", closed, approved),
				Ledger: external("Update"),
			},
			policies: updating, content: "1",
		},
		"nobody opens it by hand": {
			write: gate.Write{
				Old: bucket("1", closed, approved), New: bucket("1", []string{"*"}, approved),
				FieldManager: "kubectl-edit",
			},
			policies: closed, content: "1",
			unheeded: true,
		},
		"nor who composes it, other than by applying it": {
			write:    gate.Write{Old: bucket("1", closed, approved), New: bucket("1", []string{"*"}, approved), ByAuthor: true},
			policies: closed, content: "1",
		},
		"nor by leaving nothing": {
			write:    gate.Write{Old: bucket("1", closed, approved), New: bucket("1", []string{}, approved)},
			policies: closed, content: "1", unheeded: true,
		},
		"the template is the ceiling": {
			write: gate.Write{
				Old: bucket("1", closed, approved), New: bucket("2", []string{"Observe", "Update"}, approved, applied(ownsField)),
				Ledger: external("Create", "Update"), Brings: true, FieldManager: composer, ByAuthor: true,
			},
			policies: []string{"Observe", "Update"}, ceiling: []string{"Observe", "Update"}, content: "2",
		},
		"and stays it for others": {
			write: gate.Write{
				Old: bucket("1", []string{"Observe"}, approved, annotated(v1alpha1.AnnotationGateCeiling, `["Observe","Update"]`)),
				New: bucket("1", []string{"*"}, approved, applied(ownsField)), FieldManager: "provider",
			},
			policies: []string{"Observe"}, ceiling: []string{"Observe", "Update"}, content: "1", unheeded: true,
		},
		"until the template leaves it out": {
			write: gate.Write{
				Old: bucket("1", []string{"Observe"}, approved, annotated(v1alpha1.AnnotationGateCeiling, `["Observe","Update"]`)),
				New: bucket("1", []string{"*"}, approved, applied(ownsNone)), FieldManager: composer, ByAuthor: true,
			},
			policies: closed, content: "1",
		},
		"nor is it who calls himself so": {
			write: gate.Write{
				Old: bucket("1", []string{"Observe"}, approved, annotated(v1alpha1.AnnotationGateCeiling, `["Observe","Update"]`)),
				New: bucket("1", []string{"*"}, approved, applied(ownsField)), FieldManager: composer,
			},
			policies: []string{"Observe"}, ceiling: []string{"Observe", "Update"}, content: "1", unheeded: true,
		},
		"nor does he note what was refused": {
			write: gate.Write{
				Old: bucket("1", closed, approved), FieldManager: composer,
				New: bucket("1", closed, approved, annotated(v1alpha1.AnnotationGateRequested, `["Observe"]`), applied(ownsField)),
			},
			policies: closed, content: "1",
		},
		"what was refused while the webhook was down is the ceiling": {
			write: gate.Write{
				Old: bucket("1", closed, approved, annotated(v1alpha1.AnnotationGateRequested, `["Observe"]`)),
				New: bucket("1", closed, approved, annotated(v1alpha1.AnnotationGateRequested, `["Observe"]`)),
			},
			policies: []string{"Observe"}, ceiling: []string{"Observe"}, content: "1",
		},
		"and so is what was put back in this request": {
			write: gate.Write{
				Old: bucket("1", closed, approved), FieldManager: composer, ByAuthor: true,
				New: bucket("1", closed, approved, annotated(v1alpha1.AnnotationGateRequested, `["Observe"]`), applied(ownsField)),
			},
			policies: []string{"Observe"}, ceiling: []string{"Observe"}, content: "1",
		},
		"but not what somebody says about it": {
			write: gate.Write{
				Old: bucket("1", closed, approved), FieldManager: "kubectl-edit",
				New: bucket("1", closed, approved, annotated(v1alpha1.AnnotationGateRequested, `["Observe"]`)),
			},
			policies: closed, content: "1",
		},
		"late initialization stays open": {
			write: gate.Write{
				Old: bucket("1", updating, approved), New: bucket("1", updating, approved, region),
				Ledger: external("Update"), BySystem: true,
			},
			policies: updating, content: "1 eu",
		},
		"the same by somebody else closes": {
			write: gate.Write{
				Old: bucket("1", updating, approved), New: bucket("1", updating, approved, region),
				Ledger: external("Update"),
			},
			policies: closed, content: "1",
		},
		"late initialization of what is not approved opens nothing": {
			write: gate.Write{
				Old: bucket("2", closed, approved), New: bucket("2", closed, approved, region),
				Ledger: external("Update"), BySystem: true,
			},
			policies: closed, content: "1",
		},
		"the cloud's name for it is told by the provider": {
			write: gate.Write{
				Old: bucket("1", creating, approved), New: bucket("1", creating, approved, annotated(ExternalNameAnnotation, "b-1")),
				Ledger: external("Create"), BySystem: true,
			},
			policies: creating, content: "1 b-1", named: "b-1",
		},
		"its own name is what it has anyway": {
			write: gate.Write{
				Old: bucket("1", creating, approved), New: bucket("1", creating, approved, annotated(ExternalNameAnnotation, "b")),
				Ledger: external("Create"),
			},
			policies: creating, content: "1 b",
		},
		"whoever may gives it another name": {
			write: gate.Write{
				Old: bucket("1", closed, approved), New: bucket("2", closed, approved, annotated(ExternalNameAnnotation, "b-2")),
				Ledger: external("Update"), Brings: true, Names: true,
			},
			policies: updating, content: "2 b-2", named: "b-2",
		},
		"a name that came while nobody looked opens to no change": {
			write: gate.Write{
				Old: bucket("1", closed, approved, annotated(ExternalNameAnnotation, "b-2")), New: bucket("2", closed, approved, annotated(ExternalNameAnnotation, "b-2")),
				Ledger: external("Update"), Brings: true,
			},
			policies: []string{"Observe"}, content: "2 b-2",
		},
		"nor does what the provider makes of it": {
			write: gate.Write{
				Old: bucket("1", closed, approved, annotated(ExternalNameAnnotation, "b-2")), New: bucket("1", closed, approved, annotated(ExternalNameAnnotation, "b-3")),
				Ledger: external("Update"), BySystem: true,
			},
			policies: []string{"Observe"}, content: "1",
		},
		"the name that it should have is put back": {
			write: gate.Write{
				Old: bucket("2", closed, annotated(ExternalNameAnnotation, "b-2"), granted("2", "b-2")), New: bucket("2", closed),
				Ledger: external("Update"),
			},
			policies: updating, content: "2",
		},
		"a name from before it was kept is believed": {
			write: gate.Write{
				Old: bucket("1", closed, annotated(ExternalNameAnnotation, "b-2")), New: bucket("2", closed, annotated(ExternalNameAnnotation, "b-2")),
				Ledger: external("Update"), Brings: true,
			},
			policies: updating, content: "2 b-2", named: "b-2",
		},
		"another name by somebody else closes": {
			write: gate.Write{
				Old: bucket("1", creating, approved), New: bucket("1", creating, approved, annotated(ExternalNameAnnotation, "b-2")),
				Ledger: external("Create"),
			},
			policies: []string{"Observe"}, content: "1",
		},
		"Delete is not for what lives": {
			write: gate.Write{
				Old: bucket("1", closed, approved), New: bucket("2", closed, approved),
				Ledger: external("*"), Brings: true,
			},
			policies: []string{"Observe", "Create", "Update", "LateInitialize"}, content: "2",
		},
		"once it is being deleted nothing moves": {
			write: gate.Write{
				Old: bucket("1", []string{"Observe", "Delete"}, approved, deleting),
				New: bucket("2", []string{"*"}, approved, deleting), Ledger: external("Update"), Brings: true,
			},
			policies: []string{"Observe", "Delete"}, content: "1",
		},
		"the order of the policies stays": {
			write: gate.Write{
				Old: bucket("1", []string{"LateInitialize", "Observe"}, approved), New: bucket("1", []string{"*"}, approved),
			},
			policies: []string{"LateInitialize", "Observe"}, content: "1",
			unheeded: true,
		},
	}
	contents := map[string]string{
		"1 eu":  Driver{}.Content(bucket("1", nil, region)),
		"1 b":   Driver{}.Content(bucket("1", nil, annotated(ExternalNameAnnotation, "b"))),
		"1 b-1": Driver{}.Content(bucket("1", nil, annotated(ExternalNameAnnotation, "b-1"))),
		"2 b-2": Driver{}.Content(bucket("2", nil, annotated(ExternalNameAnnotation, "b-2"))),
	}
	for _, size := range []string{"1", "2"} {
		contents[size] = Driver{}.Content(bucket(size, nil))
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got := Driver{}.Compute(tt.write)
			want := gate.Setting{Switch: tt.policies, State: gate.State{
				Ceiling: tt.ceiling, Requested: tt.requested, Content: contents[tt.content], Name: Driver{}.NameOf(bucket("1", nil, annotated(ExternalNameAnnotation, tt.named))),
			}, KeptBack: Driver{}.keptBack(tt.ceiling)}
			if tt.unheeded {
				want.Unheeded = "spec.managementPolicies"
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("setting (-want +got):\n%s", diff)
			}
		})
	}
}

// own makes a bucket one that nobody composes.
func own(obj *unstructured.Unstructured) { obj.SetOwnerReferences(nil) }

// appliedByKubectl says what kubectl has applied.
func appliedByKubectl(spec string) func(*unstructured.Unstructured) {
	return annotated(lastApplied, `{"spec":{`+spec+`}}`)
}

// exportedByKubectl says that kubectl has applied what was read of a bucket under its gate.
func exportedByKubectl(policies string) func(*unstructured.Unstructured) {
	return annotated(lastApplied, `{"metadata":{"annotations":{"`+v1alpha1.AnnotationGateContent+`":"abc"}},"spec":{"managementPolicies":`+policies+`}}`)
}

// TestCeilingOfACreation checks what becomes of what is created, which may be what was read of another one.
func TestCeilingOfACreation(t *testing.T) {
	exported := annotated(v1alpha1.AnnotationGateContent, "abc")
	observe := []string{"Observe"}
	tests := map[string]struct {
		obj     *unstructured.Unstructured
		manager string
		want    []string
	}{
		"what it says":                          {obj: bucket("1", closed, own), want: closed},
		"what was exported":                     {obj: bucket("1", closed, own, exported)},
		"what was exported, as managers tell":   {obj: bucket("1", closed, own, applied(ownsExport))},
		"an export with a ceiling":              {obj: bucket("1", observe, own, exported, annotated(v1alpha1.AnnotationGateCeiling, `["Observe","Delete"]`)), want: []string{"Observe", "Delete"}},
		"an export that says something else":    {obj: bucket("1", observe, own, exported), want: observe},
		"an export of what was open":            {obj: bucket("1", updating, own, exported), want: updating},
		"an export of what is composed":         {obj: bucket("1", closed, exported)},
		"a template that was made of an export": {obj: bucket("1", closed, exported, applied(ownsExport)), manager: composer, want: closed},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got := Driver{}.Compute(gate.Write{New: tt.obj, ByAuthor: true, FieldManager: tt.manager})
			if diff := cmp.Diff(tt.want, got.State.Ceiling); diff != "" {
				t.Errorf("ceiling (-want +got):\n%s", diff)
			}
		})
	}
}

func TestKeptBack(t *testing.T) {
	for name, tt := range map[string]struct{ ceiling, want []string }{
		"none":       {},
		"all":        {ceiling: []string{}, want: []string{"Create", "Delete", "Update"}},
		"Delete":     {ceiling: []string{"Observe", "Create", "Update"}, want: []string{"Delete"}},
		"everything": {ceiling: []string{"*"}, want: []string{}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, Driver{}.keptBack(tt.ceiling)); diff != "" {
				t.Errorf("verbs (-want +got):\n%s", diff)
			}
		})
	}
}

// TestCeilingOfOwn checks what becomes of what somebody says about the management policies of
// what nobody composes.
func TestCeilingOfOwn(t *testing.T) {
	observe, all := []string{"Observe"}, []string{"*"}
	ceiling := annotated(v1alpha1.AnnotationGateCeiling, `["Observe"]`)
	requested := func(user, policies string) func(*unstructured.Unstructured) {
		return annotated(v1alpha1.AnnotationGateRequested, `{"user":"`+user+`","policies":`+policies+`}`)
	}
	type edits = []func(*unstructured.Unstructured)
	tests := map[string]struct {
		old, updated         edits
		policies, says       []string
		user, manager        string
		stranger, system     bool
		wantCeiling, wantSet []string
		wantNoted            string
		unheeded             bool
	}{
		"taking over": {old: edits{ceiling}, policies: observe, says: all, wantSet: closed},
		"taking over, as noted": {
			old: edits{ceiling}, updated: edits{requested("alice", `["*"]`)}, policies: observe, says: observe, wantSet: closed,
		},
		"removing the field": {old: edits{ceiling}, policies: observe, says: nil, wantSet: closed},
		"narrowing":          {policies: closed, says: observe, wantCeiling: observe, wantSet: observe},
		"narrowing, as noted": {
			updated: edits{requested("alice", `["Observe"]`)}, policies: closed, says: closed, wantCeiling: observe, wantSet: observe,
		},
		"narrowing to what there is, as noted": {
			updated: edits{requested("alice", `["Observe","LateInitialize"]`)}, policies: closed, says: closed, wantCeiling: closed, wantSet: closed,
		},
		"narrowing to what there is by kubectl": {
			updated: edits{appliedByKubectl(`"managementPolicies":["Observe","LateInitialize"]`)}, policies: closed, says: closed, wantCeiling: closed, wantSet: closed,
		},
		"applying something else by kubectl": {
			old: edits{appliedByKubectl(`"a":1`)}, updated: edits{appliedByKubectl(`"a":2`)}, policies: closed, says: closed, wantSet: closed,
		},
		"somebody else by kubectl": {
			updated: edits{appliedByKubectl(`"managementPolicies":["Observe","LateInitialize"]`)}, policies: closed, says: closed, stranger: true, wantSet: closed, unheeded: true,
		},
		"saying nothing": {old: edits{ceiling}, policies: observe, says: observe, wantCeiling: observe, wantSet: observe},
		"saying so once more": {
			old: edits{requested("alice", `["*"]`)}, updated: edits{requested("alice", `["*"]`)}, policies: closed, says: closed, wantSet: closed,
		},
		"being asked once more": {
			old: edits{ceiling}, updated: edits{without(v1alpha1.AnnotationGateCeiling)},
			policies: observe, says: closed, wantSet: closed,
		},
		"a stranger": {old: edits{ceiling}, policies: observe, says: all, stranger: true, wantCeiling: observe, wantSet: observe, unheeded: true},
		"a stranger, as noted": {
			old: edits{ceiling}, updated: edits{requested("alice", `["*"]`)}, policies: observe, says: observe, stranger: true, wantCeiling: observe, wantSet: observe, unheeded: true,
		},
		"a stranger who says the same": {old: edits{ceiling}, policies: observe, says: observe, updated: edits{requested("alice", `["Observe"]`)}, stranger: true, wantCeiling: observe, wantSet: observe},
		"a stranger as the manager of somebody else": {
			old: edits{ceiling, applied(ownsField)}, updated: edits{applied(ownsField)}, policies: observe, says: all, stranger: true, manager: composer,
			wantCeiling: observe, wantSet: observe, unheeded: true,
		},
		"a stranger who writes down the ceiling": {
			old: edits{ceiling}, updated: edits{annotated(v1alpha1.AnnotationGateCeiling, `["*"]`)}, policies: observe, says: observe, stranger: true, wantCeiling: observe, wantSet: observe,
		},
		"a stranger who says what the ceiling is": {policies: closed, says: all, stranger: true, wantSet: closed, unheeded: true},
		"a stranger who says so, as noted": {
			updated: edits{requested("alice", `["*"]`)}, policies: closed, says: closed, stranger: true, wantSet: closed, unheeded: true,
		},
		"a stranger who says so by kubectl": {
			updated: edits{appliedByKubectl(`"managementPolicies":["*"]`)}, policies: closed, says: closed, stranger: true, wantSet: closed, unheeded: true,
		},
		"a stranger who says less than nothing": {old: edits{ceiling}, policies: observe, says: []string{}, stranger: true, wantCeiling: observe, wantSet: observe, unheeded: true},
		"a stranger who removes the field":      {policies: closed, stranger: true, wantSet: closed, unheeded: true},
		"a stranger who puts the gate right":    {old: edits{ceiling}, policies: closed, says: observe, stranger: true, wantCeiling: observe, wantSet: observe},
		"an author who says what the ceiling is": {
			policies: closed, says: all, wantSet: closed,
		},
		"a provider that says what the ceiling is": {policies: closed, says: all, stranger: true, system: true, wantSet: closed},
		"a provider": {old: edits{ceiling}, policies: observe, says: all, stranger: true, system: true, wantCeiling: observe, wantSet: observe},
		"what somebody else said while nobody was asked": {
			old: edits{ceiling, requested("mallory", `["*"]`)}, updated: edits{requested("mallory", `["*"]`)}, policies: observe, says: observe,
			wantCeiling: observe, wantSet: observe, wantNoted: `{"user":"mallory","policies":["*"]}`,
		},
		"what a stranger said while nobody was asked": {
			old: edits{ceiling, requested("alice", `["*"]`)}, updated: edits{requested("alice", `["*"]`)}, policies: observe, says: observe, stranger: true,
			wantCeiling: observe, wantSet: observe, unheeded: true,
		},
		"an export by kubectl": {
			updated: edits{exportedByKubectl(`["Observe","LateInitialize"]`)}, policies: closed, says: closed, wantSet: closed,
		},
		"an export by kubectl, of what was narrowed since": {
			old: edits{ceiling}, updated: edits{exportedByKubectl(`["Observe","LateInitialize"]`)}, policies: observe, says: closed, wantCeiling: observe, wantSet: observe,
		},
		"an export by kubectl that says something else": {
			updated: edits{exportedByKubectl(`["Observe","Create","Update","LateInitialize"]`)}, policies: closed, says: []string{"Observe", "Create", "Update", "LateInitialize"},
			wantCeiling: []string{"Observe", "Create", "Update", "LateInitialize"}, wantSet: closed,
		},
		"an export that is applied": {
			updated: edits{applied(ownsExport), requested("alice", `["Observe","LateInitialize"]`)}, manager: composer, policies: closed, says: closed, wantSet: closed,
		},
		"an export that is applied, of another manager": {
			updated: edits{applied(ownsExport), requested("alice", `["Observe","LateInitialize"]`)}, manager: "git", policies: closed, says: closed, wantCeiling: closed, wantSet: closed,
		},
		"an export by a stranger": {
			updated: edits{exportedByKubectl(`["Observe","LateInitialize"]`)}, policies: closed, says: closed, stranger: true, wantSet: closed,
		},
		"a note that nobody can read": {
			old: edits{ceiling}, updated: edits{annotated(v1alpha1.AnnotationGateRequested, "*")}, policies: observe, says: observe, wantCeiling: observe, wantSet: observe,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			before := append(edits{approved, own}, tt.old...)
			w := gate.Write{
				Old: bucket("1", tt.policies, before...), New: bucket("1", tt.says, append(before, tt.updated...)...),
				User: "alice", FieldManager: tt.manager, ByAuthor: !tt.stranger, BySystem: tt.system,
			}
			got := Driver{}.Compute(w)
			want := gate.Setting{Switch: tt.wantSet, State: gate.State{
				Ceiling: tt.wantCeiling, Requested: tt.wantNoted, Content: got.State.Content, Name: got.State.Name,
			}, KeptBack: Driver{}.keptBack(tt.wantCeiling)}
			if tt.unheeded {
				want.Unheeded = "spec.managementPolicies"
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("setting (-want +got):\n%s", diff)
			}
		})
	}
}

// without takes an annotation away.
func without(key string) func(*unstructured.Unstructured) {
	return func(obj *unstructured.Unstructured) {
		annotations := obj.GetAnnotations()
		delete(annotations, key)
		obj.SetAnnotations(annotations)
	}
}

func TestComputeDeletion(t *testing.T) {
	orphaned := set("Orphan", "deletionPolicy")
	held := annotated(v1alpha1.AnnotationGateHeld, `{"user":"alice"}`)
	tests := map[string]struct {
		obj      *unstructured.Unstructured
		policies []string
		ceiling  []string
	}{
		"deleted":                                {obj: bucket("1", closed, held), policies: []string{"Observe", "Delete"}},
		"the author wants it to stay":            {obj: bucket("1", closed, held, orphaned), policies: closed},
		"the older field beside a ceiling":       {obj: bucket("1", closed, held, orphaned, annotated(v1alpha1.AnnotationGateCeiling, `["Observe","Delete"]`)), policies: []string{"Observe", "Delete"}, ceiling: []string{"Observe", "Delete"}},
		"a ceiling without":                      {obj: bucket("1", closed, held, annotated(v1alpha1.AnnotationGateCeiling, `["Observe","Create"]`)), policies: []string{"Observe"}, ceiling: []string{"Observe", "Create"}},
		"a ceiling that nobody can read is none": {obj: bucket("1", closed, held, annotated(v1alpha1.AnnotationGateCeiling, `Delete`)), policies: []string{"Observe"}, ceiling: []string{}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got := Driver{}.ComputeDeletion(tt.obj, gate.Kind{})
			if diff := cmp.Diff(gate.Setting{Switch: tt.policies, State: gate.State{Ceiling: tt.ceiling}}, got); diff != "" {
				t.Errorf("setting (-want +got):\n%s", diff)
			}
		})
	}
}

func TestUnsupportedIsSaid(t *testing.T) {
	old := runtimeOf(t, "v1.16.0")
	d := Driver{Runtimes: map[string]Runtime{"provider-old": old}}
	got := d.Compute(gate.Write{
		New: bucket("1", nil), Kind: gate.Kind{Provider: "provider-old"}, Ledger: external("Update"), Brings: true,
	})
	want := gate.Setting{Switch: []string{"Observe"}, State: gate.State{Content: d.Content(bucket("1", nil)), Name: d.NameOf(bucket("1", nil))}, Unsupported: []string{"Update"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("setting (-want +got):\n%s", diff)
	}
}

func TestLets(t *testing.T) {
	tests := map[string]struct {
		policies []string
		want     []string
	}{
		"absent is everything": {want: []string{"Create", "Delete", "Update"}},
		"all":                  {policies: []string{"*"}, want: []string{"Create", "Delete", "Update"}},
		"empty":                {policies: []string{}, want: []string{}},
		"closed":               {policies: closed, want: []string{}},
		"some":                 {policies: updating, want: []string{"Update"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, Driver{}.Lets(bucket("1", tt.policies))); diff != "" {
				t.Errorf("verbs (-want +got):\n%s", diff)
			}
		})
	}
}

// TestRule lives through random writes: whoever makes them, the gate never lets
// through more than the ledger and the ceiling do, and nothing at all where the
// content is not the approved one; the field is never empty.
func TestRule(t *testing.T) {
	verbsOf := rapid.SliceOfDistinct(rapid.SampledFrom([]string{"Create", "Update", "Delete", "*", "Reboot"}), rapid.ID)
	policiesOfAll := rapid.SliceOfDistinct(rapid.SampledFrom(append([]string{"*"}, actions...)), rapid.ID)
	rapid.Check(t, func(t *rapid.T) {
		var old *unstructured.Unstructured
		approvedSize := ""
		entries := ledger.Ledger{}
		for i := range rapid.IntRange(1, 8).Draw(t, "writes") {
			size := rapid.SampledFrom([]string{"1", "2", "3"}).Draw(t, fmt.Sprintf("size %d", i))
			obj := bucket(size, policiesOfAll.Draw(t, fmt.Sprintf("policies %d", i)))
			if old != nil {
				obj.SetAnnotations(old.GetAnnotations())
			}
			w := gate.Write{Old: old, New: obj}
			if rapid.Bool().Draw(t, fmt.Sprintf("applied %d", i)) {
				w.FieldManager = composer
				applied(rapid.SampledFrom([]string{ownsField, ownsNone}).Draw(t, fmt.Sprintf("fields %d", i)))(obj)
			}
			w.BySystem = rapid.Bool().Draw(t, fmt.Sprintf("by the provider %d", i))
			if w.Brings = rapid.Bool().Draw(t, fmt.Sprintf("brings %d", i)); w.Brings {
				entries = external(verbsOf.Draw(t, fmt.Sprintf("verbs %d", i))...)
			}
			w.Ledger = entries
			s := Driver{}.Compute(w)
			if w.Brings || old == nil {
				approvedSize = size
			}

			if len(s.Switch) == 0 || resolver("", s.Switch).Validate() != nil {
				t.Fatalf("no provider accepts %v", s.Switch)
			}
			Driver{}.Set(obj, s)
			lets := sets.New(Driver{}.Lets(obj)...)
			if size != approvedSize && lets.Len() > 0 {
				t.Fatalf("open for %v, which nobody approved: %s is not %s", sets.List(lets), size, approvedSize)
			}
			if !sets.New(gate.Verbs(entries, Driver{}.Verbs())...).IsSuperset(lets) {
				t.Fatalf("open for %v by %v", sets.List(lets), entries.Allowances())
			}
			if s.State.Ceiling != nil && !limitOf(s.State.Ceiling).IsSuperset(lets) {
				t.Fatalf("open for %v above %v", sets.List(lets), s.State.Ceiling)
			}
			// A write that says what is there already changes nothing.
			again := Driver{}.Compute(gate.Write{Old: obj, New: obj, Ledger: entries})
			if diff := cmp.Diff(s.Switch, again.Switch); diff != "" {
				t.Fatalf("flaps (-before +after):\n%s", diff)
			}
			old = obj
		}
	})
}

func TestTarget(t *testing.T) {
	kind := gate.Kind{GVK: bucket("1", nil).GroupVersionKind(), Resource: "buckets", Provider: "provider-cloud"}
	tests := map[string]struct {
		external map[string]string
		unknown  bool
		want     bool
	}{
		"by provider":                {external: map[string]string{"provider": "provider-cloud"}, want: true},
		"by kind and group":          {external: map[string]string{"kind": "Bucket", "apiGroup": "cloud.example.org"}, want: true},
		"by resource and name":       {external: map[string]string{"resource": "buckets", "name": "b"}, want: true},
		"one of them is another":     {external: map[string]string{"resource": "buckets", "name": "c"}},
		"a key that nobody knows":    {external: map[string]string{"kind": "Bucket", "region": "eu"}},
		"a provider nobody knows of": {external: map[string]string{"provider": ""}, unknown: true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			k := kind
			if tt.unknown {
				k.Provider = ""
			}
			if got := (Driver{}).Target(bucket("1", nil), k).Matches(tt.external); got != tt.want {
				t.Errorf("matches: %t, want %t", got, tt.want)
			}
		})
	}
	if keys := (Driver{}).Keys(); !slices.IsSorted(keys) || strings.Join(keys, " ") != "apiGroup kind name provider resource" {
		t.Errorf("keys %v", keys)
	}
}

func TestIsLateInitialization(t *testing.T) {
	list := func(items ...any) func(*unstructured.Unstructured) { return set(items, "forProvider", "zones") }
	initial := set(map[string]any{"class": "cold"}, "initProvider")
	readiness := set(map[string]any{"policy": "SuccessfulCreate"}, "readiness")
	empty := set(map[string]any{}, "readiness")
	tests := map[string]struct {
		old, updated *unstructured.Unstructured
		want         bool
	}{
		"a parameter":                {old: bucket("1", nil), updated: bucket("1", nil, region), want: true},
		"a list":                     {old: bucket("1", nil), updated: bucket("1", nil, list("a")), want: true},
		"what is for creation only":  {old: bucket("1", nil), updated: bucket("1", nil, initial), want: true},
		"a default":                  {old: bucket("1", nil), updated: bucket("1", nil, readiness), want: true},
		"an empty struct":            {old: bucket("1", nil), updated: bucket("1", nil, empty), want: true},
		"an empty struct is dropped": {old: bucket("1", nil, empty), updated: bucket("1", nil, region), want: true},
		"an empty struct is filled":  {old: bucket("1", nil, empty), updated: bucket("1", nil, readiness), want: true},
		"an empty list is filled":    {old: bucket("1", nil, list()), updated: bucket("1", nil, list("a")), want: true},
		"nothing but the switch":     {old: bucket("1", closed), updated: bucket("1", updating), want: true},
		"an item of a list":          {old: bucket("1", nil, list("a")), updated: bucket("1", nil, list("a", "b"))},
		"another value":              {old: bucket("1", nil), updated: bucket("2", nil)},
		"a value that is taken away": {old: bucket("1", nil, region), updated: bucket("1", nil)},
		"another default":            {old: bucket("1", nil, readiness), updated: bucket("1", nil, set(map[string]any{"policy": "AllTrue"}, "readiness"))},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := (Driver{}).IsLateInitialization(tt.old, tt.updated); got != tt.want {
				t.Errorf("late initialization: %t, want %t", got, tt.want)
			}
		})
	}
}

// The provider under which a policy gates an object is noted as it is written, and stays while
// none does.
func TestProviderIsNoted(t *testing.T) {
	obj := func(noted string) *unstructured.Unstructured {
		out := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"forProvider": map[string]any{"size": int64(1)}}}}
		out.SetAnnotations(gate.State{Content: "1", Provider: noted}.Annotations())
		return out
	}
	looked := obj("")
	for name, tt := range map[string]struct {
		write gate.Write
		want  string
	}{
		"created":                  {write: gate.Write{New: obj(""), Provider: "aws"}, want: "aws"},
		"changed":                  {write: gate.Write{Old: obj(""), New: obj(""), Provider: "aws"}, want: "aws"},
		"renamed, as policies say": {write: gate.Write{Old: obj("aws"), New: obj("aws"), Provider: "rds"}, want: "rds"},
		"no policy gates it":       {write: gate.Write{Old: obj("aws"), New: obj("aws"), Kind: gate.Kind{Provider: "other"}}, want: "aws"},
		"said by a request":        {write: gate.Write{Old: obj("aws"), New: obj("other")}, want: "aws"},
		"looked at":                {write: gate.Write{Old: looked, New: looked, Provider: "aws"}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := (Driver{}).Compute(tt.write).State.Provider; got != tt.want {
				t.Errorf("provider = %q, want %q", got, tt.want)
			}
		})
	}
}
