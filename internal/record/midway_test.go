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

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/ledger"
)

// The API server may give up on a request after any write of it, and store its object all the same. What a
// record says then has to be so.
func TestEndedMidway(t *testing.T) {
	ref := TargetOf(holder(0))
	grant := func(id, content string) v1alpha1.PendingGrant {
		return v1alpha1.PendingGrant{ID: id, ContentHash: content, Allowances: []v1alpha1.Allowance{{Kind: "*", Mutation: "*", Generation: 1}}}
	}
	before := ledger.Ledger{}.Merge(v1alpha1.Allowance{Kind: "Pod", Mutation: "spec", Generation: 1, Initiator: "alice"})
	for name, tc := range map[string]struct {
		write func(context.Context, *Store) error
		// lies reports what a record says that is not so.
		lies func(*v1alpha1.AllowanceRecord) bool
		// writes is how many there are, after which the creation was judged where that is so.
		writes int
		judged bool
	}{
		"a creation": {
			write: func(ctx context.Context, s *Store) error { return s.KeepCreation(ctx, ref, "above") }, writes: 1, judged: true,
			lies: func(rec *v1alpha1.AllowanceRecord) bool { return !rec.Spec.CreationJudged || !KnowsLedger(rec) },
		},
		"a creation whose object is stored without a ledger": {
			write: func(ctx context.Context, s *Store) error {
				return s.KeepCreation(ctx, ref, "above", grant("one", "a"), grant("two", "b"))
			}, writes: 4, judged: true,
			lies: func(rec *v1alpha1.AllowanceRecord) bool {
				return (rec.Spec.CreationJudged || KnowsLedger(rec)) && len(rec.Status.PendingGrants) < 2
			},
		},
		"an allowance of an object with entries from before": {
			write: func(ctx context.Context, s *Store) error { return s.KeepLedger(ctx, ref, "above", before) }, writes: 2,
			lies: func(rec *v1alpha1.AllowanceRecord) bool { return KnowsLedger(rec) && len(rec.Status.Consumed) == 0 },
		},
		"a grant of an update": {
			write: func(ctx context.Context, s *Store) error { return s.AddPending(ctx, ref, grant("one", "a"), nil) }, writes: 2,
			lies: func(rec *v1alpha1.AllowanceRecord) bool { return rec.Spec.CreationJudged || KnowsLedger(rec) },
		},
		"a deletion": {
			write: func(ctx context.Context, s *Store) error {
				return s.SetDeletion(ctx, ref, v1alpha1.Deletion{User: "bob"})
			}, writes: 2,
			lies: func(rec *v1alpha1.AllowanceRecord) bool {
				return rec.Spec.CreationJudged || KnowsLedger(rec) || NeverSeen(rec) == (rec.Status.Deletion != nil)
			},
		},
		"broken glass": {
			write: func(ctx context.Context, s *Store) error {
				return s.BreakGlass(ctx, ref, v1alpha1.BrokenGlass{User: "bob"})
			}, writes: 2,
			lies: func(rec *v1alpha1.AllowanceRecord) bool { return rec.Spec.CreationJudged || KnowsLedger(rec) },
		},
	} {
		t.Run(name, func(t *testing.T) {
			whole := written(t, ref, tc.write, tc.writes)
			if whole.Spec.CreationJudged != tc.judged || tc.lies(whole) {
				t.Errorf("all written, the record says what is not so: %+v", whole)
			}
			for after := 1; after <= tc.writes; after++ {
				ctx, cancel := context.WithCancel(t.Context())
				s, count := endingAfter(t, after, cancel)
				if err := tc.write(ctx, s); (err == nil) != (after == tc.writes) {
					t.Fatalf("ended after %d writes of %d: %v", after, tc.writes, err)
				}
				rec, err := s.stored(t.Context(), ref)
				if err != nil {
					t.Fatal(err)
				}
				if *count != after || tc.lies(rec) {
					t.Errorf("after %d writes the record says what is not so: %+v", *count, rec)
				}
				// Who asks again has all of it written.
				if err := tc.write(t.Context(), s); err != nil {
					t.Fatal(err)
				}
				if rec, err = s.stored(t.Context(), ref); err != nil {
					t.Fatal(err)
				}
				// The next look of the leader says who the parent is, as the label does.
				opts := cmp.Options{cmpopts.IgnoreFields(v1alpha1.AllowanceRecordStatus{}, "ParentUID"),
					cmpopts.IgnoreFields(metav1.ObjectMeta{}, "ResourceVersion"), cmpopts.IgnoreTypes(metav1.Time{}, []v1alpha1.BrokenGlass{})}
				if diff := cmp.Diff(whole, rec, opts); diff != "" {
					t.Errorf("written again after %d writes (-want +got):\n%s", after, diff)
				}
			}
		})
	}
}

// written returns the record that a number of writes leave.
func written(t *testing.T, ref v1alpha1.TargetReference, write func(context.Context, *Store) error, writes int) *v1alpha1.AllowanceRecord {
	t.Helper()
	s, count := endingAfter(t, 0, nil)
	if err := write(t.Context(), s); err != nil || *count != writes {
		t.Fatalf("%d writes: %v; want %d", *count, err, writes)
	}
	rec, err := s.stored(t.Context(), ref)
	if err != nil {
		t.Fatal(err)
	}
	return rec
}

// endingAfter makes a Store whose caller is gone after a number of writes, of which it counts all.
func endingAfter(t *testing.T, last int, end context.CancelFunc) (*Store, *int) {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	count := 0
	counted := func(ctx context.Context, write func() error) error {
		if ctx.Err() != nil {
			return errors.Join(errors.New("asking the API server"), ctx.Err())
		}
		err := write()
		count++
		if count == last {
			end()
		}
		return err
	}
	c := fake.NewClientBuilder().WithScheme(scheme).WithStatusSubresource(&v1alpha1.AllowanceRecord{}).WithInterceptorFuncs(interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.CreateOption) error {
			return counted(ctx, func() error { return c.Create(ctx, obj, opts...) })
		},
		Patch: func(ctx context.Context, c client.WithWatch, obj client.Object, patch client.Patch, opts ...client.PatchOption) error {
			return counted(ctx, func() error { return c.Patch(ctx, obj, patch, opts...) })
		},
		SubResourceUpdate: func(ctx context.Context, c client.Client, name string, obj client.Object, opts ...client.SubResourceUpdateOption) error {
			return counted(ctx, func() error { return c.SubResource(name).Update(ctx, obj, opts...) })
		},
	}).Build()
	return NewStore(Config{Client: c, Live: c, OperatorNamespace: "kausality-system"}), &count
}
