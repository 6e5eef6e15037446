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
	"cmp"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"kausality.io/operator/test/campaign/audit"
	"kausality.io/operator/test/campaign/policylog"
)

// ledgerNote is a ledger as the annotation of a Deployment has it.
func ledgerNote(t *testing.T, entries ...entry) map[string]any {
	t.Helper()
	raw, err := json.Marshal(entries)
	if err != nil {
		t.Fatal(err)
	}
	return map[string]any{"metadata": map[string]any{"annotations": map[string]any{"kausality.io/allowances": string(raw)}}}
}

// What ledgers say of who did what is so, field by field.
func TestLedgers(t *testing.T) {
	withheld := func(user, field string) entry {
		return entry{Relation: withheldRelation, Mutation: field, Generation: 2, Initiator: user}
	}
	allows := func(mutation, field string) entry {
		return entry{
			Kind: "ReplicaSet", Mutation: mutation, Generation: 2, Initiator: "alice",
			Trace: []hop{{Kind: "Deployment", Name: "web", Generation: 2, Field: field}},
		}
	}
	later := func(e entry) entry {
		e.Generation++
		return e
	}
	approved := map[string]any{"metadata": map[string]any{"annotations": map[string]any{"kausality.io/approve": "spec.replicas@0123456789ab"}}}
	scales := spec(map[string]any{"replicas": 3})
	renamedContainer := spec(map[string]any{"template": map[string]any{"spec": map[string]any{"containers": []any{map[string]any{"name": "other", "image": "web:1"}}}}})
	tests := map[string]struct {
		by   string
		with map[string]any
		note entry
		// later is a change by alice after it.
		later map[string]any
		// restarted is true where an operator was started after it.
		restarted, known bool
		// writes is who writes the ledger; the operator where it is empty.
		writes string
		want   []Promise
	}{
		"withheld":                               {by: "mallory", with: scales, note: withheld("mallory", "spec.replicas")},
		"withheld, in a part":                    {by: "mallory", with: spec(map[string]any{"template": template("x:1")}), note: withheld("mallory", "spec.template.spec.containers[name=main].image")},
		"withheld, in an item renamed":           {by: "mallory", with: renamedContainer, note: withheld("mallory", "spec.template.spec.containers[0].image")},
		"withheld, in another item":              {by: "mallory", with: renamedContainer, note: withheld("mallory", "spec.template.spec.volumes[0].size"), want: []Promise{Forged}},
		"withheld, of somebody else":             {by: "mallory", with: scales, note: withheld("bob", "spec.replicas"), want: []Promise{Forged}},
		"withheld, of who may":                   {by: "alice", with: scales, note: withheld("alice", "spec.replicas"), want: []Promise{Forged}},
		"withheld, another field, by its author": {by: "mallory", with: scales, note: withheld("mallory", "spec.minReadySeconds"), writes: "mallory", want: []Promise{Forged}},
		"withheld, by its author":                {by: "mallory", with: scales, note: withheld("mallory", "spec.replicas"), writes: "mallory"},
		"withheld, and dropped as it is stored":  {by: "mallory", with: scales, note: later(withheld("mallory", "spec.minReadySeconds")), writes: "mallory"},
		"withheld, and kept though dropped":      {by: "mallory", with: scales, note: later(withheld("mallory", "spec.minReadySeconds")), want: []Promise{Forged}},
		"withheld, dropped of somebody else":     {by: "mallory", with: scales, note: later(withheld("bob", "spec.minReadySeconds")), writes: "mallory", want: []Promise{Forged}},
		"withheld, another field":                {by: "mallory", with: scales, note: withheld("mallory", "spec.template"), want: []Promise{Forged}},
		"withheld, nobody named":                 {by: "mallory", with: scales, note: withheld("", "spec.replicas"), known: true, want: []Promise{Forged}},
		"withheld, nobody was there":             {by: "mallory", with: scales, note: withheld("", "spec.replicas"), known: true, restarted: true},
		"allowed":                                {by: "alice", with: scales, note: allows("spec.replicas", "spec.replicas")},
		"allowed, for another field":             {by: "alice", with: scales, note: allows("spec.replicas", "spec.template"), want: []Promise{Forged}},
		"allowed, what no rule allows":           {by: "alice", with: scales, note: allows("create", "spec.replicas"), want: []Promise{Forged}},
		"allowed, what a section allows":         {by: "alice", with: scales, note: allows("create", "(initializing)")},
		"approved":                               {by: "mallory", with: scales, note: allows("spec.replicas", "spec.replicas"), later: approved},
		"another field approved":                 {by: "mallory", with: scales, note: allows("spec.replicas", "spec.template"), later: approved, want: []Promise{Forged}},
		"allowed, to who was overruled":          {by: "mallory", with: scales, note: allows("spec.replicas", "spec.replicas"), want: []Promise{Forged}},
		"allowed, of a kind that is not it":      {by: "alice", with: scales, note: func() entry { e := allows("spec.replicas", "spec.replicas"); e.Kind = "Pod"; return e }(), want: []Promise{Forged}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			s := begin(t)
			s.write(tc.by, audit.VerbPatch, deployments, "web", tc.with)
			if tc.later != nil {
				s.write("alice", audit.VerbPatch, deployments, "web", tc.later)
			}
			if tc.known {
				s.start(-2 * time.Hour)
			}
			if tc.restarted {
				s.start(-5 * time.Second)
			}
			s.write(cmp.Or(tc.writes, operatorUser), audit.VerbPatch, deployments, "web", ledgerNote(t, tc.note))
			s.finds(tc.want)
		})
	}
}

