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

package pathkey

import (
	"context"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

// replicas are Keepers of one Secret, with one clock.
type replicas struct {
	client.Client
	clock *clocktesting.FakeClock
	reads int
}

func newReplicas() *replicas {
	r := &replicas{clock: clocktesting.NewFakeClock(time.Date(2026, 11, 23, 9, 0, 0, 0, time.UTC))}
	r.Client = interceptor.NewClient(fake.NewClientBuilder().Build(), interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
			r.reads++
			return c.Get(ctx, key, obj, opts...)
		},
	})
	return r
}

func (r *replicas) open(t *testing.T) *Keeper {
	t.Helper()
	k, err := Open(t.Context(), Config{Client: r, Live: r, Namespace: "operator", Schedule: Every(time.Hour), Clock: r.clock})
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// advance renews as the replica that leads, and returns when to do so again.
func advance(t *testing.T, k *Keeper, first func(Ring) Ring) time.Duration {
	t.Helper()
	wait, err := Renewal{k}.advance(t.Context(), first)
	if err != nil {
		t.Fatal(err)
	}
	return wait
}

func same(r Ring) Ring { return r }

func TestOpen(t *testing.T) {
	r := newReplicas()
	first := r.open(t)
	if second := r.open(t); first.Current() == "" || second.Current() != first.Current() {
		t.Errorf("two replicas show %q and %q", first.Current(), second.Current())
	}
	if first.Accepts(t.Context(), "") || first.Accepts(t.Context(), strings.Repeat("0", 2*size)) {
		t.Error("it accepts what is no key of its")
	}
}

// TestNobodyIsRefused follows two replicas, of which one hears of nothing, through the
// renewals of a day: what the API server shows, which hears of another key up to a minute
// late, both accept.
func TestNobodyIsRefused(t *testing.T) {
	r := newReplicas()
	leads, late := r.open(t), r.open(t)
	shown, keys := leads.Current(), map[string]bool{}
	advance(t, leads, func(ring Ring) Ring { return leads.Schedule.Renew(ring, leads.now(), fresh) })
	for range 24 * 60 {
		for name, k := range map[string]*Keeper{"that leads": leads, "that hears late": late} {
			for of, key := range map[string]string{"shown": shown, "to be shown": leads.Current()} {
				if !k.Accepts(t.Context(), key) {
					t.Fatalf("at %s the replica %s refuses the key that is %s", r.clock.Now(), name, of)
				}
			}
		}
		shown = leads.Current()
		keys[shown] = true
		r.clock.Step(time.Minute)
		advance(t, leads, same)
	}
	if len(keys) < 20 {
		t.Errorf("there were %d keys in a day", len(keys))
	}
}

// TestRefreshIsBounded shows that strangers do not have the Secret read without end.
func TestRefreshIsBounded(t *testing.T) {
	r := newReplicas()
	k := r.open(t)
	before := r.reads
	for range 100 {
		k.Accepts(t.Context(), fresh())
	}
	k.Accepts(t.Context(), "short")
	if got := r.reads - before; got != 1 {
		t.Errorf("100 keys that nobody knows had the Secret read %d times", got)
	}
	r.clock.Step(2 * refreshInterval)
	k.Accepts(t.Context(), "short")
	k.Accepts(t.Context(), fresh())
	if got := r.reads - before; got != 2 {
		t.Errorf("a while later it was read %d times", got)
	}
}

// TestLostSecret shows that the key that the API server shows goes on where the Secret is
// deleted, or emptied, and is not the one to come.
func TestLostSecret(t *testing.T) {
	for name, lose := range map[string]func(*testing.T, *replicas, *corev1.Secret) error{
		"deleted": func(t *testing.T, r *replicas, s *corev1.Secret) error { t.Helper(); return r.Delete(t.Context(), s) },
		"emptied": func(t *testing.T, r *replicas, s *corev1.Secret) error {
			t.Helper()
			s.Data = nil
			return r.Update(t.Context(), s)
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newReplicas()
			k := r.open(t)
			shown, secret := k.Current(), &corev1.Secret{}
			if err := r.Get(t.Context(), k.name(), secret); err != nil {
				t.Fatal(err)
			}
			if err := lose(t, r, secret); err != nil {
				t.Fatal(err)
			}
			k.refresh(t.Context())
			if k.Current() != shown {
				t.Error("without a Secret the key is another")
			}
			advance(t, k, same)
			if k.Current() == shown || !k.Accepts(t.Context(), shown) || !k.Accepts(t.Context(), k.Current()) {
				t.Errorf("shown until now: %v, from now on: %v", k.Accepts(t.Context(), shown), k.Current() != shown)
			}
		})
	}
}

// TestRenewal shows that the replica that leads renews at once, and when it is time.
func TestRenewal(t *testing.T) {
	r := newReplicas()
	k := r.open(t)
	first := k.Current()
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- Renewal{k}.Start(ctx) }()
	deadline := time.Now().Add(10 * time.Second)
	for k.Current() == first && time.Now().Before(deadline) {
		if r.clock.HasWaiters() {
			r.clock.Step(k.Schedule.Ahead)
		}
	}
	if k.Current() == first || !k.Accepts(t.Context(), first) {
		t.Errorf("after %s it shows the first key: %v, and accepts it: %v", k.Schedule.Ahead, k.Current() == first, k.Accepts(t.Context(), first))
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
