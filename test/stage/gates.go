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
	"encoding/json"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/api/v1alpha1"
)

// Observing are the management policies of a gate that is closed.
const Observing = "Observe,LateInitialize"

// Condition returns the condition of an object of a type, or nil.
func Condition(object *unstructured.Unstructured, kind string) map[string]any {
	all, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
	for _, each := range all {
		if c, ok := each.(map[string]any); ok && c["type"] == kind {
			return c
		}
	}
	return nil
}

// Becomes waits until conditions of an object are true.
func (c *Cluster) Becomes(ctx context.Context, object *unstructured.Unstructured, conditions ...string) {
	GinkgoHelper()
	Eventually(ctx, func(g Gomega) {
		g.Expect(c.Get(ctx, client.ObjectKeyFromObject(object), object)).To(Succeed())
		for _, kind := range conditions {
			g.Expect(Condition(object, kind)).To(HaveKeyWithValue("status", "True"), "%s of %s", kind, object.GetName())
		}
	}).Should(Succeed())
}

// Gone waits until objects have gone.
func (c *Cluster) Gone(ctx context.Context, objects ...*unstructured.Unstructured) {
	GinkgoHelper()
	for _, object := range objects {
		Eventually(ctx, func() error { return c.Get(ctx, client.ObjectKeyFromObject(object), object.DeepCopy()) }).
			Should(MatchError(apierrors.IsNotFound, "not found"), "%s %s", object.GetKind(), object.GetName())
	}
}

// CompositeOf returns the composite resource of a claim.
func (c *Cluster) CompositeOf(ctx context.Context, claim *unstructured.Unstructured) *unstructured.Unstructured {
	GinkgoHelper()
	composite := &unstructured.Unstructured{}
	Eventually(ctx, func(g Gomega) {
		g.Expect(c.Get(ctx, client.ObjectKeyFromObject(claim), claim)).To(Succeed())
		ref, _, _ := unstructured.NestedStringMap(claim.Object, "spec", "resourceRef")
		g.Expect(ref).To(HaveKey("name"))
		composite.SetGroupVersionKind(schema.FromAPIVersionAndKind(ref["apiVersion"], ref["kind"]))
		g.Expect(c.Get(ctx, client.ObjectKey{Name: ref["name"]}, composite)).To(Succeed())
	}).Should(Succeed())
	return composite
}

// Closed waits until the gate of a managed resource is closed, which the given
// management policies say, and nothing is left that would open it.
func (c *Cluster) Closed(ctx context.Context, managed *unstructured.Unstructured, policies string) {
	GinkgoHelper()
	Eventually(ctx, func(g Gomega) {
		g.Expect(c.Get(ctx, client.ObjectKeyFromObject(managed), managed)).To(Succeed())
		g.Expect(PoliciesOf(managed)).To(Equal(policies))
		g.Expect(managed.GetAnnotations()).NotTo(HaveKey(LedgerKey(managed)))
		g.Expect(Condition(managed, v1alpha1.ConditionGate)).To(And(HaveKeyWithValue("reason", "Closed"), HaveKeyWithValue("status", "False")))
	}).Should(Succeed())
}

// PoliciesOf returns the management policies of a managed resource.
func PoliciesOf(managed *unstructured.Unstructured) string {
	policies, _, _ := unstructured.NestedStringSlice(managed.Object, "spec", "managementPolicies")
	return strings.Join(policies, ",")
}

// Opening is how a gate was set by a write.
type Opening struct {
	// Policies are the management policies, sorted.
	Policies string
	// Trace is who caused it, and the way to the managed resource.
	Trace string
}

// OpeningOf returns how the gate of a managed resource is set.
func OpeningOf(managed *unstructured.Unstructured) Opening {
	GinkgoHelper()
	policies, _, err := unstructured.NestedStringSlice(managed.Object, "spec", "managementPolicies")
	Expect(err).NotTo(HaveOccurred())
	slices.Sort(policies)
	var allowances []v1alpha1.Allowance
	if text := managed.GetAnnotations()[LedgerKey(managed)]; text != "" {
		Expect(json.Unmarshal([]byte(text), &allowances)).To(Succeed())
	}
	out := Opening{Policies: strings.Join(policies, ",")}
	for _, a := range allowances {
		hops := make([]string, 0, len(a.Trace))
		for _, hop := range a.Trace {
			hops = append(hops, hop.Kind+"/"+hop.Name+" "+hop.Field)
		}
		out.Trace = a.Initiator + ": " + strings.Join(hops, ", ")
	}
	return out
}

// ConsumedOf returns the causes of what was consumed, as a record says.
func ConsumedOf(status v1alpha1.AllowanceRecordStatus) []string {
	var out []string
	for _, e := range status.History {
		if e.Event == v1alpha1.EventConsumed {
			out = append(out, CauseOf(e.Initiator, e.Trace))
		}
	}
	return out
}

// CauseOf says who caused something, and the way to it.
func CauseOf(initiator string, trace []v1alpha1.TraceHop) string {
	words := []string{initiator}
	for _, hop := range trace {
		words = append(words, hop.Kind+"/"+hop.Name, hop.Field)
	}
	return strings.Join(words, " ")
}
