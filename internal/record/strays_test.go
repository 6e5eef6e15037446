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
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"kausality.io/operator/api/v1alpha1"
)

// storeAt returns a store of an empty cluster, and its clock.
func storeAt(t *testing.T) (*Store, *clocktesting.FakeClock) {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	c := fake.NewClientBuilder().WithScheme(scheme).WithStatusSubresource(&v1alpha1.AllowanceRecord{}).Build()
	clock := clocktesting.NewFakeClock(time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC))
	return NewStore(Config{Client: c, Live: c, OperatorNamespace: "kausality-system", Clock: clock}), clock
}

func TestStrays(t *testing.T) {
	store, clock := storeAt(t)
	parent := v1alpha1.TargetReference{Group: "apps", Version: "v1", Kind: "ReplicaSet", Namespace: "shop", Name: "web", UID: "web-uid"}
	stray := func(uid string) v1alpha1.StrayChild {
		return v1alpha1.StrayChild{UID: types.UID(uid), APIVersion: "v1", Kind: "Pod", Namespace: "shop", Name: "pod-" + uid}
	}
	strays := func() []v1alpha1.StrayChild {
		t.Helper()
		rec, err := store.Live(t.Context(), parent)
		if err != nil || rec == nil {
			t.Fatal(rec, err)
		}
		return rec.Status.Strays
	}
	uids := func() []string {
		var out []string
		for _, s := range strays() {
			out = append(out, string(s.UID))
		}
		return out
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	want := func(want ...string) {
		t.Helper()
		if diff := cmp.Diff(want, uids()); diff != "" {
			t.Fatalf("strays (-want +got):\n%s", diff)
		}
	}

	must(store.AddStray(t.Context(), parent, stray("a")))
	must(store.AddStray(t.Context(), parent, stray("b")))
	before := strays()
	clock.Step(time.Hour)
	must(store.AddStray(t.Context(), parent, stray("a"))) // adopted again
	want("a", "b")
	must(store.ForgetStrays(t.Context(), parent, before...)) // which was looked for before that
	want("a")
	must(store.RemoveStray(t.Context(), parent, "a"))
	want()
	must(store.RemoveStray(t.Context(), v1alpha1.TargetReference{Version: "v1", Kind: "Pod", Name: "none", UID: "none"}, "a"))

	must(store.Update(t.Context(), parent, true, func(status *v1alpha1.AllowanceRecordStatus) bool {
		for i := range v1alpha1.MaxStrays {
			status.Strays = append(status.Strays, stray(strconv.Itoa(i)))
		}
		return true
	}))
	must(store.AddStray(t.Context(), parent, stray("7"))) // is one of them
	if err := store.AddStray(t.Context(), parent, stray("more")); err == nil {
		t.Error("a stray was dropped, and would be covered")
	}
	if got := len(strays()); got != v1alpha1.MaxStrays {
		t.Errorf("got %d strays", got)
	}
}
