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
	"maps"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const testedPolicies = `
spec:
  for: {kind: Database}
  subjects:
  - {kind: Group, name: platform-team, mayInitiate: true}
  - {kind: ServiceAccount, name: crossplane}
  initializing:
    policies:
    - {relation: ControllerChild, verbs: [Create]}
    - {relation: External, verbs: [Create]}
  rules:
  - trigger: spec.size
    capture: ["metadata.annotations[ticket]"]
    policies:
    - {relation: External, verbs: [Update]}
---
spec:
  for: {kind: Database}
  objectSelector: {matchLabels: {goes: "true"}}
  deleting:
    policies:
    - {relation: External, verbs: [Delete]}
`

// story is what happened, second by second.
type story struct {
	t        *testing.T
	now      time.Time
	revision int
	evidence Evidence
}

func tell(t *testing.T) *story {
	t.Helper()
	policies, err := ReadPolicies([]byte(testedPolicies))
	if err != nil {
		t.Fatal(err)
	}
	return &story{
		t: t, now: time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC),
		evidence: Evidence{Policies: policies, Patience: time.Minute, Users: Users{
			Crossplane: "system:crossplane", Provider: "system:provider", Operator: "system:operator",
		}},
	}
}

// wait lets time pass.
func (s *story) wait(d time.Duration) *story {
	s.now = s.now.Add(d)
	return s
}

// write has somebody store an object, given as JSON, a second after what came before.
func (s *story) write(user, verb, resource string, object map[string]any, approved ...string) *story {
	s.t.Helper()
	s.wait(time.Second)
	s.revision++
	metadata, ok := object["metadata"].(map[string]any)
	if !ok {
		s.t.Fatalf("no metadata: %v", object)
	}
	metadata["resourceVersion"] = strconv.Itoa(s.revision)
	content, err := json.Marshal(object)
	if err != nil {
		s.t.Fatal(err)
	}
	stored := &Object{}
	if err := json.Unmarshal(content, stored); err != nil {
		s.t.Fatal(err)
	}
	r := Request{
		Received: s.now, Answered: s.now.Add(10 * time.Millisecond), User: user, Verb: verb,
		APIGroup: "group", Resource: resource, Namespace: stored.Metadata.Namespace, Name: stored.Metadata.Name,
		Code: 200, Object: stored, Approved: approved,
	}
	if user == "alice" {
		r.Groups = []string{"platform-team"}
	}
	s.evidence.Requests = append(s.evidence.Requests, r)
	return s
}

// database has somebody store the database.
func (s *story) database(user, verb string, generation int, size string, edits ...func(metadata map[string]any)) *story {
	s.t.Helper()
	metadata := map[string]any{
		"name": "main", "namespace": "shop", "uid": "database", "generation": generation,
		"annotations": map[string]string{"ticket": "ABC-1"}, "finalizers": []string{"composite"},
	}
	for _, edit := range edits {
		edit(metadata)
	}
	object := map[string]any{"kind": "Database", "metadata": metadata, "spec": map[string]any{"size": size}}
	return s.write(user, verb, "databases", object)
}

// instance has somebody store the managed resource, with policies, and a ledger.
func (s *story) instance(user, verb, size string, policies []string, ledger string, edits ...func(metadata map[string]any)) *story {
	s.t.Helper()
	annotations := map[string]string{}
	if ledger != "" {
		annotations["rdsinstance.kausality.io/allowances"] = ledger
	}
	metadata := map[string]any{
		"name": "main-1", "namespace": "shop", "uid": "instance", "annotations": annotations,
		"labels": map[string]string{compositeKey: "main"}, "finalizers": []string{"managed"},
		"ownerReferences": []map[string]any{{"kind": "Database", "name": "main", "uid": "database", "controller": true}},
	}
	for _, edit := range edits {
		edit(metadata)
	}
	return s.write(user, verb, instances, map[string]any{
		"kind": "RDSInstance", "metadata": metadata,
		"spec": map[string]any{"forProvider": map[string]any{"instanceClass": size}, "managementPolicies": policies},
	})
}

// call has the provider ask the cloud.
func (s *story) call(verb, size string) *story {
	s.wait(100 * time.Millisecond)
	c := Call{
		Number: len(s.evidence.Calls), By: "RDSInstance.group shop/main-1", Verb: verb, Name: "main-1",
		Outcome: done, Received: s.now, Ended: s.now.Add(50 * time.Millisecond),
	}
	if size != "" {
		c.Parameters = map[string]any{"instanceClass": size}
	}
	s.evidence.Calls = append(s.evidence.Calls, c)
	return s
}

