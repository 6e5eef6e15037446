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
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/change"
	"kausality.io/operator/internal/ledger"
)

// pod returns a Pod of ReplicaSet web-1.
func pod() *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Pod",
		"metadata": map[string]any{
			"name": "web-1-a", "namespace": "default", "uid": "uid-pod",
			"ownerReferences": []any{map[string]any{
				"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web-1", "uid": "uid-web-1", "controller": true,
			}},
		},
	}}
}

// counted returns the object at the next generation, as the validating hook sees it.
func counted(obj *unstructured.Unstructured) *unstructured.Unstructured {
	obj.SetGeneration(obj.GetGeneration() + 1)
	return obj
}

func TestValidate(t *testing.T) {
	type observed struct{ Result, Reason string }
	tests := map[string]struct {
		user          string
		groups        []string
		rules         string // further ones of the Deployment policy
		before, after *unstructured.Unstructured
		cached, live  *unstructured.Unstructured
		record        *v1alpha1.AllowanceRecord
		unwatched     bool
		dryRun        bool
		manager       string
		code          int32
		says, warns   []string
		reason        string
		observed      []observed
		liveReads     int
		pending       int
		deletions     int
	}{
		"covered": {
			user: deployer, before: replicaSet(3), after: counted(replicaSet(5,
				hop(mayScale("alice", 5), "create"), hop(mayScale("alice", 5), "delete"))),
			cached: deployment(5, mayScale("alice", 5)), reason: "Covered", observed: []observed{{"Allowed", "Covered"}},
		},
		"covered, but the mutating answer was lost": {
			user: deployer, before: replicaSet(3), after: counted(replicaSet(5)),
			cached: deployment(5, mayScale("alice", 5)), reason: "Covered", observed: []observed{{"Allowed", "Covered"}}, pending: 1,
		},
		"lost on a dry run": {
			user: deployer, before: replicaSet(3), after: counted(replicaSet(5)), dryRun: true,
			cached: deployment(5, mayScale("alice", 5)), reason: "Covered",
		},
		"covered by a pending grant": {
			user: deployer, before: replicaSet(3), after: counted(replicaSet(5)), cached: unsettled(deployment(5)),
			record: &v1alpha1.AllowanceRecord{Status: v1alpha1.AllowanceRecordStatus{PendingGrants: []v1alpha1.PendingGrant{{
				ID: "1", ContentHash: change.HashOfCounted(deployment(5).Object), Allowances: []v1alpha1.Allowance{mayScale("alice", 4)},
			}}}},
			reason: "Covered", observed: []observed{{"Allowed", "Covered"}}, pending: 1,
		},
		"a pending grant of what is done": {
			user: deployer, before: replicaSet(5), after: counted(replicaSet(9)), cached: deployment(5),
			record: &v1alpha1.AllowanceRecord{Status: v1alpha1.AllowanceRecordStatus{PendingGrants: []v1alpha1.PendingGrant{{
				ID: "1", Path: "spec.replicas", Value: new(int64(5)), Allowances: []v1alpha1.Allowance{mayScale("alice", 0)},
			}}}},
			code: http.StatusForbidden, reason: "Denied", observed: []observed{{"Denied", "Denied"}}, liveReads: 1,
		},
		"a pending grant for what the parent is not any more": {
			user: deployer, before: replicaSet(3), after: counted(replicaSet(5)), cached: unsettled(deployment(5)),
			record: &v1alpha1.AllowanceRecord{Status: v1alpha1.AllowanceRecordStatus{PendingGrants: []v1alpha1.PendingGrant{{
				ID: "1", ContentHash: change.HashOfCounted(deployment(7).Object), Allowances: []v1alpha1.Allowance{mayScale("alice", 4)},
			}}}},
			code: http.StatusForbidden, reason: "Denied", observed: []observed{{"Denied", "Denied"}}, liveReads: 1,
		},
		"consumed, though still in the annotation": {
			user: deployer, before: replicaSet(3), after: counted(replicaSet(5)), cached: deployment(5, mayScale("alice", 4)),
			record: &v1alpha1.AllowanceRecord{Status: v1alpha1.AllowanceRecordStatus{Consumed: []v1alpha1.ConsumedAllowance{{
				ID: idOf(mayScale("alice", 4)), Generation: 4,
			}}}},
			code: http.StatusForbidden, reason: "Denied", observed: []observed{{"Denied", "Denied"}}, liveReads: 1,
		},
		"the cache is behind": {
			user: deployer, before: replicaSet(3), after: counted(replicaSet(5)), cached: deployment(3), live: deployment(5, mayScale("alice", 5)),
			reason: "Covered", observed: []observed{{"Allowed", "Covered"}}, liveReads: 1, pending: 1,
		},
		"the cache has what is not so any more, and cannot know": {
			user: deployer, before: replicaSet(3), after: counted(replicaSet(5)), unwatched: true,
			cached: deployment(5, mayScale("alice", 5)), live: unsettled(deployment(7, mayScale("alice", 5), held("spec.replicas", "5"))),
			code: http.StatusForbidden, reason: "Denied", observed: []observed{{"Denied", "Denied"}}, liveReads: 2,
		},
		"covered while the cache cannot know": {
			user: deployer, before: replicaSet(3), unwatched: true, after: counted(replicaSet(5,
				hop(mayScale("alice", 5), "create"), hop(mayScale("alice", 5), "delete"))),
			cached: deployment(5, mayScale("alice", 5)), reason: "Covered", observed: []observed{{"Allowed", "Covered"}}, liveReads: 1,
		},
		"denied": {
			user: deployer, before: replicaSet(3), after: counted(replicaSet(5)), cached: deployment(3),
			code: http.StatusForbidden, reason: "Denied", observed: []observed{{"Denied", "Denied"}}, liveReads: 1,
			says: []string{
				"changing spec.replicas of ReplicaSet web-1", "parent Deployment web", "AllowancePolicy deployment", "allows nothing now",
				"Group platform-team may allow it", "kausality.io/approve=", "kubectl get allowancerecord -n default deployment-web-",
			},
		},
		"denied, to Crossplane": {
			user: deployer, before: replicaSet(3), after: counted(replicaSet(5)), cached: deployment(3), manager: composedManager + "abc",
			code: http.StatusUnprocessableEntity, reason: "Denied", observed: []observed{{"Denied", "Denied"}}, liveReads: 1,
		},
		"denied while something is withheld": {
			user: deployer, before: replicaSet(3), after: counted(replicaSet(5)), liveReads: 1,
			cached: unsettled(deployment(3, mayScale("alice", 4), held("spec.replicas", "2"))),
			code:   http.StatusForbidden, reason: "Denied", observed: []observed{{"Denied", "Denied"}},
			says: []string{"allows nothing while the change of spec.replicas by mallory is withheld", "kausality.io/approve='spec.replicas@"},
		},
		"denied on a dry run leaves no trace": {
			user: "mallory", before: replicaSet(3), after: counted(replicaSet(5)), cached: deployment(3), dryRun: true,
			code: http.StatusForbidden, reason: "Denied", liveReads: 1,
		},
		"an orphan": {
			user: "mallory", before: replicaSet(3), after: counted(replicaSet(5)), reason: "Orphan", liveReads: 1,
			warns: []string{"names the owner Deployment web, which does not exist"},
		},
		"a stranger's change of a root": {
			user: "mallory", before: deployment(3), after: counted(deployment(5)), reason: "Root", pending: 1, liveReads: 2,
			warns: []string{"the change of spec.replicas of Deployment web is withheld", "mallory may not initiate it", "Group platform-team may approve it"},
		},
		"an initiator's change while something else is withheld": {
			user: "alice", groups: platformTeam, reason: "Origin", rules: "  - trigger: spec.paused\n",
			before: deployment(3, held("spec.paused", "#1")), after: counted(deployment(5, held("spec.paused", "#1"), mayScale("alice", 5))),
			warns: []string{
				"nothing follows from this change of Deployment web while the change of spec.paused by mallory is withheld",
				"take that back or approve it: kubectl annotate",
			},
		},
		"an initiator writes the value that is withheld": {
			user: "alice", groups: platformTeam, reason: "Unchanged",
			before: unsettled(deployment(3, held("spec.replicas", "2"))), after: unsettled(deployment(3, held("spec.replicas", "2"))),
			warns: []string{
				"something stays withheld of Deployment web: the change of spec.replicas by mallory is withheld",
				"to write the same value does not approve it; Group platform-team may approve it: kubectl annotate",
				"kausality.io/approve='spec.replicas@",
			},
		},
		"a stranger writes the value that is withheld": {
			user: "mallory", reason: "Unchanged",
			before: unsettled(deployment(3, held("spec.replicas", "2"))), after: unsettled(deployment(3, held("spec.replicas", "2"))),
		},
		"a controller writes what has something withheld": {
			user: deployer, reason: "Unchanged",
			before: unsettled(deployment(3, held("spec.replicas", "2"))), after: unsettled(deployment(3, held("spec.replicas", "2"))),
		},
		"the operator writes what has something withheld": {
			user: operatorUser, reason: "Own",
			before: unsettled(deployment(3, held("spec.replicas", "2"))), after: unsettled(deployment(3, held("spec.replicas", "2"))),
		},
		"a holder is deleted":              {user: "mallory", before: deployment(3), reason: "Root", deletions: 1},
		"a holder is deleted on a dry run": {user: "mallory", before: deployment(3), reason: "Root", dryRun: true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			w := &world{
				cached: map[string]*unstructured.Unstructured{}, live: map[string]*unstructured.Unstructured{},
				records: map[types.UID]*v1alpha1.AllowanceRecord{}, unwatched: tc.unwatched,
			}
			if tc.cached != nil {
				w.cached[key("Deployment", "web")], w.live[key("Deployment", "web")] = tc.cached, tc.cached
			}
			if tc.live != nil {
				w.live[key("Deployment", "web")] = tc.live
			}
			if tc.record != nil {
				tc.record.Spec.TargetRef.UID = "uid-web"
				w.records["uid-web"] = tc.record
			}
			_, validator := w.hooks(t, deploymentPolicy+tc.rules, replicaSetPolicy)
			req := asking(t, tc.user, tc.groups, tc.before, tc.after)
			req.DryRun = &tc.dryRun
			if tc.manager != "" {
				req.Options = runtime.RawExtension{Raw: []byte(`{"fieldManager":"` + tc.manager + `"}`)}
			}
			resp := validator.Handle(t.Context(), req)

			if resp.Allowed != (tc.code == 0) || !resp.Allowed && resp.Result.Code != tc.code {
				t.Fatalf("allowed %t (%+v), want code %d", resp.Allowed, resp.Result, tc.code)
			}
			if got := resp.AuditAnnotations[auditReason]; got != tc.reason {
				t.Errorf("reason %s, want %s", got, tc.reason)
			}
			for _, want := range tc.says {
				if !strings.Contains(resp.Result.Message, want) {
					t.Errorf("message %q does not say %q", resp.Result.Message, want)
				}
			}
			warned := strings.Join(resp.Warnings, "\n")
			for _, want := range tc.warns {
				if !strings.Contains(warned, want) {
					t.Errorf("warnings %q do not say %q", warned, want)
				}
			}
			if len(tc.warns) == 0 && warned != "" {
				t.Errorf("unexpected warnings %q", warned)
			}
			var got []observed
			for _, o := range w.observed {
				if o.Decision != nil {
					got = append(got, observed{o.Decision.Result, o.Decision.Reason})
				}
			}
			if diff := cmp.Diff(tc.observed, got); diff != "" {
				t.Errorf("observed (-want +got):\n%s", diff)
			}
			counts := [3]int{int(w.liveReads.Load()), len(w.pending), len(w.deletions)}
			if want := [3]int{tc.liveReads, tc.pending, tc.deletions}; counts != want {
				t.Errorf("live reads, pending grants, deletions: %v, want %v", counts, want)
			}
		})
	}
}

