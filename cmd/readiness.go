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
	"errors"
	"net/http"
	"sync/atomic"
)

var (
	errNotSynced = errors.New("the caches are not synced yet")
	// errKnownAgain ends the operator as a crash would: the next one compares what was changed while nobody
	// judged.
	errKnownAgain = errors.New("the API server accepts the operator's credential again, which it had refused: nobody was judged meanwhile")
)

// syncing says whether the caches have synced, which they do once: a probe that asked them
// without waiting would be answered by chance, as nothing of theirs answers at once.
type syncing struct {
	// wait returns true once they have, and false where ctx ends before.
	wait func(ctx context.Context) bool
	done atomic.Bool
}

// NeedLeaderElection returns false: each replica answers requests.
func (s *syncing) NeedLeaderElection() bool { return false }

// Start implements manager.Runnable.
func (s *syncing) Start(ctx context.Context) error {
	s.done.Store(s.wait(ctx))
	return nil
}

// check returns a healthz.Checker.
func (s *syncing) check(*http.Request) error {
	if !s.done.Load() {
		return errNotSynced
	}
	return nil
}