// allowing returns a ledger with an allowance for a verb, that alice began at a generation
// of the database.
func allowing(verb, field string, generation int) string {
	return fmt.Sprintf(`[{"relation":"External","mutations":[%q],"initiator":"alice","trace":[
		{"kind":"Database","name":"main","generation":%d,"field":%q,"attestations":{"metadata.annotations[ticket]":"ABC-1"}},
		{"kind":"RDSInstance","name":"main-1","field":"spec.forProvider.instanceClass"}]}]`, verb, generation, field)
}

var (
	closed   = []string{"Observe", "LateInitialize"}
	creating = []string{"Observe", "Create", "LateInitialize"}
	updating = []string{"Observe", "Update", "LateInitialize"}
	deleting = []string{"Observe", "Delete"}
)

// made returns a database that alice has made, and whose gate is closed.
func made(s *story) *story {
	return s.database("alice", "create", 1, "small").
		instance("system:crossplane", "patch", "small", creating, allowing(create, created, 1)).
		call(create, "small").
		instance("system:operator", "patch", "small", closed, "")
}

func goes(metadata map[string]any) { metadata["labels"] = map[string]string{"goes": "true"} }

func going(metadata map[string]any) { metadata["deletionTimestamp"] = "2026-03-01T11:00:00Z" }

func gone(metadata map[string]any) {
	going(metadata)
	metadata["finalizers"] = []string{}
}

func paused(metadata map[string]any) {
	metadata["annotations"] = map[string]string{pausedKey: "true"}
}

func withholding(metadata map[string]any) {
	metadata["annotations"] = map[string]string{"ticket": "ABC-1", "kausality.io/allowances": `[{"relation":"Withheld"}]`}
}

