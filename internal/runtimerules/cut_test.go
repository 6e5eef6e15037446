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
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

const (
	keepStats  = `{field: Stats, filterField: Attributes.Id, operator: belongsToPod, source: podSandboxIdFromPID}`
	keepEvents = `{field: ., filterField: PodSandboxStatus.Id, operator: equals, source: podSandboxIdFromPID}`
)

func filterRule(method, filter string) string {
	return "- method: " + service + method + "\n  action: allow\n  filters: [" + filter + "]"
}

func stats(ids ...string) *runtimeapi.ListContainerStatsResponse {
	out := &runtimeapi.ListContainerStatsResponse{}
	for _, id := range ids {
		out.Stats = append(out.Stats, &runtimeapi.ContainerStats{Attributes: &runtimeapi.ContainerAttributes{Id: id}})
	}
	return out
}

func containers(sandboxes ...string) *runtimeapi.ListContainersResponse {
	out := &runtimeapi.ListContainersResponse{}
	for _, sandbox := range sandboxes {
		out.Containers = append(out.Containers, &runtimeapi.Container{PodSandboxId: sandbox})
	}
	return out
}

func event(sandbox string) *runtimeapi.ContainerEventResponse {
	return &runtimeapi.ContainerEventResponse{PodSandboxStatus: &runtimeapi.PodSandboxStatus{Id: sandbox}}
}

// cut is a Cut with what remains as a message; nil where that is nothing.
type cut struct {
	Message   proto.Message
	Held      int
	Questions []Question
	Err       error
}

