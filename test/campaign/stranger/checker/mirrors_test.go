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
	"testing"

	"kausality.io/operator/test/campaign/audit"
)

// What a record lists was in the ledger of its object, it counts what it lists, and tells who began it.
func TestMirrors(t *testing.T) {
	type fields = map[string]any
	trace := func(name string) []any {
		return []any{fields{"kind": "Deployment", "name": name, "generation": 2, "field": "spec.replicas"}}
	}
	active := func(initiator string) fields {
		return fields{"kind": "ReplicaSet", "mutation": "spec.replicas", "generation": 2, "initiator": initiator, "trace": trace("web")}
	}
	granted := func(initiator, name string) fields {
		return fields{"event": "Consumed", "initiator": initiator, "trace": trace(name)}
	}
	denied := fields{"event": "Denied", "count": 2}
	tests := map[string]struct {
		status fields
		want   []Promise
	}{
		"as it was":              {status: fields{"active": []any{active("alice")}, "activeCount": 1}},
		"more than it lists":     {status: fields{"active": []any{active("alice")}, "activeCount": 2}, want: []Promise{Forged}},
		"fewer withheld":         {status: fields{"withheldCount": 77}, want: []Promise{Forged}},
		"of somebody else":       {status: fields{"active": []any{active("carol")}, "activeCount": 1}, want: []Promise{Forged}},
		"began":                  {status: fields{"history": []any{granted("alice", "web")}}},
		"began by somebody else": {status: fields{"history": []any{granted("carol", "web")}}, want: []Promise{Forged}},
		"began at nothing":       {status: fields{"history": []any{granted("alice", "nobody")}}, want: []Promise{Forged}},
		"denials":                {status: fields{"denials": 2, "history": []any{denied}}},
		"fewer denials":          {status: fields{"denials": 0, "history": []any{denied}}, want: []Promise{Forged}},
		"a decision":             {status: fields{"lastDecision": fields{"user": "carol", "kind": "ReplicaSet", "name": "web-1", "operation": "Update"}}, want: []Promise{Forged}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			s := begin(t)
			s.write("alice", audit.VerbPatch, deployments, "web", spec(fields{"replicas": 3}))
			s.write(operatorUser, audit.VerbPatch, deployments, "web", ledgerNote(t, entry{
				Kind: "ReplicaSet", Mutation: "spec.replicas", Generation: 2, Initiator: "alice",
				Trace: []hop{{Kind: "Deployment", Name: "web", Generation: 2, Field: "spec.replicas"}},
			}))
			s.write(operatorUser, audit.VerbCreate, records, "r", fields{
				"spec": fields{"targetRef": fields{"kind": "Deployment", "name": "web", "uid": "uid-web"}}, "status": tc.status,
			})
			s.finds(tc.want)
		})
	}
}