func idOf(a v1alpha1.Allowance) string { return ledger.NewEntry(a).ID() }

func TestScale(t *testing.T) {
	tests := map[string]struct {
		user    string
		groups  []string
		behind  *unstructured.Unstructured
		allowed bool
		pending []v1alpha1.PendingGrant
	}{
		"by an initiator": {
			user: "alice", groups: platformTeam, behind: deployment(3), allowed: true,
			pending: []v1alpha1.PendingGrant{{After: "88", Path: "spec.replicas", Value: five(), Allowances: []v1alpha1.Allowance{mayScale("alice", 0)}}},
		},
		"by a stranger, who could not be told in a ledger": {user: "mallory", behind: deployment(3)},
		"of what does not exist":                           {user: "mallory", allowed: true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			w := &world{cached: map[string]*unstructured.Unstructured{}}
			if tc.behind != nil {
				w.cached[key("Deployment", "web")] = tc.behind
			}
			_, validator := w.hooks(t, deploymentPolicy)
			resp := validator.Handle(t.Context(), scaling(t, tc.user, tc.groups, 3, 5))
			if resp.Allowed != tc.allowed {
				t.Fatalf("allowed %t: %+v", resp.Allowed, resp.Result)
			}
			for i := range w.pending {
				w.pending[i].ID = ""
			}
			if diff := cmp.Diff(tc.pending, w.pending); diff != "" {
				t.Errorf("pending grants (-want +got):\n%s", diff)
			}
		})
	}
}

