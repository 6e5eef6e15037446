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
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/change"
	"kausality.io/operator/internal/policy"
)

// containers is a Deployment with these containers, each of them YAML.
func containers(tb testing.TB, list string) map[string]any {
	tb.Helper()
	var obj map[string]any
	if err := yaml.Unmarshal([]byte("spec: {template: {spec: {containers: "+list+"}}}"), &obj); err != nil {
		tb.Fatal(err)
	}
	return obj
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
		theirs = `[{name: a, image: a1}, {name: b, image: theirs}]`
		added  = `[{name: x, image: b1}, {name: a, image: a1}, {name: b, image: b1}]`
	)
	deployment := compile(t, "deployment", deploymentSpec)
	was := func(value any) string { return fingerprint("uid-of-web", value) }
	theirImage := withheldChange(second+".image", was("b1"))
	addedFirst := withheldChange(first, "")
	b := map[string]any{"name": "b", "image": "b1"}
	removedSecond := withheldChange(second, was(b))

	tests := map[string]struct {
		who           policy.Requester
		before, after string
		holds         []v1alpha1.Allowance
		cleared       []string
		moved         []string
		withheld      []string
	}{
		"an initiator adds one in front": {
			who: alice, before: theirs, after: `[{name: x}, {name: a, image: a1}, {name: b, image: theirs}]`,
			holds:   []v1alpha1.Allowance{theirImage},
			cleared: []string{second + ".image"}, moved: []string{third + ".image"},
		},
		"an initiator removes the one in front": {
			who: alice, before: theirs, after: `[{name: b, image: theirs}]`,
			holds:   []v1alpha1.Allowance{theirImage},
			cleared: []string{second + ".image"}, moved: []string{first + ".image"},
		},
		"an initiator removes the item": {
			who: alice, before: theirs, after: `[{name: a, image: a1}]`,
			holds:   []v1alpha1.Allowance{theirImage},
			cleared: []string{second + ".image"},
		},
		"an initiator removes the one in front, of which something is withheld too": {
			who: alice, before: `[{name: a, image: theirs}, {name: b, image: theirs}]`, after: `[{name: b, image: theirs}]`,
			holds:   []v1alpha1.Allowance{theirImage, withheldChange(first+".image", was("a1"))},
			cleared: []string{first + ".image", second + ".image"}, moved: []string{first + ".image"},
		},
		"a stranger puts one that has the replaced image in its place": {
			who: mallory, before: theirs, after: `[{name: a, image: a1}, {name: x, image: b1}, {name: b, image: theirs}]`,
			holds:   []v1alpha1.Allowance{theirImage},
			cleared: []string{second + ".image"}, moved: []string{third + ".image"}, withheld: []string{second},
		},
		"a stranger takes it back after it has moved": {
			who: mallory, before: `[{name: x}, {name: a, image: a1}, {name: b, image: theirs}]`,
			after:   `[{name: a, image: a1}, {name: b, image: b1}]`,
			holds:   []v1alpha1.Allowance{addedFirst, withheldChange(third+".image", was("b1"))},
			cleared: []string{first, third + ".image"},
		},
		"a stranger removes what a stranger has added in front": {
			who: mallory, before: added, after: `[{name: a, image: a1}, {name: b, image: b1}]`,
			holds:   []v1alpha1.Allowance{addedFirst},
			cleared: []string{first},
		},
		"a stranger puts back what a stranger has removed": {
			who: mallory, before: `[{name: a, image: a1}]`, after: `[{name: a, image: a1}, {name: b, image: b1}]`,
			holds:   []v1alpha1.Allowance{removedSecond},
			cleared: []string{second},
		},
		"a stranger adds an empty field that stays while another is added": {
			who: mallory, before: `[{name: a, securityContext: {}}]`, after: `[{name: a, image: a1, securityContext: {}}]`,
			holds:    []v1alpha1.Allowance{withheldChange(first+".securityContext", "")},
			withheld: []string{first + ".image"},
		},
		"a stranger takes an empty field back": {
			who: mallory, before: `[{name: a, securityContext: {}}]`, after: `[{name: a}]`,
			holds:   []v1alpha1.Allowance{withheldChange(first+".securityContext", "")},
			cleared: []string{first + ".securityContext"},
		},
		"a stranger puts an empty field back": {
			who: mallory, before: `[{name: a}]`, after: `[{name: a, securityContext: {}}]`,
			holds:   []v1alpha1.Allowance{withheldChange(first+".securityContext", was(map[string]any{}))},
			cleared: []string{first + ".securityContext"},
		},
		"a stranger puts back something else": {
			who: mallory, before: `[{name: a, image: a1}]`, after: `[{name: a, image: a1}, {name: b, image: b2}]`,
			holds:    []v1alpha1.Allowance{removedSecond},
			withheld: []string{second},
		},
		"an initiator adds one where a stranger has removed another": {
			who: alice, before: `[{name: a, image: a1}]`, after: `[{name: a, image: a1}, {name: c}]`,
			holds: []v1alpha1.Allowance{removedSecond},
		},
		"an initiator replaces the whole list": {
			who: alice, before: theirs, after: `[{name: b, image: b2}, {name: a, image: a1}]`,
			holds:   []v1alpha1.Allowance{theirImage},
			cleared: []string{second + ".image"},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			in := &aRequest(tc.who, Update, deploymentGVK, "web").governed(deployment).holding(tc.holds...).Input
			in.Child.Old, in.Child.New = containers(t, tc.before), containers(t, tc.after)
			in.OwnChanges = change.Find(in.Child.Old, in.Child.New, change.Options{})
			got := Grants(t.Context(), in, Decide(t.Context(), in))
			if diff := cmp.Diff(tc.cleared, got.Cleared); diff != "" {
				t.Errorf("cleared (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tc.moved, mutations(got.Moved)); diff != "" {
				t.Errorf("moved (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tc.withheld, mutations(got.Withheld)); diff != "" {
				t.Errorf("withheld (-want +got):\n%s", diff)
			}
		})
	}
}

