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

package generating

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/flowcontrol"
	"k8s.io/utils/ptr"

	"kausality.io/operator/internal/generate/plan"
)

// DefaultRate is how many objects a second are written for all policies together.
const DefaultRate = 300

// neverWritten is a resourceVersion that no object has any more. An apply that names it creates
// an object, and is a conflict where there is one.
const neverWritten = "1"

// writer writes as service accounts.
type writer struct {
	config *rest.Config
	limit  flowcontrol.RateLimiter

	mu      sync.Mutex
	clients map[string]dynamic.Interface
}

// newWriter returns a writer that writes so many objects a second, and twice as many at once.
func newWriter(config *rest.Config, rate float64) *writer {
	return &writer{
		config: config, limit: flowcontrol.NewTokenBucketRateLimiter(float32(rate), int(2*rate)),
		clients: map[string]dynamic.Interface{},
	}
}

// as returns a client that acts as a service account.
func (w *writer) as(account string) (dynamic.Interface, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if client, ok := w.clients[account]; ok {
		return client, nil
	}
	config := rest.CopyConfig(w.config)
	config.Impersonate = rest.ImpersonationConfig{UserName: account}
	config.RateLimiter = w.limit
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("making a client that acts as %s: %w", account, err)
	}
	w.clients[account] = client
	return client, nil
}

func (w *writer) on(account string, of resource, namespace string) (dynamic.ResourceInterface, error) {
	client, err := w.as(account)
	if err != nil {
		return nil, err
	}
	if !of.namespaced {
		return client.Resource(of.gvr), nil
	}
	return client.Resource(of.gvr).Namespace(namespace), nil
}

// create creates an object by applying it, and fails with a conflict where it is there.
func (w *writer) create(ctx context.Context, account string, of resource, content map[string]any) (*unstructured.Unstructured, error) {
	object := (&unstructured.Unstructured{Object: content}).DeepCopy()
	object.SetResourceVersion(neverWritten)
	return w.apply(ctx, account, of, object)
}

// update applies an object, whoever else has set its fields, and takes data off it that is not
// wanted.
func (w *writer) update(ctx context.Context, account string, of resource, content map[string]any, remove []string) (*unstructured.Unstructured, error) {
	object := &unstructured.Unstructured{Object: content}
	out, err := w.apply(ctx, account, of, object)
	if err != nil || len(remove) == 0 {
		return out, err
	}
	patch := make([]map[string]string, 0, len(remove))
	for _, path := range remove {
		patch = append(patch, map[string]string{"op": "remove", "path": path})
	}
	encoded, err := json.Marshal(patch)
	if err != nil {
		return nil, fmt.Errorf("writing what to remove from %s %s: %w", of.gvk.Kind, object.GetName(), err)
	}
	on, err := w.on(account, of, object.GetNamespace())
	if err != nil {
		return nil, err
	}
	return on.Patch(ctx, object.GetName(), types.JSONPatchType, encoded, metav1.PatchOptions{FieldManager: plan.FieldManager})
}

func (w *writer) apply(ctx context.Context, account string, of resource, object *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	on, err := w.on(account, of, object.GetNamespace())
	if err != nil {
		return nil, err
	}
	return on.Apply(ctx, object.GetName(), object, metav1.ApplyOptions{FieldManager: plan.FieldManager, Force: true})
}

// delete deletes an object, if it is still the one that was looked at.
func (w *writer) delete(ctx context.Context, account string, of resource, object *unstructured.Unstructured) error {
	on, err := w.on(account, of, object.GetNamespace())
	if err != nil {
		return err
	}
	err = on.Delete(ctx, object.GetName(), metav1.DeleteOptions{
		Preconditions:     &metav1.Preconditions{UID: new(object.GetUID()), ResourceVersion: new(object.GetResourceVersion())},
		PropagationPolicy: ptr.To(metav1.DeletePropagationBackground),
	})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
