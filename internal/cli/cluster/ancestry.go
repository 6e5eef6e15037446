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

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/internal/ancestry"
	"kausality.io/operator/internal/lineage"
	"kausality.io/operator/internal/policy"
)

// Ancestry returns the chain of an object, from the object up to its topmost ancestor. It decides
// which policies are in effect. Notes are added about objects that cannot be read.
func (c *Cluster) Ancestry(
	ctx context.Context, policies Policies, obj *unstructured.Unstructured, notes []string,
) (chain []policy.Holder, told []string) {
	labels := &namespaces{cluster: c, notes: notes}
	chain = ancestry.Chain(ctx, c.holders(policies), labels, policies.Index, obj)
	return chain, labels.notes
}

// Parent returns the parent of an object by which its chain goes on, and false where it has none. Where no
// object has the name in its reference, the parent is looked for by UID; the error says why that failed.
func (c *Cluster) Parent(ctx context.Context, policies Policies, obj *unstructured.Unstructured) (lineage.Ref, bool, error) {
	h := c.holders(policies)
	ref, ok := ancestry.Ref(ctx, h, policies.Index, obj)
	return ref, ok, h.unread[ref.UID]
}

// Parents returns all parents of an object that policies may be about: each of them bounds it.
func (c *Cluster) Parents(ctx context.Context, policies Policies, obj *unstructured.Unstructured) []lineage.Ref {
	return ancestry.Refs(ctx, c.holders(policies), policies.Index, obj)
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
		n.note(fmt.Sprintf("Policies are taken to see no labels of namespace %s, as they cannot be read: %v", name, err))
	} else if obj.GetLabels() != nil {
		labels = obj.GetLabels()
	}
	if n.known == nil {
		n.known = map[string]map[string]string{}
	}
	n.known[name] = labels
	return labels
}

// note adds a note, once: several chains may go through one namespace.
func (n *namespaces) note(text string) {
	if !slices.Contains(n.notes, text) {
		n.notes = append(n.notes, text)
	}
}

// ParentUID returns the UID of the parent of an object, empty where it has none or that
// cannot be read.
func (c *Cluster) ParentUID(ctx context.Context, policies Policies, obj *unstructured.Unstructured) types.UID {
	uid, _ := ancestry.ParentUID(ctx, c.holders(policies), policies.Index, obj)
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