// Who could approve a number of replicas that is withheld, and scales to it, is told that this does not.
func TestScaleToWhatIsWithheld(t *testing.T) {
	behind := unsettled(deployment(3, held("spec.replicas", "2")))
	for name, tc := range map[string]struct {
		user   string
		groups []string
		want   string
	}{
		"by who may approve it": {
			user: "alice", groups: platformTeam,
			want: "kausality: something stays withheld of Deployment web: the change of spec.replicas by mallory is withheld, and to write the same value does not " +
				"approve it; Group platform-team may approve it: kubectl annotate -n default deployment web kausality.io/approve='spec.replicas@c8b860bc0af6'",
		},
		"by somebody else": {user: "mallory"},
	} {
		t.Run(name, func(t *testing.T) {
			w := &world{cached: map[string]*unstructured.Unstructured{key("Deployment", "web"): behind}}
			w.live = w.cached
			_, validator := w.hooks(t, deploymentPolicy)
			resp := validator.Handle(t.Context(), scaling(t, tc.user, tc.groups, 3, 3))
			if !resp.Allowed {
				t.Fatalf("refused: %+v", resp.Result)
			}
			if diff := cmp.Diff(tc.want, strings.Join(resp.Warnings, "\n")); diff != "" {
				t.Errorf("warnings (-want +got):\n%s", diff)
			}
		})
	}
}

