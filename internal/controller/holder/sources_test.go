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

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	fakeinformers "sigs.k8s.io/controller-runtime/pkg/controller/controllertest"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/ancestry"
	"kausality.io/operator/internal/objectcache"
	"kausality.io/operator/internal/record"
)

func TestMatters(t *testing.T) {
	enforced := metav1.Condition{Type: v1alpha1.ConditionEnforced, Status: metav1.ConditionTrue, Reason: "Enforced", ObservedGeneration: 1}
	for name, tc := range map[string]struct {
		change func(p *v1alpha1.AllowancePolicy)
		want   bool
	}{
		"nothing":             {change: func(*v1alpha1.AllowancePolicy) {}},
		"what it says":        {change: func(p *v1alpha1.AllowancePolicy) { p.Generation++ }, want: true},
		"that it goes":        {change: func(p *v1alpha1.AllowancePolicy) { p.DeletionTimestamp = new(metav1.Now()) }, want: true},
		"how many it affects": {change: func(p *v1alpha1.AllowancePolicy) { p.Status.Affected = new(int64(7)) }},
		"a label":             {change: func(p *v1alpha1.AllowancePolicy) { p.Labels = map[string]string{"a": "b"} }},
		"a message": {change: func(p *v1alpha1.AllowancePolicy) {
			enforced := enforced
			enforced.Message = "It is."
			apimeta.SetStatusCondition(&p.Status.Conditions, enforced)
		}},
		"that it is in effect no more": {change: func(p *v1alpha1.AllowancePolicy) {
			enforced := enforced
			enforced.Status = metav1.ConditionFalse
			apimeta.SetStatusCondition(&p.Status.Conditions, enforced)
		}, want: true},
		"that what it says now is in effect": {change: func(p *v1alpha1.AllowancePolicy) {
			enforced := enforced
			enforced.ObservedGeneration = 2
			apimeta.SetStatusCondition(&p.Status.Conditions, enforced)
		}, want: true},
		"a condition that is new": {change: func(p *v1alpha1.AllowancePolicy) {
			apimeta.SetStatusCondition(&p.Status.Conditions, metav1.Condition{Type: "Other", Status: metav1.ConditionFalse, Reason: "New"})
		}, want: true},
	} {
		t.Run(name, func(t *testing.T) {
			before := &v1alpha1.AllowancePolicy{
				ObjectMeta: metav1.ObjectMeta{Name: "web", Generation: 1},
				Status:     v1alpha1.AllowancePolicyStatus{Conditions: []metav1.Condition{enforced}},
			}
			after := before.DeepCopy()
			tc.change(after)
			if got := matters(before, after); got != tc.want {
				t.Errorf("matters() = %t", got)
			}
		})
	}
}

// namespaceEvents hands its handler to the test, which plays what happens to namespaces.
type namespaceEvents struct {
	*fakeinformers.FakeInformer

	handlers chan toolscache.ResourceEventHandler
}

func (e namespaceEvents) AddEventHandlerWithOptions(
	handler toolscache.ResourceEventHandler, _ toolscache.HandlerOptions,
) (toolscache.ResourceEventHandlerRegistration, error) {
	e.handlers <- handler
	return e.AddEventHandler(handler)
}

// cachedRecords is an informer of the records that a cache has.
type cachedRecords struct {
	*fakeinformers.FakeInformer

	store toolscache.Store
}

func (r cachedRecords) GetStore() toolscache.Store { return r.store }

// informers of a cache.
type informers struct {
	cache.Cache

	namespaces namespaceEvents
	records    cachedRecords
}

func (i informers) GetInformer(_ context.Context, obj client.Object, _ ...cache.InformerGetOption) (cache.Informer, error) {
	if _, ok := obj.(*v1alpha1.AllowanceRecord); ok {
		return i.records, nil
	}
	return i.namespaces, nil
}

func (informers) WaitForCacheSync(context.Context) bool { return true }

// TestNamespaceSource has those looked at that wait in a namespace which is relabelled.
func TestNamespaceSource(t *testing.T) {
	store := toolscache.NewStore(toolscache.MetaNamespaceKeyFunc)
	waiting := func(namespace, name string, blocked *v1alpha1.Blocked) objectcache.Request {
		target := v1alpha1.TargetReference{Group: "apps", Version: "v1", Kind: "Deployment", Namespace: namespace, Name: name}
		rec := &v1alpha1.AllowanceRecord{Spec: v1alpha1.AllowanceRecordSpec{TargetRef: target}, Status: v1alpha1.AllowanceRecordStatus{Blocked: blocked}}
		rec.Namespace, rec.Name = namespace, name
		if err := store.Add(rec); err != nil {
			t.Fatal(err)
		}
		return objectcache.RequestFor(record.GVK(target), record.Key(target))
	}
	want := waiting("shop", "web", &v1alpha1.Blocked{})
	waiting("shop", "idle", nil)
	waiting("other", "web", &v1alpha1.Blocked{})
	events := namespaceEvents{FakeInformer: fakeinformers.NewFakeInformer(fakeinformers.Synced), handlers: make(chan toolscache.ResourceEventHandler, 1)}
	objects := informers{namespaces: events, records: cachedRecords{fakeinformers.NewFakeInformer(fakeinformers.Synced), store}}
	queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[objectcache.Request]())
	defer queue.ShutDown()
	if err := namespaceSource(objects).Start(t.Context(), queue); err != nil {
		t.Fatal(err)
	}
	handler := <-events.handlers
	before, after := ancestry.NewNamespace(), ancestry.NewNamespace()
	before.SetName("shop")
	after.SetName("shop")
	after.SetLabels(map[string]string{"stage": "canary"})
	handler.OnUpdate(before, before.DeepCopy())
	handler.OnUpdate(before, after)
	time.AfterFunc(10*time.Second, queue.ShutDown)
	if got, _ := queue.Get(); got != want {
		t.Errorf("looked at %v, want %v", got, want)
	}
	if queue.Len() > 0 {
		t.Errorf("%d more are looked at", queue.Len())
	}
}
