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
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/approved"
	"kausality.io/operator/internal/change"
	"kausality.io/operator/internal/ledger"
	"kausality.io/operator/internal/policy"
)

// containers returns a Deployment with these containers, each of them YAML.
func containers(tb testing.TB, list string) map[string]any {
	tb.Helper()
	return object(tb, "spec: {template: {spec: {containers: "+list+"}}}")
}

const (
	first  = "spec.template.spec.containers[0]"
	second = "spec.template.spec.containers[1]"
	third  = "spec.template.spec.containers[2]"
)

// What is withheld of an item of a list stays withheld of that item, whatever
// happens to the others.
func TestWithheldFollowsItsItem(t *testing.T) {
	const (
		good   = `[{name: a, image: a1}, {name: b, image: b1}]`
		theirs = `[{name: a, image: a1}, {name: b, image: theirs}]`
		added  = `[{name: x, image: b1}, {name: a, image: a1}, {name: b, image: b1}]`
		alone  = `[{name: a, image: a1}]`
	)
	deployment := compile(t, "deployment", deploymentSpec)
	b := "map[image:b1 name:b]"

	tests := map[string]struct {
		who                     policy.Requester
		approved, before, after string
		// withheld are the fields that the request is said to make withheld, and left
		// what is withheld after it.
		withheld, left []string
	}{
		"an initiator adds one in front": {
			who: alice, approved: good, before: theirs, after: `[{name: x}, {name: a, image: a1}, {name: b, image: theirs}]`,
			left: []string{third + ".image was b1"},
		},
		"an initiator removes the one in front": {
			who: alice, approved: good, before: theirs, after: `[{name: b, image: theirs}]`,
			left: []string{first + ".image was b1"},
		},
		"an initiator removes the item": {
			who: alice, approved: good, before: theirs, after: alone,
		},
		"an initiator removes the item and somebody adds it again": {
			who: mallory, approved: alone, before: alone, after: theirs,
			withheld: []string{second}, left: []string{second + " was <nil>"},
		},
		"an initiator removes the one in front, of which something is withheld too": {
			who: alice, approved: good, before: `[{name: a, image: theirs}, {name: b, image: theirs}]`, after: `[{name: b, image: theirs}]`,
			left: []string{first + ".image was b1"},
		},
		"a stranger puts one that has the replaced image in its place": {
			who: mallory, approved: good, before: theirs, after: `[{name: a, image: a1}, {name: x, image: b1}, {name: b, image: theirs}]`,
			withheld: []string{second}, left: []string{second + " was <nil>", third + ".image was b1"},
		},
		"a stranger takes it back after it has moved": {
			who: mallory, approved: good, before: `[{name: x}, {name: a, image: a1}, {name: b, image: theirs}]`, after: good,
		},
		"a stranger takes back half of it after it has moved": {
			who: mallory, approved: good, before: `[{name: x}, {name: a, image: a1}, {name: b, image: theirs}]`, after: theirs,
			left: []string{second + ".image was b1"},
		},
		"a stranger removes what a stranger has added in front": {
			who: mallory, approved: good, before: added, after: good,
		},
		"a stranger puts back what a stranger has removed": {
			who: mallory, approved: good, before: alone, after: good,
		},
		"a stranger puts back something else": {
			who: mallory, approved: good, before: alone, after: `[{name: a, image: a1}, {name: b, image: b2}]`,
			withheld: []string{second + ".image"}, left: []string{second + ".image was b1"},
		},
		"a stranger puts the items back in another order": {
			who: mallory, approved: good, before: alone, after: `[{name: b, image: b1}, {name: a, image: a1}]`,
			withheld: []string{"spec.template.spec.containers"},
			left:     []string{"spec.template.spec.containers was [map[image:a1 name:a] " + b + "]"},
		},
		"an initiator adds one where a stranger has removed another": {
			who: alice, approved: good, before: alone, after: `[{name: a, image: a1}, {name: c}]`,
			left: []string{third + " was " + b}, // behind what came behind the same item
		},
		"an initiator replaces the whole list": {
			who: alice, approved: good, before: theirs, after: `[{name: b, image: b2}, {name: a, image: a1}]`,
		},
		"a stranger removes the next one": {
			who: mallory, approved: `[{name: a}, {name: b, image: b1}, {name: c}]`, before: `[{name: b, image: b1}, {name: c}]`, after: `[{name: c}]`,
			withheld: []string{second},
			left:     []string{first + " was map[name:a]", second + " was " + b},
		},
		"a stranger removes the last one": {
			who: mallory, approved: `[{name: a}, {name: b}, {name: c}]`, before: `[{name: b}, {name: c}]`, after: `[{name: b}]`,
			withheld: []string{third},
			left:     []string{first + " was map[name:a]", third + " was map[name:c]"},
		},
		"a stranger removes all that is left": {
			who: mallory, approved: `[{name: b, image: b1}, {name: c}]`, before: `[{name: c}]`, after: `[]`,
			withheld: []string{second},
			left:     []string{first + " was " + b, second + " was map[name:c]"},
		},
		"a stranger removes what a stranger has added to an item that has moved": {
			who: mallory, approved: `[{name: a}, {name: b, env: [{name: u}, {name: v}]}]`,
			before: `[{name: b, env: [{name: x}, {name: v}]}]`, after: `[{name: b, env: [{name: v}]}]`,
			left: []string{first + " was map[name:a]", first + ".env[0] was map[name:u]"},
		},
		"a stranger removes another variable of an item that has moved": {
			who: mallory, approved: `[{name: a}, {name: b, env: [{name: u}, {name: v}, {name: w}]}]`,
			before: `[{name: b, env: [{name: v}, {name: w}]}]`, after: `[{name: b, env: [{name: v}]}]`,
			withheld: []string{first + ".env[2]"},
			left:     []string{first + " was map[name:a]", first + ".env[0] was map[name:u]", first + ".env[2] was map[name:w]"},
		},
		"a stranger adds an item that has the index of a missing one": {
			who: mallory, approved: `[{name: a}, {name: b}]`, before: `[{name: b}]`, after: `[{name: x}, {name: b}]`,
			withheld: []string{first}, left: []string{first + " was map[name:a]", first + " was <nil>"},
		},
		"a stranger removes an addition while another item is missing": {
			who: mallory, approved: good, before: `[{name: x}, {name: b, image: b1}]`, after: `[{name: b, image: b1}]`,
			left: []string{first + " was map[image:a1 name:a]"},
		},
		"a stranger removes an addition in front of an item of which something is withheld": {
			who: mallory, approved: `[{name: b, image: b1}]`, before: `[{name: x}, {name: b, image: theirs}]`, after: `[{name: b, image: theirs}]`,
			left: []string{first + ".image was b1"},
		},
		"a stranger puts an image back while another item is missing": {
			who: mallory, approved: good, before: `[{name: b, image: theirs}]`, after: `[{name: b, image: b1}]`,
			left: []string{first + " was map[image:a1 name:a]"},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			in := &aRequest(tc.who, Update, deploymentGVK, "web").governed(deployment).
				replacing(containers(t, tc.before), containers(t, tc.after)).Input
			in.Child.Standing = standing(in.Child.UID, in.OwnPolicies, containers(t, tc.approved), in.Child.Old)
			got := Grants(t.Context(), in, Decide(t.Context(), in))
			if diff := cmp.Diff(tc.left, left(got)); diff != "" {
				t.Errorf("withheld after the request (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tc.withheld, mutations(got.Withheld)); diff != "" {
				t.Errorf("withheld by the request (-want +got):\n%s", diff)
			}
			refusing := compile(t, "refusing", deploymentSpec+"uncausedChanges: Refuse\n")
			in.OwnPolicies = []*policy.Policy{refusing}
			if got := Grants(t.Context(), in, Decide(t.Context(), in)); got.Refuse != (len(tc.withheld) > 0) {
				t.Errorf("refused by a policy that refuses such changes: %t", got.Refuse)
			}
		})
	}
}

