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

package watchstate

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"
)

func TestBehind(t *testing.T) {
	const (
		begins = "begins"
		ends   = "ends"
	)
	type step struct {
		after time.Duration
		what  string
	}
	tests := map[string]struct {
		steps []step
		want  bool
	}{
		"not watched yet, a moment ago":                 {want: false},
		"not watched yet, for long":                     {steps: []step{{time.Minute, ""}}, want: true},
		"watched from the start":                        {steps: []step{{time.Minute, begins}}, want: false},
		"just ended":                                    {steps: []step{{0, begins}, {time.Minute, ends}, {tolerated, ""}}, want: false},
		"ended":                                         {steps: []step{{0, begins}, {time.Minute, ends}, {tolerated + 1, ""}}, want: true},
		"watched again at once":                         {steps: []step{{0, begins}, {time.Minute, ends}, {tolerated, begins}}, want: false},
		"watched again after long":                      {steps: []step{{0, begins}, {time.Minute, ends}, {tolerated + 1, begins}}, want: true},
		"caught up":                                     {steps: []step{{0, begins}, {time.Minute, ends}, {time.Minute, begins}, {catchingUp, ""}}, want: false},
		"ended again while catching up":                 {steps: []step{{0, begins}, {0, ends}, {time.Minute, begins}, {0, ends}, {tolerated + 1, ""}}, want: true},
		"ended at once after long":                      {steps: []step{{0, begins}, {time.Minute, ends}, {time.Minute, begins}, {1, ends}}, want: true},
		"ended at once after long, and watched again":   {steps: []step{{0, begins}, {time.Minute, ends}, {time.Minute, begins}, {1, ends}, {1, begins}, {catchingUp - 1, ""}}, want: true},
		"ended after it had caught up":                  {steps: []step{{0, begins}, {time.Minute, ends}, {time.Minute, begins}, {catchingUp, ends}}, want: false},
		"two ends of one watch count from the first on": {steps: []step{{0, begins}, {0, ends}, {tolerated, ends}, {1, ""}}, want: true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			now := clocktesting.NewFakePassiveClock(time.Unix(0, 0))
			s := New(now)
			for _, step := range tc.steps {
				now.SetTime(now.Now().Add(step.after))
				switch step.what {
				case begins:
					s.begun()
				case ends:
					s.ended()
				}
			}
			if got := s.Behind(); got != tc.want {
				t.Errorf("Behind() = %t", got)
			}
		})
	}
}

// shaky is an API server whose watches can be ended, and then fail for a while.
type shaky struct {
	watches chan *watch.FakeWatcher
	begins  chan metav1.ListOptions
}

func (s shaky) List(metav1.ListOptions) (runtime.Object, error) {
	return &unstructured.UnstructuredList{Object: map[string]any{"metadata": map[string]any{"resourceVersion": "1"}}}, nil
}

func (s shaky) Watch(options metav1.ListOptions) (watch.Interface, error) {
	w, ok := <-s.watches
	if !ok {
		return nil, context.Canceled
	}
	s.begins <- options
	return w, nil
}

// TestAttended has a reflector, which knows nothing of it, tell of its watches.
func TestAttended(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := shaky{watches: make(chan *watch.FakeWatcher), begins: make(chan metav1.ListOptions, 1)}
		state := New(clock.RealClock{})
		store := toolscache.NewStore(toolscache.MetaNamespaceKeyFunc)
		reflector := toolscache.NewReflectorWithOptions(state.Over(server), &unstructured.Unstructured{}, store,
			toolscache.ReflectorOptions{})
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			reflector.RunWithContext(ctx)
		}()
		var got []bool
		look := func(after time.Duration) {
			<-time.After(after)
			synctest.Wait()
			got = append(got, state.Behind())
		}

		look(tolerated + 1) // Neither listed nor watched.
		first, one := watch.NewFake(), &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "example.org/v1", "kind": "Thing", "metadata": map[string]any{"name": "thing", "namespace": "default"},
		}}
		server.watches <- first
		initial := <-server.begins
		first.Add(one)
		look(0) // The list goes on.
		first.Action(watch.Bookmark, bookmark())
		look(0)
		first.Modify(one)
		look(time.Minute) // A reflector lists again after a watch that ends at once.
		first.Stop()
		look(0)
		look(tolerated + 1)
		second := watch.NewFake()
		server.watches <- second
		resumed := <-server.begins
		look(0)
		look(catchingUp)
		cancel()
		second.Stop()
		close(server.watches)
		<-ended

		if initial.SendInitialEvents == nil || resumed.SendInitialEvents != nil {
			t.Errorf("the first watch was asked for %v, the second for %v", initial.SendInitialEvents, resumed.SendInitialEvents)
		}
		if diff := cmp.Diff([]bool{true, true, false, false, false, true, true, false}, got); diff != "" {
			t.Errorf("behind (-want +got):\n%s", diff)
		}
		if len(store.List()) != 1 {
			t.Errorf("%d objects, want one", len(store.List()))
		}
	})
}

func bookmark() *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "example.org/v1", "kind": "Thing", "metadata": map[string]any{
			"resourceVersion": "2", "annotations": map[string]any{metav1.InitialEventsAnnotationKey: "true"},
		},
	}}
}