func TestCheck(t *testing.T) {
	tests := map[string]struct {
		story func(*story)
		want  []string
		// counts are those that the story is about.
		counts func(Counts) bool
	}{
		"a database is made": {
			story:  func(*story) {},
			counts: func(c Counts) bool { return c.Mutations == 1 && c.Changes == 1 && c.Arrived == 1 && c.Versions == 2 },
		},
		"an initiator's change arrives": {
			story: func(s *story) {
				s.database("alice", "patch", 2, "large").
					instance("system:crossplane", "patch", "large", updating, allowing(update, sizeField, 2)).
					call(update, "large").
					instance("system:operator", "patch", "large", closed, "")
			},
			counts: func(c Counts) bool { return c.Mutations == 2 && c.Arrived == 2 && c.InFlight == 0 },
		},
		"a call comes just after its gate has closed": {
			story: func(s *story) {
				s.database("alice", "patch", 2, "large").
					instance("system:crossplane", "patch", "large", updating, allowing(update, sizeField, 2)).
					instance("system:operator", "patch", "large", closed, "").
					wait(Flight/2).call(update, "large")
			},
			counts: func(c Counts) bool { return c.InFlight == 1 },
		},
		"a call comes long after its gate has closed": {
			story: func(s *story) {
				s.database("alice", "patch", 2, "large").
					instance("system:crossplane", "patch", "large", updating, allowing(update, sizeField, 2)).
					instance("system:operator", "patch", "large", closed, "").
					wait(2*Flight).call(update, "large")
			},
			want: []string{"Uncovered"},
		},
		"a provider does not look at its gate": {
			story: func(s *story) { s.wait(2*Flight).call(update, "huge") },
			want:  []string{"Uncovered"},
		},
		"a provider makes another change than the one that was allowed": {
			story: func(s *story) {
				s.database("alice", "patch", 2, "large").
					instance("system:crossplane", "patch", "large", updating, allowing(update, sizeField, 2)).
					call(update, "huge").call(update, "large").
					instance("system:operator", "patch", "large", closed, "")
			},
			want: []string{"Uncovered"},
		},
		"a stranger's size goes to the cloud under an initiator's allowance, in the moment after": {
			story: func(s *story) {
				s.database("mallory", "patch", 2, "huge").database("alice", "patch", 3, "large").
					instance("system:crossplane", "patch", "huge", updating, allowing(update, sizeField, 3)).
					call(update, "huge").
					instance("system:crossplane", "patch", "large", updating, allowing(update, sizeField, 3)).
					call(update, "large").
					instance("system:operator", "patch", "large", closed, "")
			},
			counts: func(c Counts) bool { return c.TakenBack == 1 && c.CarriedOut == 1 && c.Arrived == 2 },
		},
		"a stranger's size goes to the cloud under an initiator's allowance": {
			story: func(s *story) {
				s.database("mallory", "patch", 2, "huge").database("alice", "patch", 3, "large").wait(2*late).
					instance("system:crossplane", "patch", "huge", updating, allowing(update, sizeField, 3)).
					call(update, "huge").
					instance("system:crossplane", "patch", "large", updating, allowing(update, sizeField, 3)).
					call(update, "large").
					instance("system:operator", "patch", "large", closed, "")
			},
			want: []string{"Uncovered", "Written"},
		},
		"an initiator approves a stranger's size": {
			story: func(s *story) {
				s.database("mallory", "patch", 2, "huge").database("alice", "patch", 2, "huge")
				s.evidence.Requests[len(s.evidence.Requests)-1].Approved = []string{sizeField}
				s.instance("system:crossplane", "patch", "huge", updating, allowing(update, sizeField, 2)).
					call(update, "huge").
					instance("system:operator", "patch", "huge", closed, "")
			},
			counts: func(c Counts) bool { return c.Arrived == 2 && c.Strange == 1 },
		},
		"Crossplane writes what it composed before the last change": {
			story: func(s *story) {
				s.database("alice", "patch", 2, "large").database("alice", "patch", 3, "larger").
					instance("system:crossplane", "patch", "large", closed, "").
					instance("system:crossplane", "patch", "larger", updating, allowing(update, sizeField, 3)).
					call(update, "larger").
					instance("system:operator", "patch", "larger", closed, "")
			},
			counts: func(c Counts) bool { return c.Superseded == 1 && c.Writes == 7 },
		},
		"Crossplane goes back to what nobody has wanted for long": {
			story: func(s *story) {
				s.database("alice", "patch", 2, "large").
					instance("system:crossplane", "patch", "large", updating, allowing(update, sizeField, 2)).
					call(update, "large").
					instance("system:operator", "patch", "large", closed, "").
					wait(2*stale).instance("system:crossplane", "patch", "small", closed, "")
			},
			want: []string{"Written"},
		},
		"Crossplane writes what a stranger asked for": {
			story: func(s *story) {
				s.database("mallory", "patch", 2, "huge").instance("system:crossplane", "patch", "huge", closed, "").
					database("mallory", "patch", 3, "small")
			},
			want: []string{"Written"},
		},
		"a stranger changes a managed resource": {
			story: func(s *story) {
				s.instance("mallory", "patch", "huge", closed, "").instance("system:crossplane", "patch", "small", closed, "")
			},
			want: []string{"Written"},
		},
		"a stranger makes a managed resource": {
			story: func(s *story) {
				s.instance("mallory", "create", "small", closed, "", func(metadata map[string]any) {
					metadata["name"], metadata["uid"] = "main-2", "another"
				})
			},
			want: []string{"Written"},
		},
		"a stranger deletes a managed resource": {
			story: func(s *story) {
				s.instance("mallory", "delete", "small", closed, "", gone).instance("system:crossplane", "create", "small", closed, "", func(metadata map[string]any) {
					metadata["uid"] = "another"
				})
			},
			want: []string{"Ended"},
		},
		"somebody opens a gate": {
			story: func(s *story) {
				s.instance("mallory", "patch", "small", []string{"*"}, "").instance("system:operator", "patch", "small", closed, "")
			},
			want: []string{"Open", "Written"},
		},
		"a gate is open by default": {
			story: func(s *story) {
				s.instance("mallory", "patch", "small", []string{}, "").instance("system:operator", "patch", "small", closed, "")
			},
			want: []string{"Open", "Written"},
		},
		"a gate is open for more than what is allowed": {
			story: func(s *story) {
				s.database("alice", "patch", 2, "large").
					instance("system:crossplane", "patch", "large", []string{"Observe", "Create", "Update"}, allowing(update, sizeField, 2)).
					call(update, "large").
					instance("system:operator", "patch", "large", closed, "")
			},
			want: []string{"Open"},
		},
		"somebody writes an allowance": {
			story: func(s *story) {
				s.database("mallory", "patch", 2, "large").
					instance("mallory", "patch", "large", updating, allowing(update, sizeField, 2)).
					call(update, "large").
					instance("system:operator", "patch", "large", closed, "").
					database("mallory", "patch", 3, "small")
			},
			want: []string{"Forged", "Open", "Uncovered", "Written"},
		},
		"an allowance names another ticket": {
			story: func(s *story) {
				s.database("alice", "patch", 2, "large", func(m map[string]any) { m["annotations"] = map[string]string{"ticket": "ABC-2"} }).
					instance("system:crossplane", "patch", "large", updating, allowing(update, sizeField, 2)).
					call(update, "large").
					instance("system:operator", "patch", "large", closed, "")
			},
			want: []string{"Forged", "Open", "Uncovered"},
		},
		"an initiator's change does not arrive": {
			story: func(s *story) { s.database("alice", "patch", 2, "large") },
			want:  []string{"Lost"},
		},
		"an initiator's change has no time to arrive": {
			story: func(s *story) {
				s.database("alice", "patch", 2, "large").database("alice", "patch", 3, "huge").
					instance("system:crossplane", "patch", "huge", updating, allowing(update, sizeField, 3)).
					call(update, "huge").
					instance("system:operator", "patch", "huge", closed, "")
			},
			counts: func(c Counts) bool { return c.Superseded == 1 && c.Arrived == 2 },
		},
		"an initiator's change has time and does not arrive": {
			story: func(s *story) {
				s.database("alice", "patch", 2, "large").wait(2*time.Minute).database("alice", "patch", 3, "small")
			},
			want: []string{"Lost"},
		},
		"a stranger's change is withheld, and taken back": {
			story: func(s *story) {
				s.database("mallory", "patch", 2, "huge", withholding).database("mallory", "patch", 3, "small")
			},
			counts: func(c Counts) bool { return c.Changes == 1 && c.Arrived == 1 },
		},
		"a stranger's change is withheld in the end": {
			story: func(s *story) { s.database("mallory", "patch", 2, "huge", withholding) },
			want:  []string{"Left"},
		},
		"a gate is open in the end": {
			story: func(s *story) {
				s.database("alice", "patch", 2, "large").
					instance("system:crossplane", "patch", "large", updating, allowing(update, sizeField, 2)).
					call(update, "large")
			},
			want: []string{"Left", "Left"},
		},
		"it goes, in the cloud too": {
			story: func(s *story) {
				s.database("alice", "patch", 1, "small", goes).
					database("alice", "delete", 2, "small", goes, going).
					instance(platform+"generic-garbage-collector", "patch", "small", closed, "", paused).
					instance(platform+"generic-garbage-collector", "delete", "small", closed, "", paused, going).
					instance("system:operator", "patch", "small", deleting, "", going).
					call(remove, "").
					instance("system:provider", "update", "small", deleting, "", gone).
					database("system:crossplane", "patch", 2, "small", goes, gone)
			},
			counts: func(c Counts) bool { return c.Deleted == 1 && c.Preserved == 0 },
		},
		"it goes, and stays in the cloud": {
			story: func(s *story) {
				s.database("alice", "delete", 2, "small", going).
					instance(platform+"generic-garbage-collector", "delete", "small", closed, "", paused, going).
					instance("system:operator", "patch", "small", closed, "", gone).
					database("system:crossplane", "patch", 2, "small", gone)
			},
			counts: func(c Counts) bool { return c.Deleted == 0 && c.Preserved == 1 },
		},
		"it goes in the cloud though it may not": {
			story: func(s *story) {
				s.database("alice", "delete", 2, "small", going).
					instance("system:operator", "patch", "small", deleting, "", going).
					call(remove, "").
					instance("system:provider", "update", "small", deleting, "", gone).
					database("system:crossplane", "patch", 2, "small", gone)
			},
			want: []string{"Open", "Open", "Uncovered"},
		},
		"a stranger deletes it": {
			story: func(s *story) {
				s.database("mallory", "delete", 2, "small", goes, going).
					instance("system:operator", "patch", "small", deleting, "", going).
					call(remove, "").
					instance("system:provider", "update", "small", deleting, "", gone).
					database("system:crossplane", "patch", 2, "small", goes, gone)
			},
			want: []string{"Open", "Open", "Uncovered"},
		},
		"it goes, and leaves behind what was to go": {
			story: func(s *story) {
				s.database("alice", "patch", 1, "small", goes).
					database("alice", "delete", 2, "small", goes, going).
					instance("system:provider", "update", "small", closed, "", gone).
					database("system:crossplane", "patch", 2, "small", goes, gone)
			},
			want: []string{"Leaked"},
		},
		"it does not go": {
			story: func(s *story) { s.database("alice", "delete", 2, "small", going) },
			want:  []string{"Kept", "Kept"},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			s := made(tell(t))
			tc.story(s)
			got := Check(s.evidence)
			var found []string
			for _, f := range got.Findings {
				found = append(found, f.What)
			}
			slices.Sort(found)
			if diff := cmp.Diff(tc.want, found); diff != "" {
				t.Errorf("findings (-want +got):\n%s\n%v", diff, got.Findings)
			}
			if tc.counts != nil && !tc.counts(got.Counts) {
				t.Errorf("counts: %+v", got.Counts)
			}
		})
	}
}

