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

package why

import (
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/cli/cluster"
	"kausality.io/operator/internal/cli/clustertest"
	"kausality.io/operator/internal/cli/text"
)

// TestWhyOfAClaim is of a claim whose composite resource, which is in no namespace, is blocked: its record is
// in the operator's namespace.
func TestWhyOfAClaim(t *testing.T) {
	claim := clustertest.MakeClaim(map[string]string{
		"kausality.io/allowances": `[{"relation":"Withheld","mutation":"spec.size","initiator":"mallory"}]`,
		"kausality.io/Blocked":    "Update of Composite x1 was denied: something is withheld.",
	})
	// No policy is for claims, so that what is left in the ledger says nothing: but where that cannot be told.
	const shown = `Withheld  Claim/c1
  changed    spec.size
  by         mallory
  effect     the change stands; nothing follows from it until it is approved, changed again or taken
             back
  approval   by whoever the policies name
  command    kubectl kausality approve -n shop claim.example.org/c1 --path 'spec.size'

Blocked
  refused   Update of Composite x1 was denied: something is withheld.

What was refused, but for what the object itself shows, cannot be told: reading the AllowanceRecords
in namespace shop: allowancerecords.kausality.io is forbidden: no

What would have allowed it cannot be told: reading the AllowancePolicies:
allowancerecords.kausality.io is forbidden: no
`
	refused := denialOf(34*time.Second, "Update", "c1", "spec.size")
	refused.Kind = clustertest.Claims.Kind
	composite := func(name string, parent types.UID) client.Object {
		return &v1alpha1.AllowanceRecord{
			ObjectMeta: metav1.ObjectMeta{Namespace: "kausality-system", Name: name},
			Spec: v1alpha1.AllowanceRecordSpec{TargetRef: v1alpha1.TargetReference{
				Group: clustertest.Claims.Group, Version: clustertest.Claims.Version, Kind: "Composite", Name: name, UID: types.UID(name),
			}},
			Status: v1alpha1.AllowanceRecordStatus{
				ParentUID: &parent, History: []v1alpha1.HistoryEntry{refused},
				Blocked: &v1alpha1.Blocked{Since: before(time.Minute), User: refused.User, Message: "Update of Claim c1 was denied."},
			},
		}
	}
	for name, tc := range map[string]struct {
		// forbidden are the lists in all namespaces of records, and nothing the lists of records and policies.
		forbidden, nothing bool
		want               string
	}{
		"neither policies nor records may be read": {nothing: true, want: shown},
		"all may be read": {want: `Below it  Composite/x1
  refused   update of Claim/c1, 34s ago, still waiting
  command   kubectl kausality why composite.example.org/x1
`},
		"only the namespace may be read": {forbidden: true, want: "What waits below it, and is cluster-scoped or in another namespace, cannot be told: reading the " +
			"AllowanceRecords in all namespaces: allowancerecords.kausality.io is forbidden: no"},
	} {
		t.Run(name, func(t *testing.T) {
			may := func(list client.ObjectList, namespace string) bool {
				switch {
				case clustertest.IsPolicies(list):
					return !tc.nothing
				case clustertest.IsRecords(list):
					return !tc.nothing && (!tc.forbidden || namespace != "")
				default:
					return true
				}
			}
			c := clustertest.WithClaims(t, may, claim, composite("x1", "c1"), composite("stranger", "c2"))
			report, err := findOf(t.Context(), c, &cluster.Target{GVK: clustertest.Claims, Namespace: "shop", Name: "c1"})
			if err != nil {
				t.Fatal(err)
			}
			got := render(report, text.Terminal{Width: text.DefaultWidth}, false, now)
			if tc.forbidden {
				got = strings.ReplaceAll(strings.TrimSpace(got), "\n", " ")
			}
			if diff := gocmp.Diff(tc.want, got); diff != "" {
				t.Errorf("why (-want +got):\n%s", diff)
			}
		})
	}
}

// TestWhyOfANamespace is of a namespace in which a change is refused by an object that is in none: its record is in the
// operator's namespace, and may not tell where the child is.
func TestWhyOfANamespace(t *testing.T) {
	refused := denialOf(34*time.Second, "Update", "c1", "spec.size")
	refused.Kind, refused.Policies = clustertest.Claims.Kind, []string{"tenant"}
	rec := &v1alpha1.AllowanceRecord{
		ObjectMeta: metav1.ObjectMeta{Namespace: "kausality-system", Name: "zeta"},
		Spec:       v1alpha1.AllowanceRecordSpec{TargetRef: v1alpha1.TargetReference{Version: "v1", Kind: "Namespace", Name: "zeta", UID: "zeta"}},
		Status: v1alpha1.AllowanceRecordStatus{
			History: []v1alpha1.HistoryEntry{refused},
			Blocked: &v1alpha1.Blocked{Since: before(time.Minute), User: refused.User, Message: "Update of Claim c1 was denied."},
		},
	}
	shop := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}
	in := func(namespace string) *v1alpha1.AllowanceRecord {
		out := rec.DeepCopy()
		out.Status.History[0].Namespace = namespace
		return out
	}
	over := rec.DeepCopy()
	over.Status.Blocked = nil
	tenant := func(child string) *v1alpha1.AllowancePolicy {
		p := &v1alpha1.AllowancePolicy{ObjectMeta: metav1.ObjectMeta{Name: "tenant"}}
		text := "for: {apiVersion: v1, kind: Namespace}\nrules: [{trigger: spec, policies: [{target: " + child + ", relation: ControllerChild, verbs: [Create]}]}]"
		if err := yaml.UnmarshalStrict([]byte(text), &p.Spec); err != nil {
			t.Fatal(err)
		}
		return p
	}
	const claims, namespaces = "{apiGroup: example.org, apiVersion: v1, resource: claims}", "{apiVersion: v1, resource: namespaces}"
	for name, tc := range map[string]struct {
		objects   []client.Object
		forbidden bool
		want      []string
	}{
		"something waits below it": {
			objects: []client.Object{tenant(claims), rec},
			want:    []string{"Namespace/zeta is cluster-scoped, and c1 waits below it, maybe here: kubectl kausality why namespace/zeta"},
		},
		"something waits below it here":              {objects: []client.Object{tenant(claims), in("shop")}, want: []string{"Namespace/zeta is cluster-scoped, and c1 waits below it, here: kubectl kausality why namespace/zeta"}},
		"something of the name waits in another one": {objects: []client.Object{tenant(claims), in("other")}},
		"nothing waits any more":                     {objects: []client.Object{tenant(claims), over}},
		"its children are in no namespace":           {objects: []client.Object{tenant(namespaces), rec}, forbidden: true},
		"only records of the namespace may be read": {
			objects: []client.Object{tenant(claims), rec}, forbidden: true,
			want: []string{"What is refused here below objects that are not in this namespace cannot be told: reading the AllowanceRecords in all namespaces: " +
				"allowancerecords.kausality.io is forbidden: no"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			may := func(list client.ObjectList, namespace string) bool {
				return !tc.forbidden || namespace != "" || !clustertest.IsRecords(list)
			}
			report, err := findOf(t.Context(), clustertest.WithClaims(t, may, append(tc.objects, shop)...), nil)
			if err != nil {
				t.Fatal(err)
			}
			if diff := gocmp.Diff(tc.want, report.Notes); diff != "" {
				t.Errorf("notes (-want +got):\n%s", diff)
			}
		})
	}
}
