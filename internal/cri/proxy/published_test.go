//go:build linux

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

package proxy

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"kausality.io/operator/internal/runtimerules"
)

// allowing returns rules that allow methods of the runtime service, each with what is added.
func allowing(added string, methods ...string) string {
	var out strings.Builder
	for _, method := range methods {
		out.WriteString("- {method: " + services + method + ", action: allow" + added + "}\n")
	}
	return out.String()
}

// What the files that the authors of the format have published allow, in words of ours.
func published() (reading, pulling, own, mistaken string) {
	const (
		ofContainer = ", conditions: [{field: ContainerId, operator: belongsToPod, source: podSandboxIdFromPID}]"
		ofPod       = ", conditions: [{field: PodSandboxId, operator: equals, source: podSandboxIdFromPID}]"
	)
	kept := func(list, field, operator string) string {
		return ", filters: [{field: " + list + ", filterField: " + field + ", operator: " + operator + ", source: podSandboxIdFromPID}]"
	}
	reading = allowing("", "Version", "ListContainers", "ContainerStatus", "PodSandboxStatus", "ListPodSandbox", "ContainerStats",
		"ListContainerStats", "PodSandboxStats", "ListPodSandboxStats", "GetContainerEvents") +
		"- {method: /runtime.v1.ImageService/ListImages, action: allow}\n" +
		"- {method: /runtime.v1.ImageService/Image*, action: allow}\n"
	pulling = allowing("", "Version") + "- {method: /runtime.v1.ImageService/*, action: allow}\n"
	own = "- {method: /runtime.v1.ImageService/*, action: deny}\n" + allowing("", "Version") +
		allowing(ofContainer, "StartContainer", "StopContainer", "RemoveContainer", "ContainerStatus", "UpdateContainerResources", "ExecSync", "Attach", "ContainerStats") +
		allowing(ofPod, "CreateContainer", "StopPodSandbox", "RemovePodSandbox", "PodSandboxStatus", "PortForward") +
		allowing(kept("Containers", "PodSandboxId", "equals"), "ListContainers") +
		allowing(kept("Items", "Id", "equals"), "ListPodSandbox") +
		allowing(kept("Stats", "Attributes.Id", "belongsToPod"), "ListContainerStats") +
		allowing(kept("Stats", "Attributes.Id", "equals"), "ListPodSandboxStats") +
		allowing("", "GetContainerEvents")
	return reading, pulling, own, own + allowing(ofPod, "UpdatePodSandbox")
}

// The published files work as they were meant, and what they let through beyond that is what
// docs/cri.md says of them.
func TestPublishedFiles(t *testing.T) {
	const refused = codes.PermissionDenied
	reading, pulling, own, mistaken := published()
	for name, c := range map[string]struct {
		rules string
		notes []string
		tries []try
	}{
		"for reading": {reading, nil, []try{
			{services + "Version", nil, codes.OK},
			{services + "ListContainers", nil, codes.OK},
			{services + "ContainerStatus", verbose(inB), through},
			{services + "PodSandboxStatus", verbose(podB), through},
			{images + "ListImages", nil, through},
			{images + "PullImage", nil, refused},
			{services + "Exec", field(1, inA), refused},
			{services + "StopContainer", field(1, inA), refused},
			{services + "CreateContainer", field(1, podA), refused},
		}},
		"for images": {pulling, nil, []try{
			{services + "Version", nil, codes.OK},
			{images + "ListImages", nil, through},
			{images + "PullImage", nil, through},
			{images + "RemoveImage", nil, through},
			{services + "ListContainers", nil, refused},
			{services + "Exec", field(1, inA), refused},
		}},
		"for a Pod's own containers": {own, []string{"/CreateContainer is worth root", "/GetContainerEvents shows what is of any Pod"}, []try{
			{services + "StopContainer", field(1, inA), codes.OK},
			{services + "StopContainer", field(1, inB), refused},
			{services + "RemoveContainer", field(1, inB), refused},
			{services + "ExecSync", field(1, inA), through},
			{services + "ExecSync", field(1, inB), refused},
			{services + "Attach", field(1, inA), through},
			{services + "Attach", field(1, inB), refused},
			{services + "ContainerStatus", verbose(inA), through},
			{services + "ContainerStatus", verbose(inB), refused},
			{services + "UpdateContainerResources", field(1, inB), refused},
			{services + "StopPodSandbox", field(1, podA), through},
			{services + "StopPodSandbox", field(1, podB), refused},
			{services + "PortForward", field(1, podB), refused},
			// Root on the node, though it is one's own sandbox.
			{services + "CreateContainer", field(1, podA), through},
			{services + "CreateContainer", field(1, podB), refused},
			{services + "RunPodSandbox", nil, refused},
			{services + "Exec", field(1, inA), refused},
			{images + "ListImages", nil, refused},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			notes := mustParse(t, c.rules).Notes()
			if len(notes) != len(c.notes) {
				t.Fatalf("warnings: %v", notes)
			}
			for i, note := range notes {
				if !strings.Contains(note.Message, c.notes[i]) {
					t.Errorf("warned of %q, want %q", note.Message, c.notes[i])
				}
			}
			newStand(t, c.rules).tried(t, c.tries)
		})
	}

	t.Run("events of all Pods", func(t *testing.T) {
		s := newStand(t, own)
		stream, err := s.client("a").GetContainerEvents(t.Context(), &runtimeapi.GetEventsRequest{})
		if err != nil {
			t.Fatal(err)
		}
		s.runtime.events <- event(podB)
		if got, err := stream.Recv(); err != nil || got.GetPodSandboxStatus().GetId() != podB {
			t.Errorf("%v, %v", got, err)
		}
	})
	t.Run("a method that does not exist", func(t *testing.T) {
		_, err := runtimerules.Parse("own.yaml", []byte(mistaken))
		want := `own.yaml:21: "/runtime.v1.RuntimeService/UpdatePodSandbox" is no method of runtime.v1: did you mean /runtime.v1.RuntimeService/UpdatePodSandboxResources?`
		if err == nil {
			t.Fatal("the file was taken for good")
		}
		if diff := cmp.Diff(want, err.Error()); diff != "" {
			t.Error(diff)
		}
	})
}
