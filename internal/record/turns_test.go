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

// TestTogether has one write take its time while others come.
func TestTogether(t *testing.T) {
	var (
		conflict = apierrors.NewConflict(schema.GroupResource{}, "record", nil)
		refused  = errors.New("refused")
		dead     = errors.New("panics")
	)
	tests := map[string]struct {
		// together is what comes of a write of several changes.
		together error
		// of are the UIDs of the records' targets that come while the first one writes.
		of []types.UID
		// want are the changes of each write, and wantErr what those who waited got.
		want    []string
		wantErr error
	}{
		"nobody waits":                            {want: []string{"first"}},
		"one waits":                               {of: []types.UID{"a"}, want: []string{"first", "a0"}},
		"those who wait write at once":            {of: []types.UID{"a", "a", "a"}, want: []string{"first", "a0 a1 a2"}},
		"each record is written for itself":       {of: []types.UID{"a", "b", "a", "b"}, want: []string{"first", "a0 a2", "b1 b3"}},
		"what is refused together, each tries":    {of: []types.UID{"a", "a"}, together: refused, want: []string{"first", "a0", "a0 a1", "a1"}},
		"what comes too late does so for all":     {of: []types.UID{"a", "a"}, together: conflict, want: []string{"first", "a0 a1"}, wantErr: conflict},
		"who panics does not take others with it": {of: []types.UID{"a", "a"}, together: dead, want: []string{"first", "a0 a1", "a1"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var (
					turns  = newTurns()
					begun  = make(chan struct{})
					all    sync.WaitGroup
					mu     sync.Mutex
					writes []string
				)
				change := func(name string) statusChange {
					return statusChange{mutate: func(status *v1alpha1.AllowanceRecordStatus) bool {
						status.Initiator += " " + name
						return true
					}}
				}
				written := func(changes statusChanges) error {
					var status v1alpha1.AllowanceRecordStatus
					changes.mutate(&status)
					mu.Lock()
					defer mu.Unlock()
					writes = append(writes, status.Initiator[1:])
					switch {
					case len(changes) == 1 || test.together == nil:
						return nil
					case errors.Is(test.together, dead):
						panic(dead)
					default:
						return test.together
					}
				}
				all.Go(func() {
					if err := turns.together("a", change("first"), func(taken func() statusChanges) error {
						changes := taken()
						<-begun
						return written(changes)
					}); err != nil {
						t.Error(err)
					}
				})
				synctest.Wait()
				for i, uid := range test.of {
					all.Go(func() {
						defer func() { _ = recover() }()
						err := turns.together(uid, change(fmt.Sprint(uid, i)), func(taken func() statusChanges) error {
							<-begun
							return written(taken())
						})
						if !errors.Is(err, test.wantErr) {
							t.Errorf("together() = %v, want %v", err, test.wantErr)
						}
					})
					synctest.Wait()
				}
				close(begun)
				all.Wait()
				slices.Sort(writes)
				want := slices.Sorted(slices.Values(test.want))
				if diff := cmp.Diff(want, writes); diff != "" {
					t.Errorf("the writes differ (-want +got):\n%s", diff)
				}
				if len(turns.waiting) > 0 {
					t.Errorf("%d still wait", len(turns.waiting))
				}
			})
		})
	}
}
