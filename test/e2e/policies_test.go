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

package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/test/stage"
)

// effectTimeout is within what a policy takes effect, or loses it: two seconds, and
// more on a machine that is busy with other things.
const effectTimeout = 10 * time.Second

// samplePolicies returns the policies of config/samples, for all namespaces but those whose
// specs bring policies of their own.
func (c *cluster) samplePolicies(ctx context.Context) []*v1alpha1.AllowancePolicy {
	GinkgoHelper()
	out, err := c.kubectl(ctx, "kustomize", samples)
	Expect(err).NotTo(HaveOccurred(), out)
	policies := parsePolicies(out)
	Expect(policies).To(HaveLen(2))
	for _, p := range policies {
		p.Spec.NamespaceSelector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{
			Key: labelOwnPolicies, Operator: metav1.LabelSelectorOpDoesNotExist,
		}}}
	}
	return policies
}

func (c *cluster) applySamplePolicies(ctx context.Context) {
	GinkgoHelper()
	for _, p := range c.samplePolicies(ctx) {
		Expect(c.Create(ctx, p)).To(Succeed())
		c.enforced(ctx, p, startTimeout)
	}
}

// samplePoliciesFor returns the policies of config/samples under other names, for the
// namespaces that newNamespaceFor makes.
func (c *cluster) samplePoliciesFor(ctx context.Context, policies string) []*v1alpha1.AllowancePolicy {
	GinkgoHelper()
	return forOwn(policies, c.samplePolicies(ctx))
}

// kindPoliciesFor returns the policies in testdata for kinds of parents, such as job, for the
// namespaces that newNamespaceFor makes.
func kindPoliciesFor(policies string, kinds ...string) []*v1alpha1.AllowancePolicy {
	GinkgoHelper()
	var all []*v1alpha1.AllowancePolicy
	for _, kind := range kinds {
		all = append(all, readPolicies(kind, strings.NewReplacer())...)
	}
	return forOwn(policies, all)
}

// readPolicies reads those in testdata for a kind, with what they leave open.
func readPolicies(kind string, open *strings.Replacer) []*v1alpha1.AllowancePolicy {
	GinkgoHelper()
	text, err := os.ReadFile(filepath.Join("testdata", kind+".yaml"))
	Expect(err).NotTo(HaveOccurred())
	return parsePolicies(open.Replace(string(text)))
}

// policiesUnder names what newNamespaceUnder applies: specs of other processes may
// want the same.
func policiesUnder(spec string, kinds ...string) string {
	return fmt.Sprintf("%s-%s-%d", spec, strings.Join(kinds, "-"), GinkgoParallelProcess())
}

// newNamespaceUnder creates a namespace with the policies in testdata for kinds of
// parents, which are in effect there and nowhere else.
func (c *cluster) newNamespaceUnder(ctx context.Context, spec string, kinds ...string) string {
	GinkgoHelper()
	policies := policiesUnder(spec, kinds...)
	c.apply(ctx, kindPoliciesFor(policies, kinds...)...)
	return c.newNamespaceFor(ctx, policies)
}

// ownPolicy returns a policy of the namespaces that newNamespaceFor makes for its name.
// The platform team may initiate; what else is in its spec is given.
func ownPolicy(name, group, kind, rest string) *v1alpha1.AllowancePolicy {
	GinkgoHelper()
	return forOwn(name, parsePolicies(fmt.Sprintf(`
apiVersion: kausality.io/v1alpha1
kind: AllowancePolicy
metadata: {name: own}
spec:
  for: {apiGroup: %q, apiVersion: v1, kind: %s}
  subjects: [{kind: Group, name: platform-team, mayInitiate: true}]
%s`, group, kind, strings.TrimPrefix(rest, "\n"))))[0]
}

// forOwn makes policies those of the namespaces that newNamespaceFor makes.
func forOwn(policies string, all []*v1alpha1.AllowancePolicy) []*v1alpha1.AllowancePolicy {
	for _, p := range all {
		p.Name = policies + "-" + p.Name
		p.Spec.NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{labelOwnPolicies: policies}}
	}
	return all
}

// apply creates policies, which go with the spec or container, and returns when
// the API server asks about them.
func (c *cluster) apply(ctx context.Context, policies ...*v1alpha1.AllowancePolicy) {
	GinkgoHelper()
	c.Apply(ctx, policies...)
}

// enforced returns when the policy says that it is.
func (c *cluster) enforced(ctx context.Context, p *v1alpha1.AllowancePolicy, within time.Duration) {
	GinkgoHelper()
	c.Enforced(ctx, p, within)
}

// parsePolicies reads policies from YAML documents.
func parsePolicies(text string) []*v1alpha1.AllowancePolicy {
	GinkgoHelper()
	return stage.ParsePolicies(text)
}