// The order of the audit log is that of answers, which may be another than that of
// what was stored.
func TestOrder(t *testing.T) {
	s := made(tell(t))
	slices.Reverse(s.evidence.Requests)
	if got := Check(s.evidence); len(got.Findings) > 0 || got.Counts.Arrived != 1 {
		t.Errorf("findings: %v, counts: %+v", got.Findings, got.Counts)
	}
}

// Who gives up waiting for the API server has changed something all the same.
func TestUnanswered(t *testing.T) {
	s := made(tell(t))
	s.database("alice", "patch", 2, "large").
		instance("system:crossplane", "patch", "large", updating, allowing(update, sizeField, 2), generation(2))
	write := &s.evidence.Requests[len(s.evidence.Requests)-1]
	stored := write.Object
	write.Code, write.Object = 504, nil
	s.call(update, "large").wait(Flight)
	s.evidence.Requests = append(s.evidence.Requests, Request{
		Received: s.now, Answered: s.now, User: "system:provider", Verb: "update", Subresource: "status",
		APIGroup: write.APIGroup, Resource: write.Resource, Namespace: write.Namespace, Name: write.Name, Code: 200, Object: stored,
	})
	s.instance("system:operator", "patch", "large", closed, "", generation(3))
	if got := Check(s.evidence); len(got.Findings) > 0 {
		t.Errorf("findings: %v", got.Findings)
	}
}

