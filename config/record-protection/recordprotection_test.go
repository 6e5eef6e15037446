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

package recordprotection

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"sigs.k8s.io/yaml"
)

// TestFor has the same come out for the user that config names, and another one for another.
func TestFor(t *testing.T) {
	want := &admissionregistrationv1.ValidatingAdmissionPolicy{}
	if err := yaml.Unmarshal(policy, want); err != nil {
		t.Fatal(err)
	}
	got, b, err := For("system:serviceaccount:kausality-system:kausality-controller-manager")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want.Spec, got.Spec); diff != "" {
		t.Errorf("the operator protects its records by another policy than is installed (-installed +own):\n%s", diff)
	}
	if got.Name != Name || b.Name != Name || b.Spec.PolicyName != Name {
		t.Errorf("they are called %s and %s, which binds %s", got.Name, b.Name, b.Spec.PolicyName)
	}

	elsewhere, _, err := For("system:serviceaccount:operators:safety")
	if err != nil {
		t.Fatal(err)
	}
	if expression := elsewhere.Spec.MatchConditions[0].Expression; expression != "request.userInfo.username != 'system:serviceaccount:operators:safety'" {
		t.Errorf("left out is who is not so: %s", expression)
	}
	if diff := cmp.Diff(got.Spec, elsewhere.Spec, cmpopts.IgnoreFields(admissionregistrationv1.MatchCondition{}, "Expression")); diff != "" {
		t.Errorf("more differs than the user:\n%s", diff)
	}
}
