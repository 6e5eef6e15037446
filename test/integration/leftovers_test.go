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

package integration

import (
	"context"
	"errors"
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/api/v1alpha1"
)

// Specs come in any order, so that nothing may be left of one that has the API server treat the
// requests of the next one in another way. An API server enforces an admission policy for about
// a second after it is gone, which is waited for.
var _ = BeforeEach(OncePerOrdered, func(ctx SpecContext) {
	Eventually(ctx, func(g Gomega) {
		g.Expect(leftovers(ctx)).To(BeEmpty(), "left behind by the spec before")
		g.Expect(untouched(ctx)).To(Succeed())
	}).Should(Succeed())
})

// leftovers returns the kinds and names of the objects by which an API server or an operator
// treats requests for others in another way.
func leftovers(ctx context.Context) ([]string, error) {
	var left []string
	for kind, list := range map[string]client.ObjectList{
		"AllowancePolicy":                  &v1alpha1.AllowancePolicyList{},
		"GeneratingPolicy":                 &v1alpha1.GeneratingPolicyList{},
		"UpgradeAllowance":                 &v1alpha1.UpgradeAllowanceList{},
		"MutatingAdmissionPolicy":          &admissionregistrationv1.MutatingAdmissionPolicyList{},
		"MutatingAdmissionPolicyBinding":   &admissionregistrationv1.MutatingAdmissionPolicyBindingList{},
		"MutatingWebhookConfiguration":     &admissionregistrationv1.MutatingWebhookConfigurationList{},
		"ValidatingAdmissionPolicy":        &admissionregistrationv1.ValidatingAdmissionPolicyList{},
		"ValidatingAdmissionPolicyBinding": &admissionregistrationv1.ValidatingAdmissionPolicyBindingList{},
		"ValidatingWebhookConfiguration":   &admissionregistrationv1.ValidatingWebhookConfigurationList{},
	} {
		if err := k8s.List(ctx, list); err != nil {
			return nil, err
		}
		err := apimeta.EachListItem(list, func(item runtime.Object) error {
			object, err := apimeta.Accessor(item)
			if err == nil && object.GetName() != newInstalled().Name {
				left = append(left, kind+" "+object.GetName())
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return left, nil
}

// untouched fails where an admission policy that is gone is still enforced: one about records, or
// one about ledgers.
func untouched(ctx context.Context) error {
	rec := &v1alpha1.AllowanceRecord{
		ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: "untouched"},
		Spec:       v1alpha1.AllowanceRecordSpec{TargetRef: v1alpha1.TargetReference{Version: "v1", Kind: "ConfigMap", Name: "c", UID: "u"}},
	}
	if err := k8s.Create(ctx, rec, client.DryRunAll); err != nil {
		return fmt.Errorf("creating an AllowanceRecord: %w", err)
	}
	d := newDeployment(metav1.NamespaceDefault, "untouched")
	d.Annotations = map[string]string{v1alpha1.AnnotationAllowances: "[]"}
	if err := k8s.Create(ctx, d, client.DryRunAll); err != nil {
		return fmt.Errorf("creating a Deployment: %w", err)
	}
	if len(d.Annotations) == 0 {
		return errors.New("the ledger of a Deployment is taken out")
	}
	return nil
}