// What lies between the first hop and the object is as it says, one below the other.
func TestHops(t *testing.T) {
	first := hop{Kind: "Deployment", Name: "web", Generation: 2, Field: "spec.replicas"}
	last := hop{Kind: "ReplicaSet", Name: "web-1", Generation: 2, Field: "spec.replicas"}
	changed := func(change func(h *hop)) []hop {
		h := last
		change(&h)
		return []hop{first, h}
	}
	tests := map[string]struct {
		trace []hop
		want  []Promise
	}{
		"as it was":               {trace: []hop{first, last}},
		"of something else":       {trace: changed(func(h *hop) { h.Name = "web-2" }), want: []Promise{Forged}},
		"of another kind":         {trace: changed(func(h *hop) { h.Kind = "StatefulSet" }), want: []Promise{Forged}},
		"of another generation":   {trace: changed(func(h *hop) { h.Generation = 4711 }), want: []Promise{Forged}},
		"of another field":        {trace: changed(func(h *hop) { h.Field = "spec.minReadySeconds" }), want: []Promise{Forged}},
		"by its creation":         {trace: []hop{first, {Kind: "ReplicaSet", Name: "web-1", Generation: 1, Field: created}, last}},
		"created long before":     {trace: changed(func(h *hop) { h.Field = created })},
		"by a hop that is not it": {trace: []hop{first, {Kind: "ReplicaSet", Name: "nobody", Generation: 2, Field: "spec.replicas"}, last}, want: []Promise{Forged}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			s := begin(t)
			s.write("alice", audit.VerbPatch, deployments, "web", spec(map[string]any{"replicas": 3}))
			s.write(deploymentController, audit.VerbPatch, replicaSets, "web-1", spec(map[string]any{"replicas": 3}))
			note := ledgerNote(t, entry{Kind: "Pod", Mutation: "create", Generation: 2, Initiator: "alice", Trace: tc.trace})
			notes := audit.AsMap(audit.AsMap(note["metadata"])["annotations"])
			notes["replicaset.kausality.io/allowances"] = notes["kausality.io/allowances"]
			s.write(operatorUser, audit.VerbPatch, replicaSets, "web-1", note)
			s.finds(tc.want)
		})
	}
}

// Who may initiate on one field has begun nothing with another one, also by approving, but where the approval names just that.
func TestLedgersOfRights(t *testing.T) {
	secures := spec(map[string]any{"template": map[string]any{"spec": map[string]any{"securityContext": map[string]any{"runAsUser": 5}}}})
	approves := func(field string) map[string]any {
		return merged(secures, map[string]any{"metadata": map[string]any{"annotations": map[string]any{"kausality.io/approve": field + "@0123456789ab"}}})
	}
	tests := map[string]struct {
		with  map[string]any
		field string
		want  []Promise
	}{
		"their field":                         {with: secures, field: "spec.template.spec.securityContext.runAsUser"},
		"what it is a part of":                {with: secures, field: "spec.template", want: []Promise{Forged}},
		"what it is a part of, as approved":   {with: approves("spec.template"), field: "spec.template"},
		"a part of what is approved":          {with: approves("spec.template"), field: "spec.template.spec", want: []Promise{Forged}},
		"their field, by approving of it all": {with: approves("spec.template"), field: "spec.template.spec.securityContext.runAsUser"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			s := begin(t)
			s.share()
			s.write("bob", audit.VerbPatch, deployments, "web", tc.with)
			s.write(operatorUser, audit.VerbPatch, deployments, "web", ledgerNote(t, entry{
				Kind: "ReplicaSet", Mutation: "create", Generation: 2, Initiator: "bob",
				Trace: []hop{{Kind: "Deployment", Name: "web", Generation: 2, Field: tc.field}},
			}))
			s.finds(tc.want)
		})
	}
}