// mostShown is how many withheld changes of an object people are told apart.
const mostShown = 16

// What is withheld is never lost, however much there is.
func TestManyWithheldChangesAreSummarized(t *testing.T) {
	deployment := compile(t, "deployment", deploymentSpec)
	env := func(n int) map[string]any {
		list := make([]any, 0, n)
		for i := range n {
			list = append(list, map[string]any{"name": fmt.Sprint("e", i), "value": "x"})
		}
		return map[string]any{"spec": map[string]any{"template": map[string]any{"spec": map[string]any{
			"containers": []any{map[string]any{"name": "a", "env": list}}, "nodeSelector": map[string]any{"a": "b"},
		}}}}
	}
	withheldBy := func(content, before, after map[string]any) Grant {
		in := &aRequest(mallory, Update, deploymentGVK, "web").governed(deployment).replacing(before, after).Input
		in.Child.Standing = standing(in.Child.UID, in.OwnPolicies, content, before)
		return Grants(t.Context(), in, Decide(t.Context(), in))
	}
	few := withheldBy(env(1), env(1), env(1+mostShown))
	if diff := cmp.Diff(mostShown, len(few.Withheld)); diff != "" {
		t.Errorf("entries for as many changes as are told apart (-want +got):\n%s", diff)
	}
	many := withheldBy(env(1), env(1), env(2+mostShown))
	if diff := cmp.Diff([]string{"spec.template.spec.containers"}, mutations(many.Withheld)); diff != "" {
		t.Errorf("entries for more (-want +got):\n%s", diff)
	}
	again := withheldBy(env(1), env(1+mostShown), env(2+mostShown))
	if diff := cmp.Diff([]string{"spec.template.spec.containers"}, mutations(again.Withheld)); diff != "" {
		t.Errorf("entries beside as many as are told apart (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(mostShown+1, len(left(again))); diff != "" {
		t.Errorf("withheld changes, told apart or not (-want +got):\n%s", diff)
	}
	back := withheldBy(env(1), env(2+mostShown), env(1))
	if len(left(back)) > 0 || len(back.Withheld) > 0 {
		t.Errorf("withheld when all is put back: %v, of it by the request %v", left(back), mutations(back.Withheld))
	}
	part := withheldBy(env(1), env(2+mostShown), env(2))
	if diff := cmp.Diff([]string{first + ".env[1] was <nil>"}, left(part)); diff != "" {
		t.Errorf("withheld when part is put back (-want +got):\n%s", diff)
	}
}

// An approval is of a field and what is below it, and of nothing above it that was changed as a whole.
func TestApprovalCoversWhatIsBelow(t *testing.T) {
	deployment := compile(t, "deployment", deploymentSpec)
	before := object(t, "spec: {template: {spec: {}}}")
	after := object(t, "spec: {template: {spec: {}, metadata: {annotations: {a: theirs, b: theirs}}}}")
	held := []string{"spec.template.metadata was <nil>"}
	for path, want := range map[string][]string{
		"spec.template":                         nil,
		"spec.template.metadata":                nil,
		"spec.template.metadata.annotations":    held,
		"spec.template.metadata.annotations[a]": held,
		"spec.template.spec":                    held,
		"spec.replicas":                         held,
	} {
		t.Run(path, func(t *testing.T) {
			in := &aRequest(alice, Update, deploymentGVK, "web").governed(deployment).replacing(after, after).with(func(in *Input) {
				in.Approved = []change.Change{{Path: mustPath(t, path), Verb: change.Mutate}}
			}).Input
			in.Child.Standing = standing(in.Child.UID, in.OwnPolicies, before, after)
			if diff := cmp.Diff(want, left(Grants(t.Context(), in, Decide(t.Context(), in)))); diff != "" {
				t.Errorf("withheld after it (-want +got):\n%s", diff)
			}
		})
	}
}

// What people are told of a withheld change: the field, who changed it, and a digest from
// which no value can be read.
func TestEntriesOfWithheldChanges(t *testing.T) {
	deployment := compile(t, "deployment", deploymentSpec)
	in := &aRequest(mallory, Update, deploymentGVK, "web").changing(t, "hunter2", "hunter3", imagePath).
		governed(deployment).withheld(t, "spec.replicas", int64(3)).Input
	got := Grants(t.Context(), in, Decide(t.Context(), in))
	want := []v1alpha1.Allowance{
		{Relation: v1alpha1.RelationWithheld, Mutation: imagePath, Generation: 8, Initiator: "mallory", Content: got.Standing.Digest(mustPath(t, imagePath))},
	}
	if diff := cmp.Diff(want, got.Withheld); diff != "" {
		t.Errorf("entries of what the request made withheld (-want +got):\n%s", diff)
	}
	all := Withheld(got.Standing)
	if diff := cmp.Diff([]string{"spec.replicas", imagePath}, mutations(all.Allowances())); diff != "" {
		t.Errorf("entries of all that is withheld (-want +got):\n%s", diff)
	}
	if all[0].Generation != 7 {
		t.Errorf("changed before, in generation %d; want 7", all[0].Generation)
	}
	if text, err := json.Marshal(all.Allowances()); err != nil || strings.Contains(string(text), "hunter") {
		t.Errorf("%s, %v; want no values", text, err)
	}
	for _, st := range []*approved.Standing{nil, standing("uid", []*policy.Policy{deployment}, nil, nil)} {
		if entries := Withheld(st); len(entries) > 0 {
			t.Errorf("%v of an object that is as approved", entries)
		}
	}
}

// The digest of a withheld change is that of what is there in this object, and not of what
// was approved.
func TestDigestsOfWithheldChanges(t *testing.T) {
	deployment := []*policy.Policy{compile(t, "deployment", deploymentSpec)}
	digest := func(uid, was, is string) string {
		path := mustPath(t, imagePath)
		return Withheld(standing(uid, deployment, holding(nil, path, was), holding(nil, path, is)))[0].Content
	}
	same := digest("uid", "a", "hunter2")
	for name, tc := range map[string]struct {
		other string
		same  bool
	}{
		"another value":             {other: digest("uid", "a", "hunter3")},
		"another object":            {other: digest("other", "a", "hunter2")},
		"another approved value":    {other: digest("uid", "b", "hunter2"), same: true},
		"the same value, once more": {other: digest("uid", "a", "hunter2"), same: true},
	} {
		if got := tc.other == same; got != tc.same {
			t.Errorf("%s has the same digest: %t, want %t", name, got, tc.same)
		}
	}
}

// The policies of the tests of what withholds.
const (
	aboutReplicas = "{for: {apiGroup: apps, apiVersion: v1, kind: Deployment}, rules: [{trigger: spec.replicas}]}"
	aboutTickets  = `{for: {apiGroup: apps, apiVersion: v1, kind: Deployment}, rules: [{trigger: "metadata.annotations[ticket]"}]}`
)

// onlyTo returns the same as aboutReplicas, for a policy that denies nothing.
func onlyTo(action string) string {
	return strings.TrimSuffix(aboutReplicas, "}") + ", validationActions: [" + action + "]}"
}

func TestWithholds(t *testing.T) {
	deny, tickets := compile(t, "deny", aboutReplicas), compile(t, "tickets", aboutTickets)
	warn, audit := compile(t, "warn", onlyTo("Warn")), compile(t, "audit", onlyTo("Audit"))
	tests := map[string]struct {
		policies []*policy.Policy
		path     string
		want     bool
	}{
		"no policy":                           {path: "spec.replicas"},
		"a policy that denies":                {policies: []*policy.Policy{deny}, path: "spec.replicas", want: true},
		"a change above what a rule is about": {policies: []*policy.Policy{deny}, path: "spec", want: true},
		"a change below what a rule is about": {policies: []*policy.Policy{deny}, path: "spec.replicas.more", want: true},
		"another field":                       {policies: []*policy.Policy{deny}, path: "spec.paused"},
		"an annotation":                       {policies: []*policy.Policy{deny, tickets}, path: "metadata.annotations[ticket]", want: true},
		"another annotation":                  {policies: []*policy.Policy{deny, tickets}, path: "metadata.annotations[other]"},
		"policies that warn and audit":        {policies: []*policy.Policy{warn, audit}, path: "spec.replicas"},
		"one of them denies":                  {policies: []*policy.Policy{warn, audit, deny}, path: "spec.replicas", want: true},
		"one that denies something else":      {policies: []*policy.Policy{warn, tickets}, path: "spec.replicas"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			path := mustPath(t, tc.path)
			value := map[string]any{"replicas": int64(3)}
			c := change.Change{Path: path, Verb: change.Insert, New: value}
			if got := Withholds(tc.policies, nil)(c); got != tc.want {
				t.Errorf("withholds: %t, want %t", got, tc.want)
			}
		})
	}
}