// The mark of a withheld change is never lost, however many there are.
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
	withheldBy := func(before, after map[string]any, holds ...v1alpha1.Allowance) Grant {
		in := &aRequest(mallory, Update, deploymentGVK, "web").governed(deployment).holding(holds...).Input
		in.Child.Old, in.Child.New = before, after
		in.OwnChanges = change.Find(before, after, change.Options{})
		return Grants(t.Context(), in, Decide(t.Context(), in))
	}
	few := withheldBy(env(1), env(1+maxWithheld))
	if diff := cmp.Diff(maxWithheld, len(few.Withheld)); diff != "" {
		t.Errorf("entries for as many changes as are told apart (-want +got):\n%s", diff)
	}
	many := withheldBy(env(1), env(2+maxWithheld))
	if diff := cmp.Diff([]string{"spec.template.spec.containers"}, mutations(many.Withheld)); diff != "" {
		t.Errorf("entries for more (-want +got):\n%s", diff)
	}
	again := withheldBy(env(2+maxWithheld), env(3+maxWithheld), few.Withheld...)
	if diff := cmp.Diff([]string{"spec"}, mutations(again.Withheld)); diff != "" {
		t.Errorf("entries beside as many as are told apart (-want +got):\n%s", diff)
	}
	back := withheldBy(env(2+maxWithheld), env(1), many.Withheld...)
	if diff := cmp.Diff([]string{"spec.template.spec.containers"}, back.Cleared); diff != "" || len(back.Withheld) > 0 {
		t.Errorf("cleared when all is put back, with %d withheld (-want +got):\n%s", len(back.Withheld), diff)
	}
	part := withheldBy(env(2+maxWithheld), env(2), many.Withheld...)
	if len(part.Cleared) > 0 || len(part.Withheld) == 0 {
		t.Errorf("cleared when part is put back: %v", part.Cleared)
	}
}

func mutations(allowances []v1alpha1.Allowance) []string {
	var out []string
	for _, a := range allowances {
		out = append(out, a.Mutation)
	}
	return out
}
