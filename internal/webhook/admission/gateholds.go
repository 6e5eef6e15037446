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

package admission

import (
	"context"
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// AnnotationWriter writes annotations of objects.
type AnnotationWriter struct {
	// Client writes to the API server.
	Client client.Client
}

var _ Holds = AnnotationWriter{}

// Hold implements Holds. An object that was made anew under the name is another one.
func (w AnnotationWriter) Hold(ctx context.Context, obj *unstructured.Unstructured, annotations map[string]string) error {
	patch, err := json.Marshal(map[string]any{fieldMetadata: map[string]any{"uid": obj.GetUID(), "annotations": annotations}})
	if err != nil {
		return fmt.Errorf("encoding annotations: %w", err)
	}
	target := &unstructured.Unstructured{}
	target.SetGroupVersionKind(obj.GroupVersionKind())
	target.SetNamespace(obj.GetNamespace())
	target.SetName(obj.GetName())
	return client.IgnoreNotFound(w.Client.Patch(ctx, target, client.RawPatch(types.MergePatchType, patch)))
}
