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

package lineage

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"kausality.io/operator/internal/change"
)

// TestChoices shows which of the fields in which Crossplane keeps its books are for people to say.
func TestChoices(t *testing.T) {
	tests := map[string]struct {
		kind, spec string
		want       map[string]any
	}{
		"of a claim that says nothing": {kind: "Database", spec: "size: 1", want: map[string]any{
			"spec.compositionRef": nil, "spec.compositionSelector": nil, "spec.compositionRevisionSelector": nil,
			"spec.compositionUpdatePolicy": "Automatic", "spec.writeConnectionSecretToRef": nil, "spec.resourceRef": nil,
		}},
		"of a claim": {kind: "Database", spec: "compositionRef: {name: a}, compositionRevisionRef: {name: a-1}, resourceRef: {name: x}", want: map[string]any{
			"spec.compositionRef": map[string]any{"name": "a"}, "spec.compositionSelector": nil, "spec.compositionRevisionSelector": nil,
			"spec.compositionUpdatePolicy": "Automatic", "spec.writeConnectionSecretToRef": nil, "spec.resourceRef": map[string]any{"name": "x"},
		}},
		"that stays at a revision": {kind: "XDatabase", spec: "compositionUpdatePolicy: Manual, compositionRevisionRef: {name: a-1}, resourceRefs: []", want: map[string]any{
			"spec.compositionRef": nil, "spec.compositionSelector": nil, "spec.compositionRevisionSelector": nil,
			"spec.compositionUpdatePolicy": "Manual", "spec.writeConnectionSecretToRef": nil, "spec.compositionRevisionRef": map[string]any{"name": "a-1"},
		}},
		"without claims": {kind: "App", spec: "crossplane: {compositionRef: {name: a}, resourceRefs: []}", want: map[string]any{
			"spec.crossplane.compositionRef": map[string]any{"name": "a"}, "spec.crossplane.compositionSelector": nil,
			"spec.crossplane.compositionRevisionSelector": nil, "spec.crossplane.compositionUpdatePolicy": "Automatic",
			"spec.crossplane.writeConnectionSecretToRef": nil,
		}},
		"of another kind": {kind: "Deployment", spec: "compositionRef: {name: a}", want: map[string]any{}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got := map[string]any{}
			for _, c := range Choices(platform, parse(t, "{apiVersion: example.com/v1, kind: "+tc.kind+", spec: {"+tc.spec+"}}")) {
				got[c.Path.String()] = c.Value
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("Choices() (-want +got):\n%s", diff)
			}
		})
	}
}

// TestFilledInFrom shows what decides what Crossplane writes into its books.
func TestFilledInFrom(t *testing.T) {
	const manually = "{spec: {compositionUpdatePolicy: Manual, crossplane: {compositionUpdatePolicy: Manual}}}"
	tests := map[string]struct {
		obj  string
		want []string
	}{
		"spec.compositionRef.name":                    {obj: "{}", want: []string{"spec.compositionRef", "spec.compositionSelector"}},
		"spec.crossplane.compositionRef":              {obj: "{}", want: []string{"spec.crossplane.compositionRef", "spec.crossplane.compositionSelector"}},
		"spec.compositionRevisionRef":                 {obj: "{}", want: []string{"spec.compositionRef", "spec.compositionRevisionSelector", "spec.compositionUpdatePolicy"}},
		"spec.compositionRevisionRef.name":            {obj: manually, want: []string{"spec.compositionRevisionRef", "spec.compositionRef", "spec.compositionRevisionSelector", "spec.compositionUpdatePolicy"}},
		"spec.crossplane.compositionRevisionRef.name": {obj: manually, want: []string{"spec.crossplane.compositionRevisionRef", "spec.crossplane.compositionRef", "spec.crossplane.compositionRevisionSelector", "spec.crossplane.compositionUpdatePolicy"}},
		"spec.crossplane":                             {obj: "{}", want: []string{"spec.crossplane"}},
		"spec.resourceRefs[0].name":                   {obj: "{}", want: []string{"spec.resourceRefs"}},
	}
	for path, tc := range tests {
		t.Run(path, func(t *testing.T) {
			var got []string
			for _, p := range FilledInFrom(change.MustParsePath(path), parse(t, tc.obj).Object) {
				got = append(got, p.String())
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("FilledInFrom() (-want +got):\n%s", diff)
			}
		})
	}
}
