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

package sharedread

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// TestNothingIsOlderThanTheQuestion has a storm of readers share reads, each of which begins after
// all who get its value have asked.
func TestNothingIsOlderThanTheQuestion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g Group[time.Time]
		reads := 0
		read := func(ctx context.Context) (time.Time, error) {
			reads++
			began := time.Now()
			<-time.After(time.Second)
			return began, ctx.Err()
		}
		var all sync.WaitGroup
		for range 100 {
			asked := time.Now()
			all.Go(func() {
				began, err := g.Do(t.Context(), "one", read)
				if err != nil || began.Before(asked) {
					t.Errorf("asked at %v, read at %v: %v", asked, began, err)
				}
			})
			<-time.After(25 * time.Millisecond)
		}
		all.Wait()
		if reads > 5 {
			t.Errorf("%d reads within 2.5 s, each of which took one", reads)
		}
		synctest.Wait()
		if len(g.waiting) > 0 {
			t.Errorf("%d keys are kept", len(g.waiting))
		}
	})
}

func TestKeysAndErrors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g Group[string]
		failed := errors.New("it failed")
		var all sync.WaitGroup
		for key, want := range map[string]error{"one": nil, "two": failed} {
			all.Go(func() {
				got, err := g.Do(t.Context(), key, func(context.Context) (string, error) { return "value of " + key, want })
				if got != "value of "+key || !errors.Is(err, want) {
					t.Errorf("%s: %q, %v", key, got, err)
				}
			})
		}
		all.Wait()
	})
}

// TestWhoGivesUpHoldsUpNobody has a read go on for others when who asked first goes.
func TestWhoGivesUpHoldsUpNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g Group[int]
		slow := func(ctx context.Context) (int, error) {
			select {
			case <-ctx.Done():
				return 0, ctx.Err()
			case <-time.After(time.Second):
				return 1, nil
			}
		}
		short, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		if _, err := g.Do(short, "one", slow); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("who gave up got %v", err)
		}
		if got, err := g.Do(t.Context(), "one", slow); got != 1 || err != nil {
			t.Errorf("who came then got %d, %v", got, err)
		}
		stuck := func(ctx context.Context) (int, error) { <-ctx.Done(); return 0, ctx.Err() }
		began := time.Now()
		if _, err := g.Do(t.Context(), "one", stuck); err == nil || time.Since(began) != limit {
			t.Errorf("what is stuck ended after %v: %v", time.Since(began), err)
		}
		synctest.Wait()
	})
}
