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

package catalog

import (
	"context"
	"fmt"
	"strconv"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/controller/controllertest"
	"kausality.io/operator/internal/policy"
	"kausality.io/operator/internal/record"
)

// fixedPolicies is a client with policies, and with no records.
type fixedPolicies struct {
	client.Client
	items []v1alpha1.AllowancePolicy
}

func (r *fixedPolicies) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	if policies, ok := list.(*v1alpha1.AllowancePolicyList); ok {
		policies.Items = r.items
	}
	return nil
}

// ofTenants returns n policies for Deployments, each for the namespaces of another tenant.
func ofTenants(n int) []v1alpha1.AllowancePolicy {
	out := make([]v1alpha1.AllowancePolicy, 0, n)
	for i := range n {
		p := controllertest.Bounding(controllertest.ExercisedBy(controllertest.PolicyFor("Deployment"), "deployment-controller", false), "apps", "replicasets")
		p.Name, p.UID = fmt.Sprintf("tenant-%d", i), types.UID(fmt.Sprintf("uid-of-tenant-%d", i))
		p.Spec.NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"tenant": strconv.Itoa(i)}}
		p.Spec.Subjects = append(p.Spec.Subjects, v1alpha1.PolicySubject{
			Subject: v1alpha1.Subject{Kind: v1alpha1.SubjectUser, Name: fmt.Sprintf("alice-%d", i)}, MayInitiate: true,
		})
		out = append(out, *p)
	}
	return out
}

// BenchmarkComingIntoEffect measures how policies that are created at once come into effect, but for the
// requests for that: they are indexed, each is adopted after a view of it, and all are indexed again.
func BenchmarkComingIntoEffect(b *testing.B) {
	for _, n := range []int{10, 100, 1000} {
		b.Run(fmt.Sprintf("policies=%d", n), func(b *testing.B) {
			b.ReportAllocs()
			reader := &fixedPolicies{items: ofTenants(n)}
			for b.Loop() {
				active := &policy.Active{}
				r := &Reconciler{
					Reader: reader, Catalog: New(active), Kinds: &updatedKinds{Kinds: controllertest.ServedKinds()}, Holders: &watchedHolders{},
					Records: record.NewStore(record.Config{Client: reader}), Gates: controllertest.NoGates{}, Rights: &fixedRights{},
				}
				r.Catalog.reviewed = true
				index(b, r)
				for i := range reader.items {
					view, ok := r.Catalog.View(reader.items[i].Name)
					if !ok || len(view.Usable.For(schema.GroupKind{Group: "apps", Kind: "Deployment"})) != n {
						b.Fatal("a policy is not usable")
					}
					r.Catalog.MarkAdopted(view.Policy)
				}
				index(b, r)
				if got := len(active.Index().Policies()); got != n {
					b.Fatalf("%d of %d policies are in effect", got, n)
				}
			}
		})
	}
}

func index(b *testing.B, r *Reconciler) {
	b.Helper()
	if _, err := r.Reconcile(b.Context(), everything); err != nil {
		b.Fatal(err)
	}
}
