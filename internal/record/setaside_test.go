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
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"kausality.io/operator/api/v1alpha1"
)

func TestSetAside(t *testing.T) {
	store, clock := storeAt(t)
	parent := v1alpha1.TargetReference{Group: "apps", Version: "v1", Kind: "ReplicaSet", Namespace: "shop", Name: "web", UID: "web-uid"}
	live := func() *v1alpha1.AllowanceRecord {
		t.Helper()
		rec, err := store.Live(t.Context(), parent)
		if err != nil {
			t.Fatal(err)
		}
		return rec
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	pod := &unstructured.Unstructured{Object: map[string]any{"kind": "Pod", "metadata": map[string]any{"uid": "a"}, "spec": map[string]any{"image": "1"}}}
	other := pod.DeepCopy()
	other.Object["spec"] = map[string]any{"image": "2"}
	const key = "key"
	child := v1alpha1.SetAsideChild{UID: "a", Kind: "Pod", Name: "web-a", Digest: SetAsideDigest(pod, key)}
	returned := v1alpha1.ReturnedChild{Initiator: "alice", Field: "metadata.labels", Digest: SetAsideDigest(other, key)}
	// state says whether the Pods are as they were set aside, and may be adopted.
	state := func() string {
		rec, now := live(), clock.Now()
		return fmt.Sprintf("%t/%t/%t/%t", IsSetAside(rec, pod, key, now), IsSetAside(rec, other, key, now), Returned(rec, pod, key, now) != nil, Returned(rec, other, key, now) != nil)
	}
	want := func(when, want string) {
		t.Helper()
		if diff := cmp.Diff(want, state()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", when, diff)
		}
	}

	want("before anything", "false/false/false/false")
	must(store.Return(t.Context(), parent, "a", returned))
	want("returned without having been set aside", "false/false/false/false")
	must(store.SetAside(t.Context(), parent, child))
	want("set aside", "true/false/false/false")
	must(store.Return(t.Context(), parent, "b", returned))
	want("another one is returned", "true/false/false/false")
	must(store.Return(t.Context(), parent, "a", returned))
	want("returned", "true/false/false/true")
	clock.Step(returnedLimit)
	want("returned a while ago", "true/false/false/false")
	must(store.ForgetSetAside(t.Context(), parent))
	if left := live().Status.SetAside; len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	must(store.SetAside(t.Context(), parent, child))
	must(store.Return(t.Context(), parent, "a", returned))
	must(store.SetAside(t.Context(), parent, child))
	want("set aside again", "true/false/false/false")
	clock.Step(setAsideLimit - time.Second)
	must(store.ForgetSetAside(t.Context(), parent))
	want("set aside nearly a day ago", "true/false/false/false")
	clock.Step(time.Second)
	want("set aside a day ago", "false/false/false/false")

	for i := range v1alpha1.MaxSetAside {
		clock.Step(time.Second)
		must(store.SetAside(t.Context(), parent, v1alpha1.SetAsideChild{UID: types.UID(strconv.Itoa(i)), Kind: "Pod", Name: "x", Digest: "x"}))
	}
	if all := live().Status.SetAside; len(all) != v1alpha1.MaxSetAside || all[0].UID != "0" {
		t.Errorf("got %d, the first is %v", len(all), all[0])
	}
}

func TestSetAsideDigest(t *testing.T) {
	pod := func(change func(*unstructured.Unstructured)) *unstructured.Unstructured {
		obj := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "v1", "kind": "Pod", "metadata": map[string]any{"name": "a", "uid": "a", "resourceVersion": "1"},
			"spec": map[string]any{"image": "1"},
		}}
		change(obj)
		return obj
	}
	set := func(value string, fields ...string) func(*unstructured.Unstructured) {
		return func(obj *unstructured.Unstructured) { _ = unstructured.SetNestedField(obj.Object, value, fields...) }
	}
	was := SetAsideDigest(pod(func(*unstructured.Unstructured) {}), "key")
	for name, tt := range map[string]struct {
		change func(*unstructured.Unstructured)
		same   bool
	}{
		"its version":              {set("2", "metadata", "resourceVersion"), true},
		"its status":               {set("Running", "status", "phase"), true},
		"its node":                 {set("n1", "spec", "nodeName"), true},
		"what Kausality says":      {set("x", "metadata", "annotations", "pod.kausality.io/approve"), true},
		"its spec":                 {set("2", "spec", "image"), false},
		"a label":                  {set("x", "metadata", "labels", "x"), false},
		"an annotation":            {set("x", "metadata", "annotations", "x"), false},
		"a field beside its spec":  {set("x", "data", "x"), false},
		"another object like that": {set("b", "metadata", "uid"), false},
		"the node of another kind": {func(obj *unstructured.Unstructured) { obj.SetKind("Other"); set("n1", "spec", "nodeName")(obj) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			if same := SetAsideDigest(pod(tt.change), "key") == was; same != tt.same {
				t.Errorf("the digest is the same: %t, want %t", same, tt.same)
			}
		})
	}
	if SetAsideDigest(pod(func(*unstructured.Unstructured) {}), "other") == was {
		t.Error("the key does not matter")
	}
}
