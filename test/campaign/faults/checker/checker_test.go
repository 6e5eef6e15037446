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

package checker

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// What the checker finds in a story that is true but for one thing.
func TestCheck(t *testing.T) {
	tests := map[string]struct {
		tell func(*story)
		want []Promise
	}{
		"all is well": {tell: func(s *story) {
			s.begin()
			s.scale()
			s.finish()
			s.record(obj{"phase": "Steady", "history": []any{obj{"event": "Exercised", "user": deploymentController, "kind": "ReplicaSet", "names": []any{"web-1"}}}})
		}},
		"two ask for the same, and the one who may not is answered first": {tell: func(s *story) {
			s.begin()
			scale := all(obj{"spec": obj{"replicas": 2}}, generation(2), ledgerOf(ledgerKey, mayScale))
			s.tell(
				step{by: mallory, verb: "patch", resource: deployments, name: "web", change: scale},
				step{by: alice, verb: "patch", resource: deployments, name: "web", change: scale, again: true},
				s.scaleReplicaSet(deploymentController, mayDelete),
			)
			s.pod("web-1-b")
			s.finish()
		}},
		"nobody who may asks for it": {want: []Promise{Invented, Invented, Undone}, tell: func(s *story) {
			s.begin()
			scale := all(obj{"spec": obj{"replicas": 2}}, generation(2), ledgerOf(ledgerKey, mayScale))
			s.tell(
				step{by: mallory, verb: "patch", resource: deployments, name: "web", change: scale},
				step{by: mallory, verb: "patch", resource: deployments, name: "web", change: scale, again: true},
				s.scaleReplicaSet(deploymentController, mayDelete),
			)
			s.pod("web-1-b")
			s.finish()
		}},
		"a Pod is evicted and replaced": {tell: func(s *story) {
			s.begin()
			s.tell(step{by: mallory, verb: "create", sub: "eviction", resource: pods, name: "web-1-a", code: 201})
			s.tell(step{by: replicaSetController, verb: "delete", resource: pods, name: "web-1-a"})
			s.pod("web-1-c")
		}},
		"the collector deletes what lost its owner": {tell: func(s *story) {
			s.begin()
			s.tell(step{by: alice, verb: "delete", resource: deployments, name: "web"})
			s.tell(step{by: "system:serviceaccount:kube-system:generic-garbage-collector", verb: "delete", resource: replicaSets, name: "web-1"})
			s.tell(step{by: "system:serviceaccount:kube-system:generic-garbage-collector", verb: "delete", resource: pods, name: "web-1-a"})
		}},
		"a stranger scales a ReplicaSet": {want: []Promise{Uncovered}, tell: func(s *story) {
			s.begin()
			s.tell(s.scaleReplicaSet(mallory, ""))
		}},
		"a stranger changes a Pod that goes": {tell: func(s *story) {
			s.begin()
			s.tell(step{by: mallory, verb: "patch", resource: pods, name: "web-1-a", change: obj{
				"metadata": obj{"deletionTimestamp": "2026-01-01T12:00:00Z"}, "spec": obj{"containers": []any{obj{"image": "web:2"}}},
			}})
			s.tell(step{by: replicaSetController, verb: "delete", resource: pods, name: "web-1-a"})
			s.pod("web-1-c")
		}},
		"a stranger changes a Pod whose ReplicaSet is an orphan": {tell: func(s *story) {
			s.begin()
			s.tell(step{by: alice, verb: "delete", resource: deployments, name: "web"})
			s.tell(step{by: mallory, verb: "patch", resource: pods, name: "web-1-a", change: obj{"spec": obj{"containers": []any{obj{"image": "web:2"}}}}})
		}},
		"a stranger deletes a ReplicaSet": {want: []Promise{Uncovered, Undone}, tell: func(s *story) {
			s.begin()
			s.tell(step{by: mallory, verb: "delete", resource: replicaSets, name: "web-1"})
		}},
		"a stranger deletes a Pod": {want: []Promise{Uncovered}, tell: func(s *story) {
			s.begin()
			s.tell(step{by: mallory, verb: "delete", resource: pods, name: "web-1-a"})
			s.pod("web-1-c")
		}},
		"a stranger changes a Pod": {want: []Promise{Uncovered, Undone}, tell: func(s *story) {
			s.begin()
			s.tell(step{by: mallory, verb: "patch", resource: pods, name: "web-1-a", change: obj{"spec": obj{"containers": []any{obj{"image": "evil"}}}}})
		}},
		"a stranger takes the owner of a ReplicaSet away": {want: []Promise{Uncovered, Undone}, tell: func(s *story) {
			s.begin()
			s.tell(step{by: mallory, verb: "patch", resource: replicaSets, name: "web-1", change: obj{"metadata": obj{"ownerReferences": []any{}}}})
		}},
		"a controller does what nobody caused": {want: []Promise{Uncovered}, tell: func(s *story) {
			s.begin()
			s.tell(s.scaleReplicaSet(deploymentController, ""))
		}},
		"a controller uses what is withheld": {want: []Promise{Uncovered}, tell: func(s *story) {
			s.begin()
			s.tell(
				step{by: mallory, verb: "patch", resource: deployments, name: "web", change: all(obj{"spec": obj{"replicas": 2}}, generation(2),
					ledgerOf(ledgerKey, `[{"relation":"Withheld","mutation":"spec.replicas","generation":2,"initiator":"mallory","trace":[]}]`))},
				s.scaleReplicaSet(deploymentController, ""),
			)
		}},
		"a controller uses two seconds later what has ended": {want: []Promise{Uncovered}, tell: func(s *story) {
			s.begin()
			s.scale()
			s.finish()
			s.tell(step{by: deploymentController, verb: "update", resource: replicaSets, name: "web-1", after: 2 * time.Second,
				change: all(obj{"spec": obj{"replicas": 3}}, generation(3))})
		}},
		"a controller is a little behind": {tell: func(s *story) {
			s.begin()
			s.scale()
			s.finish()
			s.tell(step{by: deploymentController, verb: "update", resource: replicaSets, name: "web-1", after: -800 * time.Millisecond,
				change: all(obj{"spec": obj{"replicas": 1}}, generation(3))})
		}},
		"nobody can be asked": {want: []Promise{"excused"}, tell: func(s *story) {
			s.begin()
			st := s.scaleReplicaSet(mallory, "")
			st.open = true
			s.tell(st)
		}},
		"no policy is there any more": {tell: func(s *story) {
			s.begin()
			s.tell(step{by: alice, verb: "delete", resource: policies, name: "deployment"})
			s.tell(s.scaleReplicaSet(mallory, ""))
		}},
		"a ledger does not parse": {want: []Promise{Corrupted}, tell: func(s *story) {
			s.begin()
			s.tell(step{by: alice, verb: "patch", resource: deployments, name: "web", change: ledgerOf(ledgerKey, `[{"kind":`)})
		}},
		"a ledger lacks a trace": {want: []Promise{Corrupted, Unended}, tell: func(s *story) {
			s.begin()
			s.tell(step{by: alice, verb: "patch", resource: deployments, name: "web", change: ledgerOf(ledgerKey, `[{"kind":"ReplicaSet","mutation":"create","generation":1,"initiator":"alice"}]`)})
		}},
		"an allowance has no cause": {want: []Promise{Invented}, tell: func(s *story) {
			s.begin()
			s.tell(step{by: mallory, verb: "patch", resource: deployments, name: "web", change: ledgerOf(ledgerKey, mayScale)})
		}},
		"a scale finds done what it asks for": {want: []Promise{Undone}, tell: func(s *story) {
			s.begin()
			s.scaleInVain(alice)
		}},
		"a scale by a stranger finds done what it asks for": {want: []Promise{Invented, Undone}, tell: func(s *story) {
			s.begin()
			s.scaleInVain(mallory)
		}},
		"an allowance has a cause that may not": {want: []Promise{Invented}, tell: func(s *story) {
			s.begin()
			s.tell(step{by: mallory, verb: "patch", resource: deployments, name: "web", change: all(obj{"spec": obj{"replicas": 2}}, generation(2), ledgerOf(ledgerKey, mayScale))})
		}},
		"a ledger has no record": {want: []Promise{Misrecorded}, tell: func(s *story) {
			s.begin()
			s.scale()
			s.mirror()
			delete(s.objects, "allowancerecords/deployments-web")
			s.forget = true
		}},
		"an allowance comes back": {want: []Promise{Unended}, tell: func(s *story) {
			s.begin()
			s.scale()
			s.finish()
			s.tell(step{by: deploymentController, verb: "update", resource: deployments, name: "web", change: ledgerOf(ledgerKey, mayScale)})
		}},
		"a grant is lost": {want: []Promise{Lost}, tell: func(s *story) {
			s.begin()
			s.tell(step{by: alice, verb: "patch", resource: deployments, name: "web", change: all(obj{"spec": obj{"replicas": 1, "template": "other"}}, generation(2))})
			s.tell(step{by: alice, verb: "delete", resource: deployments, name: "web"})
		}},
		"a grant is pending": {tell: func(s *story) {
			s.begin()
			s.tell(step{by: alice, verb: "patch", resource: deployments, name: "web", change: all(obj{"spec": obj{"replicas": 2}}, generation(2))})
			s.record(obj{"pendingGrants": []any{obj{"allowances": []any{obj{
				"kind": "ReplicaSet", "mutation": "spec.replicas", "generation": 2, "initiator": "alice",
				"trace": []any{obj{"kind": "Deployment", "name": "web", "generation": 2, "field": "spec.replicas"}},
			}}}}})
			s.tell(s.scaleReplicaSet(deploymentController, ""))
			s.pod("web-1-b")
		}},
		"a grant is pending, which the API server did not see stored": {tell: func(s *story) {
			s.begin()
			s.tell(step{by: alice, verb: "patch", resource: deployments, name: "web", change: all(obj{"spec": obj{"replicas": 2}}, generation(2))})
			pending := s.now.UTC().Format(time.RFC3339)
			s.tell(s.scaleReplicaSet(deploymentController, ""))
			s.pod("web-1-b")
			s.now = s.now.Add(2 * lag)
			s.record(obj{"pendingGrants": []any{obj{"time": pending, "allowances": []any{obj{
				"kind": "ReplicaSet", "mutation": "spec.replicas", "generation": 2, "initiator": "alice",
				"trace": []any{obj{"kind": "Deployment", "name": "web", "generation": 2, "field": "spec.replicas"}},
			}}}}})
		}},
		"a stranger's change is about to be withheld": {want: []Promise{Uncovered}, tell: func(s *story) {
			s.begin()
			s.scaleAfterAStranger(2)
		}},
		"a stranger's change was about to be withheld, and was overruled": {tell: func(s *story) {
			s.begin()
			s.scaleAfterAStranger(1)
		}},
		"an allowance goes before it is used up": {want: []Promise{Lost}, tell: func(s *story) {
			s.begin()
			s.scale()
			s.tell(step{by: mallory, verb: "patch", resource: deployments, name: "web", change: ledgerOf(ledgerKey, "")})
		}},
		"what was asked for is not there": {want: []Promise{Undone}, tell: func(s *story) {
			s.begin()
			s.tell(step{by: alice, verb: "patch", resource: deployments, name: "web", change: all(obj{"spec": obj{"replicas": 2}}, generation(2), ledgerOf(ledgerKey, mayScale))})
		}},
		"a record has an allowance that is none": {want: []Promise{Misrecorded}, tell: func(s *story) {
			s.begin()
			s.record(obj{"active": []any{obj{"kind": "ReplicaSet"}}})
		}},
		"a record says that its object is gone": {want: []Promise{Misrecorded}, tell: func(s *story) {
			s.begin()
			s.record(obj{"endedAt": "2026-01-01T12:00:00Z"})
		}},
		"a record does not say that its object is gone": {want: []Promise{Misrecorded}, tell: func(s *story) {
			s.begin()
			s.record(obj{"phase": "Steady"})
			s.tell(step{by: alice, verb: "delete", resource: deployments, name: "web"})
		}},
		"a record tells of what nobody did": {want: []Promise{Misrecorded}, tell: func(s *story) {
			s.begin()
			s.record(obj{"history": []any{obj{"event": "Denied", "user": mallory, "kind": "ReplicaSet", "names": []any{"web-1"}}}})
		}},
		"a record forgets a denial": {want: []Promise{Misrecorded}, tell: func(s *story) {
			s.begin()
			s.tell(step{by: mallory, verb: "delete", resource: replicaSets, name: "web-1", code: 403})
			s.record(obj{"denials": 0})
		}},
		"a record counts a denial that nobody asked for": {want: []Promise{Misrecorded}, tell: func(s *story) {
			s.begin()
			s.record(obj{"denials": 1})
		}},
		"a record counts a denial of what was let through before": {want: nil, tell: func(s *story) {
			s.begin()
			s.tell(step{by: mallory, verb: "update", resource: replicaSets, name: "web-1", uncovered: true})
			s.record(obj{"denials": 1})
		}},
		"a record counts a denial that nobody waited for": {want: []Promise{"excused"}, tell: func(s *story) {
			s.begin()
			s.tell(step{by: mallory, verb: "update", resource: replicaSets, name: "web-1", change: obj{"spec": obj{"replicas": 9}}, open: true})
			s.record(obj{"denials": 1})
		}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			s := newStory(t)
			tc.tell(s)
			if !s.forget {
				s.mirror()
			}
			var got []Promise
			report := s.check()
			for _, f := range report.Findings {
				promise := f.Promise
				if f.Excused {
					promise = "excused"
				}
				got = append(got, promise)
			}
			if diff := cmp.Diff(tc.want, got, cmpopts.SortSlices(func(a, b Promise) bool { return a < b })); diff != "" {
				t.Errorf("(-want +got):\n%s%s", diff, fmt.Sprintln(report.Findings))
			}
		})
	}
}

