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
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kausality.io/operator/test/campaign/audit"
	"kausality.io/operator/test/campaign/stranger/plan"
)

// A Thing comes under its policies with something else in the same request now and then, and an approval is alice's alone.
func TestCrossOver(t *testing.T) {
	for who, approves := range map[plan.Who]bool{plan.Alice: true, plan.Mallory: false} {
		var bare, changed, approved int
		for n := range 100 {
			obj := &unstructured.Unstructured{Object: map[string]any{"kind": "Thing", "spec": map[string]any{"config": "a"}}}
			obj.SetLabels(map[string]string{free: "yes"})
			act := plan.Act{N: n, Who: who, Resource: "things", Seed: uint64(n)}
			p := &performance{Act: act, r: act.Rand(), obj: obj}
			p.crossOver()
			if _, there := obj.GetLabels()[free]; there {
				t.Fatal("it does not come")
			}
			if audit.ValueAt(obj.Object, "spec", "config") == "a" {
				bare++
			} else {
				changed++
			}
			if obj.GetAnnotations()[ownKey(obj, "approve")] == "*" {
				approved++
			}
		}
		if bare == 0 || changed == 0 || approved > 0 != approves {
			t.Errorf("%s has it come alone %d times, changes it %d times, and approves %d times", who, bare, changed, approved)
		}
	}
}
