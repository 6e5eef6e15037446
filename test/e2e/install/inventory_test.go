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

package install

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// passing are resources of which nobody would call what is there a trace: events go by
// themselves within the hour, and the rest changes all the time.
var passing = []string{"events", "leases", "componentstatuses"}

// inventory is everything in a cluster, as JSON by resource, namespace and name.
type inventory map[string]string

// everything lists all there is.
func (w *world) everything(ctx context.Context, g Gomega) inventory {
	GinkgoHelper()
	asked, err := discovery.NewDiscoveryClientForConfig(w.Config)
	g.Expect(err).NotTo(HaveOccurred())
	lists, err := discovery.ServerPreferredResources(asked)
	g.Expect(err).NotTo(HaveOccurred())
	all := inventory{}
	for _, list := range lists {
		gv, err := schema.ParseGroupVersion(list.GroupVersion)
		g.Expect(err).NotTo(HaveOccurred())
		all["served "+list.GroupVersion] = ""
		for _, r := range list.APIResources {
			if strings.Contains(r.Name, "/") || !slices.Contains(r.Verbs, "list") || slices.Contains(passing, r.Name) {
				continue
			}
			found := &unstructured.UnstructuredList{}
			found.SetGroupVersionKind(gv.WithKind(r.Kind + "List"))
			g.Expect(w.List(ctx, found)).To(Succeed(), r.Name)
			for i := range found.Items {
				all[r.Name+"."+gv.Group+" "+client.ObjectKeyFromObject(&found.Items[i]).String()] = contentOf(g, &found.Items[i])
			}
		}
	}
	return all
}

// contentOf returns an object without what counts its writes.
func contentOf(g Gomega, obj *unstructured.Unstructured) string {
	GinkgoHelper()
	for _, counting := range []string{"resourceVersion", "generation", "managedFields"} {
		unstructured.RemoveNestedField(obj.Object, "metadata", counting)
	}
	if obj.GetKind() == "Node" {
		unstructured.RemoveNestedField(obj.Object, "status")
	}
	raw, err := json.Marshal(obj.Object)
	g.Expect(err).NotTo(HaveOccurred())
	return string(raw)
}

// asBefore waits until everything is as it was, but for what a team has done meanwhile, and
// nothing anywhere names Kausality.
func (w *world) asBefore(ctx context.Context, before inventory) {
	GinkgoHelper()
	Eventually(ctx, func(g Gomega) {
		after := w.everything(ctx, g)
		var named, differ []string
		for _, what := range slices.Sorted(maps.Keys(after)) {
			if strings.Contains(strings.ToLower(what+after[what]), "kausality") {
				named = append(named, what)
			}
			if !strings.Contains(what, " "+w.namespace+"/") && after[what] != before[what] {
				differ = append(differ, what+": "+before[what]+" -> "+after[what])
			}
		}
		for what := range before {
			if _, there := after[what]; !there && !strings.Contains(what, " "+w.namespace+"/") {
				differ = append(differ, what+" is gone")
			}
		}
		g.Expect(named).To(BeEmpty(), "Kausality is named by; and these are not as before: %v", differ)
		g.Expect(differ).To(BeEmpty(), "not as before")
	}).WithTimeout(settled).Should(Succeed())
}
