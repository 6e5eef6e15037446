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

package crossplane

import (
	"fmt"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/test/stage"
)

// Crossplane looks at a composite resource every thirty seconds only once some fifty writes of it, and of what
// it composes, came in a row. A spec that waits for such a one fails by that, and nothing else would tell.
var _ = AfterEach(func(ctx SpecContext) {
	if _, reporter := GinkgoConfiguration(); !CurrentSpecReport().Failed() && !reporter.Verbose {
		return
	}
	if unheard := shared.unheard(ctx); len(unheard) > 0 {
		AddReportEntry("Crossplane's circuit breaker is open for", strings.Join(unheard, "\n"), ReportEntryVisibilityFailureOrVerbose)
	}
}, NodeTimeout(specTimeout))

// unheard returns the composite resources for which Crossplane's circuit breaker is open, and what it says of
// each.
func (w *world) unheard(ctx SpecContext) []string {
	GinkgoHelper()
	definitions := &unstructured.UnstructuredList{}
	definitions.SetGroupVersionKind(schema.GroupVersionKind{Group: "apiextensions.crossplane.io", Version: "v2", Kind: "CompositeResourceDefinitionList"})
	Expect(w.List(ctx, definitions)).To(Succeed())
	var out []string
	for _, definition := range definitions.Items {
		group, _, err := unstructured.NestedString(definition.Object, "spec", "group")
		Expect(err).NotTo(HaveOccurred())
		kind, _, err := unstructured.NestedString(definition.Object, "spec", "names", "kind")
		Expect(err).NotTo(HaveOccurred())
		composites := &unstructured.UnstructuredList{}
		composites.SetGroupVersionKind(schema.GroupVersionKind{Group: group, Version: "v1alpha1", Kind: kind + "List"})
		Expect(w.List(ctx, composites)).To(Succeed())
		for i := range composites.Items {
			responsive := stage.Condition(&composites.Items[i], "Responsive")
			if responsive["status"] == string(metav1.ConditionFalse) {
				out = append(out, fmt.Sprintf("%s.%s %s: %v", kind, group, client.ObjectKeyFromObject(&composites.Items[i]), responsive["message"]))
			}
		}
	}
	return out
}
