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
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"kausality.io/operator/api/v1alpha1"
)

// TestTogether makes changes while another write is under way.
func TestTogether(t *testing.T) {
	var (
		conflict = apierrors.NewConflict(schema.GroupResource{}, "record", nil)
		refused  = errors.New("refused")
	)
	tests := map[string]struct {
		// together is the error of a write of several changes.
		together error
		// of are the UIDs of the targets of the changes that are made while the first is written.
		of []types.UID
		// want has the changes of each write, sorted, and wantErr is the error of who writes the shared one.
		want    []string
		wantErr error
	}{
		"nobody waits":                     {want: []string{"first"}},
		"one waits":                        {of: []types.UID{"a"}, want: []string{"a0", "first"}},
		"waiting changes share a write":    {of: []types.UID{"a", "a", "a"}, want: []string{"a0 a1 a2", "first"}},
		"each record has its own write":    {of: []types.UID{"a", "b", "a", "b"}, want: []string{"a0 a2", "b1 b3", "first"}},
		"a refused write is split":         {of: []types.UID{"a", "a"}, together: refused, want: []string{"a0", "a0 a1", "a1", "first"}},
		"a conflict fails who met it":      {of: []types.UID{"a", "a", "a"}, together: conflict, want: []string{"a0 a1 a2", "a1", "a2", "first"}, wantErr: conflict},
		"a deadline is that of who wrote":  {of: []types.UID{"a", "a"}, together: context.DeadlineExceeded, want: []string{"a0", "a0 a1", "a1", "first"}},
		"a panic does not lose the others": {of: []types.UID{"a", "a"}, together: errPanic, want: []string{"a0 a1", "a1", "first"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := &writer{turns: newTurns(), begun: make(chan struct{}), together: test.together}
				var all sync.WaitGroup
				all.Go(func() {
					if err := w.first(); err != nil {
						t.Error(err)
					}
				})
				synctest.Wait()
				for i, uid := range test.of {
					all.Go(func() {
						defer func() { _ = recover() }()
						var want error
						if i == 0 {
							want = test.wantErr
						}
						if err := w.next(uid, fmt.Sprint(uid, i)); !errors.Is(err, want) {
							t.Errorf("together() = %v, want %v", err, want)
						}
					})
					synctest.Wait()
				}
				close(w.begun)
				all.Wait()
				slices.Sort(w.writes)
				if diff := cmp.Diff(test.want, w.writes); diff != "" {
					t.Errorf("the writes differ (-want +got):\n%s", diff)
				}
				if len(w.turns.waiting) > 0 {
					t.Errorf("%d still wait", len(w.turns.waiting))
				}
			})
		})
	}
}

// errPanic makes a writer panic.
var errPanic = errors.New("panics")

// writer remembers the changes of each write instead of writing them.
type writer struct {
	turns *turns
	// begun blocks the writes until it is closed.
	begun chan struct{}
	// together is the error of a write of several changes.
	together error

	mu     sync.Mutex
	writes []string
}

// first makes a change whose write is under way until begun is closed.
func (w *writer) first() error {
	return w.turns.together("a", w.change("first"), func(taken func() statusChanges) error {
		changes := taken()
		<-w.begun
		return w.write(changes)
	})
}

// next makes a change that waits for its write until begun is closed.
func (w *writer) next(uid types.UID, name string) error {
	return w.turns.together(uid, w.change(name), func(taken func() statusChanges) error {
		<-w.begun
		return w.write(taken())
	})
}

func (w *writer) change(name string) statusChange {
	return statusChange{mutate: func(status *v1alpha1.AllowanceRecordStatus) bool {
		status.Initiator += " " + name
		return true
	}}
}

func (w *writer) write(changes statusChanges) error {
	var status v1alpha1.AllowanceRecordStatus
	changes.mutate(&status)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.writes = append(w.writes, status.Initiator[1:])
	if len(changes) == 1 {
		return nil
	}
	if errors.Is(w.together, errPanic) {
		panic(w.together)
	}
	return w.together
}
