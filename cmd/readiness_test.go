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

package main

import (
	"context"
	"testing"
	"testing/synctest"
)

func TestSyncing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		synced := make(chan struct{})
		s := &syncing{wait: func(ctx context.Context) bool {
			select {
			case <-synced:
				return true
			case <-ctx.Done():
				return false
			}
		}}
		ended := make(chan error, 1)
		go func() { ended <- s.Start(t.Context()) }()
		synctest.Wait()
		if s.check(nil) == nil {
			t.Error("it is ready before the caches have synced")
		}
		close(synced)
		if err := <-ended; err != nil {
			t.Fatal(err)
		}
		for range 1000 {
			if err := s.check(nil); err != nil {
				t.Fatal(err)
			}
		}
	})
}
