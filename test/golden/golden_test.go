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

// Package golden has the operator read what earlier releases have written: nothing that is
// stored may be refused, misread or lost by a later one.
package golden

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"sigs.k8s.io/yaml"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/approved"
	"kausality.io/operator/internal/ledger"
	"kausality.io/operator/internal/policy"
)

const definitions = "../../config/crd/bases"

// releases returns the folders of testdata.
func releases(t *testing.T) []string {
	t.Helper()
	folders, err := filepath.Glob("testdata/v*")
	if err != nil || len(folders) == 0 {
		t.Fatalf("no release in testdata: %v", err)
	}
	return folders
}

// objects returns the objects of one file.
func objects(t *testing.T, folder, name string) []unstructured.Unstructured {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(folder, name+".yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if raw, err = yaml.YAMLToJSON(raw); err != nil {
		t.Fatal(err)
	}
	var list unstructured.UnstructuredList
	if err := list.UnmarshalJSON(raw); err != nil || len(list.Items) == 0 {
		t.Fatalf("%s of %s: %d objects, %v", name, folder, len(list.Items), err)
	}
	return list.Items
}

// TestKindsAreKept has the present definitions take policies and records without a word, and keep
// each of their fields, and the present types lose none.
func TestKindsAreKept(t *testing.T) {
	for _, folder := range releases(t) {
		t.Run(filepath.Base(folder), func(t *testing.T) {
			kept[v1alpha1.AllowancePolicy](t, folder, "allowancepolicies")
			kept[v1alpha1.AllowanceRecord](t, folder, "allowancerecords")
		})
	}
}

func kept[T any](t *testing.T, folder, plural string) {
	t.Helper()
	declared, structural := definition(t, plural)
	validator, _, err := validation.NewSchemaValidator(declared)
	if err != nil {
		t.Fatal(err)
	}
	rules := cel.NewValidator(structural, true, celconfig.PerCallLimit)
	for _, o := range objects(t, folder, plural) {
		errs := validation.ValidateCustomResource(nil, o.Object, validator)
		broken, _ := rules.Validate(t.Context(), nil, structural, o.Object, nil, celconfig.RuntimeCELCostBudget)
		if errs = append(errs, broken...); len(errs) > 0 {
			t.Errorf("%s %s is refused: %v", o.GetKind(), o.GetName(), errs.ToAggregate())
		}
		pruned := o.DeepCopy()
		pruning.Prune(pruned.Object, structural, true)
		if diff := cmp.Diff(o.Object, pruned.Object); diff != "" {
			t.Errorf("the API server drops fields of %s %s (-stored +kept):\n%s", o.GetKind(), o.GetName(), diff)
		}
		raw, err := json.Marshal(o.Object)
		if err != nil {
			t.Fatal(err)
		}
		typed := new(T)
		if err := yaml.UnmarshalStrict(raw, typed); err != nil {
			t.Errorf("%s %s cannot be read: %v", o.GetKind(), o.GetName(), err)
			continue
		}
		again, err := runtime.DefaultUnstructuredConverter.ToUnstructured(typed)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(plain(t, o.Object), plain(t, again)); diff != "" {
			t.Errorf("%s %s is another one once it is written again (-stored +written):\n%s", o.GetKind(), o.GetName(), diff)
		}
	}
}

// definition returns the present schema of a kind.
func definition(t *testing.T, plural string) (*apiextensions.JSONSchemaProps, *structuralschema.Structural) {
	t.Helper()
	declared := &apiextensions.JSONSchemaProps{}
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(
		crd(t, plural).Spec.Versions[0].Schema.OpenAPIV3Schema, declared, nil); err != nil {
		t.Fatal(err)
	}
	structural, err := structuralschema.NewStructural(declared)
	if err != nil {
		t.Fatal(err)
	}
	return declared, structural
}

// crd returns the present definition of a kind.
func crd(t *testing.T, plural string) *apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(definitions, "kausality.io_"+plural+".yaml"))
	if err != nil {
		t.Fatal(err)
	}
	out := &apiextensionsv1.CustomResourceDefinition{}
	if err := yaml.Unmarshal(raw, out); err != nil {
		t.Fatal(err)
	}
	return out
}