// What a platform actor deletes for reasons of its own is recorded as anybody's: nothing above tells of it.
func TestDeletionByPlatform(t *testing.T) {
	const kubeSystem = "system:serviceaccount:kube-system:"
	for name, tc := range map[string]struct {
		user   string
		object *unstructured.Unstructured
		want   []string
	}{
		"of what has finished":            {user: kubeSystem + "ttl-after-finished-controller", object: deployment(3), want: []string{kubeSystem + "ttl-after-finished-controller"}},
		"of what is below":                {user: kubeSystem + "ttl-after-finished-controller", object: replicaSet(3), want: []string{kubeSystem + "ttl-after-finished-controller"}},
		"of what no policy is for":        {user: kubeSystem + "ttl-after-finished-controller", object: pod()},
		"of what goes with its owner":     {user: kubeSystem + "generic-garbage-collector", object: replicaSet(3)},
		"of what goes with its namespace": {user: kubeSystem + "namespace-controller", object: deployment(3)},
		"of what goes with its node":      {user: kubeSystem + "node-controller", object: deployment(3)},
	} {
		t.Run(name, func(t *testing.T) {
			parents := map[string]*unstructured.Unstructured{key("Deployment", "web"): deployment(3), key("ReplicaSet", "web-1"): replicaSet(3)}
			w := &world{cached: parents, live: parents}
			_, validator := w.hooks(t, deploymentPolicy, replicaSetPolicy)
			if resp := validator.Handle(t.Context(), asking(t, tc.user, nil, tc.object, nil)); !resp.Allowed {
				t.Fatalf("refused: %+v", resp.Result)
			}
			var got []string
			for _, d := range w.deletions {
				got = append(got, d.User)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("recorded deletions (-want +got):\n%s", diff)
			}
		})
	}
}

