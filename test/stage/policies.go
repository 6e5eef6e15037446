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

package stage

import (
	"context"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"kausality.io/operator/api/v1alpha1"
)

// Apply creates policies, which go with the spec or container, and returns when
// the API server asks about them.
func (c *Cluster) Apply(ctx context.Context, policies ...*v1alpha1.AllowancePolicy) {
	GinkgoHelper()
	for _, p := range policies {
		Expect(c.Create(ctx, p)).To(Succeed())
		DeferCleanup(func(ctx context.Context) error { return client.IgnoreNotFound(c.Delete(ctx, p)) })
	}
	for _, p := range policies {
		c.Enforced(ctx, p, time.Minute)
	}
}

// Enforced returns when the policy says that it is.
func (c *Cluster) Enforced(ctx context.Context, p *v1alpha1.AllowancePolicy, within time.Duration) {
	GinkgoHelper()
	Eventually(ctx, func(g Gomega) {
		live := &v1alpha1.AllowancePolicy{}
		g.Expect(c.Get(ctx, client.ObjectKeyFromObject(p), live)).To(Succeed())
		condition := apimeta.FindStatusCondition(live.Status.Conditions, v1alpha1.ConditionEnforced)
		g.Expect(condition).NotTo(BeNil(), "policy %s has no condition %s", p.Name, v1alpha1.ConditionEnforced)
		g.Expect(condition.Status).To(Equal(metav1.ConditionTrue), "%s: %s", p.Name, condition.Message)
		g.Expect(condition.ObservedGeneration).To(Equal(live.Generation))
	}).WithTimeout(within).WithPolling(50 * time.Millisecond).Should(Succeed())
}

// ParsePolicies reads policies from YAML documents.
func ParsePolicies(text string) []*v1alpha1.AllowancePolicy {
	GinkgoHelper()
	var policies []*v1alpha1.AllowancePolicy
	for _, document := range Documents(text) {
		p := &v1alpha1.AllowancePolicy{}
		Expect(yaml.UnmarshalStrict(document, p)).To(Succeed())
		policies = append(policies, p)
	}
	return policies
}

// Documents splits a YAML stream.
func Documents(text string) [][]byte {
	var out [][]byte
	for document := range strings.SplitSeq(text, "\n---\n") {
		if strings.TrimSpace(document) != "" {
			out = append(out, []byte(document))
		}
	}
	return out
}