// Who scales to the number that somebody else asks for at the same time has begun it as well.
func TestScalesThatCross(t *testing.T) {
	note := entry{
		Kind: "ReplicaSet", Mutation: "spec.replicas", Generation: 2, Initiator: "alice",
		Trace: []hop{{Kind: "Deployment", Name: "web", Generation: 2, Field: "spec.replicas"}},
	}
	tests := map[string]struct {
		// after is how long after mallory's request alice's comes, which is answered within 10 milliseconds.
		after time.Duration
		// patches is true where it is a patch, and reports where a status is written in between.
		patches, reports bool
		want             []Promise
	}{
		"at the same time":                            {after: 5 * time.Millisecond},
		"at the same time, by a patch":                {after: 5 * time.Millisecond, patches: true},
		"at the same time, with a status between":     {after: 5 * time.Millisecond, reports: true},
		"at the same time, by a patch, with a status": {after: 5 * time.Millisecond, patches: true, reports: true},
		"afterwards":             {after: 5 * time.Second, want: []Promise{Forged}},
		"afterwards, by a patch": {after: 5 * time.Second, patches: true, reports: true, want: []Promise{Forged}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			s := begin(t)
			began := s.at
			s.write("mallory", audit.VerbPatch, deployments, "web", spec(map[string]any{"replicas": 3}))
			if tc.reports {
				s.at = began.Add(2 * time.Millisecond)
				s.write(deploymentController, audit.VerbUpdate, "deployments/status", "web", map[string]any{"status": map[string]any{"observedGeneration": 1}})
			}
			s.at = began.Add(tc.after)
			if tc.patches {
				s.event("alice", audit.VerbPatch, deployments, "", "web", http.StatusOK, spec(map[string]any{"replicas": 3}), s.objects[deployments+"/web"])
				s.write(operatorUser, audit.VerbPatch, deployments, "web", ledgerNote(t, note))
				s.finds(tc.want)
				return
			}
			s.revision++
			revision := strconv.Itoa(100 + s.revision)
			audit.AsMap(s.objects[deployments+"/web"]["metadata"])["resourceVersion"] = revision
			s.event("alice", audit.VerbUpdate, deployments, audit.SubScale, "web", http.StatusOK, spec(map[string]any{"replicas": 3}), map[string]any{
				"kind": "Scale", "metadata": map[string]any{"uid": "uid-web", "resourceVersion": revision}, "spec": map[string]any{"replicas": 3},
			})
			s.write(operatorUser, audit.VerbPatch, deployments, "web", ledgerNote(t, note))
			s.finds(tc.want)
		})
	}
}

