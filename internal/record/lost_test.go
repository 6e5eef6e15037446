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

package record

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/ledger"
)

// storing makes a Store with records.
func storing(t *testing.T, records ...client.Object) *Store {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	c := fake.NewClientBuilder().WithScheme(scheme).WithStatusSubresource(&v1alpha1.AllowanceRecord{}).WithObjects(records...).Build()
	return NewStore(Config{Client: c, Live: c, OperatorNamespace: "kausality-system"})
}

// recordNamed returns recordWith as the API server has it.
func recordNamed(status v1alpha1.AllowanceRecordStatus) *v1alpha1.AllowanceRecord {
	rec := recordWith(status)
	rec.Spec.LedgerKnown = false
	rec.Namespace, rec.Name, rec.UID = "kausality-system", Name(rec.Spec.TargetRef), "before"
	return rec
}

func TestLostRecord(t *testing.T) {
	used := []v1alpha1.ConsumedAllowance{{ID: "used", Generation: 4}}
	steady := v1alpha1.AllowanceRecordStatus{Phase: v1alpha1.PhaseSteady, Consumed: used, Denials: 2}
	over := steady
	over.EndedAt = new(metav1.Now())
	for name, tc := range map[string]struct {
		status v1alpha1.AllowanceRecordStatus
		// event makes one of the deleted record.
		event func(*v1alpha1.AllowanceRecord) any
		lost  bool
	}{
		"of what lives":                {status: steady, lost: true},
		"of what lives, told later":    {status: steady, lost: true, event: func(rec *v1alpha1.AllowanceRecord) any { return toolscache.DeletedFinalStateUnknown{Obj: rec} }},
		"of what has ended":            {status: over},
		"that knows nothing of it yet": {status: v1alpha1.AllowanceRecordStatus{Denials: 2}},
	} {
		t.Run(name, func(t *testing.T) {
			s := storing(t)
			var event any = recordNamed(tc.status)
			if tc.event != nil {
				event = tc.event(recordNamed(tc.status))
			}
			s.gone(event)
			ref := TargetOf(holder(0))
			if got := s.IsLost(t.Context(), ref); got != tc.lost {
				t.Fatalf("IsLost() = %t, want %t", got, tc.lost)
			}
			if !tc.lost {
				return
			}
			for what, get := range map[string]func() (*v1alpha1.AllowanceRecord, error){
				"Get":  func() (*v1alpha1.AllowanceRecord, error) { return s.Get(t.Context(), ref) },
				"Live": func() (*v1alpha1.AllowanceRecord, error) { return s.Live(t.Context(), ref) },
			} {
				if rec, err := get(); err != nil || rec == nil || !cmp.Equal(rec.Status.Consumed, used) {
					t.Errorf("%s: %v, %v; want the record as it was", what, rec, err)
				}
			}
			// Whoever writes first puts it back.
			err := s.AddPending(t.Context(), ref, v1alpha1.PendingGrant{ID: "new"}, nil)
			if err != nil {
				t.Fatal(err)
			}
			rec, err := s.stored(t.Context(), ref)
			if err != nil {
				t.Fatal(err)
			}
			if len(rec.Status.PendingGrants) != 1 || !cmp.Equal(rec.Status.Consumed, used) || rec.Status.Denials != 2 {
				t.Errorf("restored as %+v", rec.Status)
			}
			s.seen(rec)
			if s.IsLost(t.Context(), ref) {
				t.Error("it is lost although it is back")
			}
		})
	}
}

// What the cache has forgotten it has not told of yet.
func TestLostRecordThatNothingHasToldOfYet(t *testing.T) {
	used := []v1alpha1.ConsumedAllowance{{ID: "used", Generation: 4}}
	ref := TargetOf(holder(0))
	for name, ask := range map[string]func(context.Context, *Store) (*v1alpha1.AllowanceRecord, error){
		"Get":  func(ctx context.Context, s *Store) (*v1alpha1.AllowanceRecord, error) { return s.Get(ctx, ref) },
		"Live": func(ctx context.Context, s *Store) (*v1alpha1.AllowanceRecord, error) { return s.Live(ctx, ref) },
		"Restore": func(ctx context.Context, s *Store) (*v1alpha1.AllowanceRecord, error) {
			if !s.IsLost(ctx, ref) {
				return nil, errors.New("it is not lost")
			}
			return s.Restore(ctx, ref)
		},
		"Update": func(ctx context.Context, s *Store) (*v1alpha1.AllowanceRecord, error) {
			if err := s.Update(ctx, ref, true, func(status *v1alpha1.AllowanceRecordStatus) bool {
				status.Phase = v1alpha1.PhaseInitializing
				return true
			}); err != nil {
				return nil, err
			}
			return s.stored(ctx, ref)
		},
		"KeepLedger": func(ctx context.Context, s *Store) (*v1alpha1.AllowanceRecord, error) {
			if err := s.KeepLedger(ctx, ref, "above", nil); err != nil {
				return nil, err
			}
			return s.stored(ctx, ref)
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := storing(t)
				lost := recordNamed(v1alpha1.AllowanceRecordStatus{Phase: v1alpha1.PhaseSteady, Consumed: used})
				s.seen(lost)
				var rec *v1alpha1.AllowanceRecord
				var err error
				go func() { rec, err = ask(t.Context(), s) }()
				synctest.Wait()
				s.gone(lost)
				synctest.Wait()
				if err != nil || rec == nil || !cmp.Equal(rec.Status.Consumed, used) {
					t.Errorf("%v, %v; want the record as it was", rec, err)
				}
			})
		})
	}
}

