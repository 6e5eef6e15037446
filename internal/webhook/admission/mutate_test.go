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
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/approved"
	"kausality.io/operator/internal/change"
	"kausality.io/operator/internal/eventrecorder"
	"kausality.io/operator/internal/ledger"
	"kausality.io/operator/internal/record"
)

// patched returns the annotations of an object after the patches of an answer,
// and fails where a patch touches anything else.
func patched(t *testing.T, obj *unstructured.Unstructured, resp admission.Response) map[string]string {
	t.Helper()
	out := map[string]string{}
	maps.Copy(out, obj.GetAnnotations())
	unescape := strings.NewReplacer("~1", "/", "~0", "~")
	for _, p := range resp.Patches {
		key, ok := strings.CutPrefix(p.Path, "/metadata/annotations")
		if !ok {
			t.Errorf("patch of %s", p.Path)
		}
		key = unescape.Replace(strings.TrimPrefix(key, "/"))
		switch value, _ := p.Value.(string); {
		case key == "": // The map itself, made before its first key.
		case p.Operation == "remove":
			delete(out, key)
		default:
			out[key] = value
		}
	}
	return out
}

// readable returns annotations as one can compare them: with the approved content itself, and
// without the digests of what is withheld.
func readable(t *testing.T, annotations map[string]string) map[string]string {
	t.Helper()
	out := maps.Clone(annotations)
	for key, text := range out {
		if key == approvedKey {
			state, err := approved.Decode(text)
			if err != nil {
				t.Fatal(err)
			}
			raw, err := json.Marshal(state.Content)
			if err != nil {
				t.Fatal(err)
			}
			text = string(raw)
		}
		out[key] = digest.ReplaceAllString(text, "")
	}
	return out
}

const approvedKey = "kausality.io/approved"

var digest = regexp.MustCompile(`,"content":"[0-9a-f]{12}"`)

// lookedAt returns the digest that a message names of 5 replicas of which 3 are approved.
func lookedAt() string {
	obj := deployment(5)
	st := approved.Now(nil, approved.Pending{Withheld: []approved.Mark{{Author: approved.Author{Path: "spec.replicas"}, Value: int64(3)}}}, approved.Object{
		UID: string(obj.GetUID()), Fields: obj.Object, Triggers: func(change.Change) bool { return true },
	})
	return st.Summary()[0].Digest
}

