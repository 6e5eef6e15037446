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

package gate

import (
	"context"
	"errors"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"kausality.io/operator/internal/lineage"
	"kausality.io/operator/internal/objectcache"
)

// only is a cache that has one object at most.
type only struct {
	objectcache.Reader

	obj *unstructured.Unstructured
}

func (o only) Get(context.Context, schema.GroupVersionKind, types.NamespacedName) (*unstructured.Unstructured, error) {
	if o.obj == nil {
		return nil, errors.New("not found")
	}
	return o.obj, nil
}

func (o only) ByUID(ctx context.Context, _ types.UID) (*unstructured.Unstructured, error) {
	return o.Get(ctx, schema.GroupVersionKind{}, types.NamespacedName{})
}

// going are the namespaces that are being deleted.
type going map[string]bool

func (going) Labels(context.Context, string) map[string]string { return map[string]string{} }

func (g going) IsGoing(_ context.Context, name string) bool { return g[name] }

func TestGoes(t *testing.T) {
	of := func(namespace string, deleted bool) *unstructured.Unstructured {
		obj := &unstructured.Unstructured{Object: map[string]any{}}
		obj.SetAPIVersion("example.com/v1")
		obj.SetKind("Database")
		obj.SetNamespace(namespace)
		obj.SetName("main")
		obj.SetUID("u1")
		if deleted {
			obj.SetDeletionTimestamp(new(metav1.Now()))
		}
		return obj
	}
	for name, tc := range map[string]struct {
		parent *unstructured.Unstructured
		want   bool
	}{
		"stays":                      {parent: of("stays", false)},
		"is gone":                    {want: true},
		"is being deleted":           {parent: of("stays", true), want: true},
		"will go with its namespace": {parent: of("goes", false), want: true},
		"is in no namespace":         {parent: of("", false)},
	} {
		t.Run(name, func(t *testing.T) {
			r := &Reconciler{Holders: only{obj: tc.parent}, Namespaces: going{"goes": true, "": true}}
			parent := lineage.Ref{
				GVK: schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Database"}, Name: "main", UID: "u1",
			}
			if tc.parent != nil {
				parent.Namespace = tc.parent.GetNamespace()
			}
			if got := r.goes(t.Context(), parent); got != tc.want {
				t.Errorf("goes() = %t, want %t", got, tc.want)
			}
		})
	}
}
