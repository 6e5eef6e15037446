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
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/gate"
	gatecrossplane "kausality.io/operator/internal/gate/crossplane"
)

// TestNothingEndsAHold checks that what is deleted is not gone before its provider has seen that, and what is told of it.
func TestNothingEndsAHold(t *testing.T) {
	keeper := gatecrossplane.Driver{}.Finalizer()
	const collector = "system:serviceaccount:kube-system:generic-garbage-collector"
	type edit = func(*unstructured.Unstructured)
	kept := func(finalizers ...string) edit {
		return func(obj *unstructured.Unstructured) { obj.SetFinalizers(finalizers) }
	}
	going := func(obj *unstructured.Unstructured) {
		now := metav1.Unix(1_700_000_000, 0)
		obj.SetDeletionTimestamp(&now)
	}
	held := with(v1alpha1.AnnotationGateHeld, gate.State{Held: &gate.Hold{User: "mallory"}}.Annotations()[v1alpha1.AnnotationGateHeld])
	orphaned := with(v1alpha1.AnnotationOrphan, "true")
	paused := with(pausedKey, "true")
	ceiling := with(v1alpha1.AnnotationGateCeiling, `["Observe"]`)
	free := func(obj *unstructured.Unstructured) { obj.SetOwnerReferences(nil) }
	outside := saying(t, "{atProvider: {size: 1}, conditions: [{type: Ready, status: 'True', reason: Available}, {type: Synced, status: 'True', reason: ReconcileSuccess}]}")
	bucketOf := func(edits ...edit) *unstructured.Unstructured {
		return bucket(t, "size: 1", gateClosed, append([]edit{under(t, "size: 1"), outside}, edits...)...)
	}
	const orphans = "Group platform-team may let it go and keep what is outside: kubectl annotate -n default bucket.cloud.example.com b kausality.io/orphan='true'"
	const deletes = "Group platform-team may have both deleted: kubectl delete -n default bucket.cloud.example.com b."
	tests := map[string]struct {
		user   string
		groups []string
		before *unstructured.Unstructured
		// after is nil for a deletion.
		after *unstructured.Unstructured
		says  []string
	}{
		"a stranger takes the finalizers off": {
			user: "mallory", before: bucketOf(free, held, paused, going, kept(keeper)), after: bucketOf(free, held, paused, going),
			says: []string{"the deletion of Bucket b is held back: without " + keeper + " it would be gone", orphans, deletes, "kubectl kausality explain -n default"},
		},
		"of what is composed": {
			user: "mallory", before: bucketOf(held, paused, going, kept(keeper)), after: bucketOf(held, paused, going),
			says: []string{"would stay there, with nobody to know of it. ", orphans},
		},
		"so does who may initiate": {
			user: "alice", groups: platformTeam, before: bucketOf(free, held, paused, going, kept(keeper)), after: bucketOf(free, held, paused, going), says: []string{orphans},
		},
		"who may initiate says so in the same write": {
			user: "alice", groups: platformTeam, before: bucketOf(free, held, paused, going, kept(keeper)), after: bucketOf(free, held, paused, going, orphaned), says: []string{orphans},
		},
		"the garbage collector does": {
			user: collector, before: bucketOf(held, paused, going, kept("its.own", "foregroundDeletion")), after: bucketOf(held, paused, going, kept("foregroundDeletion")),
			says: []string{"without its.own it would be gone"},
		},
		"before the deletion has come": {
			user: "mallory", before: bucketOf(free, held, paused, kept(keeper)), after: bucketOf(free, held, paused), says: []string{orphans},
		},
		"the garbage collector takes its own off": {
			user: collector, before: bucketOf(held, paused, going, kept(keeper, "foregroundDeletion")), after: bucketOf(held, paused, going, kept(keeper)),
		},
		"the provider does": {
			user: provider, before: bucketOf(held, paused, going, kept(keeper)), after: bucketOf(held, paused, going),
		},
		"a stranger, after somebody who may has said that it may go": {
			user: "mallory", before: bucketOf(free, held, paused, going, orphaned, kept(keeper)), after: bucketOf(free, held, paused, going, orphaned),
		},
		"a stranger, of a deletion that goes on": {
			user: "mallory", before: bucketOf(free, going, kept(keeper)), after: bucketOf(free, going),
		},
		"a stranger, of what is not being deleted": {
			user: "mallory", before: bucketOf(free, kept(keeper)), after: bucketOf(free),
		},
		"the deletion of what has no finalizer": {
			user: "mallory", before: bucketOf(free), says: []string{"Bucket b has, or had a moment ago, no finalizer of its provider, such as " + keeper + ": it would be gone at once", orphans},
		},
		"the same, by who may initiate": {user: "alice", groups: platformTeam, before: bucketOf(free), says: []string{"try again once its provider has put that back"}},
		"the same, by the garbage collector": {
			user: collector, before: bucketOf(kept("foregroundDeletion")), says: []string{"it would be gone at once"},
		},
		"of what may go":                     {user: "mallory", before: bucketOf(free, orphaned)},
		"of what is not outside":             {user: "mallory", before: bucketOf(free, saying(t, "{}"))},
		"of what nobody wants to go outside": {user: "mallory", before: bucketOf(free, ceiling)},
		"of what has another finalizer":      {user: "mallory", before: bucketOf(free, kept("its.own"))},
		"of what was there before its policy": {
			user: "mallory", before: bucket(t, "size: 1", []any{"*"}, outside, free), says: []string{"it would be gone at once"},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			w := &world{cached: map[string]*unstructured.Unstructured{"Shop/web": shop(t)}}
			w.live = w.cached
			_, validator := w.hooks(t, shopPolicy, ownBucketPolicy)
			resp := validator.Handle(t.Context(), asking(t, tt.user, tt.groups, tt.before, tt.after))
			if resp.Allowed != (len(tt.says) == 0) {
				t.Fatalf("allowed = %t: %v", resp.Allowed, resp.Result)
			}
			for _, text := range tt.says {
				if resp.Result.Code != http.StatusForbidden || !strings.Contains(resp.Result.Message, text) {
					t.Errorf("%d, %q, want one that says %q", resp.Result.Code, resp.Result.Message, text)
				}
			}
			if len(tt.says) > 0 && len(w.holds) > 0 {
				t.Errorf("held, although it was refused: %v", w.holds)
			}
		})
	}
}