// scaling returns the request to scale Deployment web.
func scaling(tb testing.TB, user string, groups []string, from, to int64) admission.Request {
	tb.Helper()
	scale := func(replicas int64) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "autoscaling/v1", "kind": "Scale",
			"metadata": map[string]any{"name": "web", "namespace": "default", "uid": "uid-web", "resourceVersion": "88"},
			"spec":     map[string]any{"replicas": replicas},
		}}
	}
	req := asking(tb, user, groups, scale(from), scale(to))
	req.SubResource = subresourceScale
	req.Resource.Group, req.Resource.Version, req.Resource.Resource = "apps", "v1", "deployments"
	return req
}

func five() *int64 {
	n := int64(5)
	return &n
}

func TestEvictionIsADeletion(t *testing.T) {
	eviction := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "policy/v1", "kind": "Eviction", "metadata": map[string]any{"name": "web-1-a", "namespace": "default"},
	}}
	maintained := strings.Replace(replicaSetPolicy, "  rules:", `  maintaining:
    policies: [{target: {apiVersion: v1, resource: pods}, relation: ControllerChild, verbs: [Delete]}]
  rules:`, 1)
	for name, tc := range map[string]struct {
		policy string
		want   bool
	}{
		"open to everybody where the policy maintains": {policy: maintained, want: true},
		"denied where it does not":                     {policy: replicaSetPolicy},
	} {
		t.Run(name, func(t *testing.T) {
			w := &world{
				cached: map[string]*unstructured.Unstructured{key("ReplicaSet", "web-1"): replicaSet(3), key("Deployment", "web"): deployment(3)},
				live:   map[string]*unstructured.Unstructured{key("Pod", "web-1-a"): pod(), key("ReplicaSet", "web-1"): replicaSet(3)},
			}
			_, validator := w.hooks(t, deploymentPolicy, tc.policy)
			req := asking(t, "mallory", nil, nil, eviction)
			req.SubResource = subresourceEviction
			req.Resource.Version, req.Resource.Resource = "v1", "pods"
			if resp := validator.Handle(t.Context(), req); resp.Allowed != tc.want {
				t.Errorf("allowed %t, want %t: %+v", resp.Allowed, tc.want, resp.Result)
			}
		})
	}
}

// The collector's deletion of a holder says who deleted what is above it; it is
// recorded where the holder has no record yet.
func TestCollected(t *testing.T) {
	const collector = "system:serviceaccount:kube-system:generic-garbage-collector"
	deleted := v1alpha1.Deletion{
		User: "bob", Initiator: "bob", Policies: []string{"deployment"},
		Trace: []v1alpha1.TraceHop{{Kind: "Deployment", Name: "web", Generation: 4, Field: v1alpha1.FieldDeleted}},
	}
	above := &v1alpha1.AllowanceRecord{Status: v1alpha1.AllowanceRecordStatus{Deletion: &deleted}}
	for name, records := range map[string]map[types.UID]*v1alpha1.AllowanceRecord{
		"without a record": {"uid-web": above},
		"with a record":    {"uid-web": above, "uid-web-1": {Spec: v1alpha1.AllowanceRecordSpec{}}},
	} {
		t.Run(name, func(t *testing.T) {
			w := &world{records: records, unrecorded: true} // the Deployment is gone
			_, validator := w.hooks(t, deploymentPolicy, replicaSetPolicy)
			resp := validator.Handle(t.Context(), asking(t, collector, nil, replicaSet(3), nil))
			if got := resp.AuditAnnotations[auditTrace]; !strings.HasPrefix(got, `bob [{"kind":"Deployment","name":"web"`) {
				t.Errorf("trace %q, want bob's deletion of the Deployment", got)
			}
			var want []v1alpha1.Deletion
			if len(records) == 1 {
				d := deleted
				d.Policies = []string{}
				d.Trace = append(slices.Clone(d.Trace), v1alpha1.TraceHop{Kind: "ReplicaSet", Name: "web-1", Field: v1alpha1.FieldDeleted})
				want = []v1alpha1.Deletion{d}
			}
			if diff := cmp.Diff(want, w.deletions, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("recorded (-want +got):\n%s", diff)
			}
		})
	}
}

