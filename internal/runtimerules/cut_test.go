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

func TestCut(t *testing.T) {
	caller := Facts{Caller: &Caller{PodSandboxID: mine}}
	down := Facts{Caller: &Caller{PodSandboxID: mine}, Pods: map[string]Members{mine: {Err: errors.New("the runtime does not answer")}}}
	var nothing proto.Message
	for name, c := range map[string]struct {
		rules    string
		method   string
		response proto.Message
		facts    Facts
		want     Cut
		err      string
	}{
		"the Pod's own": {example, "ListContainers", containers(mine, "other", mine, ""), caller, Cut{Message: containers(mine, mine), Held: 2}, ""},
		"none":          {example, "ListContainers", containers("other"), caller, Cut{Message: containers(), Held: 1}, ""},
		"an empty list": {example, "ListContainers", containers(), caller, Cut{Message: containers(), Held: 0}, ""},
		"containers by id": {filterRule("ListContainerStats", keepStats), "ListContainerStats", stats(own, foreign, "new"), known(),
			Cut{Message: stats(own), Held: 2}, ""},
		"one question for all": {filterRule("ListContainerStats", keepStats), "ListContainerStats", stats("a", "b", "c"), caller,
			Cut{Questions: []Question{{About: APodsContainers, ID: mine}}}, ""},
		"the runtime does not answer": {filterRule("ListContainerStats", keepStats), "ListContainerStats", stats("a"), down, Cut{}, "the runtime does not answer"},
		"an element without what is asked about": {filterRule("ListContainerStats", keepStats), "ListContainerStats",
			&runtimeapi.ListContainerStatsResponse{Stats: []*runtimeapi.ContainerStats{{}}}, known(), Cut{Message: stats(), Held: 1}, ""},
		"an own event":         {filterRule("GetContainerEvents", keepEvents), "GetContainerEvents", event(mine), caller, Cut{Message: event(mine)}, ""},
		"another Pod's event":  {filterRule("GetContainerEvents", keepEvents), "GetContainerEvents", event("other"), caller, Cut{Message: nothing, Held: 1}, ""},
		"an event of no Pod":   {filterRule("GetContainerEvents", keepEvents), "GetContainerEvents", &runtimeapi.ContainerEventResponse{}, caller, Cut{Message: nothing, Held: 1}, ""},
		"several filters join": {filterRule("GetContainerEvents", keepEvents+", "+keepEvents), "GetContainerEvents", event(mine), caller, Cut{Message: event(mine)}, ""},
		"several filters of one list": {
			filterRule("ListContainers", `{field: Containers, filterField: PodSandboxId, operator: equals, source: podSandboxIdFromPID}, {field: Containers, filterField: Id, operator: belongsToPod, source: podSandboxIdFromPID}`),
			"ListContainers",
			&runtimeapi.ListContainersResponse{Containers: []*runtimeapi.Container{{Id: foreign, PodSandboxId: mine}, {Id: own, PodSandboxId: mine}, {Id: own}}}, known(),
			Cut{Message: &runtimeapi.ListContainersResponse{Containers: []*runtimeapi.Container{{Id: own, PodSandboxId: mine}}}, Held: 2}, ""},
		"a list within a message": {
			filterRule("PodSandboxStats", `{field: Stats.Linux.Containers, filterField: Attributes.Id, operator: belongsToPod, source: podSandboxIdFromPID}`),
			"PodSandboxStats",
			&runtimeapi.PodSandboxStatsResponse{Stats: &runtimeapi.PodSandboxStats{Linux: &runtimeapi.LinuxPodSandboxStats{Containers: stats(own, foreign).Stats}}}, known(),
			Cut{Message: &runtimeapi.PodSandboxStatsResponse{Stats: &runtimeapi.PodSandboxStats{Linux: &runtimeapi.LinuxPodSandboxStats{Containers: stats(own).Stats}}}, Held: 1}, ""},
		"a list within a message that is absent": {
			filterRule("PodSandboxStats", `{field: Stats.Linux.Containers, filterField: Attributes.Id, operator: belongsToPod, source: podSandboxIdFromPID}`),
			"PodSandboxStats", &runtimeapi.PodSandboxStatsResponse{}, known(), Cut{Message: &runtimeapi.PodSandboxStatsResponse{}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			step := mustParse(t, c.rules).Plan(service + c.method).Steps[0]
			got := step.Cut(c.response, c.facts)
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
	got := mustParse(t, example).Plan(service + "ListContainers").Steps[0].Cut(response, known())
	want := containers(mine)
	want.Containers[0].ProtoReflect().SetUnknown(unknown)
	if diff := cmp.Diff(want, got.Message, protocmp.Transform()); diff != "" {
		t.Error(diff)
	}
}
