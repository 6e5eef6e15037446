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
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"kausality.io/operator/api/v1alpha1"
)

// startStore runs a Store of its own API server until stop is called.
func startStore(t *testing.T, funcs interceptor.Funcs) (store *Store, stop func()) {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	c := fake.NewClientBuilder().WithScheme(scheme).WithStatusSubresource(&v1alpha1.AllowanceRecord{}).WithInterceptorFuncs(funcs).Build()
	store = NewStore(Config{Client: c, Live: c, OperatorNamespace: "operator"})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- store.Start(ctx) }()
	return store, func() {
		t.Helper()
		cancel()
		if err := <-ended; err != nil {
			t.Fatal(err)
		}
	}
}

// Each holder is written once an interval after something about it began to wait, whatever
// is observed about others, and what is left at the end is written then.
func TestEachHolderHasAnIntervalOfItsOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		var mu sync.Mutex
		written := map[types.UID][]time.Duration{}
		pass := func(d time.Duration) {
			time.Sleep(d) //nolint:forbidigo // It is the clock of the bubble that passes.
		}
		store, stop := startStore(t, interceptor.Funcs{
			SubResourceUpdate: func(ctx context.Context, c client.Client, name string, obj client.Object, opts ...client.SubResourceUpdateOption) error {
				if rec, ok := obj.(*v1alpha1.AllowanceRecord); ok {
					mu.Lock()
					defer mu.Unlock()
					uid := rec.Spec.TargetRef.UID
					written[uid] = append(written[uid], time.Since(began))
				}
				return c.SubResource(name).Update(ctx, obj, opts...)
			},
		})

		observe := func(at time.Duration, uids ...types.UID) {
			pass(at - time.Since(began))
			for _, uid := range uids {
				d := denial("no")
				store.Observe(Outcome{
					Target:   v1alpha1.TargetReference{Group: "apps", Version: "v1", Kind: "Deployment", Namespace: "shop", Name: string(uid), UID: uid},
					Decision: &d,
				})
			}
		}
		const step = 100 * time.Millisecond
		observe(0, "a")
		observe(interval-step, "a", "b")
		observe(interval+step, "a", "b")
		// Nothing waits for a while.
		observe(5*interval, "b")
		observe(5*interval+step, "c")
		pass(interval - step)
		synctest.Wait()
		stop()
		want := map[types.UID][]time.Duration{
			"a": {interval, 2*interval + step},
			"b": {2*interval - step, 6 * interval},
			"c": {6 * interval},
		}
		if diff := cmp.Diff(want, written); diff != "" {
			t.Errorf("written at (-want +got):\n%s", diff)
		}
	})
}

// What is decided while the API server is away is written when it is back, and what
// cannot be written for very long is given up.
func TestObserveWhileTheAPIServerIsAway(t *testing.T) {
	for name, tc := range map[string]struct {
		away time.Duration
		want int64
	}{
		"for a restart": {away: time.Minute, want: 2},
		"for very long": {away: 2 * patience, want: 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				back := time.Now().Add(tc.away)
				store, stop := startStore(t, interceptor.Funcs{
					Create: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.CreateOption) error {
						if time.Now().Before(back) {
							return errors.New("connection refused")
						}
						return c.Create(ctx, obj, opts...)
					},
				})

				target := v1alpha1.TargetReference{Group: "apps", Version: "v1", Kind: "Deployment", Namespace: "shop", Name: "web", UID: "uid-web"}
				d := denial("no")
				store.Observe(Outcome{Target: target, Decision: &d})
				<-time.After(tc.away)
				store.Observe(Outcome{Target: target, Decision: &d})
				<-time.After(maxPause + interval)
				synctest.Wait()
				stop()
				rec, err := store.Get(t.Context(), target)
				if err != nil || rec == nil {
					t.Fatalf("there is no record: %v", err)
				}
				if rec.Status.Denials != tc.want {
					t.Errorf("%d denials, want %d", rec.Status.Denials, tc.want)
				}
			})
		})
	}
}

// TestNothingIsWrittenWhileRecordsAreNotWatched shows that what was decided before the API server was
// away is written when it is known that it has not gone back in time, or when nobody tells for very long.
func TestNothingIsWrittenWhileRecordsAreNotWatched(t *testing.T) {
	for name, down := range map[string]time.Duration{"for a while": 20 * time.Second, "for very long": 2 * patience} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				var written atomic.Int64
				store, stop := startStore(t, interceptor.Funcs{
					Create: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.CreateOption) error {
						written.Store(int64(time.Since(began)))
						return c.Create(ctx, obj, opts...)
					},
				})
				store.behind = func() bool { return time.Since(began) < down }
				d := denial("no")
				store.Observe(Outcome{
					Target:   v1alpha1.TargetReference{Group: "apps", Version: "v1", Kind: "Deployment", Namespace: "shop", Name: "web", UID: "uid-web"},
					Decision: &d,
				})
				<-time.After(down + maxPause)
				synctest.Wait()
				stop()
				want := min(down, patience)
				if got := time.Duration(written.Load()); got < want || got > want+2*interval {
					t.Errorf("written after %s, want %s", got, want)
				}
			})
		})
	}
}

// TestAllIsWrittenAtTheEnd shows that an operator that stops while it is far behind still
// writes what it has decided.
func TestAllIsWrittenAtTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var written atomic.Int32
		store, stop := startStore(t, interceptor.Funcs{
			SubResourceUpdate: func(ctx context.Context, c client.Client, name string, obj client.Object, opts ...client.SubResourceUpdateOption) error {
				select {
				case <-ctx.Done():
					return ctx.Err()
				case <-time.After(250 * time.Millisecond):
				}
				written.Add(1)
				return c.SubResource(name).Update(ctx, obj, opts...)
			},
		})
		store.turns.locks = &keys{locks: map[string]chan struct{}{}}
		const targets = 100
		for i := range targets {
			d := denial("no")
			uid := types.UID(fmt.Sprint("uid-", i))
			store.Observe(Outcome{Target: v1alpha1.TargetReference{Group: "apps", Version: "v1", Kind: "Deployment", Namespace: "shop", Name: string(uid), UID: uid}, Decision: &d})
		}
		stop()
		if n := written.Load(); n != targets {
			t.Errorf("%d of %d were written", n, targets)
		}
	})
}

// keys is a KeyMutex that has a lock for each key. Those of keymutex share some, and whoever waits for such
// a one stops the clock of a bubble.
type keys struct {
	mu    sync.Mutex
	locks map[string]chan struct{}
}

// LockKey implements keymutex.KeyMutex.
func (k *keys) LockKey(id string) { k.lock(id) <- struct{}{} }

// UnlockKey implements keymutex.KeyMutex.
func (k *keys) UnlockKey(id string) error {
	<-k.lock(id)
	return nil
}

func (k *keys) lock(id string) chan struct{} {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.locks[id] == nil {
		k.locks[id] = make(chan struct{}, 1)
	}
	return k.locks[id]
}
