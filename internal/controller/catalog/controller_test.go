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

package catalog

import (
	"context"
	"errors"
	"iter"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/controller/controllertest"
	"kausality.io/operator/internal/policy"
	"kausality.io/operator/internal/record"
)

// updatedKinds remember what they were asked to know.
type updatedKinds struct {
	controllertest.Kinds
	named []schema.GroupVersion
	next  time.Duration
	err   error
}

func (k *updatedKinds) Update(_ context.Context, named []schema.GroupVersion) (bool, error) {
	k.named = named
	return false, k.err
}

func (k *updatedKinds) NextUpdate() (time.Duration, bool) { return k.next, k.next > 0 }

func (k *updatedKinds) Known() bool { return k.err == nil }

func (k *updatedKinds) FollowCategories(...string) {}

func (k *updatedKinds) Invalidate(string) bool { return false }

// watchedHolders remember what they were told to watch.
type watchedHolders struct {
	kinds []schema.GroupVersionKind
	err   error
}

func (w *watchedHolders) Watch(_ context.Context, kinds []schema.GroupVersionKind) error {
	w.kinds = kinds
	return w.err
}

func (w *watchedHolders) Failing(schema.GroupKind) bool {
	return w.err != nil && !errors.Is(w.err, context.DeadlineExceeded)
}

func (w *watchedHolders) Reading() bool { return false }

func (w *watchedHolders) Watches(schema.GroupKind) bool { return w.err == nil }

func (w *watchedHolders) List(context.Context, schema.GroupVersionKind) iter.Seq2[*unstructured.Unstructured, error] {
	return func(func(*unstructured.Unstructured, error) bool) {}
}

// recordOfGated returns the record of an object of batch/v1 that was last seen under its
// gate.
func recordOfGated(kind string) *v1alpha1.AllowanceRecord {
	return &v1alpha1.AllowanceRecord{
		ObjectMeta: metav1.ObjectMeta{Name: strings.ToLower(kind)},
		Spec:       v1alpha1.AllowanceRecordSpec{TargetRef: v1alpha1.TargetReference{Group: "batch", Version: "v1", Kind: kind}},
		Status:     v1alpha1.AllowanceRecordStatus{Gated: true},
	}
}

