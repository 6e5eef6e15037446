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
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/gate"
	"kausality.io/operator/internal/ledger"
)

// observing has the status show a size.
func observing(size string) func(*unstructured.Unstructured) {
	return func(obj *unstructured.Unstructured) {
		obj.Object["status"] = map[string]any{"atProvider": map[string]any{"size": size}}
	}
}

// openedBy returns a ledger that a change of fields has opened the gate with.
func openedBy(fields ...string) ledger.Ledger {
	var l ledger.Ledger
	for _, field := range fields {
		l = l.Merge(v1alpha1.Allowance{
			Relation: v1alpha1.RelationExternal, Mutations: []string{"Update"}, Initiator: field,
			Trace: []v1alpha1.TraceHop{{Kind: "Bucket", Name: "b", Field: field}},
		})
	}
	return l
}

func TestUnseen(t *testing.T) {
	const size, kind = "spec.forProvider.size", "spec.forProvider.kind"
	noted := annotated(v1alpha1.AnnotationGateUnseen, `["`+size+`"]`)
	kindOf := func(value string) func(*unstructured.Unstructured) { return set(value, "forProvider", "kind") }
	for name, tt := range map[string]struct {
		write gate.Write
		want  []string
	}{
		"the cloud has something else": {
			write: gate.Write{Old: bucket("1", closed, observing("1")), New: bucket("2", closed), Ledger: openedBy(size), Brings: true},
			want:  []string{size},
		},
		"the cloud has it already, or had it": {
			write: gate.Write{Old: bucket("1", closed, observing("2")), New: bucket("2", closed), Ledger: openedBy(size), Brings: true},
		},
		"what the request says of the status is nothing": {
			write: gate.Write{Old: bucket("1", closed, observing("2")), New: bucket("2", closed, observing("1")), Ledger: openedBy(size), Brings: true},
		},
		"the status does not show it": {
			write: gate.Write{Old: bucket("1", closed), New: bucket("2", closed), Ledger: openedBy(size), Brings: true},
			want:  []string{size},
		},
		"a status never shows such a field": {
			write: gate.Write{Old: bucket("1", closed), New: bucket("1", closed), Ledger: openedBy("spec.providerConfigRef", "(approved)"), Brings: true},
		},
		"a creation": {
			write: gate.Write{New: bucket("1", closed), Ledger: openedBy(v1alpha1.FieldCreated), Brings: true},
		},
		"it has arrived, and something else is changed": {
			write: gate.Write{
				Old: bucket("2", updating, observing("2"), noted), New: bucket("2", updating, kindOf("x")),
				Ledger: openedBy(size, kind), Brings: true,
			},
			want: []string{kind, size},
		},
		"it is changed back before it has arrived": {
			write: gate.Write{Old: bucket("2", updating, observing("1"), noted), New: bucket("1", updating), Ledger: openedBy(size), Brings: true},
		},
		"the provider fills in something else": {
			write: gate.Write{Old: bucket("2", updating, observing("2"), noted), New: bucket("2", updating, region), Ledger: openedBy(size), BySystem: true},
			want:  []string{size},
		},
		"nothing is open any more": {
			write: gate.Write{Old: bucket("2", updating, observing("2"), noted), New: bucket("2", updating)},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := Driver{}.Compute(tt.write).State.Unseen
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("unseen (-want +got):\n%s", diff)
			}
		})
	}
}
