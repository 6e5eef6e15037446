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
	"iter"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/gate/crossplane"
	"kausality.io/operator/internal/lineage"
	"kausality.io/operator/internal/objectcache"
	"kausality.io/operator/internal/record"
)

// nothingElse is a cache without other objects.
type nothingElse struct{ objectcache.Reader }

func (nothingElse) List(context.Context, schema.GroupVersionKind) iter.Seq2[*unstructured.Unstructured, error] {
	return func(func(*unstructured.Unstructured, error) bool) {}
}

// indexing gives a fake client the indices of a cache.
type indexing struct{ *fake.ClientBuilder }

func (i indexing) IndexField(_ context.Context, obj client.Object, field string, values client.IndexerFunc) error {
	i.WithIndex(obj, field, values)
	return nil
}

// TestStrayIsHeld has the controller keep a stray of what is gone from taking along what it stands for.
func TestStrayIsHeld(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	for name, stray := range map[string]bool{"a stray": true, "another child": false} {
		t.Run(name, func(t *testing.T) {
			rec := &v1alpha1.AllowanceRecord{}
			rec.Name, rec.Namespace = "database-main", "shop"
			rec.Spec.TargetRef = v1alpha1.TargetReference{Version: "v1", Kind: "Database", Namespace: "shop", Name: "main", UID: "parent"}
			if stray {
				rec.Status.Strays = []v1alpha1.StrayChild{{UID: "bucket"}}
			}
			builder := fake.NewClientBuilder().WithScheme(scheme).WithObjects(rec)
			if err := record.Index(t.Context(), indexing{builder}); err != nil {
				t.Fatal(err)
			}
			c := builder.Build()
			r := &Reconciler{Holders: nothingElse{}, Records: record.NewStore(record.Config{Client: c, Live: c})}
			b := newBucket().gated().held(`{"user":"bob"}`)
			b.obj.SetUID("bucket")
			v := look(b.obj, crossplane.Driver{}, bucketKind, present)
			if err := r.placeStray(t.Context(), &v, lineage.Ref{UID: types.UID("parent")}); err != nil {
				t.Fatal(err)
			}
			p := v.plan()
			if v.stray != stray || strings.Contains(p.situation.message, "adopted it without a cause") != stray {
				t.Errorf("stray = %t: %s", v.stray, p.situation.message)
			}
		})
	}
}
