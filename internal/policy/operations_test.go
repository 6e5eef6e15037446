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
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/change"
)

func TestMisjudgedOperations(t *testing.T) {
	at := "spec.rules[0].conditions[0]: "
	told := func(value string) string {
		return at + "it compares request.operation with \"" + value + "\": that is one of CREATE, UPDATE, DELETE"
	}
	for name, tc := range map[string]struct {
		condition string
		want      []string
	}{
		"one that there is":     {condition: "request.operation == 'UPDATE' || 'CREATE' != request.operation"},
		"in another case":       {condition: "request.operation == 'Update'", want: []string{told("Update")}},
		"a verb":                {condition: "'PATCH' == request.operation", want: []string{told("PATCH")}},
		"one of some":           {condition: "request.operation in ['CREATE', 'PATCH']", want: []string{told("PATCH")}},
		"some other operation":  {condition: "object.spec.operation == 'Update'"},
		"the name of a request": {condition: "request.name == 'Update'"},
	} {
		t.Run(name, func(t *testing.T) {
			spec := &v1alpha1.AllowancePolicySpec{
				For:   v1alpha1.ParentKind{APIGroup: "example.com", APIVersion: "v1", Kind: "Widget"},
				Rules: []v1alpha1.Rule{{Trigger: "spec", Conditions: []string{tc.condition}}},
			}
			if diff := cmp.Diff(tc.want, Misjudged(spec, untyped{})); diff != "" {
				t.Errorf("Misjudged() (-want +got):\n%s", diff)
			}
		})
	}
}

// untyped declare nothing.
type untyped struct{ typed }

func (untyped) TypeOf(schema.GroupVersionKind, change.Pattern) change.ValueType { return "" }

func (untyped) Undeclared(schema.GroupVersionKind, change.Pattern) string { return "" }
