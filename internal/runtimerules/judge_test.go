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
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

const (
	service = "/runtime.v1.RuntimeService/"
	mine    = "my-sandbox"
	own     = "own-container"
	foreign = "foreign-container"
)

// known returns what a judgement can find out in these tests.
func known() Facts {
	return Facts{
		Caller: &Caller{PodSandboxID: mine},
		Containers: map[string]Container{
			own:     {ID: own, PodSandboxID: mine},
			"own":   {ID: own, PodSandboxID: mine},
			foreign: {ID: foreign, PodSandboxID: "another-sandbox"},
			"gone":  {},
			"down":  {Err: errors.New("the runtime does not answer")},
		},
		Pods: map[string]Members{mine: {IDs: map[string]bool{own: true}}},
	}
}

// host returns a caller that is in no Pod.
func host() Facts {
	out := known()
	out.Caller = &Caller{}
	return out
}

const ownContainer = `{field: ContainerId, operator: belongsToPod, source: podSandboxIdFromPID}`

func TestJudge(t *testing.T) {
	exec := func(id string) proto.Message { return &runtimeapi.ExecRequest{ContainerId: id} }
	const needs = "rule 1 (line 1) asks that ContainerId belongsToPod podSandboxIdFromPID"
	for name, c := range map[string]struct {
		rules   string
		method  string
		request proto.Message
		facts   Facts
		want    Verdict
		rule    int
	}{
		"nothing allows it": {"rules: []", "Exec", exec(own), known(), Verdict{Reason: "no rule allows it"}, 0},
		"the first rule decides": {
			"- {method: /*/Exec, action: deny}\n- {method: /*/*, action: allow}", "Exec", exec(own), Facts{},
			Verdict{Reason: "rule 1 (line 1) denies it"}, 1},
		"a rule for another method does not": {
			"- {method: /*/ExecSync, action: deny}\n- {method: /*/*, action: allow}", "Exec", exec(own), Facts{},
			Verdict{Outcome: Allowed, Reason: "rule 2 (line 2) allows it", Request: exec(own)}, 2},
		"an own container": {onExec(ownContainer), "Exec", exec(own), known(),
			Verdict{Outcome: Allowed, Reason: "rule 1 (line 1) allows it", Request: exec(own)}, 1},
		"an own container by a short id is written in full": {onExec(ownContainer), "Exec", exec("own"), known(),
			Verdict{Outcome: Allowed, Reason: "rule 1 (line 1) allows it", Request: exec(own)}, 1},
		"another Pod's container":         {onExec(ownContainer), "Exec", exec(foreign), known(), Verdict{Reason: needs}, 0},
		"a container that does not exist": {onExec(ownContainer), "Exec", exec("gone"), known(), Verdict{Reason: needs}, 0},
		"no container":                    {onExec(ownContainer), "Exec", exec(""), Facts{}, Verdict{Reason: needs}, 0},
		"a container, by a host process":  {onExec(ownContainer), "Exec", exec(own), host(), Verdict{Reason: needs}, 0},
		"the runtime does not answer": {onExec(ownContainer) + "\n- {method: /*/Exec, action: allow}", "Exec", exec("down"), known(),
			Verdict{Outcome: Undecided, Reason: "rule 1 (line 1) cannot be judged: the runtime does not answer"}, 1},
		"the caller is gone": {onExec(ownContainer) + "\n- {method: /*/Exec, action: allow}", "Exec", exec(own),
			Facts{Caller: &Caller{Err: errors.New("who called has ended")}},
			Verdict{Outcome: Undecided, Reason: "rule 1 (line 1) cannot be judged: who called has ended"}, 1},
		"the caller is asked for first": {onExec(ownContainer), "Exec", exec(own), Facts{},
			Verdict{Outcome: Asking, Questions: []Question{{About: TheCaller}}}, 1},
		"then the container": {onExec(ownContainer), "Exec", exec(own), Facts{Caller: &Caller{PodSandboxID: mine}},
			Verdict{Outcome: Asking, Questions: []Question{{About: AContainer, ID: own}}}, 1},
		"no question where another condition fails": {
			onExec(ownContainer) + "\n  - {field: Tty, operator: equals, value: true}", "Exec", exec(own), Facts{},
			Verdict{Reason: "rule 1 (line 1) asks that Tty equals true"}, 0},
		"all conditions have to hold": {
			onExec(ownContainer) + "\n  - {field: Tty, operator: equals, value: false}", "Exec", exec(foreign), known(), Verdict{Reason: needs}, 0},
		"an absent field is its zero value": {
			onExec(`{field: Tty, operator: equals, value: false}`), "Exec", exec(""), Facts{},
			Verdict{Outcome: Allowed, Reason: "rule 1 (line 1) allows it", Request: exec("")}, 1},
		"an absent message too": {
			conditions(`{field: Filter.Id, operator: equals, value: ""}`), "ListContainers", &runtimeapi.ListContainersRequest{}, Facts{},
			Verdict{Outcome: Allowed, Reason: "rule 1 (line 1) allows it", Request: &runtimeapi.ListContainersRequest{}}, 1},
		"a skipped rule leaves the next": {
			onExec(ownContainer) + "\n- {method: /*/Exec, action: allow}", "Exec", exec(foreign), known(),
			Verdict{Outcome: Allowed, Reason: "rule 2 (line 5) allows it", Request: exec(foreign)}, 2},
		"each rule that stood in the way is named": {
			onExec(`{field: Tty, operator: equals, value: true}`) + "\n" + onExec(`{field: Stdin, operator: equals, value: true}`), "Exec", exec(foreign), known(),
			Verdict{Reason: "rule 1 (line 1) asks that Tty equals true; rule 2 (line 5) asks that Stdin equals true"}, 0},
		"but not all": {
			strings.Repeat(onExec(`{field: Tty, operator: equals, value: true}`)+"\n", 5), "Exec", exec(foreign), known(),
			Verdict{Reason: "rule 1 (line 1) asks that Tty equals true; rule 2 (line 5) asks that Tty equals true; rule 3 (line 9) asks that Tty equals true; 2 more rules do not apply"}, 0},
		"a field that has the caller's Pod": {
			conditions(`{field: Filter.PodSandboxId, operator: equals, source: podSandboxIdFromPID}`), "ListContainers",
			&runtimeapi.ListContainersRequest{Filter: &runtimeapi.ContainerFilter{PodSandboxId: mine}}, known(),
			Verdict{Outcome: Allowed, Reason: "rule 1 (line 1) allows it", Request: &runtimeapi.ListContainersRequest{Filter: &runtimeapi.ContainerFilter{PodSandboxId: mine}}}, 1},
		"an empty field is not that of a host process": {
			conditions(`{field: Filter.PodSandboxId, operator: equals, source: podSandboxIdFromPID}`), "ListContainers", &runtimeapi.ListContainersRequest{}, host(),
			Verdict{Reason: "rule 1 (line 1) asks that Filter.PodSandboxId equals podSandboxIdFromPID"}, 0},
		"a filter needs to know the caller": {example, "ListContainers", &runtimeapi.ListContainersRequest{}, Facts{},
			Verdict{Outcome: Asking, Questions: []Question{{About: TheCaller}}}, 1},
		"a filter that cannot": {example, "ListContainers", &runtimeapi.ListContainersRequest{}, Facts{Caller: &Caller{Err: errors.New("who called has ended")}},
			Verdict{Outcome: Undecided, Reason: "rule 1 (line 2) cannot filter: who called has ended"}, 1},
		"no empty lists for host processes": {example, "ListContainers", &runtimeapi.ListContainersRequest{}, host(),
			Verdict{Reason: "rule 1 (line 2) filters by the caller's Pod, and the caller is in none"}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			got := mustParse(t, c.rules).Plan(service+c.method).Judge(c.request, c.facts)
			rule := 0
			if got.Rule() != nil {
				rule = got.Rule().Number
			}
			if rule != c.rule {
				t.Errorf("rule %d decided, want %d", rule, c.rule)
			}
			got.Step = nil
			if diff := cmp.Diff(c.want, got, protocmp.Transform()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// The request that was passed in is its owner's.
func TestJudgeLeavesTheRequestAlone(t *testing.T) {
	request := &runtimeapi.ExecRequest{ContainerId: "own"}
	mustParse(t, onExec(ownContainer)).Plan(service+"Exec").Judge(request, known())
	if request.ContainerId != "own" {
		t.Errorf("the id became %s", request.ContainerId)
	}
}

func TestUnknown(t *testing.T) {
	for name, c := range map[string]struct {
		rules string
		path  string
		want  Outcome
	}{
		"nothing allows it":        {"rules: []", service + "New", Refused},
		"a pattern allows it":      {`[{method: /runtime.v1.RuntimeService/*, action: allow}]`, service + "New", Unimplemented},
		"a pattern denies it":      {`[{method: /*/*, action: deny}]`, service + "New", Refused},
		"the first pattern counts": {"- {method: /*/*, action: deny}\n- {method: /*/*, action: allow}", service + "New", Refused},
		"a pattern of conditions":  {"- method: /*/Exec*\n  action: allow\n  conditions: [" + ownContainer + "]", service + "ExecMore", Refused},
		"containerd's own API":     {`[{method: /*/*, action: allow}]`, "/containerd.services.tasks.v1.Tasks/Exec", Unimplemented},
		"more segments":            {`[{method: /*/*, action: allow}]`, service + "Exec/", Refused},
		"fewer segments":           {`[{method: /*/*, action: allow}]`, "/Exec", Refused},
	} {
		t.Run(name, func(t *testing.T) {
			rules := mustParse(t, c.rules)
			if rules.Plan(c.path) != nil {
				t.Fatal("the method is known")
			}
			if got := rules.Unknown(c.path).Outcome; got != c.want {
				t.Errorf("got %d, want %d", got, c.want)
			}
		})
	}
}

func TestRequest(t *testing.T) {
	unknown := protowire.AppendString(protowire.AppendTag(nil, 1000, protowire.BytesType), "nosuid")
	mount, err := proto.Marshal(&runtimeapi.CreateContainerRequest{
		Config: &runtimeapi.ContainerConfig{Mounts: []*runtimeapi.Mount{{ContainerPath: "/"}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	nested := &runtimeapi.CreateContainerRequest{}
	if err := proto.Unmarshal(mount, nested); err != nil {
		t.Fatal(err)
	}
	nested.Config.Mounts[0].ProtoReflect().SetUnknown(unknown)
	deep, err := proto.Marshal(nested)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		data []byte
		want string
	}{
		"nothing":                        {nil, ""},
		"all known":                      {mount, ""},
		"an unknown field":               {unknown, errUnknownField.Error()},
		"an unknown field in a list":     {deep, errUnknownField.Error()},
		"cut off":                        {mount[:len(mount)-1], "it is no CreateContainerRequest"},
		"a string that is no text":       {[]byte{0x0a, 1, 0xff}, "it is no CreateContainerRequest"},
		"a known field of another shape": {protowire.AppendVarint(protowire.AppendTag(nil, 1, protowire.VarintType), 1), errUnknownField.Error()},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := methods[service+"CreateContainer"].Request(c.data)
			got := ""
			if err != nil {
				got = err.Error()
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// Of a field that is there twice the last one counts, for us as for the runtime: it is
// sent what was judged.
func TestTheLastFieldCounts(t *testing.T) {
	data := protowire.AppendString(protowire.AppendTag(nil, 1, protowire.BytesType), own)
	data = protowire.AppendString(protowire.AppendTag(data, 1, protowire.BytesType), foreign)
	request, err := methods[service+"Exec"].Request(data)
	if err != nil {
		t.Fatal(err)
	}
	if got := mustParse(t, onExec(ownContainer)).Plan(service+"Exec").Judge(request, known()); got.Outcome != Refused {
		t.Error(got.Reason)
	}
}

func TestBasis(t *testing.T) {
	plan := func(text string) *Plan { return mustParse(t, text).Plan(service + "Exec") }
	before := plan("- {method: /*/Exec, action: allow}")
	basis := before.Basis(before.Steps[0])
	for name, c := range map[string]struct {
		rules string
		want  bool
	}{
		"the same":                   {"- {method: /*/Exec, action: allow}", true},
		"elsewhere":                  {"- {method: /*/Version, action: allow}\n\n- {method: /*/*, action: allow}", true},
		"gone":                       {"rules: []", false},
		"behind another":             {"- {method: /*/Exec, action: deny}\n- {method: /*/Exec, action: allow}", false},
		"with a condition":           {onExec(ownContainer), false},
		"behind one of conditions":   {onExec(ownContainer) + "\n- {method: /*/Exec, action: allow}", false},
		"the other way":              {"- {method: /*/Exec, action: deny}", false},
		"with another thereafter":    {"- {method: /*/Exec, action: allow}\n- {method: /*/Exec, action: deny}", true},
		"for one more method before": {"- {method: /*/Attach, action: deny}\n- {method: /*/Exec, action: allow}", true},
	} {
		t.Run(name, func(t *testing.T) {
			if got := plan(c.rules).Has(basis); got != c.want {
				t.Errorf("got %t", got)
			}
		})
	}
}
