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
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"kausality.io/operator/test/campaign/audit"
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
				s.scaleReplicaSet(mayDelete),
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
				s.scaleReplicaSet(mayDelete),
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
		"a stranger deletes a ReplicaSet": {want: []Promise{Undone}, tell: func(s *story) {
			s.begin()
			s.tell(step{by: mallory, verb: "delete", resource: replicaSets, name: "web-1"})
		}},
		"a stranger changes a Pod": {want: []Promise{Undone}, tell: func(s *story) {
			s.begin()
			s.tell(step{by: mallory, verb: "patch", resource: pods, name: "web-1-a", change: obj{"spec": obj{"containers": []any{obj{"image": "evil"}}}}})
		}},
		"a stranger takes the owner of a ReplicaSet away": {want: []Promise{Undone}, tell: func(s *story) {
			s.begin()
			s.tell(step{by: mallory, verb: "patch", resource: replicaSets, name: "web-1", change: obj{"metadata": obj{"ownerReferences": []any{}}}})
		}},
		"a ledger does not parse": {want: []Promise{Corrupted}, tell: func(s *story) {
			s.begin()
			s.tell(step{by: alice, verb: "patch", resource: deployments, name: "web", change: ledgerOf(ledgerKey, `[{"kind":`)})
		}},
		"a ledger lacks a trace": {want: []Promise{Corrupted, Unended}, tell: func(s *story) {
			s.begin()
			s.tell(step{by: alice, verb: "patch", resource: deployments, name: "web", change: ledgerOf(ledgerKey, `[{"kind":"ReplicaSet","mutation":"create","generation":1,"initiator":"alice"}]`)})
		}},
		"what somebody changed while nobody looked is withheld": {tell: func(s *story) {
			s.begin()
			s.tell(step{by: operator, verb: "patch", resource: deployments, name: "web", change: ledgerOf(ledgerKey, `[{"relation":"Withheld","mutation":"spec.template","generation":1,"content":"37bb2a069838"}]`)})
			s.tell(step{by: alice, verb: "patch", resource: deployments, name: "web", change: ledgerOf(ledgerKey, ``)})
		}},
		"an allowance names nobody": {want: []Promise{Corrupted, Unended}, tell: func(s *story) {
			s.begin()
			s.tell(step{by: operator, verb: "patch", resource: deployments, name: "web", change: ledgerOf(ledgerKey, `[{"kind":"ReplicaSet","mutation":"create","generation":1,"trace":[{"kind":"Deployment","name":"web","generation":1,"field":"spec.template"}]}]`)})
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
		"a grant is lost, as nobody could be asked": {want: []Promise{"excused"}, tell: func(s *story) {
			s.begin()
			s.tell(step{by: alice, verb: "patch", resource: deployments, name: "web", open: true,
				change: all(obj{"spec": obj{"replicas": 1, "template": "other"}}, generation(2))})
			s.tell(step{by: alice, verb: "delete", resource: deployments, name: "web"})
		}},
		"a grant is pending": {tell: func(s *story) {
			s.begin()
			s.tell(step{by: alice, verb: "patch", resource: deployments, name: "web", change: all(obj{"spec": obj{"replicas": 2}}, generation(2))})
			s.record(obj{"pendingGrants": []any{obj{"allowances": []any{obj{
				"kind": "ReplicaSet", "mutation": "spec.replicas", "generation": 2, "initiator": "alice",
				"trace": []any{obj{"kind": "Deployment", "name": "web", "generation": 2, "field": "spec.replicas"}},
			}}}}})
			s.tell(s.scaleReplicaSet(""))
			s.pod("web-1-b")
		}},
		"a grant is pending, which the API server did not see stored": {tell: func(s *story) {
			s.begin()
			s.tell(step{by: alice, verb: "patch", resource: deployments, name: "web", change: all(obj{"spec": obj{"replicas": 2}}, generation(2))})
			pending := s.now.UTC().Format(time.RFC3339)
			s.tell(s.scaleReplicaSet(""))
			s.pod("web-1-b")
			s.now = s.now.Add(2 * lag)
			s.record(obj{"pendingGrants": []any{obj{"time": pending, "allowances": []any{obj{
				"kind": "ReplicaSet", "mutation": "spec.replicas", "generation": 2, "initiator": "alice",
				"trace": []any{obj{"kind": "Deployment", "name": "web", "generation": 2, "field": "spec.replicas"}},
			}}}}})
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
		"a record counts a denial of what was let through before": {tell: func(s *story) {
			s.begin()
			s.tell(step{by: mallory, verb: "update", resource: replicaSets, name: "web-1", uncovered: true})
			s.record(obj{"denials": 1})
		}},
		"a record counts a denial that nobody waited for": {tell: func(s *story) {
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
	s.lines.WriteString(`{"verb":"create","objectRef":{"resource":"pods"},` + "\n")
	if _, err := audit.Read(&s.lines, kinds); err == nil {
		t.Error("nonsense is read")
	}
}