func TestMarked(t *testing.T) {
	marks := ledger.Ledger{}.Merge(
		v1alpha1.Allowance{Relation: v1alpha1.RelationWithheld, Mutation: "spec.replicas", Generation: 7},
		v1alpha1.Allowance{Relation: v1alpha1.RelationWithheld, Mutation: "metadata.annotations[ticket]", Generation: 7},
		v1alpha1.Allowance{Relation: v1alpha1.RelationWithheld, Mutation: "spec.not[a path", Generation: 7},
		allowance("ReplicaSet", "spec.replicas", "spec.replicas"),
	)
	tests := map[string]struct {
		policies []string
		want     []string
	}{
		"no policy":                          {},
		"one that denies":                    {policies: []string{aboutReplicas}, want: []string{"spec.replicas"}},
		"one that warns":                     {policies: []string{onlyTo("Warn")}},
		"one that warns and one that denies": {policies: []string{onlyTo("Warn"), aboutTickets}, want: []string{"metadata.annotations[ticket]"}},
		"two that deny":                      {policies: []string{aboutReplicas, aboutTickets}, want: []string{"metadata.annotations[ticket]", "spec.replicas"}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			var policies []*policy.Policy
			for _, spec := range tc.policies {
				policies = append(policies, compile(t, "p", spec))
			}
			got := mutations(Marked(marks, policies).Allowances())
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("marked (-want +got):\n%s", diff)
			}
		})
	}
}

