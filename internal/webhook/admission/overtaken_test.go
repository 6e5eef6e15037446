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

package admission

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/record"
)

// TestOvertaken shows that an allowance from before covers nothing of a change that has just
// been withheld, although the cache does not have that yet, and that the API server is asked
// about it no longer than that.
func TestOvertaken(t *testing.T) {
	at := func(obj *unstructured.Unstructured, version string) *unstructured.Unstructured {
		obj.SetResourceVersion(version)
		return obj
	}
	parent := key("Deployment", "web")
	before := at(unsettled(deployment(3, mayScale("alice", 4))), "100")
	follow := func(t *testing.T, v *Validator) bool {
		t.Helper()
		return v.Handle(t.Context(), asking(t, deployer, nil, replicaSet(3), counted(replicaSet(9)))).Allowed
	}
	for name, tc := range map[string]struct {
		cached, live string
		allowed      bool
		reads        int64
	}{
		"the cache lacks it":          {cached: "100", live: "101"},
		"the cache is further behind": {cached: "99", live: "101"},
		"the cache has it":            {cached: "101", live: "101"},
		"it was not stored":           {cached: "100", live: "100", allowed: true, reads: 1},
	} {
		t.Run(name, func(t *testing.T) {
			w := &world{cached: map[string]*unstructured.Unstructured{parent: before}, live: map[string]*unstructured.Unstructured{parent: before}}
			mutator, validator := w.hooks(t, deploymentPolicy)
			if !follow(t, validator) || w.liveReads.Load() > 0 {
				t.Fatalf("what alice allowed was refused, or %d reads were made for it", w.liveReads.Load())
			}
			after := at(unsettled(deployment(9, mayScale("alice", 4))), "100")
			after.SetAnnotations(patched(t, after, mutator.Handle(t.Context(), asking(t, "mallory", nil, before, after))))
			after = counted(after)
			if resp := validator.Handle(t.Context(), asking(t, "mallory", nil, before, after)); !resp.Allowed {
				t.Fatalf("withholding: %v", resp.Result)
			}
			versions := map[string]*unstructured.Unstructured{"99": before, "100": before, "101": after}
			w.cached[parent], w.live[parent] = at(versions[tc.cached].DeepCopy(), tc.cached), at(versions[tc.live].DeepCopy(), tc.live)
			w.liveReads.Store(0)
			if follow(t, validator) != tc.allowed {
				t.Errorf("allowed %v, not %v", !tc.allowed, tc.allowed)
			}
			if tc.allowed && w.liveReads.Load() != tc.reads {
				t.Errorf("%d reads, not %d", w.liveReads.Load(), tc.reads)
			}
		})
	}
}

// TestOvertakenUnheard shows that it does not either where only the record tells what is withheld, as
// the API server did not hear the webhook, and the cache lacks that as well.
func TestOvertakenUnheard(t *testing.T) {
	parent := key("Deployment", "web")
	before := unsettled(deployment(3, mayScale("alice", 4)))
	before.SetResourceVersion("100")
	w := &world{cached: map[string]*unstructured.Unstructured{parent: before}, live: map[string]*unstructured.Unstructured{parent: before}}
	_, validator := w.hooks(t, deploymentPolicy)
	after := counted(unsettled(deployment(9, mayScale("alice", 4))))
	if resp := validator.Handle(t.Context(), asking(t, "mallory", nil, before, after)); !resp.Allowed || len(w.pending) != 1 {
		t.Fatalf("withholding: %v, %d pending grants", resp.Result, len(w.pending))
	}
	stored := after.DeepCopy()
	stored.SetResourceVersion("101")
	w.live[parent] = stored
	w.liveRecords = map[types.UID]*v1alpha1.AllowanceRecord{stored.GetUID(): {
		Spec:   v1alpha1.AllowanceRecordSpec{TargetRef: record.TargetOf(stored), LedgerKnown: true},
		Status: v1alpha1.AllowanceRecordStatus{PendingGrants: w.pending},
	}}
	if validator.Handle(t.Context(), asking(t, deployer, nil, replicaSet(3), counted(replicaSet(9)))).Allowed {
		t.Error("what is withheld was carried out")
	}
}

// BenchmarkOvertaken measures what each look at a parent costs while nothing was withheld.
func BenchmarkOvertaken(b *testing.B) {
	var o overtaken
	obj := deployment(3)
	b.ReportAllocs()
	for b.Loop() {
		if o.has(obj) {
			b.Fatal("it knows of none")
		}
	}
}
