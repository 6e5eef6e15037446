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

// Package storedversion writes custom resources in the version in which the API server stores them. Where nothing
// converts objects between the versions of a definition, a write in another one, an empty patch included, loses all
// fields that only the stored version has.
package storedversion

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/internal/discovery"
)

// Kinds know in which version objects are stored.
type Kinds interface {
	// ByKind returns the resource of a kind, and false where it is not served.
	ByKind(kind schema.GroupVersionKind) (discovery.Resource, bool)
}

// Client patches unstructured objects in the version in which they are stored, where that is another one than
// their own. The patch has to mean the same in both, as one of metadata does. The object keeps its version and its
// content, and gets the metadata and the status that it has then.
type Client struct {
	client.Client
	// Kinds are those that are served.
	Kinds Kinds
}

// Patch implements client.Client.
func (c *Client) Patch(ctx context.Context, obj client.Object, patch client.Patch, opts ...client.PatchOption) error {
	stored, ok := c.stored(obj)
	if !ok {
		return c.Client.Patch(ctx, obj, patch, opts...)
	}
	return through(obj, stored, patch, func(target client.Object, patch client.Patch) error {
		return c.Client.Patch(ctx, target, patch, opts...)
	})
}

// Status implements client.Client.
func (c *Client) Status() client.SubResourceWriter {
	return &statusWriter{SubResourceWriter: c.Client.Status(), client: c}
}

type statusWriter struct {
	client.SubResourceWriter
	client *Client
}

// Patch implements client.SubResourceWriter. In a version without the sub-resource the status is a part of the object.
func (w *statusWriter) Patch(ctx context.Context, obj client.Object, patch client.Patch, opts ...client.SubResourcePatchOption) error {
	stored, ok := w.client.stored(obj)
	if !ok {
		return w.SubResourceWriter.Patch(ctx, obj, patch, opts...)
	}
	return through(obj, stored, patch, func(target client.Object, patch client.Patch) error {
		if stored.HasStatus {
			return w.SubResourceWriter.Patch(ctx, target, patch, opts...)
		}
		options := (&client.SubResourcePatchOptions{}).ApplyOptions(opts)
		return w.client.Client.Patch(ctx, target, patch, &options.PatchOptions)
	})
}

// stored returns the version in which an object is stored, and false where that is its own, or is not known.
func (c *Client) stored(obj client.Object) (discovery.StoredVersion, bool) {
	if _, ok := obj.(*unstructured.Unstructured); !ok {
		return discovery.StoredVersion{}, false
	}
	resource, ok := c.Kinds.ByKind(obj.GetObjectKind().GroupVersionKind())
	if !ok {
		return discovery.StoredVersion{}, false
	}
	return resource.StoredElsewhere()
}

// through patches an object by way of the version in which it is stored.
func through(obj client.Object, stored discovery.StoredVersion, patch client.Patch, write func(client.Object, client.Patch) error) error {
	gvk := obj.GetObjectKind().GroupVersionKind()
	gvk.Version = stored.Name
	data, err := patch.Data(obj)
	if err == nil && patch.Type() == types.ApplyPatchType {
		data, err = inVersion(data, gvk.GroupVersion().String())
	}
	if err != nil {
		return fmt.Errorf("cannot patch %s %s in version %s: %w", gvk.Kind, client.ObjectKeyFromObject(obj), stored.Name, err)
	}
	target := &unstructured.Unstructured{}
	target.SetGroupVersionKind(gvk)
	target.SetNamespace(obj.GetNamespace())
	target.SetName(obj.GetName())
	if err := write(target, client.RawPatch(patch.Type(), data)); err != nil {
		return err
	}
	patched, _ := obj.(*unstructured.Unstructured) // stored has seen that it is one.
	content := maps.Clone(patched.Object)
	for _, field := range []string{"metadata", "status"} {
		delete(content, field)
		if value, ok := target.Object[field]; ok {
			content[field] = value
		}
	}
	patched.Object = content
	return nil
}

// inVersion returns what is applied in another version.
func inVersion(data []byte, apiVersion string) ([]byte, error) {
	var applied map[string]any
	if err := utiljson.Unmarshal(data, &applied); err != nil {
		return nil, err
	}
	applied["apiVersion"] = apiVersion
	return json.Marshal(applied)
}
