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

package decision

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/change"
	"kausality.io/operator/internal/ledger"
	"kausality.io/operator/internal/policy"
)

const imagePath = "spec.template.spec.containers[0].image"

// outcome is a grant in short: each allowance by what it permits, who started it,
// and the fields of its trace.
type outcome struct {
	Granted  []string
	Trace    []string
	Withheld []string
	Cleared  []string
	Refuse   bool
	Problems int
}

func inShort(g Grant) outcome {
	out := outcome{Cleared: g.Cleared, Refuse: g.Refuse, Problems: len(g.Problems)}
	for _, a := range g.Allowances {
		out.Granted = append(out.Granted, a.Kind+" "+a.Mutation+" by "+a.Initiator)
	}
	if len(g.Allowances) > 0 {
		for _, hop := range g.Allowances[0].Trace {
			out.Trace = append(out.Trace, hop.Kind+"/"+hop.Name+" "+hop.Field)
		}
	}
	for _, w := range g.Withheld {
		out.Withheld = append(out.Withheld, w.Mutation+" was "+w.Replaced)
	}
	return out
}

func TestGrants(t *testing.T) {
	deployment := compile(t, "deployment", deploymentSpec)
	replicaSet := compile(t, "replicaset", replicaSetSpec)
	refusing := compile(t, "refusing", deploymentSpec+"uncausedChanges: Refuse\n")
	warning := compile(t, "warning", deploymentSpec+"validationActions: [Warn]\n")
	anything := compile(t, "anything", `
for: {apiGroup: apps, apiVersion: v1, kind: Deployment}
subjects: [{kind: Group, name: platform-team, mayInitiate: true}]
rules: [{trigger: spec}]
`)
	bounded := compile(t, "bounded", `
for: {apiGroup: apps, apiVersion: v1, kind: Deployment}
subjects: [{kind: Group, name: platform-team, mayInitiate: true}]
initializing:
  policies:
  - {target: {apiGroup: apps, apiVersion: v1, resource: replicasets}, relation: ControllerChild, verbs: [Create]}
  - {target: {external: {provider: cloud}}, relation: External, verbs: [Create]}
`)

	scaling := func(who policy.Requester) *request {
		return aRequest(who, Update, deploymentGVK, "web").changing(t, int64(3), int64(5), "spec.replicas").governed(deployment)
	}
	setting := func(who policy.Requester) *request {
		return aRequest(who, Update, deploymentGVK, "web").changing(t, "a", "b", imagePath).governed(deployment)
	}
	scaled := allowance("ReplicaSet", "spec.replicas", "spec.replicas")
	created := allowance("ReplicaSet", "create", imagePath)
	carriedOn := outcome{
		Granted: []string{"Pod create by alice", "Pod delete by alice"},
		Trace:   []string{"Deployment/web spec.replicas", "ReplicaSet/web-1 spec.replicas"},
	}
	broken := compile(t, "broken", `
for: {apiGroup: apps, apiVersion: v1, kind: Deployment}
subjects: [{kind: Group, name: platform-team, mayInitiate: true}]
rules: [{trigger: spec.replicas, conditions: ["object.spec.nothing > 3"]}]
`)

	tests := map[string]struct {
		request *request
		want    outcome
	}{
		"an initiator scales": {
			request: scaling(alice),
			want:    outcome{Granted: []string{"ReplicaSet spec.replicas by alice"}, Trace: []string{"Deployment/web spec.replicas"}},
		},
		"an initiator sets an image": {
			request: setting(alice),
			want: outcome{
				Granted: []string{"ReplicaSet create by alice", "ReplicaSet spec.replicas by alice"},
				Trace:   []string{"Deployment/web " + imagePath},
			},
		},
		"a service account that may initiate": {
			request: scaling(robot),
			want: outcome{
				Granted: []string{"ReplicaSet spec.replicas by system:serviceaccount:ci:robot"}, Trace: []string{"Deployment/web spec.replicas"},
			},
		},
		"a stranger": {request: scaling(mallory), want: outcome{Withheld: []string{"spec.replicas was 3"}}},
		"a stranger, refused": {
			request: scaling(mallory).governed(refusing), want: outcome{Withheld: []string{"spec.replicas was 3"}, Refuse: true},
		},
		"a stranger, and a policy that only warns": {request: scaling(mallory).governed(warning), want: outcome{}},
		"a change that triggers nothing": {
			request: aRequest(mallory, Update, deploymentGVK, "web").changing(t, nil, true, "spec.paused").governed(deployment), want: outcome{},
		},
		"a condition that does not hold": {
			request: setting(alice).with(func(in *Input) {
				in.Child.New = map[string]any{"metadata": map[string]any{"labels": map[string]any{"frozen": "yes"}}}
			}),
			want: outcome{Withheld: []string{imagePath + " was " + fingerprint("uid-of-web", "a")}, Problems: 1},
		},
		"a condition that cannot be evaluated": {
			request: scaling(alice).governed(broken),
			want:    outcome{Withheld: []string{"spec.replicas was 3"}, Problems: 1},
		},
		"two rules for the same thing: the first change stands for it": {
			request: setting(alice).changing(t, int64(3), int64(5), "spec.replicas"),
			want: outcome{
				Granted: []string{"ReplicaSet create by alice", "ReplicaSet spec.replicas by alice"},
				Trace:   []string{"Deployment/web " + imagePath},
			},
		},
		"one change of an initiator's, while another stays withheld": {
			request: scaling(alice).holding(withheldChange(imagePath, "#1")),
			want:    outcome{Granted: []string{"ReplicaSet spec.replicas by alice"}, Trace: []string{"Deployment/web spec.replicas"}},
		},
		"an initiator changes the withheld field": {
			request: setting(alice).holding(withheldChange(imagePath, "#1")),
			want: outcome{
				Granted: []string{"ReplicaSet create by alice", "ReplicaSet spec.replicas by alice"},
				Trace:   []string{"Deployment/web " + imagePath},
				Cleared: []string{imagePath},
			},
		},
		"a stranger puts the value back": {
			request: scaling(mallory).holding(withheldChange("spec.replicas", "5")).with(func(in *Input) {
				in.Child.New = map[string]any{"spec": map[string]any{"replicas": int64(5)}}
			}),
			want: outcome{Cleared: []string{"spec.replicas"}},
		},
		"a stranger changes it again": {
			request: scaling(mallory).holding(withheldChange("spec.replicas", "1")).with(func(in *Input) {
				in.Child.New = map[string]any{"spec": map[string]any{"replicas": int64(5)}}
			}),
			want: outcome{Withheld: []string{"spec.replicas was 3"}},
		},
		"an initiator approves": {
			request: aRequest(alice, Update, deploymentGVK, "web").governed(deployment).holding(withheldChange(imagePath, "#1")).with(func(in *Input) {
				in.Approved = []change.Change{{Path: mustPath(t, imagePath), Verb: change.Mutate}}
			}),
			want: outcome{
				Granted: []string{"ReplicaSet create by alice", "ReplicaSet spec.replicas by alice"},
				Trace:   []string{"Deployment/web " + imagePath},
				Cleared: []string{imagePath},
			},
		},
		"an ancestor's initiator approves a descendant": {
			request: aRequest(alice, Update, replicaSetGVK, "web-1").governed(replicaSet).with(func(in *Input) {
				in.AncestorInitiator = true
				in.Approved = []change.Change{{Path: mustPath(t, "spec.replicas"), Verb: change.Mutate}}
			}),
			want: outcome{
				Granted: []string{"Pod create by alice", "Pod delete by alice"}, Trace: []string{"ReplicaSet/web-1 spec.replicas"},
			},
		},

		"the chain goes on": {
			request: aRequest(deployer, Update, replicaSetGVK, "web-1").changing(t, int64(3), int64(5), "spec.replicas").governed(replicaSet).
				of(deploymentGVK, "web", []*policy.Policy{deployment}, scaled),
			want: carriedOn,
		},
		"what a refused request would get": {
			request: aRequest(deployer, Update, replicaSetGVK, "web-1").changing(t, int64(3), int64(5), "spec.replicas").governed(replicaSet).
				of(deploymentGVK, "web", []*policy.Policy{deployment}),
			want: outcome{},
		},
		"a soft policy lets it through, and the chain goes on below": {
			request: aRequest(deployer, Update, replicaSetGVK, "web-1").changing(t, int64(3), int64(5), "spec.replicas").governed(replicaSet).
				of(deploymentGVK, "web", []*policy.Policy{warning}),
			want: outcome{
				Granted: []string{"Pod create by " + deployer.Username, "Pod delete by " + deployer.Username},
				Trace:   []string{"Deployment/web (warned)", "ReplicaSet/web-1 spec.replicas"},
			},
		},
		"adopted, and the chain goes on below": {
			request: aRequest(deployer, Update, replicaSetGVK, "web-1").changing(t, int64(3), int64(5), "spec.replicas").governed(replicaSet).
				of(deploymentGVK, "web", []*policy.Policy{deployment}).with(func(in *Input) { in.Parent.Adopting = true }),
			want: outcome{
				Granted: []string{"Pod create by " + deployer.Username, "Pod delete by " + deployer.Username},
				Trace:   []string{"Deployment/web (adopted)", "ReplicaSet/web-1 spec.replicas"},
			},
		},
		"adopted, and an allowance covers the very change: its trace goes on": {
			request: aRequest(deployer, Update, replicaSetGVK, "web-1").changing(t, int64(3), int64(5), "spec.replicas").governed(replicaSet).
				of(deploymentGVK, "web", []*policy.Policy{deployment}, scaled).with(func(in *Input) { in.Parent.Adopting = true }),
			want: carriedOn,
		},
		"a soft policy lets it through, and an allowance covers the very change": {
			request: aRequest(deployer, Update, replicaSetGVK, "web-1").changing(t, int64(3), int64(5), "spec.replicas").governed(replicaSet).
				of(deploymentGVK, "web", []*policy.Policy{warning}, scaled).
				with(func(in *Input) {
					in.Changes = append(in.Changes, change.Change{Path: mustPath(t, "spec.paused"), Verb: change.Insert, New: true})
				}),
			want: carriedOn,
		},
		"the parent is new, and an allowance covers the very change": {
			request: aRequest(deployer, Update, replicaSetGVK, "web-1").changing(t, int64(3), int64(5), "spec.replicas").governed(replicaSet).
				of(deploymentGVK, "web", []*policy.Policy{deployment}, scaled, allowance("*", "create", v1alpha1.FieldCreated)),
			want: carriedOn,
		},
		"still initializing without bounds": {
			request: scaling(mallory).holding(allowance("*", "*", v1alpha1.FieldCreated)),
			want: outcome{
				Granted: []string{"ReplicaSet spec.replicas by mallory"},
				Trace:   []string{"Deployment/web (initializing)", "Deployment/web spec.replicas"},
			},
		},

		"created by anybody": {
			request: aRequest(mallory, Create, deploymentGVK, "web").governed(deployment),
			want:    outcome{Granted: []string{"* * by mallory"}, Trace: []string{"Deployment/web (created)"}},
		},
		"created by a controller that was allowed to": {
			request: aRequest(deployer, Create, replicaSetGVK, "web-1").governed(replicaSet).
				of(deploymentGVK, "web", []*policy.Policy{deployment}, created),
			want: outcome{
				Granted: []string{"* * by alice"}, Trace: []string{"Deployment/web " + imagePath, "ReplicaSet/web-1 (created)"},
			},
		},
		"created within a section": {
			request: aRequest(alice, Create, deploymentGVK, "web").governed(bounded),
			want: outcome{
				Granted: []string{"ReplicaSet create by alice", "  by alice"}, Trace: []string{"Deployment/web (created)"},
			},
		},
		"a rule without policies": {
			request: scaling(alice).governed(anything),
			want:    outcome{Granted: []string{"* * by alice"}, Trace: []string{"Deployment/web spec.replicas"}},
		},
		"no policy of its own": {request: scaling(alice).governed(), want: outcome{}},
		"our own write":        {request: scaling(alice).with(func(in *Input) { in.Operator = true }), want: outcome{}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			in := &tc.request.Input
			if diff := cmp.Diff(tc.want, inShort(Grants(t.Context(), in, Decide(t.Context(), in)))); diff != "" {
				t.Errorf("grant (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAttestations(t *testing.T) {
	p := compile(t, "deployment", deploymentSpec)
	in := aRequest(alice, Update, deploymentGVK, "web").changing(t, "a", "b", imagePath).governed(p).with(func(in *Input) {
		in.Child.New = map[string]any{"metadata": map[string]any{"annotations": map[string]any{"ticket": "INFRA-7"}}}
	})
	g := Grants(t.Context(), &in.Input, Decide(t.Context(), &in.Input))
	want := []v1alpha1.TraceHop{{
		Kind: "Deployment", Name: "web", Generation: 8, Field: imagePath, Attestations: map[string]string{"metadata.annotations[ticket]": "INFRA-7"},
	}}
	if diff := cmp.Diff(want, g.Allowances[0].Trace); diff != "" {
		t.Errorf("trace (-want +got):\n%s", diff)
	}
}

func TestCreatedUnderGeneratedNames(t *testing.T) {
	unnamed := allowance("Pod", "create", v1alpha1.FieldCreated)
	unnamed.Trace = []v1alpha1.TraceHop{{Kind: "ReplicaSet", Field: v1alpha1.FieldCreated}}
	p := compile(t, "replicaset", replicaSetSpec)
	in := aRequest(replicaer, Create, podGVK, "").of(replicaSetGVK, "web-1", []*policy.Policy{p}, unnamed).
		governed(compile(t, "pod", `{for: {apiVersion: v1, kind: Pod}}`))
	g := Grants(t.Context(), &in.Input, Decide(t.Context(), &in.Input))
	if got := inShort(g).Trace; !cmp.Equal(got, []string{"ReplicaSet/web-1 (created)", "Pod/ (created)"}) {
		t.Errorf("trace %q, want the parent to be named", got)
	}
}

func TestDeletionTrace(t *testing.T) {
	p := compile(t, "replicaset", replicaSetSpec)
	deletion := allowance("ReplicaSet", "delete", "spec.replicas")
	in := aRequest(deployer, Delete, replicaSetGVK, "web-1").governed(p).
		of(deploymentGVK, "web", []*policy.Policy{compile(t, "deployment", deploymentSpec)}, deletion)
	initiator, trace := DeletionTrace(&in.Input, Decide(t.Context(), &in.Input))
	if initiator != "alice" || len(trace) != 2 || trace[1].Field != v1alpha1.FieldDeleted {
		t.Errorf("deletion by %s, %v; want alice, by way of the Deployment", initiator, trace)
	}
	root := aRequest(mallory, Delete, deploymentGVK, "web").governed(p)
	if initiator, _ := DeletionTrace(&root.Input, Decide(t.Context(), &root.Input)); initiator != "mallory" {
		t.Errorf("deletion by %s, want mallory", initiator)
	}
}

// What happens below a parent that is being deleted goes back to who deleted it,
// and not to the allowances that it had.
func TestBelowADeletedParent(t *testing.T) {
	mine := compile(t, "replicaset", replicaSetSpec)
	deployments := []*policy.Policy{compile(t, "deployment", deploymentSpec)}
	deleted := []v1alpha1.TraceHop{{Kind: "Deployment", Name: "web", Generation: 7, Field: v1alpha1.FieldDeleted}}
	deleting := func(r *request) *request {
		return r.governed(mine).of(deploymentGVK, "web", deployments, allowance("ReplicaSet", v1alpha1.Any, "spec.replicas")).with(func(in *Input) {
			in.Parent.Deleting = true
			in.Deletion = &v1alpha1.Deletion{Initiator: "bob", Trace: deleted}
		})
	}
	for name, who := range map[string]policy.Requester{"its controller": deployer, "the collector": collector} {
		in := deleting(aRequest(who, Delete, replicaSetGVK, "web-1"))
		initiator, trace := DeletionTrace(&in.Input, Decide(t.Context(), &in.Input))
		if initiator != "bob" || len(trace) != 2 || !cmp.Equal(trace[0], deleted[0]) {
			t.Errorf("deletion by %s is said to be %s's, %v; want bob's, by way of the Deployment", name, initiator, trace)
		}
	}
	update := deleting(aRequest(deployer, Update, replicaSetGVK, "web-1").changing(t, int64(2), int64(0), "spec.replicas"))
	granted := Grants(t.Context(), &update.Input, Decide(t.Context(), &update.Input)).Allowances
	if len(granted) == 0 || granted[0].Initiator != "bob" || !cmp.Equal(granted[0].Trace[0], deleted[0]) {
		t.Errorf("granted %v, want it traced to bob's deletion", granted)
	}
}

func TestFingerprintsTellNoValues(t *testing.T) {
	for name, tc := range map[string]struct {
		value any
		want  string
	}{
		"nothing": {},
		"a count": {value: int64(10), want: "10"},
	} {
		if got := fingerprint("uid", tc.value); got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
	if a, b := fingerprint("uid", "hunter2"), fingerprint("uid", "hunter3"); a == b || len(a) > 16 {
		t.Errorf("%q and %q: want short and different", a, b)
	}
	if a, b := fingerprint("uid", map[string]any{}), fingerprint("uid", []any{}); a == "" || b == "" || a == b {
		t.Errorf("an empty map is %q and an empty list %q: want them to differ, and from nothing", a, b)
	}
	if fingerprint("uid", "hunter2") == fingerprint("other", "hunter2") {
		t.Error("the same value can be recognized in another object")
	}
}

// More allowances never deny more, and never take a grant away.
func TestDecideIsMonotone(t *testing.T) {
	deployment := []*policy.Policy{compile(t, "deployment", deploymentSpec)}
	paths := []string{"spec.replicas", "spec.minReadySeconds", imagePath}
	anAllowance := rapid.Custom(func(t *rapid.T) v1alpha1.Allowance {
		a := allowance(
			rapid.SampledFrom([]string{"ReplicaSet", "Pod", "*"}).Draw(t, "kind"),
			rapid.SampledFrom([]string{"create", "delete", "*", "spec", "spec.replicas", imagePath}).Draw(t, "mutation"),
			rapid.SampledFrom([]string{v1alpha1.FieldCreated, "spec.replicas"}).Draw(t, "field"),
		)
		a.Initiator = rapid.SampledFrom([]string{"alice", "bob"}).Draw(t, "initiator")
		return a
	})
	rapid.Check(t, func(rt *rapid.T) {
		few := rapid.SliceOfN(anAllowance, 0, 4).Draw(rt, "few")
		more := rapid.SliceOfN(anAllowance, 0, 4).Draw(rt, "more")
		who := rapid.SampledFrom([]policy.Requester{deployer, alice, mallory}).Draw(rt, "who")
		op := rapid.SampledFrom([]Operation{Create, Update, Delete}).Draw(rt, "operation")
		changed := rapid.SliceOfNDistinct(rapid.SampledFrom(paths), 1, 3, func(s string) string { return s }).Draw(rt, "changed")
		with := func(allowances []v1alpha1.Allowance) Verdict {
			r := aRequest(who, op, replicaSetGVK, "web-1").of(deploymentGVK, "web", deployment, allowances...)
			if op == Update {
				r.changing(t, "a", "b", changed...)
			}
			return Decide(t.Context(), &r.Input)
		}
		before, after := with(few), with(append(few, more...))
		if before.Allowed && !after.Allowed {
			rt.Errorf("%s with %d allowances, %s with %d more", before.Reason, len(few), after.Reason, len(more))
		}
	})
}

// The same request gives the same ledger, byte by byte, however often it is admitted
// and in whatever order the parent's allowances are written (D4).
func TestGrantsAreDeterministic(t *testing.T) {
	deployment, replicaSet := compile(t, "deployment", deploymentSpec), compile(t, "replicaset", replicaSetSpec)
	rapid.Check(t, func(rt *rapid.T) {
		allowances := rapid.SliceOfN(rapid.Custom(func(rt *rapid.T) v1alpha1.Allowance {
			a := allowance("ReplicaSet", rapid.SampledFrom([]string{"spec.replicas", "*", "create"}).Draw(rt, "mutation"),
				rapid.SampledFrom([]string{"spec.replicas", imagePath}).Draw(rt, "field"))
			a.Initiator = rapid.SampledFrom([]string{"alice", "bob", "carol"}).Draw(rt, "initiator")
			a.Generation = rapid.Int64Range(5, 7).Draw(rt, "generation")
			return a
		}), 1, 6).Draw(rt, "allowances")
		result := func(allowances []v1alpha1.Allowance) string {
			in := &aRequest(deployer, Update, replicaSetGVK, "web-1").changing(t, int64(3), int64(5), "spec.replicas").
				governed(replicaSet).of(deploymentGVK, "web", []*policy.Policy{deployment}).Input
			text, err := json.Marshal(allowances)
			if err != nil {
				rt.Fatal(err)
			}
			if in.Parent.Ledger, err = ledger.Decode(string(text)); err != nil {
				rt.Fatal(err)
			}
			return ledger.Ledger{}.Merge(Grants(t.Context(), in, Decide(t.Context(), in)).Allowances...).Encode()
		}
		want := result(allowances)
		if diff := cmp.Diff(want, result(rapid.Permutation(allowances).Draw(rt, "shuffled"))); diff != "" {
			rt.Errorf("ledger (-want +got):\n%s", diff)
		}
	})
}

func BenchmarkDecideAndGrant(b *testing.B) {
	deployment := []*policy.Policy{compile(b, "deployment", deploymentSpec)}
	in := aRequest(deployer, Update, replicaSetGVK, "web-1").changing(b, int64(3), int64(5), "spec.replicas").
		governed(compile(b, "replicaset", replicaSetSpec)).
		of(deploymentGVK, "web", deployment, allowance("ReplicaSet", "spec.replicas", "spec.replicas"))
	in.Child.Ledger = ledger.Ledger{}
	b.ReportAllocs()
	for b.Loop() {
		Grants(b.Context(), &in.Input, Decide(b.Context(), &in.Input))
	}
}