// Whom records name has asked for what they say.
func TestStories(t *testing.T) {
	type fields = map[string]any
	history := func(entries ...any) fields { return fields{"history": entries} }
	denied := func(user, operation, kind, name, at string) fields {
		return fields{"event": "Denied", "user": user, "operation": operation, "kind": kind, "names": []any{name}, "time": at}
	}
	// Mallory asks for it five seconds before the record is written.
	const at, then = "2026-01-01T00:04:40Z", "2026-01-01T00:02:40Z"
	granted := fields{
		"event": "Granted", "user": "alice", "operation": "Update", "time": at, "initiator": "alice",
		"trace": []any{fields{"kind": "Deployment", "name": "web", "generation": 2, "field": "spec.replicas"}},
	}
	ended := fields{"event": "Consumed", "time": "2026-01-01T00:04:50Z", "initiator": "alice", "trace": granted["trace"]}
	deletes := func(s *story) {
		s.event("mallory", audit.VerbDelete, replicaSets, "", "web-1", 403, nil, fields{"kind": "Status"})
	}
	tests := map[string]struct {
		tell   func(*story)
		status fields
		want   []Promise
	}{
		"a denial":                   {tell: deletes, status: history(denied("mallory", "Delete", "ReplicaSet", "web-1", at))},
		"a denial of somebody else":  {tell: deletes, status: history(denied("alice", "Delete", "ReplicaSet", "web-1", at)), want: []Promise{Forged}},
		"a denial of something else": {tell: deletes, status: history(denied("mallory", "Delete", "ReplicaSet", "web-2", at)), want: []Promise{Forged}},
		"a denial of another kind":   {tell: deletes, status: history(denied("mallory", "Delete", "Pod", "web-1", at)), want: []Promise{Forged}},
		"a denial at another time":   {tell: deletes, status: history(denied("mallory", "Delete", "ReplicaSet", "web-1", then)), want: []Promise{Forged}},
		"a denial of an update":      {tell: deletes, status: history(denied("mallory", "Update", "ReplicaSet", "web-1", at)), want: []Promise{Forged}},
		"a denial of what was done": {tell: func(s *story) {
			s.write("mallory", audit.VerbPatch, replicaSets, "web-1", fields{"metadata": fields{"annotations": fields{"a": "b"}}})
		}, status: history(denied("mallory", "Update", "ReplicaSet", "web-1", at)), want: []Promise{Forged}},
		"a denial that the last version has no more": {tell: func(s *story) {
			s.write(operatorUser, audit.VerbCreate, records, "r", fields{
				"spec": fields{"targetRef": fields{"kind": "Deployment", "name": "web"}}, "status": history(denied("mallory", "Delete", "ReplicaSet", "web-1", then)),
			})
		}, status: history(), want: []Promise{Forged}},
		"a grant": {tell: func(s *story) {
			s.write("alice", audit.VerbPatch, deployments, "web", spec(fields{"replicas": 3}))
		}, status: history(granted)},
		"a grant that was overtaken twice": {tell: func(s *story) {
			s.write("mallory", audit.VerbPatch, deployments, "web", spec(fields{"minReadySeconds": 3}))
			s.write("mallory", audit.VerbPatch, deployments, "web", spec(fields{"minReadySeconds": 4}))
			s.at = time.Date(2026, 1, 1, 0, 4, 40, 0, time.UTC)
			s.write("alice", audit.VerbPatch, deployments, "web", spec(fields{"replicas": 3}))
		}, status: history(granted)},
		"a grant of what had gone by then": {tell: func(s *story) {
			s.event("alice", audit.VerbPatch, deployments, "", "web", http.StatusNotFound, spec(fields{"replicas": 3}), nil)
		}, status: history(granted)},
		"the end of a grant of what had gone by then": {tell: func(s *story) {
			s.event("alice", audit.VerbPatch, deployments, "", "web", http.StatusNotFound, spec(fields{"replicas": 3}), nil)
		}, status: history(ended)},
		"the end of a grant of nothing": {tell: deletes, status: history(ended), want: []Promise{Forged}},
		"a grant of what was refused": {tell: func(s *story) {
			s.refuse("alice", audit.VerbPatch, deployments, "web", spec(fields{"replicas": 3}))
		}, status: history(granted), want: []Promise{Barred, Forged}},
		"a grant of nothing": {tell: deletes, status: history(granted), want: []Promise{Forged, Forged}},
		"a change": {tell: func(s *story) {
			s.write("mallory", audit.VerbPatch, deployments, "web", spec(fields{"minReadySeconds": 3}))
		}, status: history(fields{"event": "Withheld", "user": "mallory", "operation": "Update", "time": at})},
		"a change of which it is told anew, as bob changes what is beside it": {tell: func(s *story) {
			s.write("mallory", audit.VerbPatch, deployments, "web", spec(fields{"minReadySeconds": 3}))
			s.later(time.Minute)
			s.write("bob", audit.VerbPatch, deployments, "web", spec(fields{"paused": true}))
		}, status: history(fields{"event": "Withheld", "user": "mallory", "operation": "Update", "time": "2026-01-01T00:05:50Z"})},
		"a change that comes later": {tell: func(s *story) {
			s.later(time.Minute)
			s.write("mallory", audit.VerbPatch, deployments, "web", spec(fields{"minReadySeconds": 3}))
		}, status: history(fields{"event": "Withheld", "user": "mallory", "operation": "Update", "time": at}), want: []Promise{Forged}},
		"a change of somebody else": {tell: func(s *story) {
			s.write("mallory", audit.VerbPatch, deployments, "web", spec(fields{"minReadySeconds": 3}))
		}, status: history(fields{"event": "Withheld", "user": "bob", "operation": "Update", "time": at}), want: []Promise{Forged}},
		"a deletion": {tell: func(s *story) { s.remove("alice", deployments, "web") },
			status: fields{"deletion": fields{"user": "alice", "time": at}}},
		"a deletion of what is above it": {tell: func(s *story) { s.remove("alice", things, "app") },
			status: fields{"deletion": fields{"user": "alice", "time": at, "trace": []any{fields{"kind": "Thing", "name": "app"}}}}},
		"a deletion, long before": {tell: func(s *story) { s.remove("alice", deployments, "web") }, status: fields{"deletion": fields{"user": "alice", "time": then}}, want: []Promise{Forged}},
		"a deletion, that was long before": {tell: func(s *story) {
			s.at = time.Date(2026, 1, 1, 0, 2, 40, 0, time.UTC)
			s.remove("alice", deployments, "web")
			s.at = time.Date(2026, 1, 1, 0, 4, 50, 0, time.UTC)
		}, status: fields{"deletion": fields{"user": "alice", "time": at}}, want: []Promise{Forged}},
		"a deletion in another namespace": {tell: func(s *story) { s.remove("alice", things, "app") },
			status: fields{"deletion": fields{"user": "alice", "time": at, "trace": []any{fields{"kind": "Thing", "name": "app", "namespace": "other"}}}}, want: []Promise{Forged}},
		"a deletion by somebody else": {tell: func(s *story) { s.remove("alice", deployments, "web") },
			status: fields{"deletion": fields{"user": "mallory", "time": at}}, want: []Promise{Forged}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			s := begin(t)
			s.at = time.Date(2026, 1, 1, 0, 4, 40, 0, time.UTC)
			tc.tell(s)
			s.write(operatorUser, audit.VerbCreate, records, "r", fields{
				"spec": fields{"targetRef": fields{"kind": "Deployment", "name": "web"}}, "status": tc.status,
			})
			s.finds(tc.want)
		})
	}
}

