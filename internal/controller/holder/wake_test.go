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
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/cache/informertest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/baseline"
	"kausality.io/operator/internal/controller/conditions"
	"kausality.io/operator/internal/controller/controllertest"
	"kausality.io/operator/internal/controller/requeue"
	"kausality.io/operator/internal/controller/writeloop"
	"kausality.io/operator/internal/objectcache"
	"kausality.io/operator/internal/policy"
	"kausality.io/operator/internal/record"
	"kausality.io/operator/internal/upgrade"
)

// noHolders are none beside the one that is looked at.
type noHolders struct{ objectcache.Reader }

func (noHolders) Get(_ context.Context, gvk schema.GroupVersionKind, key client.ObjectKey) (*unstructured.Unstructured, error) {
	return nil, apierrors.NewNotFound(schema.GroupResource{Group: gvk.Group, Resource: gvk.Kind}, key.Name)
}

// liveHolder is the one that is looked at, read from the API server.
type liveHolder struct {
	noHolders
	w *waiting
}

func (l liveHolder) Live(context.Context, schema.GroupVersionKind, client.ObjectKey) (*unstructured.Unstructured, error) {
	return l.w.holder(), nil
}

// indexing gives a fake client the indices of a cache.
type indexing struct{ *fake.ClientBuilder }

func (i indexing) IndexField(_ context.Context, obj client.Object, field string, values client.IndexerFunc) error {
	i.WithIndex(obj, field, values)
	return nil
}

// waiting is a Deployment that shows that it is blocked, as an API server has it, with its record.
type waiting struct {
	t *testing.T
	r *Reconciler
	// shows has what the Deployment shows after each write of it.
	shows []bool
	// refuses is what the API server says to whoever creates something, nil for nothing.
	refuses error
}

const waitingUser = "system:serviceaccount:crossplane-system:crossplane"

// helpful returns an UpgradeAllowance that lets through what was denied.
func helpful() *upgrade.Allowance {
	return &upgrade.Allowance{Name: "upgrade", Generation: 2, User: waitingUser, Entries: []policy.Entry{{Kind: schema.GroupKind{Kind: "ReplicaSet"}}}}
}

func newWaiting(t *testing.T) *waiting {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{appsv1.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	w := &waiting{t: t}
	obj := makeHolder()
	rec := &v1alpha1.AllowanceRecord{Spec: v1alpha1.AllowanceRecordSpec{TargetRef: record.TargetOf(obj.Unstructured), LedgerKnown: true}}
	rec.Namespace, rec.Name = "shop", record.Name(rec.Spec.TargetRef)
	rec.Status = denied(1)
	rec.Status.LastDenial.User = waitingUser
	building := fake.NewClientBuilder().WithScheme(scheme)
	if err := record.Index(t.Context(), indexing{building}); err != nil {
		t.Fatal(err)
	}
	c := building.WithStatusSubresource(rec, &appsv1.Deployment{}).
		WithObjects(obj.Unstructured, rec).WithInterceptorFuncs(interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.CreateOption) error {
			if w.refuses != nil {
				return w.refuses
			}
			return c.Create(ctx, obj, opts...)
		},
		SubResourcePatch: func(ctx context.Context, c client.Client, name string, obj client.Object, patch client.Patch, opts ...client.SubResourcePatchOption) error {
			err := c.SubResource(name).Patch(ctx, obj, patch, opts...)
			w.shows = append(w.shows, conditions.ShowsBlocked(w.holder()))
			return err
		},
	}).Build()
	active := &policy.Active{}
	active.Set(policy.NewIndex(nil))
	w.r = &Reconciler{
		Client: c, Holders: noHolders{}, Policies: active, Clock: clocktesting.NewFakePassiveClock(controllertest.Noon),
		Records: record.NewStore(record.Config{Client: c, Live: c, OperatorNamespace: "kausality-system"}),
	}
	return w
}

// holder returns the Deployment as it is now.
func (w *waiting) holder() *unstructured.Unstructured {
	w.t.Helper()
	obj := makeHolder().DeepCopy()
	if err := w.r.Get(w.t.Context(), client.ObjectKeyFromObject(obj), obj); err != nil {
		w.t.Fatal(err)
	}
	return obj
}

