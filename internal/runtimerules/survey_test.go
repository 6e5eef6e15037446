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

package runtimerules

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestAnswers(t *testing.T) {
	rules := mustParse(t, onExec(ownContainer+"\n  - {field: Tty, operator: equals, value: false}")+"\n"+example+"\n- {method: /*/Attach, action: deny}")
	got := map[string][]string{}
	for _, answer := range rules.Answers() {
		got[answer.Method] = answer.Verdicts
	}
	if len(got) != len(methods) {
		t.Errorf("%d answers", len(got))
	}
	for method, want := range map[string][]string{
		"Version": {"deny: no rule allows it"},
		"Attach":  {"deny by rule 3 (line 15)"},
		"Exec": {
			"allow by rule 1 (line 1) if ContainerId belongsToPod podSandboxIdFromPID and Tty equals false",
			"deny: no rule allows it",
		},
		"ListContainers": {"allow by rule 2 (line 7), keeping Containers where PodSandboxId equals podSandboxIdFromPID"},
	} {
		if diff := cmp.Diff(want, got[service+method]); diff != "" {
			t.Errorf("%s: %s", method, diff)
		}
	}
}

func TestNotes(t *testing.T) {
	const root = " is worth root on the node: "
	const shows = " shows what is of any Pod, and other rules filter: filter it by the caller's Pod as well"
	for name, c := range map[string]struct {
		rules string
		want  []Problem
	}{
		"a rule below one that decides": {
			"- {method: /*/*, action: deny}\n- {method: /*/Version, action: allow}",
			[]Problem{{2, "rule 2 (line 2) never applies: rules above it decide all calls of /*/Version"}}},
		"a rule that some of its methods reach": {
			"- {method: /*/Version, action: deny}\n- {method: /*/*Status, action: allow}", nil},
		"a rule below one of conditions": {onExec(ownContainer) + "\n- {method: /*/Exec, action: deny}", nil},
		"containers of one's own": {
			"- method: " + service + "CreateContainer\n  action: allow\n  conditions: [{field: PodSandboxId, operator: equals, source: podSandboxIdFromPID}]",
			[]Problem{{1, service + "CreateContainer" + root + "the request may ask for privileges, mounts of the host and a foreign cgroup, also within the caller's own Pod"}}},
		"any container": {onExec(`{field: Tty, operator: equals, value: false}`),
			[]Problem{{1, service + "Exec" + root + "it reaches into any container, the privileged ones among them; restrict ContainerId by belongsToPod"}}},
		"an own container": {onExec(ownContainer), nil},
		"a list beside a filtered one": {example + "- {method: /*/StreamContainers, action: allow}",
			[]Problem{{9, service + "StreamContainers" + shows}}},
		"all lists unfiltered":      {"- {method: /*/List*, action: allow}", nil},
		"images beside filtered":    {example + "- {method: /*/ListImages, action: allow}", nil},
		"events beside a filtered":  {example + "- {method: /*/GetContainerEvents, action: allow}", []Problem{{9, service + "GetContainerEvents" + shows}}},
		"filtered lists":            {example + filterRule("ListContainerStats", keepStats), nil},
		"what is denied is nothing": {example + "- {method: /*/*, action: deny}", nil},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, mustParse(t, c.rules).Notes()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// What all may do is worth root by each way to it.
func TestNotesOfAllowAll(t *testing.T) {
	notes := mustParse(t, `[{method: "/*/*", action: allow}]`).Notes()
	if len(notes) != 8 || !slices.IsSortedFunc(notes, func(a, b Problem) int { return a.Line - b.Line }) {
		t.Errorf("%d notes: %v", len(notes), notes)
	}
}