// An entry allows no more verbs than the policy that gives it.
func TestVerbsOfEntries(t *testing.T) {
	var some policylog.Permission
	if err := json.Unmarshal([]byte(`{"target":{"resource":"configmaps"},"mutations":[{"jsonPath":"data","verbs":["Mutate","Delete"]}]}`), &some); err != nil {
		t.Fatal(err)
	}
	all := some
	all.Mutations = slices.Clone(some.Mutations)
	all.Mutations[0].Verbs = nil
	for name, tc := range map[string]struct {
		verbs []string
		of    policylog.Permission
		want  bool
	}{
		"as it says":                 {verbs: []string{"Delete", "Mutate"}, of: some, want: true},
		"fewer":                      {verbs: []string{"Mutate"}, of: some, want: true},
		"another":                    {verbs: []string{"Insert"}, of: some},
		"all, of some":               {of: some},
		"some, of all":               {verbs: []string{"Mutate"}, of: all, want: true},
		"all, of all that are meant": {of: all, want: true},
	} {
		t.Run(name, func(t *testing.T) {
			e := &entry{Kind: kinds[configMaps], Mutation: "data", Verbs: tc.verbs}
			if got := e.isOf(tc.of); got != tc.want {
				t.Errorf("isOf is %t, want %t", got, tc.want)
			}
		})
	}
}

func TestFieldPath(t *testing.T) {
	for text, want := range map[string][]string{
		"spec":                               {"spec"},
		"spec.containers[0].image":           {"spec", "containers", "0", "image"},
		"metadata.labels[app.example.org/a]": {"metadata", "labels", "app.example.org/a"},
		"data['a.b'].c":                      {"data", "a.b", "c"},
		"spec.containers[name=main].image":   {"spec", "containers", "name=main", "image"},
	} {
		if diff := gocmp.Diff(want, fieldPath(text)); diff != "" {
			t.Errorf("fieldPath(%q) (-want +got):\n%s", text, diff)
		}
	}
}

// What the API server drops of a request that changes something else as well is told of in the generation that the request brings.
func TestDroppedBeside(t *testing.T) {
	for value, want := range map[string][]Promise{"zq9z": nil, "other": {Forged}} {
		t.Run(value, func(t *testing.T) {
			s := begin(t)
			s.kept = true
			left := []entry{
				{Relation: withheldRelation, Mutation: "spec.replicas", Generation: 2, Initiator: "mallory"},
				{Relation: withheldRelation, Mutation: "spec.schedulingGroup", Generation: 2, Initiator: "mallory"},
			}
			with := merged(spec(map[string]any{"replicas": 3}), ledgerNote(t, left...))
			obj := merged(merged(s.objects["deployments/web"], with), map[string]any{"metadata": map[string]any{"generation": 2, "resourceVersion": "900"}})
			s.objects["deployments/web"] = obj
			s.event("mallory", audit.VerbPatch, deployments, "", "web", 200, merged(with, spec(map[string]any{"schedulingGroup": value})), obj)
			s.finds(want)
		})
	}
}