// What an operator had not written down when it was killed is forgotten.
func TestKilled(t *testing.T) {
	s := newStory(t)
	s.begin()
	s.tell(step{by: mallory, verb: "delete", resource: replicaSets, name: "web-1", code: 403})
	killed := Interval{From: s.now, To: s.now.Add(time.Second)}
	s.record(obj{"denials": 0})
	if got := s.check(killed).Findings; len(got) > 0 {
		t.Error(got)
	}
}

func TestReadStopsAtNonsense(t *testing.T) {
	s := newStory(t)
	s.begin()
	s.lines.WriteString(`{"objectRef":{"resource":"pods"},` + "\n")
	if _, err := Read(&s.lines); err == nil {
		t.Error("nonsense is read")
	}
}

// A section bounds what it names, and nothing else.
func TestSectionLets(t *testing.T) {
	const text = `{"policies":[{"target":{"resource":"replicasets"},"verbs":["Create"],"mutations":[{"jsonPath":"spec.replicas","verbs":["Mutate"]}]}]}`
	var s section
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		t.Fatal(err)
	}
	create, remove := change{verbCreate, wholeObject}, change{verbDelete, wholeObject}
	size, drop, other := change{"spec.replicas", verbMutate}, change{"spec.replicas", verbRemove}, change{"spec.template", verbMutate}
	tests := map[string]struct {
		resource string
		changes  []change
		want     bool
	}{
		"what it names":              {replicaSets, []change{create}, true},
		"a field that it names":      {replicaSets, []change{size}, true},
		"by another verb":            {replicaSets, []change{drop}, false},
		"another field":              {replicaSets, []change{other}, false},
		"one that it names, and not": {replicaSets, []change{size, other}, false},
		"what it does not name":      {replicaSets, []change{remove}, false},
		"another resource":           {pods, []change{remove}, true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if got := s.lets(tc.resource, tc.changes); got != tc.want {
				t.Errorf("lets() = %t, want %t", got, tc.want)
			}
		})
	}
}
