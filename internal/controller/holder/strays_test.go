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

package holder

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/controller/controllertest"
	"kausality.io/operator/internal/controller/requeue"
	"kausality.io/operator/internal/objectcache"
	"kausality.io/operator/internal/policy"
	"kausality.io/operator/internal/record"
)

// pods are all that there are, by their names.
type pods struct {
	objectcache.Reader
	there map[string]*unstructured.Unstructured
}

func (p pods) Live(_ context.Context, _ schema.GroupVersionKind, key types.NamespacedName) (*unstructured.Unstructured, error) {
	if obj, ok := p.there[key.Name]; ok {
		return obj, nil
	}
	return nil, apierrors.NewNotFound(schema.GroupResource{Resource: "pods"}, key.Name)
}

func TestStraysAreForgotten(t *testing.T) {
	pod := func(name, uid, owner string) *unstructured.Unstructured {
		obj := &unstructured.Unstructured{}
		obj.SetGroupVersionKind(schema.GroupVersionKind{Version: "v1", Kind: "Pod"})
		obj.SetName(name)
		obj.SetUID(types.UID(uid))
		if owner != "" {
			obj.SetOwnerReferences([]metav1.OwnerReference{{
				APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "web", UID: types.UID(owner), Controller: new(true),
			}})
		}
		return obj
	}
	stray := func(name string, age time.Duration) v1alpha1.StrayChild {
		return v1alpha1.StrayChild{UID: types.UID("uid-of-" + name), APIVersion: "v1", Kind: "Pod", Namespace: "shop", Name: name, Time: controllertest.Before(age)}
	}
	target := v1alpha1.TargetReference{Group: "apps", Version: "v1", Kind: "ReplicaSet", Namespace: "shop", Name: "web", UID: "web-uid"}
	rec := &v1alpha1.AllowanceRecord{Spec: v1alpha1.AllowanceRecordSpec{TargetRef: target}}
	rec.Namespace, rec.Name = "shop", record.Name(target)
	rec.Status.Strays = []v1alpha1.StrayChild{
		stray("there", time.Hour), stray("gone", time.Hour), stray("released", time.Hour), stray("made-anew", time.Hour),
		stray("not-stored-yet", time.Minute),
	}
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	c := fake.NewClientBuilder().WithScheme(scheme).WithStatusSubresource(rec).WithObjects(rec).Build()
	active := &policy.Active{}
	active.Set(policy.NewIndex(nil))
	r := &Reconciler{
		Holders: pods{there: map[string]*unstructured.Unstructured{
			"there":          pod("there", "uid-of-there", "web-uid"),
			"released":       pod("released", "uid-of-released", ""),
			"made-anew":      pod("made-anew", "another", "web-uid"),
			"not-stored-yet": pod("not-stored-yet", "uid-of-not-stored-yet", ""),
		}},
		Records:  record.NewStore(record.Config{Client: c, Live: c, OperatorNamespace: "kausality-system"}),
		Policies: active,
		Clock:    clocktesting.NewFakePassiveClock(controllertest.Noon),
	}
	var next requeue.Soonest
	if err := r.forgetStrays(t.Context(), rec, &next); err != nil {
		t.Fatal(err)
	}
	after, err := r.Records.Live(t.Context(), target)
	if err != nil {
		t.Fatal(err)
	}
	var left []string
	for _, s := range after.Status.Strays {
		left = append(left, s.Name)
	}
	if diff := cmp.Diff([]string{"there", "not-stored-yet"}, left); diff != "" {
		t.Errorf("strays (-want +got):\n%s", diff)
	}
	if want := controllertest.Noon.Add(strayGrace - time.Minute); !next.Time.Equal(want) {
		t.Errorf("looks again at %v, want %v", next.Time, want)
	}
}

func TestForgetsWhatWasSetAside(t *testing.T) {
	target := v1alpha1.TargetReference{Group: "apps", Version: "v1", Kind: "ReplicaSet", Namespace: "shop", Name: "web", UID: "web-uid"}
	rec := &v1alpha1.AllowanceRecord{Spec: v1alpha1.AllowanceRecordSpec{TargetRef: target}}
	rec.Namespace, rec.Name = "shop", record.Name(target)
	aside := func(name string, age time.Duration, returned ...time.Duration) v1alpha1.SetAsideChild {
		child := v1alpha1.SetAsideChild{UID: types.UID(name), Kind: "Pod", Name: name, Time: controllertest.Before(age)}
		for _, age := range returned {
			child.Returned = &v1alpha1.ReturnedChild{Initiator: "alice", Time: controllertest.Before(age)}
		}
		return child
	}
	rec.Status.SetAside = []v1alpha1.SetAsideChild{
		aside("kept", time.Hour), aside("old", 24*time.Hour), aside("returned", time.Hour, time.Minute), aside("adopted", time.Hour, 2*time.Minute),
	}
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	c := fake.NewClientBuilder().WithScheme(scheme).WithStatusSubresource(rec).WithObjects(rec).Build()
	clock := clocktesting.NewFakeClock(controllertest.Noon)
	r := &Reconciler{Records: record.NewStore(record.Config{Client: c, Live: c, OperatorNamespace: "kausality-system", Clock: clock}), Clock: clock}
	var next requeue.Soonest
	if err := r.forgetSetAside(t.Context(), rec, &next); err != nil {
		t.Fatal(err)
	}
	after, err := r.Records.Live(t.Context(), target)
	if err != nil {
		t.Fatal(err)
	}
	var left []string
	for _, c := range after.Status.SetAside {
		left = append(left, c.Name)
	}
	if diff := cmp.Diff([]string{"kept", "returned"}, left); diff != "" {
		t.Errorf("set aside (-want +got):\n%s", diff)
	}
	if want := controllertest.Noon.Add(time.Minute); !next.Time.Equal(want) {
		t.Errorf("looks again at %v, want %v", next.Time, want)
	}
}
