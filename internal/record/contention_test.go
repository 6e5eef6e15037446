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
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/ledger"
)

// TestContention has others write a record whenever it is written, on an API server that takes its
// time.
func TestContention(t *testing.T) {
	ref := TargetOf(holder(0))
	addStray := func(ctx context.Context, s *Store) error {
		return s.AddStray(ctx, ref, v1alpha1.StrayChild{UID: "child", Kind: "Pod", Name: "p"})
	}
	keepLedger := func(ctx context.Context, s *Store) error { return s.KeepLedger(ctx, ref, "", ledger.Ledger(nil)) }
	tests := map[string]struct {
		write func(context.Context, *Store) error
		// conflicts is how many writes conflict, each of which takes a while.
		conflicts int
		// deadline is that of the request, zero where nobody waits.
		deadline time.Duration
		// want is the kind of error: "", "conflict" or "deadline".
		want string
	}{
		"once":                                  {write: addStray, conflicts: 1, deadline: 4 * time.Second},
		"as often as the deadline allows":       {write: addStray, conflicts: 20, deadline: 4 * time.Second},
		"of a ledger":                           {write: keepLedger, conflicts: 20, deadline: 4 * time.Second},
		"for longer than the deadline":          {write: addStray, conflicts: 200, deadline: 4 * time.Second, want: "deadline"},
		"for longer than somebody else's":       {write: addStray, conflicts: 1, deadline: 90 * time.Millisecond, want: "deadline"},
		"where nobody waits":                    {write: addStray, conflicts: 17},
		"where nobody waits, more than is done": {write: addStray, conflicts: 18, want: "conflict"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				left := tc.conflicts
				c := contended(t, &left, recordNamed(v1alpha1.AllowanceRecordStatus{}))
				s := NewStore(Config{Client: c, Live: c, OperatorNamespace: "kausality-system"})
				ctx := t.Context()
				if tc.deadline > 0 {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, tc.deadline)
					defer cancel()
				}
				err := tc.write(ctx, s)
				if diff := cmp.Diff(tc.want, kindOf(err)); diff != "" {
					t.Errorf("the error differs (-want +got):\n%s\n%v", diff, err)
				}
			})
		})
	}
}

// kindOf returns "conflict" or "deadline", or what an error says.
func kindOf(err error) string {
	switch {
	case err == nil:
		return ""
	case apierrors.IsConflict(err):
		return "conflict"
	case errors.Is(err, context.DeadlineExceeded):
		return "deadline"
	default:
		return err.Error()
	}
}

// contended makes clients of which each call takes 30 ms, or until its context ends, and of whose
// writes as many as are left conflict.
func contended(t *testing.T, left *int, records ...client.Object) client.WithWatch {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	busy := func(ctx context.Context) error {
		select {
		case <-time.After(30 * time.Millisecond):
			return nil
		case <-ctx.Done():
			return fmt.Errorf("asking the API server: %w", ctx.Err())
		}
	}
	return fake.NewClientBuilder().WithScheme(scheme).WithStatusSubresource(&v1alpha1.AllowanceRecord{}).WithObjects(records...).
		WithInterceptorFuncs(interceptor.Funcs{
			Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
				if err := busy(ctx); err != nil {
					return err
				}
				return c.Get(ctx, key, obj, opts...)
			},
			SubResourceUpdate: func(ctx context.Context, c client.Client, name string, obj client.Object, opts ...client.SubResourceUpdateOption) error {
				if err := busy(ctx); err != nil {
					return err
				}
				if *left > 0 {
					*left--
					return apierrors.NewConflict(schema.GroupResource{Resource: "allowancerecords"}, obj.GetName(), errors.New("the object has been modified"))
				}
				return c.SubResource(name).Update(ctx, obj, opts...)
			},
		}).Build()
}
