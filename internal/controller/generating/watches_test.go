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

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	toolscache "k8s.io/client-go/tools/cache"
	testingclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	fakeinformers "sigs.k8s.io/controller-runtime/pkg/controller/controllertest"

	"kausality.io/operator/api/v1alpha1"
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
				w.kinds = map[schema.GroupVersionKind]*watched{namespaceKind: {view: view{informer: listed{all: !tc.unlisted}, stale: state.Behind}}}
			}
			got := w.current(namespaceKind)
			if !errors.Is(got, tc.want) || errors.Is(got, errBehind) != errors.Is(tc.want, errBehind) {
				t.Errorf("got %v, want %v", got, tc.want)
			}
		})
	}
}

// lends is a lender of one kind.
type lends struct {
	view

	back bool
}

func (l *lends) lend(_ context.Context, gvk schema.GroupVersionKind) (*view, error) {
	if gvk != configMaps.gvk {
		return nil, nil
	}
	return &l.view, nil
}

func (l *lends) giveBack(context.Context, schema.GroupVersionKind) error {
	l.back = true
	return nil
}

var configMaps = resource{gvr: corev1.SchemeGroupVersion.WithResource("configmaps"), gvk: corev1.SchemeGroupVersion.WithKind("ConfigMap"), namespaced: true}

// TestBorrow sees what was made among all the objects that are watched anyway.
func TestBorrow(t *testing.T) {
	object := func(name string, labels map[string]string) *unstructured.Unstructured {
		out := objectOf(configMaps.gvk)
		out.SetNamespace("shop")
		out.SetName(name)
		out.SetLabels(labels)
		out.SetResourceVersion("1")
		return out
	}
	made, other := object("made", map[string]string{v1alpha1.LabelGeneratedBy: "p"}), object("other", nil)
	informer := fakeinformers.NewFakeInformer(fakeinformers.Synced)
	from := &lends{view: view{informer: informer, from: fake.NewClientBuilder().WithObjects(made.DeepCopy(), other.DeepCopy()).Build(), stale: func() bool { return false }}}
	var seen []string
	w := &watches{
		label: v1alpha1.LabelGeneratedBy, lender: from, kinds: map[schema.GroupVersionKind]*watched{},
		changed: func(_ resource, before, after *unstructured.Unstructured) {
			switch {
			case before == nil:
				seen = append(seen, "new "+after.GetName())
			case after == nil:
				seen = append(seen, "gone "+before.GetName())
			default:
				seen = append(seen, "changed "+after.GetName())
			}
		},
	}
	if err := w.follow(t.Context(), configMaps, "p"); !errors.Is(err, errNotSynced) {
		t.Fatalf("at first: %v, want that nothing is known yet", err)
	}
	if err := w.follow(t.Context(), configMaps, "p"); err != nil {
		t.Fatal(err)
	}

	informer.Add(other)
	informer.Add(made)
	released := object("made", nil)
	released.SetResourceVersion("2")
	informer.Update(made, released)
	again := object("made", map[string]string{v1alpha1.LabelGeneratedBy: "p"})
	again.SetResourceVersion("3")
	informer.Update(released, again)
	informer.Delete(other)
	if diff := cmp.Diff([]string{"new made", "gone made", "new made"}, seen); diff != "" {
		t.Errorf("what is seen (-want +got):\n%s", diff)
	}
	for name, want := range map[string]bool{"made": true, "other": false, "absent": false} {
		got, err := w.get(t.Context(), configMaps.gvk, "shop", name)
		if err != nil || (got != nil) != want {
			t.Errorf("%s is there: %v, %v; want %v", name, got != nil, err, want)
		}
	}
	all, err := w.list(t.Context(), configMaps.gvk, "shop", labels.Everything())
	if err != nil || len(all) != 1 || all[0].GetName() != "made" {
		t.Errorf("listed %d objects, %v; want what was made", len(all), err)
	}
	if err := w.keep(t.Context(), "p", func(schema.GroupVersionKind) bool { return false }); err != nil || !from.back || w.isSynced(configMaps.gvk) {
		t.Errorf("given back: %v, %v; want that it is not watched any more", from.back, err)
	}
}

// TestWithoutFields keeps the fields of whatever a watch by the label shows, one without a value included.
func TestWithoutFields(t *testing.T) {
	for name, tc := range map[string]struct {
		labels map[string]string
		want   bool
	}{
		"what nobody made":             {labels: map[string]string{"app": "web"}},
		"what a policy made":           {labels: map[string]string{v1alpha1.LabelGeneratedBy: "p"}, want: true},
		"of which somebody emptied it": {labels: map[string]string{v1alpha1.LabelGeneratedBy: ""}, want: true},
	} {
		t.Run(name, func(t *testing.T) {
			object := objectOf(configMaps.gvk)
			object.SetLabels(tc.labels)
			object.SetManagedFields([]metav1.ManagedFieldsEntry{{Manager: "kubectl", FieldsV1: metav1.NewFieldsV1(`{"f:data":{}}`)}})
			if _, err := WithoutFields(object); err != nil {
				t.Fatal(err)
			}
			if got := object.GetManagedFields()[0]; (got.FieldsV1 != nil) != tc.want || got.Manager != "kubectl" {
				t.Errorf("kept: %+v, want the manager, and its fields: %v", got, tc.want)
			}
		})
	}
}