// record returns its record as it is now.
func (w *waiting) record() *v1alpha1.AllowanceRecord {
	w.t.Helper()
	rec, err := w.r.Records.Live(w.t.Context(), record.TargetOf(makeHolder().Unstructured))
	if err != nil || rec == nil {
		w.t.Fatalf("reading the record: %v, %v", rec, err)
	}
	return rec
}

// look has a look at the Deployment, with the record and the UpgradeAllowances that caches have.
func (w *waiting) look(obj *unstructured.Unstructured, rec *v1alpha1.AllowanceRecord, upgrades ...*upgrade.Allowance) {
	w.t.Helper()
	v := look(obj, nil, controllertest.Noon)
	v.upgrades = upgrades
	if err := w.r.mirror(w.t.Context(), v, rec, &requeue.Soonest{}); err != nil {
		w.t.Fatal(err)
	}
}

// flush has what waits to be written about the Deployment written.
func (w *waiting) flush() {
	w.t.Helper()
	ended, end := context.WithCancel(w.t.Context())
	end()
	if err := w.r.Records.Start(ended); err != nil {
		w.t.Fatal(err)
	}
}

func (w *waiting) showed(want ...bool) {
	w.t.Helper()
	if diff := cmp.Diff(want, w.shows); diff != "" {
		w.t.Errorf("it showed with each write whether it is blocked (-want +got):\n%s", diff)
	}
}

// isBlocked has the Deployment show that it is blocked, and returns its record.
func (w *waiting) isBlocked() *v1alpha1.AllowanceRecord {
	w.t.Helper()
	w.look(w.holder(), w.record())
	w.flush()
	w.look(w.holder(), w.record())
	w.showed(true)
	return w.record()
}

// TestWokenOnce has a holder woken once by an UpgradeAllowance, also where the cache has its record
// from before that.
func TestWokenOnce(t *testing.T) {
	w := newWaiting(t)
	before := w.isBlocked()
	w.look(w.holder(), before, helpful())
	w.showed(true, false)

	w.look(w.holder(), before, helpful())
	w.look(w.holder(), before, helpful())
	w.flush()
	w.look(w.holder(), w.record(), helpful())
	w.showed(true, false)
	if status := w.record().Status; status.Blocked != nil || status.AnsweredDenials != 1 {
		t.Errorf("it is blocked: %v, %d denials are answered", status.Blocked, status.AnsweredDenials)
	}
}

// TestLeftForGood has what nothing bounds any more, and then a policy again, wait for nothing.
func TestLeftForGood(t *testing.T) {
	w := newWaiting(t)
	w.isBlocked()
	v := look(w.holder(), nil, controllertest.Noon)
	w.r.Baseline, w.r.Holders = baseline.New(baseline.Config{}), liveHolder{w: w}
	if err := w.r.leave(t.Context(), v.request(), &requeue.Soonest{}); err != nil {
		t.Fatal(err)
	}
	if status := w.record().Status; status.Blocked != nil || status.AnsweredDenials != status.Denials {
		t.Errorf("it is blocked: %v, %d of %d denials are answered", status.Blocked, status.AnsweredDenials, status.Denials)
	}
	w.look(w.holder(), w.record())
	w.flush()
	w.look(w.holder(), w.record())
	w.showed(true, false)
}