// A record of a deletion says who carries it out, and who has caused it.
func TestDeletionSaysWhoCausedIt(t *testing.T) {
	const rules = deploymentPolicy + `      verbs: [Delete]
`
	replicaSets := strings.Replace(replicaSetPolicy, "  rules:", "  subjects: [{kind: ServiceAccount, name: deployment-controller, namespace: kube-system}]\n  rules:", 1)
	for name, tc := range map[string]struct {
		user            string
		groups          []string
		before          *unstructured.Unstructured
		initiator, hops string
	}{
		"by who begins with it": {user: "alice", groups: platformTeam, before: deployment(3), initiator: "alice", hops: "Deployment"},
		"by its controller":     {user: deployer, before: replicaSet(3), initiator: "alice", hops: "Deployment,ReplicaSet"},
	} {
		t.Run(name, func(t *testing.T) {
			may := mayScale("alice", 4)
			may.Mutation = "delete"
			parents := map[string]*unstructured.Unstructured{key("Deployment", "web"): unsettled(deployment(3, may))}
			w := &world{cached: parents, live: parents}
			_, validator := w.hooks(t, rules, replicaSets)
			if resp := validator.Handle(t.Context(), asking(t, tc.user, tc.groups, tc.before, nil)); !resp.Allowed {
				t.Fatalf("refused: %+v", resp.Result)
			}
			if len(w.deletions) != 1 {
				t.Fatalf("%d deletions are recorded", len(w.deletions))
			}
			got := w.deletions[0]
			var hops []string
			for _, h := range got.Trace {
				hops = append(hops, h.Kind)
			}
			want := []string{tc.user, tc.initiator, tc.hops}
			if diff := cmp.Diff(want, []string{got.User, got.Initiator, strings.Join(hops, ",")}); diff != "" {
				t.Errorf("carried out by, caused by, and how (-want +got):\n%s", diff)
			}
		})
	}
}

// An empty value is one, but for what the clients of custom resources make of an object
// that they know as their own Go types.
func TestEmptyValues(t *testing.T) {
	withEmpty := func(obj *unstructured.Unstructured) *unstructured.Unstructured {
		if err := unstructured.SetNestedMap(obj.Object, map[string]any{}, "spec", "selector"); err != nil {
			t.Fatal(err)
		}
		return obj
	}
	composite := func() *unstructured.Unstructured { return xdatabase(t, "size: 1, "+pointsAtClaim) }
	tests := map[string]struct {
		user          string
		groups        []string
		before, after *unstructured.Unstructured
		reason, says  string
	}{
		"in a built-in kind by a stranger": {
			user: "mallory", before: replicaSet(3), after: withEmpty(replicaSet(3)),
			reason: "Denied", says: "adding spec.selector of ReplicaSet web-1",
		},
		"in a built-in kind by its controller": {
			user: deployer, before: replicaSet(3), after: withEmpty(replicaSet(3)),
			reason: "Denied", says: "adding spec.selector of ReplicaSet web-1",
		},
		"taken from a built-in kind by its controller": {
			user: deployer, before: withEmpty(replicaSet(3)), after: replicaSet(3),
			reason: "Denied", says: "removing spec.selector of ReplicaSet web-1",
		},
		"in a custom resource by a stranger": {
			user: "mallory", before: composite(), after: withEmpty(composite()),
			reason: "Denied", says: "adding spec.selector of XDatabase db-x7",
		},
		"in a custom resource by an initiator of its parent": {
			user: "alice", groups: platformTeam, before: composite(), after: withEmpty(composite()), reason: "Denied",
		},
		"in a custom resource by a service account that no policy names": {
			user: "system:serviceaccount:default:default", before: composite(), after: withEmpty(composite()), reason: "Denied",
		},
		"in a custom resource by its controller":         {user: crossplane, before: composite(), after: withEmpty(composite()), reason: "Unchanged"},
		"taken from a custom resource by its controller": {user: crossplane, before: withEmpty(composite()), after: composite(), reason: "Unchanged"},
		"in a custom resource by its controller, with another value": {
			user: crossplane, before: composite(), after: withEmpty(xdatabase(t, "size: 1, zone: a, "+pointsAtClaim)),
			reason: "Denied", says: "adding spec.zone of XDatabase db-x7",
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			w := &world{cached: map[string]*unstructured.Unstructured{"Deployment/web": deployment(3), "Database/db": database(t, pointsAtXR)}}
			w.live = w.cached
			_, validator := w.hooks(t, deploymentPolicy, claimPolicy)
			resp := validator.Handle(t.Context(), asking(t, tc.user, tc.groups, tc.before, counted(tc.after)))
			if got := resp.AuditAnnotations[auditReason]; got != tc.reason {
				t.Errorf("reason %q, want %q", got, tc.reason)
			}
			if tc.says != "" && !strings.Contains(resp.Result.Message, tc.says) {
				t.Errorf("the answer does not say %q: %s", tc.says, resp.Result.Message)
			}
		})
	}
}