// plain returns an object as JSON has it, so that numbers compare.
func plain(t *testing.T, o map[string]any) map[string]any {
	t.Helper()
	raw, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]any{}
	if err := json.Unmarshal(raw, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// TestTheReleaseIsKept has each version that is released leave what it has written behind.
func TestTheReleaseIsKept(t *testing.T) {
	raw, err := os.ReadFile("../../charts/kausality/Chart.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var chart struct {
		Version string `json:"version"`
	}
	if err := yaml.Unmarshal(raw, &chart); err != nil || chart.Version == "" {
		t.Fatalf("the chart has no version: %v", err)
	}
	if _, err := os.Stat(filepath.Join("testdata", "v"+chart.Version)); err != nil {
		t.Errorf("release %s has no folder: see testdata/README.md for how to make it: %v", chart.Version, err)
	}
}

// TestVersionsAreServed has a version of a kind not go while a release that is kept has stored it, and
// nothing be stored in a version that one may not go back to.
func TestVersionsAreServed(t *testing.T) {
	for _, plural := range []string{"allowancepolicies", "allowancerecords"} {
		var served, stored []string
		for _, version := range crd(t, plural).Spec.Versions {
			if version.Served {
				served = append(served, version.Name)
			}
			if version.Storage {
				stored = append(stored, version.Name)
			}
		}
		for _, folder := range releases(t) {
			for _, o := range objects(t, folder, plural) {
				if version := o.GroupVersionKind().Version; !slices.Contains(served, version) {
					t.Errorf("%s has stored %s as %s, of which %v are served", folder, plural, version, served)
				}
			}
		}
		if !cmp.Equal(stored, []string{v1alpha1.GroupVersion.Version}) {
			t.Errorf("%s are stored as %v: docs/install.md says when that may be another version", plural, stored)
		}
	}
}

// TestPoliciesCompile has policies mean something still.
func TestPoliciesCompile(t *testing.T) {
	unserved := func(schema.GroupVersionResource) (schema.GroupVersionKind, bool) {
		return schema.GroupVersionKind{}, false
	}
	for _, folder := range releases(t) {
		for _, o := range objects(t, folder, "allowancepolicies") {
			p := &v1alpha1.AllowancePolicy{}
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, p); err != nil {
				t.Fatal(err)
			}
			if _, errs := policy.Compile(p, unserved); len(errs) > 0 {
				t.Errorf("%s: policy %s: %v", folder, p.Name, errs.ToAggregate())
			}
		}
	}
}

// TestLedgersAreRead has ledgers say what they said, and come out as they were: other bytes would
// have controllers write again.
func TestLedgersAreRead(t *testing.T) {
	for _, folder := range releases(t) {
		allowing, withholding := 0, 0
		for _, plural := range []string{"deployments", "replicasets"} {
			for _, o := range objects(t, folder, plural) {
				text := ledger.Annotation(&o, ledger.NameAllowances)
				read, err := ledger.Decode(text)
				if err != nil {
					t.Errorf("%s: the ledger of %s %s: %v", folder, o.GetKind(), o.GetName(), err)
					continue
				}
				if again := read.Encode(); strings.TrimSpace(again) != strings.TrimSpace(text) {
					t.Errorf("%s: the ledger of %s %s is another one once it is written again:\n%s", folder, o.GetKind(), o.GetName(), cmp.Diff(text, again))
				}
				for _, a := range read.Allowances() {
					if a.Initiator == "" || len(a.Trace) == 0 && a.Relation != v1alpha1.RelationWithheld || ledger.KeyOf(&a) == "" {
						t.Errorf("%s: an entry of %s %s says less than it did: %+v", folder, o.GetKind(), o.GetName(), a)
					}
					allowing++
				}
				standing(t, folder, &o, &withholding)
			}
		}
		if allowing == 0 || withholding == 0 {
			t.Errorf("%s: %d entries of ledgers, %d objects of which something is withheld: testdata has too little", folder, allowing, withholding)
		}
	}
}

// standing reads approved content, and looks for what was there before a stranger came.
func standing(t *testing.T, folder string, o *unstructured.Unstructured, count *int) {
	t.Helper()
	text := ledger.Annotation(o, strings.TrimPrefix(v1alpha1.AnnotationApproved, v1alpha1.AnnotationPrefix))
	if text == "" {
		return
	}
	state, err := approved.Decode(text)
	if err != nil || state.Unknown {
		t.Errorf("%s: the approved content of %s %s: %v", folder, o.GetKind(), o.GetName(), err)
		return
	}
	was, found, err := unstructured.NestedFieldNoCopy(state.Content, "spec", "replicas")
	if err != nil || !found || !cmp.Equal(plain(t, map[string]any{"": was}), map[string]any{"": 2.0}) {
		t.Errorf("%s: of %s %s %v replicas are approved (%v)", folder, o.GetKind(), o.GetName(), was, err)
	}
	if len(state.Withheld) == 0 {
		t.Errorf("%s: nothing is withheld of %s %s", folder, o.GetKind(), o.GetName())
	}
	if again, err := approved.Decode(state.Encode(string(o.GetUID()))); err != nil || !state.Same(again) {
		t.Errorf("%s: the approved content of %s %s is another one once it is written again: %v", folder, o.GetKind(), o.GetName(), err)
	}
	*count++
}