func TestMutate(t *testing.T) {
	granted := ledger.Ledger{}.Merge(mayScale("alice", 5)).Encode()
	old := ledger.Ledger{}.Merge(mayScale("alice", 4)).Encode()
	mallorys := ledger.Ledger{}.Merge(held("spec.replicas", "")).Encode()
	hopped := ledger.Ledger{}.Merge(hop(mayScale("alice", 5), "create")).Encode()
	const three = `{"spec":{"replicas":3}}`
	var full []v1alpha1.Allowance
	for i := range ledger.MaxEntries {
		full = append(full, mayScale(fmt.Sprint("user-", i), 4))
	}

	tests := map[string]struct {
		user          string
		groups        []string
		before, after *unstructured.Unstructured
		subresource   string
		cached, live  *unstructured.Unstructured
		broken        error
		want          map[string]string
		warns         string
		liveReads     int64
	}{
		"an initiator's change": {
			user: "alice", groups: platformTeam, before: deployment(3), after: deployment(5),
			want: map[string]string{ledgerKey: granted},
		},
		"a stranger's change": {
			user: "mallory", before: deployment(3), after: deployment(5),
			want: map[string]string{ledgerKey: ledger.Ledger{}.Merge(v1alpha1.Allowance{
				Relation: v1alpha1.RelationWithheld, Mutation: "spec.replicas", Initiator: "mallory", Generation: 5,
			}).Encode(), approvedKey: three},
		},
		"put back by a stranger": {
			user: "mallory", before: unsettled(deployment(5, held("spec.replicas", "3"))), after: unsettled(deployment(3)),
			want: map[string]string{},
		},
		"a forged ledger": {
			user: "mallory", before: unsettled(deployment(3)), after: unsettled(deployment(3, mayScale("mallory", 4))),
			want: map[string]string{}, warns: "has no effect",
		},
		"a forged ledger on creation": {
			user: "mallory", after: deployment(3, mayScale("mallory", 1)),
			want: map[string]string{ledgerKey: ledger.Ledger{}.Merge(v1alpha1.Allowance{
				Kind: "*", Mutation: "*", Mutations: []string{"Create", "Update"}, Generation: 1, Initiator: "mallory",
				Trace: []v1alpha1.TraceHop{{Kind: "Deployment", Name: "web", Generation: 1, Field: "(created)"}},
			}).Encode()}, warns: "has no effect",
		},
		"a removed ledger": {
			user: "mallory", before: unsettled(deployment(3, mayScale("alice", 4))), after: unsettled(deployment(3)),
			want: map[string]string{ledgerKey: old},
		},
		"an unreadable ledger": {
			user: "alice", groups: platformTeam, before: annotate(deployment(3), ledgerKey, "}"), after: annotate(deployment(5), ledgerKey, "}"),
			want: map[string]string{ledgerKey: granted}, warns: "could not be read",
		},
		"an initiator's change that a full ledger has no room for": {
			user: "alice", groups: platformTeam, before: unsettled(deployment(3, full...)), after: unsettled(deployment(5)),
			want: map[string]string{ledgerKey: ledger.Ledger{}.Merge(full...).Encode()}, warns: "its ledger is full",
		},
		"a stranger's change, and a full ledger": {
			user: "mallory", before: unsettled(deployment(3, full...)), after: unsettled(deployment(5)),
			want: map[string]string{ledgerKey: ledger.Ledger{}.Merge(full...).Merge(
				v1alpha1.Allowance{Relation: v1alpha1.RelationWithheld, Mutation: "spec.replicas", Initiator: "mallory", Generation: 5},
			).Encode(), approvedKey: three},
		},
		"consumed entries leave with the next write": {
			user: "mallory", before: deployment(3, mayScale("alice", 4)), after: annotate(deployment(3, mayScale("alice", 4)), "note", "x"),
			want: map[string]string{"note": "x"},
		},
		"the status that settles it": {
			user: deployer, subresource: "status", before: unsettled(deployment(3, mayScale("alice", 4))), after: deployment(3, mayScale("alice", 4)),
			want: map[string]string{},
		},
		"a status on the way": {
			user: deployer, subresource: "status", before: unsettled(deployment(3, mayScale("alice", 4))),
			after: unsettled(deployment(3, mayScale("alice", 4))), want: map[string]string{ledgerKey: old},
		},
		"approved": {
			user: "alice", groups: platformTeam, before: unsettled(deployment(5, held("spec.replicas", "3"))),
			after: annotate(unsettled(deployment(5, held("spec.replicas", "3"))), "kausality.io/approve", "*"),
			want:  map[string]string{ledgerKey: granted},
		},
		"a status that says that it is put back": {
			user: "mallory", subresource: "status", before: unsettled(deployment(5, held("spec.replicas", "3"))),
			after: unsettled(deployment(3)),
			want:  map[string]string{ledgerKey: mallorys, approvedKey: three},
		},
		"approved as it was looked at": {
			user: "alice", groups: platformTeam, before: unsettled(deployment(5, held("spec.replicas", "3"))),
			after: annotate(unsettled(deployment(5, held("spec.replicas", "3"))), "kausality.io/approve", "spec.replicas@"+lookedAt()),
			want:  map[string]string{ledgerKey: granted},
		},
		"all approved as it was looked at": {
			user: "alice", groups: platformTeam, before: unsettled(deployment(5, held("spec.replicas", "3"))),
			after: annotate(unsettled(deployment(5, held("spec.replicas", "3"))), "kausality.io/approve", "*@"+lookedAt()),
			want:  map[string]string{ledgerKey: granted},
		},
		"approved, and changed since": {
			user: "alice", groups: platformTeam, before: unsettled(deployment(7, held("spec.replicas", "3"))),
			after: annotate(unsettled(deployment(7, held("spec.replicas", "3"))), "kausality.io/approve", "spec.replicas@"+lookedAt()),
			want:  map[string]string{ledgerKey: mallorys, approvedKey: three}, warns: "it was changed since somebody looked at it: spec.replicas",
		},
		"all approved, and changed since": {
			user: "alice", groups: platformTeam, before: unsettled(deployment(7, held("spec.replicas", "3"))),
			after: annotate(unsettled(deployment(7, held("spec.replicas", "3"))), "kausality.io/approve", "*@"+lookedAt()),
			want:  map[string]string{ledgerKey: mallorys, approvedKey: three}, warns: "it was changed since somebody looked at it: *",
		},
		"approved twice": {
			user: "alice", groups: platformTeam, before: unsettled(deployment(5)),
			after: annotate(unsettled(deployment(5)), "kausality.io/approve", "spec.replicas@"+lookedAt()),
			want:  map[string]string{}, warns: "nothing is withheld of Deployment web any more at spec.replicas",
		},
		"all approved twice": {
			user: "alice", groups: platformTeam, before: unsettled(deployment(5)),
			after: annotate(unsettled(deployment(5)), "kausality.io/approve", "*@"+lookedAt()),
			want:  map[string]string{}, warns: "nothing is withheld of Deployment web any more at *",
		},
		"approved by a stranger": {
			user: "mallory", before: unsettled(deployment(5, held("spec.replicas", "3"))),
			after: annotate(unsettled(deployment(5, held("spec.replicas", "3"))), "kausality.io/approve", "*"),
			want:  map[string]string{ledgerKey: mallorys, approvedKey: three}, warns: "may not approve",
		},
		"approved, but no rule is about it": {
			user: "alice", groups: platformTeam, before: unsettled(deployment(5)),
			after: annotate(unsettled(deployment(5)), "kausality.io/approve", "metadata.name"),
			want:  map[string]string{}, warns: "no rule that alice may initiate is about it",
		},
		"an approval that was there before is nobody's": {
			user: "alice", groups: platformTeam, before: annotate(unsettled(deployment(5, held("spec.replicas", "3"))), "kausality.io/approve", "*"),
			after: annotate(unsettled(deployment(5, held("spec.replicas", "3"))), "kausality.io/approve", "*"),
			want:  map[string]string{ledgerKey: mallorys, approvedKey: three}, warns: "kausality.io/approve was left on Deployment web",
		},
		"annotations of a ReplicaSet do not flow back": {
			user: "alice", groups: platformTeam, before: deployment(3), after: annotate(deployment(3), replicaSetLedger, old),
			want: map[string]string{},
		},
		"what a controller copies of a child stays": {
			user: deployer, before: deployment(3), after: annotate(annotate(deployment(3), replicaSetLedger, old), "thing.kausality.io/Blocked", "x"),
			want: map[string]string{replicaSetLedger: old, "thing.kausality.io/Blocked": "x"},
		},
		"what was copied of a child before stays": {
			user: "alice", groups: platformTeam, before: annotate(deployment(3), replicaSetLedger, old),
			after: annotate(annotate(deployment(3), replicaSetLedger, old), "kausality.io/approve", "nothing"), want: map[string]string{replicaSetLedger: old}, warns: "has no field nothing",
		},
		"a ledger that a controller copies back says nothing": {
			user: deployer, before: deployment(3), after: annotate(deployment(3), ledgerKey, old), want: map[string]string{ledgerKey: ""}, warns: "has no effect",
		},
		"and stays": {
			user: "alice", groups: platformTeam, before: annotate(deployment(3), ledgerKey, ""),
			after: annotate(annotate(deployment(3), ledgerKey, ""), "jira", "1"), want: map[string]string{ledgerKey: "", "jira": "1"},
		},
		"until somebody takes it away": {
			user: "alice", groups: platformTeam, before: annotate(deployment(3), ledgerKey, ""), after: deployment(3), want: map[string]string{},
		},

		"one hop further down": {
			user: deployer, before: replicaSet(3), after: annotate(replicaSet(5), ledgerKey, "a copy"),
			cached: deployment(5, mayScale("alice", 5)),
			want: map[string]string{ledgerKey: "a copy", replicaSetLedger: ledger.Ledger{}.Merge(
				hop(mayScale("alice", 5), "create"), hop(mayScale("alice", 5), "delete")).Encode()},
		},
		"the operator moves a ledger from a former key": {
			user: operatorUser, before: annotate(replicaSet(3), ledgerKey, hopped), after: annotate(replicaSet(3), replicaSetLedger, hopped),
			want: map[string]string{replicaSetLedger: hopped}, liveReads: 1,
		},
		"somebody moves one": {
			user: "mallory", before: annotate(replicaSet(3), ledgerKey, hopped), after: annotate(replicaSet(3), replicaSetLedger, hopped),
			want: map[string]string{}, warns: "has no effect", liveReads: 1,
		},
		"the cache is behind": {
			user: deployer, before: replicaSet(3), after: replicaSet(5), cached: deployment(3), live: deployment(5, mayScale("alice", 5)),
			want: map[string]string{replicaSetLedger: ledger.Ledger{}.Merge(
				hop(mayScale("alice", 5), "create"), hop(mayScale("alice", 5), "delete")).Encode()}, liveReads: 1,
		},
		"the parent cannot be read": {
			user: deployer, before: replicaSet(3), after: replicaSet(5), broken: errAway,
			want: map[string]string{}, warns: "not judged", liveReads: 1,
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			w := &world{cached: map[string]*unstructured.Unstructured{}, live: map[string]*unstructured.Unstructured{}, broken: tc.broken}
			if tc.cached != nil {
				w.cached[key("Deployment", "web")], w.live[key("Deployment", "web")] = tc.cached, tc.cached
			}
			if tc.live != nil {
				w.live[key("Deployment", "web")] = tc.live
			}
			mutator, _ := w.hooks(t, deploymentPolicy, replicaSetPolicy)
			req := asking(t, tc.user, tc.groups, tc.before, tc.after)
			req.SubResource = tc.subresource
			resp := mutator.Handle(t.Context(), req)
			if !resp.Allowed {
				t.Fatalf("not allowed: %v", resp.Result)
			}
			if diff := cmp.Diff(tc.want, readable(t, patched(t, tc.after, resp))); diff != "" {
				t.Errorf("annotations (-want +got):\n%s", diff)
			}
			var full []eventrecorder.Notice
			if strings.Contains(tc.warns, "full") {
				full = []eventrecorder.Notice{{
					Reason: eventrecorder.LedgerFull, Action: "Update", About: record.TargetOf(tc.before),
					Text: strings.TrimPrefix(resp.Warnings[0], "kausality: "),
				}}
			}
			if diff := cmp.Diff(full, w.notices); diff != "" {
				t.Errorf("notices (-want +got):\n%s", diff)
			}
			for _, n := range full {
				if !slices.ContainsFunc(w.observed, func(o record.Outcome) bool { return o.Target == n.About && o.Full == n.Text }) {
					t.Errorf("the record is not told of %q", n.Text)
				}
			}
			if got := strings.Join(resp.Warnings, "\n"); tc.warns == "" != (got == "") || !strings.Contains(got, tc.warns) {
				t.Errorf("warnings %q, want %q", got, tc.warns)
			}
			if got := w.liveReads.Load(); got != tc.liveReads {
				t.Errorf("%d objects read live, want %d", got, tc.liveReads)
			}
			askAgain(t, mutator, req, resp)
		})
	}
}