func TestUncausedChangesRefused(t *testing.T) {
	w := &world{}
	_, validator := w.hooks(t, deploymentPolicy+"  uncausedChanges: Refuse\n")
	resp := validator.Handle(t.Context(), asking(t, "mallory", nil, deployment(3), counted(deployment(5))))
	if resp.Allowed || resp.Result.Code != http.StatusForbidden || !strings.Contains(resp.Result.Message, "mallory may not initiate it; Group platform-team") {
		t.Errorf("answer %t %+v, want a refusal that names who may", resp.Allowed, resp.Result)
	}
}

func TestLeaving(t *testing.T) {
	selective := strings.Replace(deploymentPolicy, "spec:\n", "spec:\n  objectSelector: {matchLabels: {tier: prod}}\n", 1)
	bobs := strings.NewReplacer("name: deployment}", "name: bobs}", "{kind: Group, name: platform-team, mayInitiate: true}", "{kind: User, name: bob, mayInitiate: true}").Replace(selective)
	labeled := func(tier string) *unstructured.Unstructured {
		obj := deployment(3)
		obj.SetLabels(map[string]string{"tier": tier, "app": "web"})
		return obj
	}
	for name, tc := range map[string]struct {
		user   string
		groups []string
		tier   string
		others []string
		want   bool
		says   string
	}{
		"a stranger takes it out":   {user: "mallory", tier: "test", says: "would leave AllowancePolicy deployment, which is for who may initiate: Group platform-team"},
		"an initiator takes it out": {user: "alice", groups: platformTeam, tier: "test", want: true},
		"a stranger takes it out of two": {
			user: "mallory", tier: "test", others: []string{bobs},
			says: "would leave AllowancePolicy bobs, deployment, which is for who may initiate: whoever is User bob as well as Group platform-team",
		},
		"an initiator takes it out of another one": {
			user: "alice", groups: platformTeam, tier: "test", others: []string{bobs},
			says: "would leave AllowancePolicy bobs, which is for who may initiate: whoever is User bob as well as Group platform-team",
		},
		"a stranger leaves it alone": {user: "mallory", tier: "prod", want: true},
	} {
		t.Run(name, func(t *testing.T) {
			_, validator := (&world{}).hooks(t, append([]string{selective}, tc.others...)...)
			resp := validator.Handle(t.Context(), asking(t, tc.user, tc.groups, labeled("prod"), labeled(tc.tier)))
			if resp.Allowed != tc.want {
				t.Fatalf("allowed %t, want %t: %+v", resp.Allowed, tc.want, resp.Result)
			}
			if !tc.want && !strings.HasSuffix(resp.Result.Message, tc.says) {
				t.Errorf("message %q, want %q", resp.Result.Message, tc.says)
			}
		})
	}
}
