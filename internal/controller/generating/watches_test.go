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

package generating

import (
	"context"
	"errors"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	toolscache "k8s.io/client-go/tools/cache"
	testingclock "k8s.io/utils/clock/testing"

	"kausality.io/operator/internal/watchstate"
)

// listed is an informer that has listed its objects, or not.
type listed struct {
	toolscache.SharedIndexInformer
	all bool
}

func (l listed) HasSynced() bool { return l.all }

func TestCurrent(t *testing.T) {
	for name, tc := range map[string]struct {
		unknown, unlisted bool
		// down is for how long the watch is down, and up for how long it is there again.
		down, up time.Duration
		want     error
	}{
		"there is a watch":                      {},
		"nobody watches":                        {unknown: true, want: errNotSynced},
		"not all objects are listed":            {unlisted: true, want: errNotSynced},
		"the watch was renewed":                 {down: 100 * time.Millisecond, up: time.Millisecond},
		"the watch is down":                     {down: 5 * time.Second, want: errBehind},
		"the watch was down and is catching up": {down: 5 * time.Second, up: time.Second, want: errBehind},
		"the watch has caught up":               {down: 5 * time.Second, up: 10 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			clock := testingclock.NewFakePassiveClock(time.Now())
			state := watchstate.New(clock)
			lw := state.Over(&toolscache.ListWatch{WatchFuncWithContext: func(context.Context, metav1.ListOptions) (watch.Interface, error) {
				return watch.NewFake(), nil
			}})
			begin := func() watch.Interface {
				w, err := toolscache.ToWatcherWithContext(lw).WatchWithContext(t.Context(), metav1.ListOptions{})
				if err != nil {
					t.Fatal(err)
				}
				return w
			}
			pass := func(d time.Duration) { clock.SetTime(clock.Now().Add(d)) }
			first := begin()
			if tc.down > 0 {
				first.Stop()
				pass(tc.down)
			}
			if tc.up > 0 {
				begin()
				pass(tc.up)
			}
			w := &watches{}
			if !tc.unknown {
				w.kinds = map[schema.GroupVersionKind]*watched{namespaceKind: {informer: watchstate.Informer{SharedIndexInformer: listed{all: !tc.unlisted}, State: state}}}
			}
			got := w.current(namespaceKind)
			if !errors.Is(got, tc.want) || errors.Is(got, errBehind) != errors.Is(tc.want, errBehind) {
				t.Errorf("got %v, want %v", got, tc.want)
			}
		})
	}
}
