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

package main

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
)

const namespace = "bench"

// denial is the scenario of what is refused.
const denial = "denial"

// scenario is a kind of request, the same in all worlds.
type scenario struct {
	name string
	// user makes the requests.
	user string
	// request makes the n-th one of a worker, which has a parent and a child of its
	// own.
	request func(ctx context.Context, c dynamic.Interface, w world, worker, n int) error
	// holder is the object that Kausality writes a ledger into; the bare webhook
	// writes an annotation of the same length.
	holder func(w world, worker int) (schema.GroupVersionResource, string)
	// creates is true where objects are created that have to go again.
	creates bool
}

var configMaps = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}

var scenarios = []scenario{
	{
		name: "unrelated object", user: stranger,
		request: func(ctx context.Context, c dynamic.Interface, w world, worker, n int) error {
			return patch(ctx, c.Resource(configMaps), name(w, worker), `{"data":{"n":"%d"}}`, n)
		},
	},
	{
		name: "origin", user: initiator, holder: parentOf,
		request: func(ctx context.Context, c dynamic.Interface, w world, worker, n int) error {
			return patch(ctx, c.Resource(w.parents()), name(w, worker), `{"spec":{"replicas":%d}}`, n)
		},
	},
	{
		name: "exercise", user: controller, holder: childOf,
		request: func(ctx context.Context, c dynamic.Interface, w world, worker, n int) error {
			return patch(ctx, c.Resource(w.children()), name(w, worker), `{"spec":{"replicas":%d}}`, n)
		},
	},
	{
		name: denial, user: stranger,
		request: func(ctx context.Context, c dynamic.Interface, w world, worker, n int) error {
			err := patch(ctx, c.Resource(w.children()), name(w, worker), `{"spec":{"image":"v%d"}}`, n)
			switch {
			case w != kausality:
				return err
			case err == nil:
				return fmt.Errorf("the change of %s of a stranger is let through", name(w, worker))
			case apierrors.IsForbidden(err):
				return nil
			default:
				return err
			}
		},
	},
	{
		name: "status update", user: controller,
		request: func(ctx context.Context, c dynamic.Interface, w world, worker, n int) error {
			return patch(ctx, c.Resource(w.parents()), name(w, worker), `{"status":{"seen":%d}}`, n, "status")
		},
	},
	{
		name: "create with owner", user: controller, creates: true,
		request: func(ctx context.Context, c dynamic.Interface, w world, worker, n int) error {
			parent, err := c.Resource(w.parents()).Namespace(namespace).Get(ctx, name(w, worker), metav1.GetOptions{})
			if err != nil {
				return err
			}
			return create(ctx, c, w.children(), child(w, fmt.Sprintf("%s-made-%d", name(w, worker), n), parent))
		},
	},
}

func name(w world, worker int) string { return fmt.Sprintf("%s-%d", w, worker) }

func parentOf(w world, worker int) (schema.GroupVersionResource, string) {
	return w.parents(), name(w, worker)
}

func childOf(w world, worker int) (schema.GroupVersionResource, string) {
	return w.children(), name(w, worker)
}

func patch(ctx context.Context, c dynamic.NamespaceableResourceInterface, name, format string, n int, subresource ...string) error {
	_, err := c.Namespace(namespace).Patch(ctx, name, types.MergePatchType, fmt.Appendf(nil, format, n), metav1.PatchOptions{}, subresource...)
	return err
}

func create(ctx context.Context, c dynamic.Interface, resource schema.GroupVersionResource, obj *unstructured.Unstructured) error {
	_, err := c.Resource(resource).Namespace(namespace).Create(ctx, obj, metav1.CreateOptions{})
	return err
}

// furnish makes what the requests of a worker are about. The parent has an allowance
// that stays open.
func furnish(ctx context.Context, as func(user string) (dynamic.Interface, error), worker, size int) error {
	c, err := as(initiator)
	if err != nil {
		return err
	}
	for _, w := range worlds {
		if err := create(ctx, c, configMaps, object("v1", "ConfigMap", name(w, worker), 0)); err != nil {
			return err
		}
		parent, err := c.Resource(w.parents()).Namespace(namespace).Create(ctx,
			object(w.group()+"/v1", "Parent", name(w, worker), size), metav1.CreateOptions{})
		if err != nil {
			return err
		}
		if err := create(ctx, c, w.children(), child(w, name(w, worker), parent)); err != nil {
			return err
		}
		if err := patch(ctx, c.Resource(w.parents()), name(w, worker), `{"spec":{"replicas":%d}}`, 1); err != nil {
			return err
		}
	}
	return nil
}

func child(w world, name string, parent *unstructured.Unstructured) *unstructured.Unstructured {
	obj := object(w.group()+"/v1", "Child", name, 0)
	obj.Object["spec"] = parent.Object["spec"]
	isController := true
	obj.SetOwnerReferences([]metav1.OwnerReference{{
		APIVersion: parent.GetAPIVersion(), Kind: parent.GetKind(), Name: parent.GetName(), UID: parent.GetUID(), Controller: &isController,
	}})
	return obj
}

// object has a spec of about size KiB.
func object(apiVersion, kind, name string, size int) *unstructured.Unstructured {
	obj := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": apiVersion, "kind": kind,
		"metadata": map[string]any{
			"namespace": namespace, "name": name,
			// The bare webhook adds to it.
			"annotations": map[string]any{"bench.example.org/is": "here"},
		},
	}}
	if size == 0 {
		return obj
	}
	const perItem = 64
	var items []any
	for i := range size * 1024 / perItem {
		items = append(items, map[string]any{"name": fmt.Sprintf("item-%06d", i), "value": fmt.Sprintf("value of item %06d", i)})
	}
	obj.Object["spec"] = map[string]any{"replicas": int64(0), "image": "v0", "items": items}
	return obj
}
