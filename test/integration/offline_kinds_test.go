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
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"

	"kausality.io/operator/internal/cli/offline"
)

// The kinds that are known without a cluster come from Go types, which say neither the
// name of the resource nor its scope.
var _ = Describe("kinds that are known offline", func() {
	It("are what the API server serves", func() {
		client, err := discovery.NewDiscoveryClientForConfig(config)
		Expect(err).NotTo(HaveOccurred())
		_, served, err := client.ServerGroupsAndResources()
		Expect(err).NotTo(HaveOccurred())

		kubernetes := runtime.NewScheme()
		Expect(clientgoscheme.AddToScheme(kubernetes)).To(Succeed())
		known, compared := offline.NewKinds(), 0
		for _, list := range served {
			gv, err := schema.ParseGroupVersion(list.GroupVersion)
			Expect(err).NotTo(HaveOccurred())
			for _, resource := range list.APIResources {
				gvk := gv.WithKind(resource.Kind)
				stored := slices.Contains(resource.Verbs, "list")
				if strings.Contains(resource.Name, "/") || !stored || !kubernetes.Recognizes(gvk) {
					continue
				}
				gvr, found := known.ResourceFor(gvk)
				Expect(found).To(BeTrue(), "%s", gvk)
				Expect(gvr).To(Equal(gv.WithResource(resource.Name)))
				Expect(known.Namespaced(gvk)).To(Equal(resource.Namespaced), "%s", gvk)
				back, found := known.KindFor(gvr)
				Expect(found).To(BeTrue(), "%s", gvr)
				Expect(back).To(Equal(gvk))
				compared++
			}
		}
		Expect(compared).To(BeNumerically(">", 50))
	})
})
