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

package target

import (
	"context"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"kausality.io/operator/internal/controller/catalog"
	"kausality.io/operator/internal/controller/controllertest"
	"kausality.io/operator/internal/controller/writeloop"
	"kausality.io/operator/internal/objectcache"
	"kausality.io/operator/internal/policy"
)

// leaving are holders of a kind that is watched for so many questions more. What is there
// is known to the API server alone.
type leaving struct {
	objectcache.Reader
	api     client.Client
	watched int
}

func (l *leaving) Watches(schema.GroupKind) bool {
	l.watched--
	return l.watched >= 0
}

func (l *leaving) Get(_ context.Context, _ schema.GroupVersionKind, key types.NamespacedName) (*unstructured.Unstructured, error) {
	return nil, apierrors.NewNotFound(schema.GroupResource{}, key.Name)
}

func (l *leaving) Live(ctx context.Context, gvk schema.GroupVersionKind, key types.NamespacedName) (*unstructured.Unstructured, error) {
	obj := &unstructured.Unstructured{}
	obj.SetGroupVersionKind(gvk)
	return obj, l.api.Get(ctx, key, obj)
}

// The last policy for a kind goes, and with it the watch of its objects.
func TestTargetLeaves(t *testing.T) {
	marked := showing(controllertest.Workload("StatefulSet", "web"), "", "a")
	bare, again := controllertest.Workload("StatefulSet", "web"), marked.DeepCopy()
	again.SetUID("another")
	for name, tc := range map[string]struct {
		// seen is the object as it was looked at last, and there as it is; nil where it is gone.
		seen, there *unstructured.Unstructured
		// touched is true where it was changed since, showed where it had a mark before, and
		// watched for how many questions the kind is.
		touched, showed bool
		watched         int
	}{
		"an object that shows its mark":                    {seen: marked, there: marked},
		"one that showed none":                             {seen: bare, there: bare},
		"one that was marked, and not looked at since":     {seen: bare, there: marked, touched: true},
		"one that somebody has put its mark back to":       {seen: bare, there: marked, showed: true},
		"one that another one has taken the name of":       {seen: marked, there: again},
		"one of a kind that is left while it is looked at": {seen: marked, there: marked, watched: 1},
		"one that is gone":                                 {seen: marked, touched: true},
	} {
		t.Run(name, func(t *testing.T) {
			clock := clocktesting.NewFakePassiveClock(controllertest.Noon)
			api := fake.NewClientBuilder().WithScheme(runtime.NewScheme())
			if tc.there != nil {
				api = api.WithObjects(tc.there.DeepCopy())
			}
			held := &leaving{api: api.Build(), watched: tc.watched}
			r := &Reconciler{
				Client: held.api, Holders: held, Policies: &policy.Active{}, Catalog: catalog.New(&policy.Active{}), Rate: 10, Clock: clock, pace: newPace(10), Loops: writeloop.NewFinder(),
			}
			req := objectcache.RequestFor(tc.seen.GroupVersionKind(), client.ObjectKeyFromObject(tc.seen))
			r.known.set(req, target{mark: markOf(tc.seen), showed: tc.showed})
			if tc.touched {
				r.known.touch(req)
			}
			for range 5 {
				again, err := r.Reconcile(t.Context(), req)
				if err != nil {
					t.Fatal(err)
				}
				if again.RequeueAfter == 0 {
					break
				}
				clock.SetTime(clock.Now().Add(again.RequeueAfter + time.Millisecond))
			}
			if tc.there != nil {
				obj, err := held.Live(t.Context(), req.GVK(), req.Key())
				if err != nil {
					t.Fatal(err)
				}
				if text := markOf(obj).texts[inAnnotation]; text != "" {
					t.Errorf("it goes on showing %q", text)
				}
			}
			if got := r.known.get(req); got.mark.uid != "" {
				t.Errorf("it is remembered for ever: %v", got)
			}
		})
	}
}
