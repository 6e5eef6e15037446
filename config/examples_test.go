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

package config_test

import (
	"os"
	"reflect"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/policy"
)

// TestExamplesAreComplete looks for fields that the examples of the bundle for OLM leave out,
// of which consoles would not know, and has the policy compile.
func TestExamplesAreComplete(t *testing.T) {
	p, r := &v1alpha1.AllowancePolicy{}, &v1alpha1.AllowanceRecord{}
	for path, into := range map[string]any{"olm/examples/allowancepolicy.yaml": p, "olm/examples/allowancerecord.yaml": r} {
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := yaml.UnmarshalStrict(raw, into); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
	}
	for of, spec := range map[string]reflect.Value{"policy": reflect.ValueOf(p.Spec), "record": reflect.ValueOf(r.Spec)} {
		for i := range spec.NumField() {
			if spec.Field(i).IsZero() {
				name, _, _ := strings.Cut(spec.Type().Field(i).Tag.Get("json"), ",")
				t.Errorf("the example of a %s says nothing about spec.%s", of, name)
			}
		}
	}
	unserved := func(schema.GroupVersionResource) (schema.GroupVersionKind, bool) {
		return schema.GroupVersionKind{}, false
	}
	if _, errs := policy.Compile(p, unserved); len(errs) > 0 {
		t.Errorf("the example of a policy does not compile: %v", errs.ToAggregate())
	}
}