func cutOf(t *testing.T, step *Step, response proto.Message, facts Facts) cut {
	t.Helper()
	data, err := proto.Marshal(response)
	if err != nil {
		t.Fatal(err)
	}
	got := step.Cut(data, facts)
	out := cut{Held: got.Held, Questions: got.Questions, Err: got.Err}
	if got.Err == nil && got.Questions == nil && !got.Nothing {
		out.Message = response.ProtoReflect().New().Interface()
		if err := proto.Unmarshal(got.Response, out.Message); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

func TestCut(t *testing.T) {
	caller := Facts{Caller: &Caller{PodSandboxID: mine}}
	down := Facts{Caller: &Caller{PodSandboxID: mine}, Pods: map[string]Members{mine: {Err: errors.New("the runtime does not answer")}}}
	for name, c := range map[string]struct {
		rules    string
		method   string
		response proto.Message
		facts    Facts
		want     cut
		err      string
	}{
		"the Pod's own": {example, "ListContainers", containers(mine, "other", mine, ""), caller, cut{Message: containers(mine, mine), Held: 2}, ""},
		"none":          {example, "ListContainers", containers("other"), caller, cut{Message: containers(), Held: 1}, ""},
		"an empty list": {example, "ListContainers", containers(), caller, cut{Message: containers(), Held: 0}, ""},
		"containers by id": {filterRule("ListContainerStats", keepStats), "ListContainerStats", stats(own, foreign, "new"), known(),
			cut{Message: stats(own), Held: 2}, ""},
		"one question for all": {filterRule("ListContainerStats", keepStats), "ListContainerStats", stats("a", "b", "c"), caller,
			cut{Questions: []Question{{About: APodsContainers, ID: mine}}}, ""},
		"the runtime does not answer": {filterRule("ListContainerStats", keepStats), "ListContainerStats", stats("a"), down, cut{}, "the runtime does not answer"},
		"an element without what is asked about": {filterRule("ListContainerStats", keepStats), "ListContainerStats",
			&runtimeapi.ListContainerStatsResponse{Stats: []*runtimeapi.ContainerStats{{}}}, known(), cut{Message: stats(), Held: 1}, ""},
		"an own event":         {filterRule("GetContainerEvents", keepEvents), "GetContainerEvents", event(mine), caller, cut{Message: event(mine)}, ""},
		"another Pod's event":  {filterRule("GetContainerEvents", keepEvents), "GetContainerEvents", event("other"), caller, cut{Held: 1}, ""},
		"an event of no Pod":   {filterRule("GetContainerEvents", keepEvents), "GetContainerEvents", &runtimeapi.ContainerEventResponse{}, caller, cut{Held: 1}, ""},
		"several filters join": {filterRule("GetContainerEvents", keepEvents+", "+keepEvents), "GetContainerEvents", event(mine), caller, cut{Message: event(mine)}, ""},
		"several filters of one list": {
			filterRule("ListContainers", `{field: Containers, filterField: PodSandboxId, operator: equals, source: podSandboxIdFromPID}, {field: Containers, filterField: Id, operator: belongsToPod, source: podSandboxIdFromPID}`),
			"ListContainers",
			&runtimeapi.ListContainersResponse{Containers: []*runtimeapi.Container{{Id: foreign, PodSandboxId: mine}, {Id: own, PodSandboxId: mine}, {Id: own}}}, known(),
			cut{Message: &runtimeapi.ListContainersResponse{Containers: []*runtimeapi.Container{{Id: own, PodSandboxId: mine}}}, Held: 2}, ""},
		"a list within a message": {
			filterRule("PodSandboxStats", `{field: Stats.Linux.Containers, filterField: Attributes.Id, operator: belongsToPod, source: podSandboxIdFromPID}`),
			"PodSandboxStats",
			&runtimeapi.PodSandboxStatsResponse{Stats: &runtimeapi.PodSandboxStats{Linux: &runtimeapi.LinuxPodSandboxStats{Containers: stats(own, foreign).Stats}}}, known(),
			cut{Message: &runtimeapi.PodSandboxStatsResponse{Stats: &runtimeapi.PodSandboxStats{Linux: &runtimeapi.LinuxPodSandboxStats{Containers: stats(own).Stats}}}, Held: 1}, ""},
		"a list within a message that is absent": {
			filterRule("PodSandboxStats", `{field: Stats.Linux.Containers, filterField: Attributes.Id, operator: belongsToPod, source: podSandboxIdFromPID}`),
			"PodSandboxStats", &runtimeapi.PodSandboxStatsResponse{}, known(), cut{Message: &runtimeapi.PodSandboxStatsResponse{}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			step := mustParse(t, c.rules).Plan(service + c.method).Steps[0]
			got := cutOf(t, step, c.response, c.facts)
			if (got.Err == nil) != (c.err == "") || got.Err != nil && got.Err.Error() != c.err {
				t.Errorf("error %v, want %q", got.Err, c.err)
			}
			got.Err = nil
			if diff := cmp.Diff(c.want, got, protocmp.Transform()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A newer runtime may say in a field of its own what the list says; within an element
// that is kept, it is about the caller's own.
func TestCutUnknownFields(t *testing.T) {
	unknown := protowire.AppendString(protowire.AppendTag(nil, 1000, protowire.BytesType), "news")
	response := containers(mine, "other")
	response.ProtoReflect().SetUnknown(unknown)
	response.Containers[0].ProtoReflect().SetUnknown(unknown)
	got := cutOf(t, mustParse(t, example).Plan(service + "ListContainers").Steps[0], response, known())
	want := containers(mine)
	want.Containers[0].ProtoReflect().SetUnknown(unknown)
	if diff := cmp.Diff(want, got.Message, protocmp.Transform()); diff != "" {
		t.Error(diff)
	}
}

// What a runtime would never answer is not passed on, as its elements cannot be told apart.
func TestCutBroken(t *testing.T) {
	element := protowire.AppendString(protowire.AppendTag(nil, 2, protowire.BytesType), mine)
	whole := protowire.AppendBytes(protowire.AppendTag(nil, 1, protowire.BytesType), element)
	for name, data := range map[string][]byte{
		"cut off":              whole[:len(whole)-1],
		"no fields":            []byte("\xff\xff\xff"),
		"an element cut off":   protowire.AppendBytes(protowire.AppendTag(nil, 1, protowire.BytesType), element[:len(element)-1]),
		"a group without end":  protowire.AppendTag(nil, 9, protowire.StartGroupType),
		"a broken second part": append(whole, 0x0a, 0x7f),
	} {
		t.Run(name, func(t *testing.T) {
			if got := mustParse(t, example).Plan(service + "ListContainers").Steps[0].Cut(data, known()); got.Err == nil {
				t.Errorf("%+v", got)
			}
		})
	}
}

// The list may not be one of numbers that say they are elements, and of a Pod that is given
// twice the last counts, as for who reads it.
func TestCutOddEncodings(t *testing.T) {
	pod := func(id string) []byte {
		return protowire.AppendString(protowire.AppendTag(nil, 2, protowire.BytesType), id)
	}
	in := func(element []byte) []byte {
		return protowire.AppendBytes(protowire.AppendTag(nil, 1, protowire.BytesType), element)
	}
	step := mustParse(t, example).Plan(service + "ListContainers").Steps[0]
	for name, c := range map[string]struct {
		data, want []byte
		held       int
	}{
		"a number in place of an element": {protowire.AppendVarint(protowire.AppendTag(nil, 1, protowire.VarintType), 7), []byte{}, 0},
		"another's after one's own":       {in(append(pod(mine), pod("other")...)), []byte{}, 1},
		"one's own after another's":       {in(append(pod("other"), pod(mine)...)), in(append(pod("other"), pod(mine)...)), 0},
	} {
		t.Run(name, func(t *testing.T) {
			got := step.Cut(c.data, known())
			if diff := cmp.Diff(Cut{Response: c.want, Held: c.held}, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
