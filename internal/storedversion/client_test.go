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

package storedversion_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"kausality.io/operator/internal/discovery"
	"kausality.io/operator/internal/storedversion"
)

var gvk = schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Thing"}

// stored is a kind of which objects are stored as it says.
type stored discovery.Resource

func (s stored) ByKind(kind schema.GroupVersionKind) (discovery.Resource, bool) {
	return discovery.Resource(s), kind == gvk
}

// request is what the API server is asked.
type request struct {
	APIVersion, Subresource string
	Type                    types.PatchType
	Data                    map[string]any
}

func TestPatch(t *testing.T) {
	elsewhere := stored{Stored: "v2", Versions: map[string][]string{"v2": {"status"}}}
	withoutStatus := stored{Stored: "v2", Versions: map[string][]string{"v2": nil}}
	here := stored{Versions: map[string][]string{"v2": {"status"}}}
	annotate := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"annotations":{"a":"b"}}}`))
	annotated := map[string]any{"metadata": map[string]any{"annotations": map[string]any{"a": "b"}}}
	apply := client.RawPatch(types.ApplyPatchType, []byte(`{"apiVersion":"example.com/v1","kind":"Thing","status":{"phase":"Ready"}}`))
	applied := map[string]any{"apiVersion": "example.com/v2", "kind": "Thing", "status": map[string]any{"phase": "Ready"}}
	for name, tc := range map[string]struct {
		kinds  stored
		kind   string
		patch  client.Patch
		status bool
		want   request
	}{
		"stored in its own version":      {kinds: here, patch: annotate, want: request{"example.com/v1", "", types.MergePatchType, annotated}},
		"stored in another one":          {kinds: elsewhere, patch: annotate, want: request{"example.com/v2", "", types.MergePatchType, annotated}},
		"another kind":                   {kinds: elsewhere, kind: "Other", patch: annotate, want: request{"example.com/v1", "", types.MergePatchType, annotated}},
		"the status":                     {kinds: elsewhere, patch: apply, status: true, want: request{"example.com/v2", "status", types.ApplyPatchType, applied}},
		"the status, where it is inside": {kinds: withoutStatus, patch: apply, status: true, want: request{"example.com/v2", "", types.ApplyPatchType, applied}},
		"the status, of its own version": {kinds: here, patch: annotate, status: true, want: request{"example.com/v1", "status", types.MergePatchType, annotated}},
	} {
		t.Run(name, func(t *testing.T) {
			var got request
			note := func(subresource string, obj client.Object, patch client.Patch) error {
				got = request{APIVersion: obj.GetObjectKind().GroupVersionKind().GroupVersion().String(), Subresource: subresource, Type: patch.Type()}
				data, err := patch.Data(obj)
				obj.SetResourceVersion("8")
				return errors.Join(err, json.Unmarshal(data, &got.Data))
			}
			c := &storedversion.Client{Kinds: tc.kinds, Client: interceptor.NewClient(fake.NewClientBuilder().Build(), interceptor.Funcs{
				Patch: func(_ context.Context, _ client.WithWatch, obj client.Object, patch client.Patch, _ ...client.PatchOption) error {
					return note("", obj, patch)
				},
				SubResourcePatch: func(_ context.Context, _ client.Client, subresource string, obj client.Object, patch client.Patch, _ ...client.SubResourcePatchOption) error {
					return note(subresource, obj, patch)
				},
			})}
			obj := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"size": int64(1)}}}
			obj.SetGroupVersionKind(gvk)
			if tc.kind != "" {
				obj.SetKind(tc.kind)
			}
			before := obj.DeepCopy()
			var err error
			if tc.status {
				err = c.Status().Patch(t.Context(), obj, tc.patch)
			} else {
				err = c.Patch(t.Context(), obj, tc.patch)
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("request (-want +got):\n%s", diff)
			}
			if obj.GetResourceVersion() != "8" || obj.GetAPIVersion() != before.GetAPIVersion() || !cmp.Equal(obj.Object["spec"], before.Object["spec"]) {
				t.Errorf("the object is %v then", obj)
			}
		})
	}
}
