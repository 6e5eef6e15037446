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
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// Lines of an audit log, of which only those about writes to the group count.
const auditLog = `{"verb":"get","objectRef":{"apiGroup":"group","resource":"databases","name":"main"}}
{"verb":"patch","requestURI":"/apis/group/v1/databases/main?dryRun=All","objectRef":{"apiGroup":"group","resource":"databases","name":"main"}}
{"verb":"patch","objectRef":{"apiGroup":"other","resource":"databases","name":"main"},"requestObject":{"apiGroup":"group"}}
{"verb":"patch","user":{"username":"admin","groups":["system:masters"]},"impersonatedUser":{"username":"alice","groups":["platform-team"]},"requestReceivedTimestamp":"2026-03-01T10:00:00.000001Z","stageTimestamp":"2026-03-01T10:00:01.000000Z","objectRef":{"apiGroup":"group","resource":"databases","namespace":"shop","name":"main","subresource":"status"},"responseStatus":{"code":200},"requestObject":{"spec":{}},"responseObject":{"kind":"Database","metadata":{"name":"main","uid":"1"},"spec":{"size":"small"}}}
{"verb":"delete","user":{"username":"mallory"},"objectRef":{"apiGroup":"group","resource":"databases","name":"main"},"responseStatus":{"code":200},"responseObject":{"kind":"Status"}}
{"verb":"patch","user":{"username":"mallory"},"objectRef":{"apiGroup":"group","resource":"databases","name":"main"},"responseStatus":{"code":403},"responseObject":{"kind":"Status"}}
{"verb":"patch","objectRef":{"apiGroup":"group"`

func TestReadRequests(t *testing.T) {
	got, err := ReadRequests(strings.NewReader(auditLog), "group")
	if err != nil {
		t.Fatal(err)
	}
	stored := &Object{Kind: "Database"}
	stored.Metadata.Name, stored.Metadata.UID, stored.Spec.Size = "main", "1", "small"
	stored.Content = map[string]any{"size": "small"}
	begun := time.Date(2026, 3, 1, 10, 0, 0, 1000, time.UTC)
	want := []Request{
		{
			Received: begun, Answered: begun.Add(time.Second - time.Microsecond), User: "alice", Groups: []string{"platform-team"},
			Verb: "patch", APIGroup: "group", Resource: "databases", Subresource: "status", Namespace: "shop", Name: "main",
			Code: 200, Object: stored,
		},
		{User: "mallory", Verb: "delete", APIGroup: "group", Resource: "databases", Name: "main", Code: 200},
		{User: "mallory", Verb: "patch", APIGroup: "group", Resource: "databases", Name: "main", Code: 403},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
}

func TestReadRequestsThatDoNotParse(t *testing.T) {
	_, err := ReadRequests(strings.NewReader(`{"verb":"create","user":1,"objectRef":{"apiGroup":"group"}}`+"\n"), "group")
	if err == nil || !strings.Contains(err.Error(), "line 1") {
		t.Errorf("got error %v, want one that names line 1", err)
	}
}

func TestReadCalls(t *testing.T) {
	got, err := ReadCalls(strings.NewReader(`{"number":0,"verb":"Observe","name":"main","outcome":"Pending"}
{"number":1,"by":"RDSInstance.group shop/main-1","verb":"Update","name":"main-1","parameters":{"instanceClass":"large"},"outcome":"Pending"}
{"number":2,"by":"RDSInstance.group /other","verb":"Delete","name":"other","outcome":"Pending"}
{"number":1,"by":"RDSInstance.group shop/main-1","verb":"Update","name":"main-1","parameters":{"instanceClass":"large"},"outcome":"Done"}
{"number":2,`))
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != 2 || got[0].Outcome != done || got[0].size() != "large" || got[1].Outcome != "Pending" || got[1].size() != "" {
		t.Errorf("calls: %+v", got)
	}
	if where := got[0].resource(); where != (place{"group", instances, "shop", "main-1"}) {
		t.Errorf("for %s", where)
	}
	if where := got[1].resource(); where != (place{"group", instances, "", "other"}) {
		t.Errorf("for %s", where)
	}
	if _, err := ReadCalls(strings.NewReader("nonsense\n")); err == nil {
		t.Error("nonsense is read")
	}
}
