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
	"fmt"
	"slices"
	"strings"
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
	Granted []string
	Trace   []string
	// Withheld are the fields that the request made withheld, and Left all that are
	// withheld after it, with what is approved of them.
	Withheld []string
	Left     []string
	Refuse   bool
	Problems int
}

func inShort(g Grant) outcome {
	out := outcome{Withheld: mutations(g.Withheld), Left: left(g), Refuse: g.Refuse, Problems: len(g.Problems)}
	for _, a := range g.Allowances {
		out.Granted = append(out.Granted, a.Kind+" "+a.Mutation+" by "+a.Initiator)
	}
	if len(g.Allowances) > 0 {
		for _, hop := range g.Allowances[0].Trace {
			out.Trace = append(out.Trace, hop.Kind+"/"+hop.Name+" "+hop.Field)
		}
	}
	return out
}

// left returns what is withheld after the request, with what is approved of it.
func left(g Grant) []string {
	if g.Standing == nil {
		return nil
	}
	var out []string
	for _, d := range g.Standing.Withheld() {
		out = append(out, fmt.Sprintf("%s was %v", d.Path, d.Old))
	}
	return out
}

func TestGrants(t *testing.T) {
	deployment := compile(t, "deployment", deploymentSpec)
	replicaSet := compile(t, "replicaset", replicaSetSpec)
	refusing := compile(t, "refusing", deploymentSpec+"uncausedChanges: Refuse\n")
	warning := compile(t, "warning", deploymentSpec+"validationActions: [Warn]\n")
	const anythingSpec = `
for: {apiGroup: apps, apiVersion: v1, kind: Deployment}
subjects: [{kind: Group, name: platform-team, mayInitiate: true}]
rules: [{trigger: spec}]
`
	anything := compile(t, "anything", anythingSpec)
	anythingOfJobs := compile(t, "anything-of-jobs", strings.NewReplacer("apps", "batch", "Deployment", "Job").Replace(anythingSpec))
	// Two of whom each may change a field of the same subtree.
	rule := func(field, who string) *policy.Policy {
		return compile(t, who, fmt.Sprintf(`
for: {apiGroup: apps, apiVersion: v1, kind: Deployment}
subjects: [{kind: User, name: %s, mayInitiate: true}]
rules:
- trigger: spec.%s
  policies:
  - target: {apiGroup: apps, apiVersion: v1, resource: replicasets}
    relation: ControllerChild
    mutations: [{jsonPath: spec.replicas}]
`, who, field))
	}
	sizes, schedules := rule("backup.size", "alice"), rule("backup.schedule", "mallory")
	container := func(name string) any { return map[string]any{"name": name, "image": name, "args": name} }
	containers := func(names ...any) map[string]any { return map[string]any{"spec": map[string]any{"containers": names}} }
	one, both := containers(container("a")), containers(container("a"), container("b"))
	images, args := rule("containers[*].image", "alice"), rule("containers[*].args", "mallory")
	bounded := compile(t, "bounded", `
for: {apiGroup: apps, apiVersion: v1, kind: Deployment}
subjects: [{kind: Group, name: platform-team, mayInitiate: true}]
initializing:
  policies:
  - {target: {apiGroup: apps, apiVersion: v1, resource: replicasets}, relation: ControllerChild, verbs: [Create]}
  - {target: {external: {provider: cloud}}, relation: External, verbs: [Create]}
`)

	// Policies by which mallory may initiate all of the spec, the first of which only warns.
	allSpec := `
for: {apiGroup: apps, apiVersion: v1, kind: Deployment}
subjects: [{kind: User, name: mallory, mayInitiate: true}]
rules:
- trigger: spec
  policies:
  - {target: {%s}, relation: ControllerChild, verbs: ["*"]}
`
	warningOfAll := compile(t, "warning-of-all", fmt.Sprintf(allSpec, "apiGroup: apps, apiVersion: v1, resource: replicasets")+"validationActions: [Warn]\n")
	secretsOfAll := compile(t, "secrets-of-all", fmt.Sprintf(allSpec, "apiVersion: v1, resource: secrets"))

	scaling := func(who policy.Requester) *request {
		return aRequest(who, Update, deploymentGVK, "web").changing(t, int64(3), int64(5), "spec.replicas").governed(deployment)
	}
	setting := func(who policy.Requester) *request {
		return aRequest(who, Update, deploymentGVK, "web").changing(t, "a", "b", imagePath).governed(deployment)
	}
	approving := func(who policy.Requester, path string) *request {
		return aRequest(who, Update, deploymentGVK, "web").governed(deployment).withheld(t, imagePath, "a").with(func(in *Input) {
			in.Approved = []change.Change{{Path: mustPath(t, path), Verb: change.Mutate}}
		})
	}
	withheldCount := outcome{Withheld: []string{"spec.replicas"}, Left: []string{"spec.replicas was 3"}}
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
		"a stranger": {request: scaling(mallory), want: withheldCount},
		"a stranger, refused": {
			request: scaling(mallory).governed(refusing), want: outcome{Withheld: []string{"spec.replicas"}, Left: []string{"spec.replicas was 3"}, Refuse: true},
		},
		"a stranger, of what is carried out all the same": {
			request: aRequest(mallory, Update, deploymentGVK, "web").changing(t, int64(10), int64(0), "spec.revisionHistoryLimit").governed(anything),
			want:    outcome{Withheld: []string{"spec.revisionHistoryLimit"}, Left: []string{"spec.revisionHistoryLimit was 10"}, Refuse: true},
		},
		"a stranger, of the deadline of a Job": {
			request: aRequest(mallory, Update, jobGVK, "web").changing(t, nil, int64(1), "spec.activeDeadlineSeconds").governed(anythingOfJobs),
			want:    outcome{Withheld: []string{"spec.activeDeadlineSeconds"}, Left: []string{"spec.activeDeadlineSeconds was <nil>"}, Refuse: true},
		},
		"a stranger, of how many Pods of a Job run at a time": {
			request: aRequest(mallory, Update, jobGVK, "web").changing(t, int64(2), int64(3), "spec.parallelism").governed(anythingOfJobs),
			want:    outcome{Withheld: []string{"spec.parallelism"}, Left: []string{"spec.parallelism was 2"}},
		},
		"a stranger, of fewer Pods of a Job at a time": {
			request: aRequest(mallory, Update, jobGVK, "web").changing(t, int64(2), int64(0), "spec.parallelism").governed(anythingOfJobs),
			want:    outcome{Withheld: []string{"spec.parallelism"}, Left: []string{"spec.parallelism was 2"}, Refuse: true},
		},
		"a stranger, of what is carried out all the same, under a policy that only warns": {
			request: aRequest(mallory, Update, deploymentGVK, "web").changing(t, int64(10), int64(0), "spec.revisionHistoryLimit").
				governed(compile(t, "anything-warned", anythingSpec+"validationActions: [Warn]\n")),
		},
		"a stranger, refused by one of two policies": {
			request: scaling(mallory).governed(deployment, refusing),
			want:    outcome{Withheld: []string{"spec.replicas"}, Left: []string{"spec.replicas was 3"}, Refuse: true},
		},
		"a stranger puts the value back where such changes are refused": {
			request: scaling(mallory).governed(refusing).withheld(t, "spec.replicas", int64(5)), want: outcome{},
		},
		"a stranger changes another field than the withheld one where such changes are refused": {
			request: aRequest(mallory, Update, deploymentGVK, "web").changing(t, nil, true, "spec.paused").governed(refusing).
				withheld(t, "spec.replicas", int64(5)),
			want: outcome{Left: []string{"spec.replicas was 5"}},
		},
		"a stranger, and a policy that only warns": {request: scaling(mallory).governed(warning), want: outcome{}},
		"a change that triggers nothing": {
			request: aRequest(mallory, Update, deploymentGVK, "web").changing(t, nil, true, "spec.paused").governed(deployment), want: outcome{},
		},
		"a condition that does not hold": {
			request: setting(alice).having(t, "metadata.labels[frozen]", "yes"),
			want:    outcome{Withheld: []string{imagePath}, Left: []string{imagePath + " was a"}, Problems: 1},
		},
		"a condition that cannot be evaluated": {
			request: scaling(alice).governed(broken),
			want:    outcome{Withheld: []string{"spec.replicas"}, Left: []string{"spec.replicas was 3"}, Problems: 1},
		},
		"two rules for the same thing: the first change stands for it": {
			request: setting(alice).changing(t, int64(3), int64(5), "spec.replicas"),
			want: outcome{
				Granted: []string{"ReplicaSet create by alice", "ReplicaSet spec.replicas by alice"},
				Trace:   []string{"Deployment/web " + imagePath},
			},
		},
		"one change of an initiator's, while another stays withheld": {
			request: scaling(alice).withheld(t, imagePath, "a"),
			want: outcome{
				Granted: []string{"ReplicaSet spec.replicas by alice"}, Trace: []string{"Deployment/web spec.replicas"},
				Left: []string{imagePath + " was a"},
			},
		},
		"an initiator changes the withheld field": {
			request: setting(alice).withheld(t, imagePath, "z"),
			want: outcome{
				Granted: []string{"ReplicaSet create by alice", "ReplicaSet spec.replicas by alice"},
				Trace:   []string{"Deployment/web " + imagePath},
			},
		},
		"a stranger puts the value back": {
			request: scaling(mallory).withheld(t, "spec.replicas", int64(5)), want: outcome{},
		},
		"a stranger puts one value back, and changes another": {
			request: scaling(mallory).withheld(t, "spec.replicas", int64(5)).changing(t, "a", "b", imagePath),
			want:    outcome{Withheld: []string{imagePath}, Left: []string{imagePath + " was a"}},
		},
		"a stranger changes it again": {
			request: scaling(mallory).withheld(t, "spec.replicas", int64(1)),
			want:    outcome{Withheld: []string{"spec.replicas"}, Left: []string{"spec.replicas was 1"}},
		},
		"a stranger changes another field": {
			request: scaling(mallory).withheld(t, imagePath, "a"),
			want:    outcome{Withheld: []string{"spec.replicas"}, Left: []string{"spec.replicas was 3", imagePath + " was a"}},
		},
		"a stranger changes what no rule is about": {
			request: aRequest(mallory, Update, deploymentGVK, "web").changing(t, nil, true, "spec.paused").governed(deployment).
				withheld(t, imagePath, "a"),
			want: outcome{Left: []string{imagePath + " was a"}},
		},
		"what was withheld by a policy that only warns by now": {
			request: scaling(alice).withheld(t, imagePath, "a").governed(warning),
			want:    outcome{Granted: []string{"ReplicaSet spec.replicas by alice"}, Trace: []string{"Deployment/web spec.replicas"}},
		},
		"our own write leaves what is withheld": {
			request: aRequest(robot, Update, deploymentGVK, "web").governed(deployment).withheld(t, imagePath, "a").
				with(func(in *Input) { in.Operator = true }),
			want: outcome{Left: []string{imagePath + " was a"}},
		},
		"bookkeeping leaves what is withheld": {
			request: aRequest(deployer, Update, deploymentGVK, "web").changing(t, nil, "1", "spec.paused").governed(deployment).withheld(t, imagePath, "a").
				with(func(in *Input) { in.Bookkeeping = true }),
			want: outcome{Left: []string{imagePath + " was a"}},
		},
		"an initiator approves": {
			request: approving(alice, imagePath),
			want: outcome{
				Granted: []string{"ReplicaSet create by alice", "ReplicaSet spec.replicas by alice"},
				Trace:   []string{"Deployment/web " + imagePath},
			},
		},
		"an initiator approves what is above": {
			request: approving(alice, "spec.template"),
			want: outcome{
				Granted: []string{"ReplicaSet create by alice", "ReplicaSet spec.replicas by alice"},
				Trace:   []string{"Deployment/web " + imagePath},
			},
		},
		"an initiator approves another field": {
			request: approving(alice, "spec.replicas"),
			want: outcome{
				Granted: []string{"ReplicaSet spec.replicas by alice"}, Trace: []string{"Deployment/web spec.replicas"},
				Left: []string{imagePath + " was a"},
			},
		},
		"an initiator approves while a condition does not hold": {
			request: approving(alice, imagePath).having(t, "metadata.labels[frozen]", "yes"),
			want:    outcome{Left: []string{imagePath + " was a"}, Problems: 1},
		},
		"an initiator approves one field while changing another one": {
			request: approving(alice, imagePath).changing(t, int64(3), int64(5), "spec.replicas"),
			want: outcome{
				Granted: []string{"ReplicaSet spec.replicas by alice", "ReplicaSet create by alice"},
				Trace:   []string{"Deployment/web spec.replicas"},
			},
		},
		"a stranger approves": {request: approving(mallory, imagePath), want: outcome{Left: []string{imagePath + " was a"}}},
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

		"its controller fills in what is absent, of what is new": {
			request: aRequest(deployer, Update, deploymentGVK, "web").changing(t, nil, int64(1), "spec.replicas").governed(deployment, bounded).
				holding(allowance("ReplicaSet", "create", v1alpha1.FieldCreated)),
			want: outcome{
				Granted: []string{"ReplicaSet spec.replicas by alice"}, Trace: []string{"Deployment/web (created)", "Deployment/web spec.replicas"},
			},
		},
		"its controller changes what is new": {
			request: scaling(deployer).governed(deployment, bounded).holding(allowance("ReplicaSet", "create", v1alpha1.FieldCreated)), want: withheldCount,
		},
		"its controller fills in what is absent, later": {
			request: aRequest(deployer, Update, deploymentGVK, "web").changing(t, nil, int64(1), "spec.replicas").governed(deployment, bounded),
			want:    outcome{Withheld: []string{"spec.replicas"}, Left: []string{"spec.replicas was <nil>"}},
		},
		"another controller fills in what is absent, of what is new": {
			request: aRequest(replicaer, Update, deploymentGVK, "web").changing(t, nil, int64(1), "spec.replicas").governed(deployment, bounded).
				holding(allowance("ReplicaSet", "create", v1alpha1.FieldCreated)),
			want: outcome{Withheld: []string{"spec.replicas"}, Left: []string{"spec.replicas was <nil>"}},
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
		"part of a subtree is another's": {
			request: aRequest(mallory, Update, deploymentGVK, "web").governed(sizes, schedules).
				changing(t, nil, map[string]any{"size": int64(9), "schedule": "daily"}, "spec.backup"),
			want: outcome{
				Granted: []string{"ReplicaSet spec.replicas by mallory"}, Trace: []string{"Deployment/web spec.backup.schedule"},
				Withheld: []string{"spec.backup.size"}, Left: []string{"spec.backup.size was <nil>"},
			},
		},
		"part of a subtree that is removed is another's": {
			request: aRequest(mallory, Update, deploymentGVK, "web").governed(sizes, schedules).
				changing(t, map[string]any{"size": int64(9), "schedule": "daily"}, nil, "spec.backup"),
			want: outcome{
				Granted: []string{"ReplicaSet spec.replicas by mallory"}, Trace: []string{"Deployment/web spec.backup.schedule"},
				Withheld: []string{"spec.backup"}, Left: []string{"spec.backup was map[size:9]"},
			},
		},
		"part of a subtree is removed, of which another part was": {
			request: aRequest(mallory, Update, deploymentGVK, "web").governed(sizes, schedules).
				having(t, "spec.backup.schedule", "daily").withheld(t, "spec.backup.size", int64(9)).changing(t, map[string]any{"schedule": "daily"}, nil, "spec.backup"),
			want: outcome{
				Granted: []string{"ReplicaSet spec.replicas by mallory"}, Trace: []string{"Deployment/web spec.backup.schedule"},
				Left: []string{"spec.backup was map[size:9]"},
			},
		},
		"all of a subtree is removed, of which a part was": {
			request: aRequest(alice, Update, deploymentGVK, "web").governed(sizes, compile(t, "backups", `
for: {apiGroup: apps, apiVersion: v1, kind: Deployment}
subjects: [{kind: User, name: alice, mayInitiate: true}]
rules: [{trigger: spec.backup}]
`)).having(t, "spec.backup.schedule", "daily").withheld(t, "spec.backup.size", int64(9)).changing(t, map[string]any{"schedule": "daily"}, nil, "spec.backup"),
			want: outcome{Granted: []string{"* * by alice"}, Trace: []string{"Deployment/web spec.backup"}},
		},
		"part of a subtree is anybody's": {
			request: aRequest(mallory, Update, deploymentGVK, "web").governed(sizes, schedules).
				changing(t, nil, map[string]any{"note": "x", "schedule": "daily"}, "spec.backup"),
			want: outcome{Granted: []string{"ReplicaSet spec.replicas by mallory"}, Trace: []string{"Deployment/web spec.backup.schedule"}},
		},
		"all of a subtree is another's": {
			request: aRequest(mallory, Update, deploymentGVK, "web").governed(sizes).
				changing(t, nil, map[string]any{"size": int64(9), "schedule": "daily"}, "spec.backup"),
			want: outcome{Withheld: []string{"spec.backup"}, Left: []string{"spec.backup was <nil>"}},
		},
		"the order of what is in part another's": {
			request: aRequest(mallory, Update, deploymentGVK, "web").governed(images, args).replacing(both, containers(container("b"), container("a"))),
			want: outcome{
				Withheld: []string{"spec.containers"}, Left: []string{"spec.containers was [map[args:a image:a name:a] map[args:b image:b name:b]]"},
			},
		},
		"an item of which part is another's is removed": {
			request: aRequest(mallory, Update, deploymentGVK, "web").governed(images, args).replacing(both, one),
			want: outcome{
				Withheld: []string{"spec.containers[1]"}, Left: []string{"spec.containers[1] was map[args:b image:b name:b]"},
			},
		},
		"an item of which part is another's is added": {
			request: aRequest(mallory, Update, deploymentGVK, "web").governed(images, args).replacing(one, both),
			want: outcome{
				Withheld: []string{"spec.containers[1]"}, Left: []string{"spec.containers[1] was <nil>"},
			},
		},
		"approving a subtree of which part is another's": {
			request: aRequest(mallory, Update, deploymentGVK, "web").governed(sizes, schedules).
				changing(t, nil, map[string]any{"size": int64(9), "schedule": "daily"}, "spec.backup").with(func(in *Input) { in.Approved = in.OwnChanges }),
			want: outcome{
				Granted: []string{"ReplicaSet spec.replicas by mallory"}, Trace: []string{"Deployment/web spec.backup.schedule"},
				Withheld: []string{"spec.backup.size"}, Left: []string{"spec.backup.size was <nil>"},
			},
		},
		"by a policy that only warns, what another withholds": {
			request: setting(mallory).governed(deployment, warningOfAll),
			want:    outcome{Withheld: []string{imagePath}, Left: []string{imagePath + " was a"}},
		},
		"by a policy that only warns, what no other is about": {
			request: aRequest(mallory, Update, deploymentGVK, "web").changing(t, nil, true, "spec.paused").governed(deployment, warningOfAll),
			want:    outcome{Granted: []string{"ReplicaSet * by mallory"}, Trace: []string{"Deployment/web spec.paused"}},
		},
		"approving by a policy that only warns what another withholds": {
			request: approving(mallory, imagePath).governed(deployment, warningOfAll),
			want:    outcome{Left: []string{imagePath + " was a"}},
		},
		"approving by a policy that only warns what is above that": {
			request: approving(mallory, "spec").governed(deployment, warningOfAll),
			want:    outcome{Left: []string{imagePath + " was a"}},
		},
		"approving by a policy that only warns what is above fields of another": {
			request: aRequest(mallory, Update, deploymentGVK, "web").having(t, imagePath, "a").governed(deployment, warningOfAll).with(func(in *Input) {
				in.Approved = []change.Change{{Path: mustPath(t, "spec"), Verb: change.Mutate}}
			}),
		},
		"approving all by a policy with a rule about all, of which another withholds a part for other targets": {
			request: approving(mallory, "spec").governed(deployment, secretsOfAll),
			want:    outcome{Left: []string{imagePath + " was a"}},
		},
		"approving all of which a part is another's": {
			request: approving(mallory, "spec").governed(deployment, rule("paused", "mallory")).withheld(t, "spec.paused", nil),
			want: outcome{
				Granted: []string{"ReplicaSet spec.replicas by mallory"}, Trace: []string{"Deployment/web spec.paused"},
				Left: []string{imagePath + " was a"},
			},
		},
		"what is above approves all that it is for": {
			request: approving(mallory, "spec").governed(deployment, warningOfAll).with(func(in *Input) { in.AncestorInitiator = true }),
			want: outcome{
				Granted: []string{"ReplicaSet create by mallory", "ReplicaSet spec.replicas by mallory", "ReplicaSet * by mallory"},
				Trace:   []string{"Deployment/web " + imagePath},
			},
		},
		"a rule without policies": {
			request: scaling(alice).governed(anything),
			want:    outcome{Granted: []string{"* * by alice"}, Trace: []string{"Deployment/web spec.replicas"}},
		},
		"no policy of its own": {request: scaling(alice).governed(), want: outcome{}},
		"our own write":        {request: scaling(alice).with(func(in *Input) { in.Operator, in.Changes, in.OwnChanges = true, nil, nil }), want: outcome{}},
		"our own write, as another webhook has changed it": {
			request: aRequest(mallory, Update, deploymentGVK, "web").changing(t, nil, "1", "spec.replicas").governed(deployment).
				with(func(in *Input) { in.Operator = true }),
			want: outcome{Withheld: []string{"spec.replicas"}, Left: []string{"spec.replicas was <nil>"}},
		},
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
	in := aRequest(alice, Update, deploymentGVK, "web").changing(t, "a", "b", imagePath).governed(p).
		having(t, "metadata.annotations[ticket]", "INFRA-7")
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
	unnamed.Trace = []v1alpha1.TraceHop{
		{Kind: "Deployment", Field: "spec.template"}, {Kind: "ReplicaSet", Name: "before", Field: "spec.replicas"}, {Kind: "ReplicaSet", Field: v1alpha1.FieldCreated},
	}
	p := compile(t, "replicaset", replicaSetSpec)
	in := aRequest(replicaer, Create, podGVK, "").of(replicaSetGVK, "web-1", []*policy.Policy{p}, unnamed).
		governed(compile(t, "pod", `{for: {apiVersion: v1, kind: Pod}}`))
	g := Grants(t.Context(), &in.Input, Decide(t.Context(), &in.Input))
	if got := inShort(g).Trace; !cmp.Equal(got, []string{"Deployment/ spec.template", "ReplicaSet/before spec.replicas", "ReplicaSet/web-1 (created)", "Pod/ (created)"}) {
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

// More allowances never deny more, and neither does it when less of the parent is withheld.
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
		changed := rapid.SliceOfNDistinct(rapid.SampledFrom(paths), 1, 3, rapid.ID).Draw(rt, "changed")
		theirs := rapid.SliceOfNDistinct(rapid.SampledFrom(paths), 0, 2, rapid.ID).Draw(rt, "theirs")
		adopting := rapid.Bool().Draw(rt, "adopting")
		with := func(theirs []string, allowances []v1alpha1.Allowance) Verdict {
			r := aRequest(who, op, replicaSetGVK, "web-1").of(deploymentGVK, "web", deployment, allowances...)
			if op == Update {
				r.changing(t, "a", "b", changed...)
			}
			present := map[string]any{}
			for _, p := range theirs {
				present = holding(present, mustPath(t, p), "theirs")
			}
			r.Parent.Adopting = adopting
			return Decide(t.Context(), &r.beingOf(map[string]any{}, present).Input)
		}
		before, after := with(theirs, few), with(theirs, append(few, more...))
		if before.Allowed && !after.Allowed {
			rt.Errorf("%s with %d allowances, %s with %d more", before.Reason, len(few), after.Reason, len(more))
		}
		if put := with(nil, few); before.Allowed && !put.Allowed {
			rt.Errorf("%s while %q are withheld, %s once they are put back", before.Reason, theirs, put.Reason)
		}
		if len(before.Withheld) > 0 && before.Allowed {
			rt.Errorf("%s while there is withheld %q", before.Reason, mutations(before.Withheld.Allowances()))
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
		who := rapid.SampledFrom([]policy.Requester{deployer, mallory}).Draw(rt, "who")
		result := func(allowances []v1alpha1.Allowance) string {
			in := &aRequest(who, Update, replicaSetGVK, "web-1").changing(t, int64(3), int64(5), "spec.replicas").
				governed(replicaSet).of(deploymentGVK, "web", []*policy.Policy{deployment}).Input
			text, err := json.Marshal(allowances)
			if err != nil {
				rt.Fatal(err)
			}
			if in.Parent.Ledger, err = ledger.Decode(string(text)); err != nil {
				rt.Fatal(err)
			}
			// What a stranger is let through with is withheld.
			g := Grants(t.Context(), in, Verdict{Allowed: true, Reason: ReasonCovered})
			return ledger.Ledger{}.Merge(g.Allowances...).Merge(g.Withheld...).Encode() + g.Standing.State().Encode(in.Child.UID)
		}
		want := result(allowances)
		if diff := cmp.Diff(want, result(rapid.Permutation(allowances).Draw(rt, "shuffled"))); diff != "" {
			rt.Errorf("ledger (-want +got):\n%s", diff)
		}
	})
}

// Which fields are withheld, and how that is told and stored, does not depend on the order
// in which maps are walked.
func TestWhatIsWithheldIsDeterministic(t *testing.T) {
	p := compile(t, "all", "{for: {apiGroup: apps, apiVersion: v1, kind: Deployment}, rules: [{trigger: spec}]}")
	base := object(t, parents[replicaSetGVK])
	rapid.Check(t, func(rt *rapid.T) {
		content, before := edit(t, base, drawTemplate(rt, "approved")), edit(t, base, drawTemplate(rt, "before"))
		after := edit(t, base, drawTemplate(rt, "after"))
		result := func() string {
			in := &aRequest(mallory, Update, deploymentGVK, "web").governed(p).replacing(before, after).Input
			in.Child.Standing = standing(in.Child.UID, in.OwnPolicies, content, before)
			g := Grants(t.Context(), in, Decide(t.Context(), in))
			if again := standing(in.Child.UID, in.OwnPolicies, content, after); !slices.Equal(differences(again), differences(g.Standing)) {
				rt.Errorf("withheld %v, where at once it is %v", differences(g.Standing), differences(again))
			}
			return ledger.Ledger{}.Merge(g.Withheld...).Encode() + g.Standing.State().Encode(in.Child.UID)
		}
		if diff := cmp.Diff(result(), result()); diff != "" {
			rt.Errorf("withheld (-first +second):\n%s", diff)
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