// hop extends an allowance of the Deployment by the hop of its ReplicaSet.
func hop(a v1alpha1.Allowance, mutation string) v1alpha1.Allowance {
	a.Kind, a.Mutation, a.Generation = "Pod", mutation, 3
	a.Trace = append(a.Trace, v1alpha1.TraceHop{Kind: "ReplicaSet", Name: "web-1", Generation: 3, Field: "spec.replicas"})
	return a
}

func TestMutateTakesNoPatchOnDeletion(t *testing.T) {
	w := &world{}
	mutator, _ := w.hooks(t, deploymentPolicy)
	if resp := mutator.Handle(t.Context(), asking(t, "alice", platformTeam, deployment(3), nil)); !resp.Allowed || len(resp.Patches) > 0 {
		t.Errorf("answer %+v, want allowed without a patch", resp)
	}
}

func TestFailClosed(t *testing.T) {
	w := &world{broken: errAway}
	mutator, validator := w.hooks(t, deploymentPolicy+"  failurePolicy: Fail\n", replicaSetPolicy)
	req := asking(t, deployer, nil, replicaSet(3), replicaSet(5))
	for name, handler := range map[string]admission.Handler{"mutating": mutator, "validating": validator} {
		if resp := handler.Handle(t.Context(), req); resp.Allowed || resp.Result.Code != http.StatusInternalServerError {
			t.Errorf("%s: allowed %t, code %d; want an error", name, resp.Allowed, resp.Result.Code)
		}
	}
}