// TestRecover has a record put back that somebody deleted, and one that goes with its namespace go
// without a word.
func TestRecover(t *testing.T) {
	terminating := apierrors.NewForbidden(schema.GroupResource{Resource: "allowancerecords"}, "any", errors.New("no"))
	terminating.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}
	for name, tt := range map[string]struct {
		refuses error
		told    int
	}{
		"somebody deleted it":    {told: 1},
		"it goes with all there": {refuses: terminating},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWaiting(t)
			objects := &informertest.FakeInformers{Scheme: w.r.Scheme()}
			if err := w.r.Records.Follow(t.Context(), objects); err != nil {
				t.Fatal(err)
			}
			informer, err := objects.FakeInformerFor(t.Context(), &v1alpha1.AllowanceRecord{})
			if err != nil {
				t.Fatal(err)
			}
			rec := w.record()
			if err := w.r.Delete(t.Context(), rec.DeepCopy()); err != nil {
				t.Fatal(err)
			}
			informer.Delete(rec)
			told := events.NewFakeRecorder(2)
			w.r.Events, w.refuses = told, tt.refuses
			v := look(w.holder(), nil, controllertest.Noon)
			got, waits, err := w.r.recover(t.Context(), &v, nil, &requeue.Soonest{})
			if err != nil || waits {
				t.Errorf("it waits: %t, %v", waits, err)
			}
			if (got != nil) != (tt.refuses == nil) || len(told.Events) != tt.told || v.isLost {
				t.Errorf("record %v, %d events, lost: %t", got, len(told.Events), v.isLost)
			}
		})
	}
}

// denies notes a denial that was decided while the Deployment showed that it is blocked, or did
// not, when another generation of the UpgradeAllowance was there.
func (w *waiting) denies(shown bool) {
	w.t.Helper()
	d := denied(1).LastDenial
	d.User, d.Upgrades = waitingUser, []string{"upgrade/1"}
	w.r.Records.Observe(record.Outcome{Target: record.TargetOf(makeHolder().Unstructured), Decision: d, Shown: shown})
}

// TestDenialsAroundTheWake has each denial followed by a wake, whenever it is recorded, and by
// one only.
func TestDenialsAroundTheWake(t *testing.T) {
	tests := map[string]struct {
		// before has a denial recorded before the Deployment is woken, and then one after it.
		before, then []bool
		want         []bool
	}{
		"none":                      {want: []bool{true, false}},
		"one is recorded before it": {before: []bool{true}, want: []bool{true, false}},
		"one that was before it is recorded late":   {then: []bool{true}, want: []bool{true, false}},
		"one by a replica that knows of it late":    {then: []bool{false}, want: []bool{true, false, true, false}},
		"one before, and one by such a replica":     {before: []bool{true}, then: []bool{false}, want: []bool{true, false, true, false}},
		"one that is late, and one by such replica": {then: []bool{true, false}, want: []bool{true, false, true, false}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWaiting(t)
			blocked := w.isBlocked()
			for _, shown := range tt.before {
				w.denies(shown)
			}
			w.look(w.holder(), blocked, helpful())
			for _, shown := range tt.then {
				w.denies(shown)
			}
			for range 3 {
				w.flush()
				w.look(w.holder(), w.record(), helpful())
			}
			w.showed(tt.want...)
			if status := w.record().Status; status.Blocked != nil || status.AnsweredDenials != status.Denials {
				t.Errorf("it is blocked: %v, %d of %d denials are answered", status.Blocked, status.AnsweredDenials, status.Denials)
			}
		})
	}
}

// TestShownWhenALoopIsForgotten has a holder looked at again on which nothing is shown for a while:
// what it waits for may come meanwhile, and nobody would be woken by it.
func TestShownWhenALoopIsForgotten(t *testing.T) {
	w := newWaiting(t)
	w.look(w.holder(), w.record())
	w.flush()
	w.r.Loops = writeloop.NewFinder()
	req := look(w.holder(), nil, controllertest.Noon).request()
	for i := range 40 {
		obj := w.holder()
		obj.SetResourceVersion(fmt.Sprint("written-", i))
		w.r.Loops.Saw(req, obj, controllertest.Noon)
	}
	until, loops := w.r.Loops.GoesOn(req, controllertest.Noon)
	if !loops {
		t.Fatal("it is in no loop")
	}
	var next requeue.Soonest
	if err := w.r.mirror(t.Context(), look(w.holder(), nil, controllertest.Noon), w.record(), &next); err != nil {
		t.Fatal(err)
	}
	w.showed()
	if !next.Time.Equal(until) {
		t.Errorf("looks again at %v, want %v", next.Time, until)
	}
}
