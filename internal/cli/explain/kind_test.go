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

package explain

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/knowledge"
	"kausality.io/operator/internal/policy"
)

func TestKnownKind(t *testing.T) {
	certificate := schema.GroupKind{Group: "cert-manager.io", Kind: "Certificate"}
	given, errs := policy.Compile(&v1alpha1.AllowancePolicy{Spec: v1alpha1.AllowancePolicySpec{
		For:       v1alpha1.ParentKind{APIGroup: certificate.Group, APIVersion: "v1", Kind: certificate.Kind},
		Knowledge: &v1alpha1.Knowledge{Proves: []string{"spec.dnsNames"}},
	}}, func(schema.GroupVersionResource) (schema.GroupVersionKind, bool) {
		return schema.GroupVersionKind{}, false
	})
	if len(errs) > 0 {
		t.Fatal(errs.ToAggregate())
	}
	given.Name = "certificates"
	policies := []*policy.Policy{given}
	kind := v1alpha1.ParentKind{APIGroup: certificate.Group, APIVersion: "v1", Kind: certificate.Kind}
	got := knownKind(kind, policies, policy.Known(certificate, policies)).text()
	want := `What is known of Certificate of cert-manager.io, as spec.knowledge of an AllowancePolicy would say it:

# built in
actions:
- item:
    type: Issuing
  path: status.conditions
# built in
children:
- kind: Secret
  upkeep: the certificate is not renewed when its time comes, which may be in months
- apiGroup: cert-manager.io
  kind: CertificateRequest
  upkeep: the certificate is not renewed when its time comes, which may be in months
# AllowancePolicy certificates
proves:
- spec.dnsNames
# built in
reported:
- status
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("what is known (-want +got):\n%s", diff)
	}
	nothing := knownKind(v1alpha1.ParentKind{Kind: "ConfigMap"}, nil, knowledge.BuiltIn(schema.GroupKind{Kind: "ConfigMap"})).text()
	if want := "Nothing is known of ConfigMap but what its definition says. spec.knowledge of an AllowancePolicy for it says more.\n"; nothing != want {
		t.Errorf("got %q, want %q", nothing, want)
	}
	claim := schema.GroupKind{Group: "example.org", Kind: "Database"}
	claims := knownKind(v1alpha1.ParentKind{APIGroup: claim.Group, Kind: claim.Kind}, nil, knowledge.BuiltIn(claim, "claim")).text()
	if !strings.Contains(claims, "# built in\nsteering:") {
		t.Errorf("who says what steers a claim is not told:\n%s", claims)
	}
}
