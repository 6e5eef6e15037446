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
	"context"
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/test/crossplane"
	"kausality.io/operator/test/crossplane/cloud"
	"kausality.io/operator/test/crossplane/provider/apis/cluster"
	"kausality.io/operator/test/crossplane/provider/apis/namespaced"
)

// Kinds of databases, in the group of a spec.
const (
	claimKind     = "DatabaseClaim"
	compositeKind = "XDatabase"
	databaseKind  = "Database"
)

// Sizes of databases.
const (
	medium = "db.t3.medium"
	large  = "db.t3.large"
)

// offer lets people have databases of a group. Edits are of what defines them, and of
// what they are composed of.
func (w *world) offer(ctx context.Context, group string, edits ...func(*unstructured.Unstructured)) {
	GinkgoHelper()
	objects, err := crossplane.Databases(group)
	Expect(err).NotTo(HaveOccurred())
	for _, object := range objects {
		for _, edit := range edits {
			edit(object)
		}
		Expect(w.Create(ctx, object)).To(Succeed())
	}
	for _, object := range objects {
		if object.GetKind() == "CompositeResourceDefinition" {
			w.Becomes(ctx, object, "Established")
		}
	}
	for _, kind := range []string{claimKind, compositeKind, databaseKind} {
		Eventually(ctx, func() error {
			list := &unstructured.UnstructuredList{}
			list.SetGroupVersionKind(schema.GroupVersionKind{Group: group, Version: "v1alpha1", Kind: kind + "List"})
			return w.List(ctx, list)
		}).Should(Succeed())
	}
}

// database returns a database of a kind in a group, of a size.
func database(group, kind, namespace, name, size string) *unstructured.Unstructured {
	d := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"size": size, "engine": "postgres"}}}
	d.SetGroupVersionKind(schema.GroupVersionKind{Group: group, Version: "v1alpha1", Kind: kind})
	d.SetNamespace(namespace)
	d.SetName(name)
	return d
}

// resize asks for another size.
func resize(size string) client.Patch {
	return client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"spec":{"size":%q}}`, size))
}

// instanceOf returns the managed resource that a composite resource is composed of under
// the given name. Instances of namespaced composite resources are namespaced.
func (w *world) instanceOf(ctx context.Context, composite *unstructured.Unstructured, name string) *unstructured.Unstructured {
	GinkgoHelper()
	gvk := cluster.GroupVersion.WithKind("RDSInstanceList")
	if composite.GetNamespace() != "" {
		gvk = namespaced.GroupVersion.WithKind("RDSInstanceList")
	}
	if composite.GroupVersionKind().Group == olderDatabases {
		gvk.Group = olderGroup
	}
	var found *unstructured.Unstructured
	Eventually(ctx, func(g Gomega) {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(gvk)
		g.Expect(w.List(ctx, list, client.InNamespace(composite.GetNamespace()),
			client.MatchingLabels{"crossplane.io/composite": composite.GetName()})).To(Succeed())
		found = nil
		for i := range list.Items {
			if list.Items[i].GetAnnotations()["crossplane.io/composition-resource-name"] == name {
				found = &list.Items[i]
			}
		}
		g.Expect(found).NotTo(BeNil(), "%s of %s", name, composite.GetName())
	}).Should(Succeed())
	return found
}

// calls returns the calls that reached the cloud about an instance.
func (w *world) calls(ctx context.Context, instance client.Object) cloud.Calls {
	GinkgoHelper()
	calls, err := w.cloud().Calls(ctx, instance.GetName())
	Expect(err).NotTo(HaveOccurred())
	return calls
}

// has waits until the cloud has an instance of a size.
func (w *world) has(ctx context.Context, instance client.Object, size string) {
	GinkgoHelper()
	Eventually(ctx, func(g Gomega) {
		parameters, err := w.cloud().Peek(ctx, instance.GetName())
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(parameters).To(HaveKeyWithValue("instanceClass", size))
	}).Should(Succeed())
}