// What the API server has no more the cache may have yet.
func TestLostRecordThatTheCacheStillHas(t *testing.T) {
	used := []v1alpha1.ConsumedAllowance{{ID: "used", Generation: 4}}
	lost := recordNamed(v1alpha1.AllowanceRecordStatus{Phase: v1alpha1.PhaseSteady, Consumed: used})
	since := recordNamed(v1alpha1.AllowanceRecordStatus{Denials: 1})
	since.UID = "since"
	for name, live := range map[string][]client.Object{"gone": nil, "made anew": {since}} {
		t.Run(name, func(t *testing.T) {
			behind, now := storing(t, lost.DeepCopy()), storing(t, live...)
			s := NewStore(Config{
				Client:            behindClient{Client: now.client, cache: behind.client},
				Live:              now.client,
				OperatorNamespace: "kausality-system",
			})
			s.seen(lost)
			if err := s.Update(t.Context(), TargetOf(holder(0)), true, func(status *v1alpha1.AllowanceRecordStatus) bool {
				status.Strays = append(status.Strays, v1alpha1.StrayChild{UID: "stray"})
				return true
			}); err != nil {
				t.Fatal(err)
			}
			rec, err := s.stored(t.Context(), TargetOf(holder(0)))
			if err != nil {
				t.Fatal(err)
			}
			if rec.UID == lost.UID || !cmp.Equal(rec.Status.Consumed, used) || rec.Status.Phase != v1alpha1.PhaseSteady || len(rec.Status.Strays) != 1 {
				t.Errorf("restored as %+v", rec.Status)
			}
		})
	}
}

// behindClient reads from a cache that has not heard of what is written.
type behindClient struct {
	client.Client
	cache client.Reader
}

func (c behindClient) Get(ctx context.Context, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
	return c.cache.Get(ctx, key, obj, opts...)
}

// A record that somebody makes anew of something else does not take the place of a lost one.
func TestRestoreKeepsWhatCameSince(t *testing.T) {
	since := recordNamed(v1alpha1.AllowanceRecordStatus{
		Denials: 1, PendingGrants: []v1alpha1.PendingGrant{{ID: "new"}}, Deletion: &v1alpha1.Deletion{User: "bob"},
	})
	since.UID = "since"
	s := storing(t, since)
	s.gone(recordNamed(v1alpha1.AllowanceRecordStatus{
		Phase: v1alpha1.PhaseSteady, Denials: 2, Consumed: []v1alpha1.ConsumedAllowance{{ID: "used"}},
		PendingGrants: []v1alpha1.PendingGrant{{ID: "old"}},
	}))
	rec, err := s.Restore(t.Context(), TargetOf(holder(0)))
	if err != nil {
		t.Fatal(err)
	}
	status := rec.Status
	if len(status.PendingGrants) != 2 || len(status.Consumed) != 1 || status.Denials != 3 || status.Deletion == nil || status.Phase == "" {
		t.Errorf("restored as %+v", status)
	}
}

// A record that is made as its target is created says so, and is not made twice.
func TestKeepCreation(t *testing.T) {
	ref := TargetOf(holder(0))
	s := storing(t)
	for range 2 {
		if err := s.KeepCreation(t.Context(), ref, "above"); err != nil {
			t.Fatal(err)
		}
	}
	rec, err := s.stored(t.Context(), ref)
	if err != nil {
		t.Fatal(err)
	}
	want := v1alpha1.AllowanceRecordSpec{TargetRef: ref, LedgerKnown: true, CreationJudged: true}
	if diff := cmp.Diff(want, rec.Spec); diff != "" || ParentOf(rec) != "above" || rec.Status.Phase != "" {
		t.Errorf("(-want +got):\n%s\nparent %q, phase %q", diff, ParentOf(rec), rec.Status.Phase)
	}
}

