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

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/test/controlplane"
)

// Remains returns what is of Kausality on objects of others, by listing everything there is in the
// cluster: annotations, labels, finalizers and conditions in its domain. What is installed is its own.
func (c *Cluster) Remains(ctx context.Context, g Gomega) []string {
	GinkgoHelper()
	asked, err := discovery.NewDiscoveryClientForConfig(c.Config)
	g.Expect(err).NotTo(HaveOccurred())
	lists, err := discovery.ServerPreferredResources(asked)
	g.Expect(err).NotTo(HaveOccurred())
	var remains []string
	for _, list := range lists {
		gv, err := schema.ParseGroupVersion(list.GroupVersion)
		g.Expect(err).NotTo(HaveOccurred())
		for _, r := range list.APIResources {
			if gv.Group == v1alpha1.GroupVersion.Group || strings.Contains(r.Name, "/") || !strings.Contains(r.Verbs.String(), "list") {
				continue
			}
			all := &unstructured.UnstructuredList{}
			all.SetGroupVersionKind(gv.WithKind(r.Kind + "List"))
			g.Expect(c.List(ctx, all)).To(Succeed(), r.Name)
			for i := range all.Items {
				if isInstalled(&all.Items[i]) {
					continue
				}
				for _, what := range remainsOn(&all.Items[i]) {
					remains = append(remains, r.Name+" "+client.ObjectKeyFromObject(&all.Items[i]).String()+" "+what)
				}
			}
		}
	}
	return remains
}

// isInstalled reports whether an object is part of the installation, with which it goes.
func isInstalled(obj *unstructured.Unstructured) bool {
	return obj.GetNamespace() == controlplane.OperatorNamespace ||
		obj.GetKind() == "ClusterRole" && strings.HasPrefix(obj.GetName(), "kausality-")
}

func remainsOn(obj *unstructured.Unstructured) []string {
	var what []string
	is := func(key string) {
		if domain, _, _ := strings.Cut(key, "/"); domain == v1alpha1.GroupVersion.Group || strings.HasSuffix(domain, "."+v1alpha1.GroupVersion.Group) {
			what = append(what, key)
		}
	}
	for key := range obj.GetAnnotations() {
		is(key)
	}
	for key := range obj.GetLabels() {
		is(key)
	}
	for _, finalizer := range obj.GetFinalizers() {
		is(finalizer)
	}
	conditions, _, _ := unstructured.NestedSlice(obj.Object, "status", "conditions")
	for _, each := range conditions {
		condition, _ := each.(map[string]any)
		kind, _ := condition["type"].(string)
		is(kind)
	}
	return what
}