// TestFinalizerComesInTheMiddle checks that a DELETE does not pass about which the API server asks again, when the provider
// has put its finalizer back in between: it still goes by what it found first.
func TestFinalizerComesInTheMiddle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bucketOf := func(uid string, finalizers ...string) *unstructured.Unstructured {
			return bucket(t, "size: 1", gateClosed, under(t, "size: 1"), saying(t, "{atProvider: {size: 1}, conditions: [{type: Ready, status: 'True', reason: Available}]}"),
				func(obj *unstructured.Unstructured) {
					obj.SetOwnerReferences(nil)
					obj.SetFinalizers(finalizers)
					obj.SetUID(types.UID(uid))
				})
		}
		keeper := gatecrossplane.Driver{}.Finalizer()
		_, validator := (&world{}).hooks(t, ownBucketPolicy)
		passes := func(obj *unstructured.Unstructured) bool {
			return validator.Handle(t.Context(), asking(t, "mallory", nil, obj, nil)).Allowed
		}
		got := []bool{passes(bucketOf("one")), passes(bucketOf("one", keeper)), passes(bucketOf("another", keeper))}
		time.Sleep(bareFor + time.Second) //nolint:forbidigo // It is the clock of the bubble that passes.
		got = append(got, passes(bucketOf("one", keeper)))
		if diff := cmp.Diff([]bool{false, false, true, true}, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}