func TestKeepLedger(t *testing.T) {
	void := ledger.Ledger{ledger.NewEntry(allowance("spec.a", "alice", 3))}
	ref := TargetOf(holder(0))
	for name, tc := range map[string]struct {
		before       []client.Object
		void         ledger.Ledger
		wantConsumed int
		wantPhase    v1alpha1.Phase
		wantKnown    bool
	}{
		"there is none":                             {wantKnown: true},
		"there is none, and old ones":               {void: void, wantConsumed: 1, wantPhase: v1alpha1.PhaseSteady},
		"there is one of a denial":                  {before: []client.Object{recordNamed(v1alpha1.AllowanceRecordStatus{Denials: 1})}, void: void, wantConsumed: 1, wantPhase: v1alpha1.PhaseSteady},
		"there is one of a denial, and no old ones": {before: []client.Object{recordNamed(v1alpha1.AllowanceRecordStatus{Denials: 1})}, wantKnown: true},
		"there is one that knows of it":             {before: []client.Object{recordNamed(v1alpha1.AllowanceRecordStatus{Phase: v1alpha1.PhaseInitializing})}, void: void, wantPhase: v1alpha1.PhaseInitializing},
	} {
		t.Run(name, func(t *testing.T) {
			s := storing(t, tc.before...)
			for range 2 {
				if err := s.KeepLedger(t.Context(), ref, "above", tc.void); err != nil {
					t.Fatal(err)
				}
			}
			rec, err := s.Get(t.Context(), ref)
			if err != nil {
				t.Fatal(err)
			}
			if !KnowsLedger(rec) || rec.Spec.LedgerKnown != tc.wantKnown || rec.Status.Phase != tc.wantPhase || len(rec.Status.Consumed) != tc.wantConsumed {
				t.Errorf("spec %+v, status %+v", rec.Spec, rec.Status)
			}
		})
	}
}

func TestParentOf(t *testing.T) {
	uid := func(s types.UID) *types.UID { return &s }
	for name, tc := range map[string]struct {
		told  *types.UID
		label string
		want  types.UID
	}{
		"as the status says":                      {told: uid("above"), label: "above", want: "above"},
		"whatever the label says":                 {told: uid("above"), label: "another", want: "above"},
		"none, whatever the label says":           {told: uid(""), label: "another"},
		"as the label of an older version says":   {label: "above", want: "above"},
		"neither":                                 {},
		"as the status says, with the label gone": {told: uid("above"), want: "above"},
	} {
		t.Run(name, func(t *testing.T) {
			rec := recordNamed(v1alpha1.AllowanceRecordStatus{ParentUID: tc.told})
			rec.Labels = map[string]string{LabelParentUID: tc.label}
			if got := ParentOf(rec); got != tc.want {
				t.Errorf("ParentOf() = %q, want %q", got, tc.want)
			}
		})
	}
}

// TestDropLedger shows that what a ledger tells of withheld changes outlasts that the rest of it is dropped.
func TestDropLedger(t *testing.T) {
	scaled := ledger.NewEntry(v1alpha1.Allowance{Kind: "ReplicaSet", Mutation: "spec.replicas", Generation: 1})
	mark := ledger.NewEntry(v1alpha1.Allowance{Relation: v1alpha1.RelationWithheld, Mutation: "spec.replicas", Initiator: "mallory", Generation: 2})
	used := func(entries ...ledger.Entry) []v1alpha1.ConsumedAllowance { return UsedUp(nil, entries) }
	for name, tc := range map[string]struct {
		before            []v1alpha1.ConsumedAllowance
		entries, withheld ledger.Ledger
		want              []v1alpha1.ConsumedAllowance
	}{
		"a forged one":                        {entries: ledger.Ledger{scaled, mark}, want: used(scaled, mark)},
		"something is withheld still":         {entries: ledger.Ledger{scaled}, withheld: ledger.Ledger{mark}, want: used(scaled)},
		"something was dropped that tells so": {before: used(mark, scaled), entries: ledger.Ledger{scaled}, withheld: ledger.Ledger{mark}, want: used(scaled)},
		"nothing of it was anybody's":         {withheld: ledger.Ledger{mark}},
	} {
		t.Run(name, func(t *testing.T) {
			rec := recordNamed(v1alpha1.AllowanceRecordStatus{Phase: v1alpha1.PhaseSteady, Consumed: tc.before})
			store, ref := storing(t, rec), rec.Spec.TargetRef
			if err := store.DropLedger(t.Context(), ref, "raw", tc.entries, tc.withheld); err != nil {
				t.Fatalf("DropLedger(): %v", err)
			}
			got, err := store.Live(t.Context(), ref)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got.Status.Consumed); diff != "" || got.Status.RawLedger != "raw" {
				t.Errorf("ledger %q, used up (-want +got):\n%s", got.Status.RawLedger, diff)
			}
		})
	}
}
