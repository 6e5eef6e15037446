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
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/lineage"
	"kausality.io/operator/internal/record"
)

// holders reads holders live.
type holders struct {
	*Cluster

	policies Policies
	// named are the parents that objects name, by UID, and unread says why one of them could not be looked for.
	named  map[types.UID]lineage.Ref
	unread map[types.UID]error
}

func (c *Cluster) holders(policies Policies) *holders {
	return &holders{Cluster: c, policies: policies, named: map[types.UID]lineage.Ref{}, unread: map[types.UID]error{}}
}

// Get implements ancestry.Getter.
func (h *holders) Get(ctx context.Context, gvk schema.GroupVersionKind, key types.NamespacedName) (*unstructured.Unstructured, error) {
	return h.Object(ctx, gvk, key)
}

// Ignores implements ancestry.Getter: the record of an object says which of its parents are
// none for it. What cannot be read says nothing. It is asked of each parent before that is looked for.
func (h *holders) Ignores(ctx context.Context, obj *unstructured.Unstructured, parent lineage.Ref) bool {
	h.named[parent.UID] = parent
	records, err := h.RecordsOf(ctx, Target{GVK: obj.GroupVersionKind(), Namespace: obj.GetNamespace(), Name: obj.GetName()})
	return err == nil && slices.ContainsFunc(records, func(rec v1alpha1.AllowanceRecord) bool {
		return rec.Spec.TargetRef.UID == obj.GetUID() && slices.Contains(record.IgnoredParents(&rec), parent.ID())
	})
}

// ByUID implements ancestry.Getter. The API server finds nothing by UID. So it is what its child calls it, or
// else what a record with the UID is about, or one of all objects of the kinds that policies are for. Only where a
// child calls its parent otherwise than it is called, or that is gone, anything is listed.
func (h *holders) ByUID(ctx context.Context, uid types.UID) (*unstructured.Unstructured, error) {
	ref := h.named[uid]
	found, err := h.Referred(ctx, ref)
	if err != nil || found != nil {
		return found, err // Who asks may not be allowed to read it; that it is there says its being refused.
	}
	if found := h.byRecord(ctx, uid, ref.Namespace); found != nil {
		return found, nil
	}
	return h.byKinds(ctx, uid, ref.Namespace)
}

// byRecord returns the object with a UID as its record tells of it, nil where there is none.
func (h *holders) byRecord(ctx context.Context, uid types.UID, namespace string) *unstructured.Unstructured {
	with := client.MatchingLabels{record.LabelTargetUID: string(uid)}
	records, err := h.Records(ctx, metav1.NamespaceAll, with)
	if apierrors.IsForbidden(err) && namespace != metav1.NamespaceAll {
		records, err = h.Records(ctx, namespace, with)
	}
	if err != nil {
		return nil
	}
	for i := range records {
		target := records[i].Spec.TargetRef
		obj, err := h.Object(ctx, record.GVK(target), record.Key(target))
		if err == nil && obj.GetUID() == uid {
			return obj
		}
	}
	return nil
}

// byKinds returns the object with a UID that is of a kind that a policy is for, in a namespace or in none.
func (h *holders) byKinds(ctx context.Context, uid types.UID, namespace string) (*unstructured.Unstructured, error) {
	var asked []schema.GroupKind
	for _, p := range h.policies.Policies() {
		kind := p.For.GroupKind()
		if slices.Contains(asked, kind) {
			continue
		}
		asked = append(asked, kind)
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(p.For.GroupVersion().WithKind(p.For.Kind + "List"))
		var in client.InNamespace
		if h.Namespaced(kind) {
			in = client.InNamespace(namespace)
		}
		if err := h.List(ctx, list, in); err != nil {
			if !apimeta.IsNoMatchError(err) {
				h.unread[uid] = fmt.Errorf("looking for the UID %s among the objects of kind %s: %w", uid, kind, err)
			}
			continue
		}
		for i := range list.Items {
			if item := &list.Items[i]; item.GetUID() == uid {
				delete(h.unread, uid)
				return h.Object(ctx, p.For, client.ObjectKeyFromObject(item))
			}
		}
	}
	return nil, apierrors.NewNotFound(schema.GroupResource{Resource: "objects with the UID"}, string(uid))
}

// Referred reads the parent that a reference is to. It returns nil where that does not exist, or is another
// object of the same name.
func (c *Cluster) Referred(ctx context.Context, ref lineage.Ref) (*unstructured.Unstructured, error) {
	obj, err := c.Object(ctx, ref.GVK, types.NamespacedName{Namespace: ref.Namespace, Name: ref.Name})
	switch {
	case apierrors.IsNotFound(err), apimeta.IsNoMatchError(err):
		return nil, nil
	case err != nil:
		return nil, err
	case !ref.Names(obj):
		return nil, nil
	default:
		return obj, nil
	}
}