// keyed is a schema by which the items of spec.rules are told apart by their id.
type keyed struct{ served }

func (keyed) Schema(schema.GroupVersionKind) change.Schema { return keyed{} }
func (keyed) IsQuantity(change.Path) bool                  { return false }

func (keyed) ListKeys(path change.Path) []string {
	if path.String() == "spec.rules" {
		return []string{"id"}
	}
	return nil
}

func TestListsAreAlignedByTheSchema(t *testing.T) {
	w := &world{}
	mutator, _ := w.hooks(t, strings.ReplaceAll(deploymentPolicy, "trigger: spec.replicas", "trigger: spec.rules"))
	mutator.Kinds = keyed{}
	with := func(ids ...any) *unstructured.Unstructured {
		d := deployment(3)
		rules := make([]any, 0, len(ids))
		for _, id := range ids {
			rules = append(rules, map[string]any{"id": id})
		}
		d.Object["spec"] = map[string]any{"rules": rules}
		return d
	}
	resp := mutator.Handle(t.Context(), asking(t, "mallory", nil, with("a", "b", "c"), with("b", "c")))
	stored, err := ledger.Decode(patched(t, with("b", "c"), resp)[ledgerKey])
	if err != nil {
		t.Fatal(err)
	}
	var paths []string
	for _, e := range stored {
		paths = append(paths, e.Mutation)
	}
	if diff := cmp.Diff([]string{"spec.rules[0]"}, paths); diff != "" {
		t.Errorf("withheld (-want +got):\n%s", diff)
	}
}
