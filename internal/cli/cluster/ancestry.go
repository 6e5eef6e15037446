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

package cluster

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/ancestry"
	"kausality.io/operator/internal/lineage"
	"kausality.io/operator/internal/policy"
	"kausality.io/operator/internal/record"
)

// Ancestry returns the chain of an object, from the object up to its topmost ancestor. It decides
// which policies are in effect. Notes are added about objects that cannot be read.
func (c *Cluster) Ancestry(
	ctx context.Context, policies Policies, obj *unstructured.Unstructured, notes []string,
) (chain []policy.Holder, told []string) {
	labels := &namespaces{cluster: c, notes: notes}
	chain = ancestry.Chain(ctx, holders{c}, labels, policies.Index, obj)
	return chain, labels.notes
}

// holders reads holders live.
type holders struct{ *Cluster }

// Get implements ancestry.Getter.
func (h holders) Get(ctx context.Context, gvk schema.GroupVersionKind, key types.NamespacedName) (*unstructured.Unstructured, error) {
	return h.Object(ctx, gvk, key)
}

// ByUID implements ancestry.Getter. The API server finds nothing by UID, so that a parent is
// found only under the coordinates by which its child names it.
func (holders) ByUID(_ context.Context, uid types.UID) (*unstructured.Unstructured, error) {
	return nil, apierrors.NewNotFound(schema.GroupResource{Resource: "objects with the UID"}, string(uid))
}

// Ignores implements ancestry.Getter: the record of an object says which of its parents are
// none for it. What cannot be read says nothing.
func (h holders) Ignores(ctx context.Context, obj *unstructured.Unstructured, parent lineage.Ref) bool {
	records, err := h.RecordsOf(ctx, Target{GVK: obj.GroupVersionKind(), Namespace: obj.GetNamespace(), Name: obj.GetName()})
	return err == nil && slices.ContainsFunc(records, func(rec v1alpha1.AllowanceRecord) bool {
		return rec.Spec.TargetRef.UID == obj.GetUID() && slices.Contains(record.IgnoredParents(&rec), parent.ID())
	})
}

// Parent returns the parent of an object by which its chain goes on, and false where it has none.
func (c *Cluster) Parent(ctx context.Context, policies Policies, obj *unstructured.Unstructured) (lineage.Ref, bool) {
	return ancestry.Ref(ctx, holders{c}, policies.Index, obj)
}

// Parents returns all parents of an object that policies may be about: each of them bounds it.
func (c *Cluster) Parents(ctx context.Context, policies Policies, obj *unstructured.Unstructured) []lineage.Ref {
	return ancestry.Refs(ctx, holders{c}, policies.Index, obj)
}

// namespaces reads the labels of namespaces, and notes what it cannot read.
type namespaces struct {
	cluster *Cluster
	notes   []string
	known   map[string]map[string]string
}

// Labels implements ancestry.Namespaces.
func (n *namespaces) Labels(ctx context.Context, name string) map[string]string {
	if labels, ok := n.known[name]; ok {
		return labels
	}
	obj, err := n.cluster.Object(ctx, schema.GroupVersionKind{Version: "v1", Kind: "Namespace"}, types.NamespacedName{Name: name})
	labels := map[string]string{}
	if err != nil {
		n.notes = append(n.notes, fmt.Sprintf("Policies are taken to see no labels of namespace %s, as they cannot be read: %v", name, err))
	} else if obj.GetLabels() != nil {
		labels = obj.GetLabels()
	}
	if n.known == nil {
		n.known = map[string]map[string]string{}
	}
	n.known[name] = labels
	return labels
}

// ParentUID returns the UID of the parent of an object, empty where it has none or that
// cannot be read.
func (c *Cluster) ParentUID(ctx context.Context, policies Policies, obj *unstructured.Unstructured) types.UID {
	uid, _ := ancestry.ParentUID(ctx, holders{c}, policies.Index, obj)
	return uid
}

// Children returns the objects of a kind of which an object is the parent.
func (c *Cluster) Children(ctx context.Context, policies Policies, kind schema.GroupKind, parent *unstructured.Unstructured) ([]*unstructured.Unstructured, error) {
	mapping, err := c.mapper.RESTMapping(kind)
	if err != nil {
		return nil, fmt.Errorf("finding the resource of kind %s: %w", kind.Kind, err)
	}
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(mapping.GroupVersionKind.GroupVersion().WithKind(kind.Kind + "List"))
	namespace := parent.GetNamespace()
	if policies.Naming(parent.GroupVersionKind().GroupKind()) != nil {
		namespace = metav1.NamespaceAll
	}
	if err := c.List(ctx, list, client.InNamespace(namespace)); err != nil {
		return nil, fmt.Errorf("looking for children of kind %s: %w", kind.Kind, err)
	}
	var out []*unstructured.Unstructured
	for i := range list.Items {
		if ref, ok := lineage.Parent(policies.Index, &list.Items[i]); ok && ref.Names(parent) {
			out = append(out, &list.Items[i])
		}
	}
	return out, nil
}