// Nobody has to be patient with what cannot go on.
func TestOutage(t *testing.T) {
	s := made(tell(t))
	s.database("alice", "patch", 2, "large")
	s.evidence.Outages = []Span{{From: s.now.Add(-time.Second), To: s.now.Add(5 * time.Minute)}}
	s.wait(5*time.Minute).database("alice", "patch", 3, "small")
	if got := Check(s.evidence); len(got.Findings) > 0 || got.Counts.Superseded != 1 {
		t.Errorf("findings: %v, counts: %+v", got.Findings, got.Counts)
	}
}

// generation sets that of an object.
func generation(n int) func(map[string]any) {
	return func(metadata map[string]any) { metadata["generation"] = n }
}

func TestOpenings(t *testing.T) {
	s := made(tell(t))
	s.database("alice", "patch", 2, "large").
		instance("system:crossplane", "patch", "large", updating, allowing(update, sizeField, 2)).
		call(update, "large").wait(4*time.Second).
		instance("system:operator", "patch", "large", closed, "").
		database("alice", "patch", 3, "small").
		instance("system:crossplane", "patch", "small", updating, allowing(update, sizeField, 3)).
		instance("system:operator", "patch", "small", closed, "")
	s.evidence.Outages = []Span{{From: s.now.Add(-time.Second), To: s.now}}
	got := Check(s.evidence).Openings
	if len(got) != 3 {
		t.Fatalf("%d openings, want 3: %+v", len(got), got)
	}
	if beyond := got[1].Beyond(); beyond != 5*time.Second+10*time.Millisecond-50*time.Millisecond {
		t.Errorf("open for %s beyond the work", beyond)
	}
	if !got[2].Work.IsZero() || !got[2].Outage || got[1].Outage {
		t.Errorf("openings: %+v", got)
	}
}

func TestPercentile(t *testing.T) {
	times := []time.Duration{3, 1, 2}
	got := map[int]time.Duration{0: Percentile(times, 0), 50: Percentile(times, 50), 100: Percentile(times, 100)}
	if want := map[int]time.Duration{0: 1, 50: 2, 100: 3}; !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if Percentile(nil, 50) != 0 {
		t.Error("a percentile of nothing")
	}
}