func TestApprovals(t *testing.T) {
	const digest = "0123456789ab"
	entry := func(path, content string) v1alpha1.Allowance {
		return v1alpha1.Allowance{Relation: v1alpha1.RelationWithheld, Mutation: path, Content: content}
	}
	got := Approvals([]v1alpha1.Allowance{
		entry("spec.replicas", digest), entry("spec.paused", ""), entry("spec.replicas", digest), entry("metadata.annotations[a@b]", digest),
	})
	want := []string{"spec.replicas@" + digest, "spec.paused", "metadata.annotations[a@b]@" + digest}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("approvals (-want +got):\n%s", diff)
	}
}

func TestParseApproval(t *testing.T) {
	for text, want := range map[string][2]string{
		"spec.replicas@0123456789ab":              {"spec.replicas", "0123456789ab"},
		"spec.replicas":                           {"spec.replicas", ""},
		"*":                                       {"*", ""},
		"*@0123456789ab":                          {"*", "0123456789ab"},
		"metadata.annotations[a@b]@0123456789ab":  {"metadata.annotations[a@b]", "0123456789ab"},
		"metadata.annotations[a@b]":               {"metadata.annotations[a@b]", ""},
		"metadata.annotations[0123456789ab]":      {"metadata.annotations[0123456789ab]", ""},
		"metadata.annotations[a@0123456789ab]":    {"metadata.annotations[a@0123456789ab]", ""},
		"spec.replicas@0123456789AB":              {"spec.replicas@0123456789AB", ""},
		"spec.replicas@0123456789xy":              {"spec.replicas@0123456789xy", ""},
		"spec.replicas@0123456789":                {"spec.replicas@0123456789", ""},
		"spec.replicas@0123456789abcd":            {"spec.replicas@0123456789abcd", ""},
		"spec.replicas@":                          {"spec.replicas@", ""},
		"spec.replicas@0123456789ab@ba9876543210": {"spec.replicas@0123456789ab", "ba9876543210"},
		"":              {"", ""},
		"@0123456789ab": {"", "0123456789ab"},
		"spec.template.spec.containers[0]@00000000000": {"spec.template.spec.containers[0]@00000000000", ""},
	} {
		path, digest := ParseApproval(text)
		if diff := cmp.Diff(want, [2]string{path, digest}); diff != "" {
			t.Errorf("%q (-want +got):\n%s", text, diff)
		}
	}
}

// What messages and the command tell people to approve is read as what was meant.
func TestApprovalsAreRead(t *testing.T) {
	deployment := []*policy.Policy{compile(t, "all", `
for: {apiGroup: apps, apiVersion: v1, kind: Deployment}
rules: [{trigger: spec}, {trigger: metadata.annotations}]
`)}
	present := object(t, `
metadata: {annotations: {"a@b/c": x, "a@0123456789ab": x, "a.b,c": x, plain: x}}
spec: {replicas: 3, list: [{name: a, value: b}], "odd key": {"with@0123456789ab": 1}}
`)
	st := standing("uid", deployment, map[string]any{}, present)
	marks := Withheld(st).Allowances()
	texts := Approvals(marks)
	if len(marks) < 5 || len(texts) != len(marks) {
		t.Fatalf("%d entries, approved by %q", len(marks), texts)
	}
	for i, text := range texts {
		path, digest := ParseApproval(text)
		if path != marks[i].Mutation || digest != marks[i].Content {
			t.Errorf("%q is read as %q and %q", text, path, digest)
		}
		if got := st.Digest(mustPath(t, path)); got != digest {
			t.Errorf("%q: digest %s is there", text, got)
		}
	}
}