func TestPolicyIndexReconcile(t *testing.T) {
	appsV1, coreV1 := schema.GroupVersion{Group: "apps", Version: "v1"}, schema.GroupVersion{Version: "v1"}
	errAway := errors.New("the API server is away")

	for name, tc := range map[string]struct {
		kinds   updatedKinds
		holders watchedHolders
		want    reconcile.Result
		// then is the result of looking again, where that is another one.
		then    reconcile.Result
		wantErr error
		watched bool
		ready   bool
	}{
		// Objects say under which providers they are gated once they are cached.
		"all known": {want: reconcile.Result{RequeueAfter: definitionsQuiet}, watched: true, ready: true},
		"kinds to look for again": {
			kinds: updatedKinds{next: time.Minute}, want: reconcile.Result{RequeueAfter: definitionsQuiet},
			then: reconcile.Result{RequeueAfter: time.Minute}, watched: true, ready: true,
		},
		"kinds to look for now":   {kinds: updatedKinds{next: 1}, want: reconcile.Result{RequeueAfter: definitionsQuiet}, watched: true, ready: true},
		"kinds not to be learned": {kinds: updatedKinds{err: errAway}, wantErr: errAway, watched: true},
		"objects still missing": {
			holders: watchedHolders{err: context.DeadlineExceeded}, want: reconcile.Result{RequeueAfter: newKindSync}, ready: true,
		},
		"objects not to be had": {holders: watchedHolders{err: errAway}, wantErr: errAway, ready: true},
	} {
		t.Run(name, func(t *testing.T) {
			scheme := runtime.NewScheme()
			if err := v1alpha1.AddToScheme(scheme); err != nil {
				t.Fatal(err)
			}
			tc.kinds.Kinds = controllertest.ServedKinds()
			building := fake.NewClientBuilder().WithScheme(scheme).WithObjects(
				controllertest.Bounding(controllertest.PolicyFor("ReplicaSet"), "", "pods"), controllertest.PolicyFor("Widget"),
				recordOfGated("Job"), recordOfGated("CronJob"),
			)
			if err := record.Index(t.Context(), indexing{building}); err != nil {
				t.Fatal(err)
			}
			reader := building.Build()
			index := &Reconciler{
				Gates:   controllertest.NoGates{},
				Reader:  reader,
				Records: record.NewStore(record.Config{Client: reader}),
				Catalog: New(&policy.Active{}),
				Kinds:   &tc.kinds,
				Holders: &tc.holders,
			}
			got, err := index.Reconcile(t.Context(), everything)
			if !errors.Is(err, tc.wantErr) {
				t.Errorf("Reconcile() = %v, want %v", err, tc.wantErr)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("Reconcile() (-want +got):\n%s", diff)
			}
			if ready := index.Ready(nil) == nil; ready != tc.ready {
				t.Errorf("ready = %t, want %t", ready, tc.ready)
			}
			if known := index.Catalog.Known(); known != (tc.kinds.err == nil) {
				t.Errorf("known = %t, want %t", known, tc.kinds.err == nil)
			}
			order := cmpopts.SortSlices(func(a, b schema.GroupVersion) bool { return a.String() < b.String() })
			if diff := cmp.Diff([]schema.GroupVersion{appsV1, coreV1}, tc.kinds.named, order); diff != "" {
				t.Errorf("named group versions (-want +got):\n%s", diff)
			}
			// Nothing serves Widgets; that nothing serves CronJobs has to be known.
			batchV1 := schema.GroupVersion{Group: "batch", Version: "v1"}
			want := []schema.GroupVersionKind{appsV1.WithKind("ReplicaSet"), batchV1.WithKind("Job")}
			if tc.kinds.err != nil {
				want = append(want, batchV1.WithKind("CronJob"))
			}
			if diff := cmp.Diff(want, tc.holders.kinds, cmpopts.SortSlices(func(a, b schema.GroupVersionKind) bool { return a.String() < b.String() })); diff != "" {
				t.Errorf("kinds to watch (-want +got):\n%s", diff)
			}
			if entry, _ := index.Catalog.Get("ReplicaSet"); entry.Watched != tc.watched {
				t.Errorf("watched = %t, want %t", entry.Watched, tc.watched)
			}
			if tc.then.IsZero() {
				return
			}
			if got, err = index.Reconcile(t.Context(), everything); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.then, got); diff != "" {
				t.Errorf("the second Reconcile() (-want +got):\n%s", diff)
			}
		})
	}
}

// TestConcerning shows by which updates all policies are looked at.
func TestConcerning(t *testing.T) {
	of := func(change func(*v1alpha1.AllowancePolicy)) *v1alpha1.AllowancePolicy {
		p := adoptedAt(controllertest.PolicyFor("Deployment"), 1)
		change(&p)
		return &p
	}
	conditions := func(conditionType, reason string) func(*v1alpha1.AllowancePolicy) {
		return func(p *v1alpha1.AllowancePolicy) {
			p.Status.Conditions = []metav1.Condition{{Type: conditionType, Reason: reason}}
		}
	}
	for name, tc := range map[string]struct {
		change func(*v1alpha1.AllowancePolicy)
		want   bool
	}{
		"another spec":            {change: func(p *v1alpha1.AllowancePolicy) { p.Generation = 2 }, want: true},
		"another one of its name": {change: func(p *v1alpha1.AllowancePolicy) { p.UID = "another" }, want: true},
		"adopted":                 {change: func(p *v1alpha1.AllowancePolicy) { p.Status.AdoptedGeneration = 2 }, want: true},
		"found in conflict":       {change: conditions(v1alpha1.ConditionAccepted, v1alpha1.ReasonConflicted), want: true},
		"enforced":                {change: conditions(v1alpha1.ConditionEnforced, v1alpha1.ReasonEnforced)},
		"a label":                 {change: func(p *v1alpha1.AllowancePolicy) { p.Labels = map[string]string{"team": "ours"} }},
	} {
		t.Run(name, func(t *testing.T) {
			before := of(func(*v1alpha1.AllowancePolicy) {})
			if got := concerning().Update(event.UpdateEvent{ObjectOld: before, ObjectNew: of(tc.change)}); got != tc.want {
				t.Errorf("concerns all policies: %t, want %t", got, tc.want)
			}
		})
	}
}

// indexing has a fake client keep indices.
type indexing struct{ builder *fake.ClientBuilder }

func (i indexing) IndexField(_ context.Context, obj client.Object, field string, extract client.IndexerFunc) error {
	i.builder.WithIndex(obj, field, extract)
	return nil
}
