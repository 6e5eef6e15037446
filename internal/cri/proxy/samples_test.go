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
	"os"
	"path/filepath"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/encoding/protowire"

	"kausality.io/operator/internal/runtimerules"
)

// Each sample is applied, and Pod A tries what it lets through, and what not. Where the fake runtime has no such
// method, Unimplemented is its answer.
// try is a call of Pod A, and what it is answered.
type try struct {
	path string
	data []byte
	want codes.Code
}

// The fake runtime answers few methods; that it lacks the others is its own answer.
const through = codes.Unimplemented

// verbose asks for the environment of a container as well.
func verbose(id string) []byte {
	return protowire.AppendVarint(protowire.AppendTag(field(1, id), 2, protowire.VarintType), 1)
}

// tried makes calls of a stand.
func (s *stand) tried(t *testing.T, tries []try) {
	t.Helper()
	for _, try := range tries {
		if try.data == nil {
			try.data = []byte{}
		}
		t.Run(try.path, func(t *testing.T) { wantCode(t, s.frames("a", try.path, try.data), try.want) })
	}
}

func TestSamples(t *testing.T) {
	const refused = codes.PermissionDenied
	for file, c := range map[string]struct {
		notes int
		tries []try
	}{
		"allow-all.yaml": {8, []try{
			{services + "Exec", field(1, inB), codes.OK},
			{services + "CreateContainer", nil, through},
			{images + "PullImage", nil, through},
		}},
		"read-only.yaml": {0, []try{
			{services + "Version", nil, codes.OK},
			{services + "ListContainers", nil, codes.OK},
			{services + "StreamContainers", nil, through},
			{services + "ContainerStatus", field(1, inB), through},
			{services + "ContainerStatus", verbose(inB), refused},
			{services + "Status", nil, through},
			{images + "ListImages", nil, through},
			{images + "ImageStatus", nil, through},
			{images + "PullImage", nil, refused},
			{images + "RemoveImage", nil, refused},
			{services + "Exec", field(1, inB), refused},
			{services + "StopContainer", field(1, inB), refused},
			{services + "UpdateRuntimeConfig", nil, refused},
			{services + "ReopenContainerLog", field(1, inB), refused},
		}},
		"images.yaml": {0, []try{
			{services + "Version", nil, codes.OK},
			{images + "PullImage", nil, through},
			{images + "RemoveImage", nil, through},
			{images + "StreamImages", nil, through},
			{services + "ListContainers", nil, refused},
			{services + "CreateContainer", nil, refused},
		}},
		"own-containers.yaml": {0, []try{
			{services + "Version", nil, codes.OK},
			{images + "ImageFsInfo", nil, through},
			{services + "StopContainer", field(1, inA), codes.OK},
			{services + "StopContainer", field(1, inB), refused},
			{services + "ContainerStatus", field(1, inA), through},
			{services + "ContainerStatus", verbose(inA), refused},
			{services + "ContainerStatus", field(1, inB), refused},
			{services + "ContainerStats", field(1, inB), refused},
			{services + "PodSandboxStatus", field(1, podA), through},
			{services + "PodSandboxStatus", field(1, podB), refused},
			{services + "PodSandboxStats", field(1, podB), refused},
			{services + "ListContainers", nil, codes.OK},
			{services + "ListPodSandbox", nil, codes.OK},
			{services + "ListContainerStats", nil, codes.OK},
			{services + "StreamPodSandboxes", nil, through},
			{services + "CreateContainer", field(1, podA), refused},
			{services + "StartContainer", field(1, inA), refused},
			{services + "Exec", field(1, inA), refused},
			{services + "StopPodSandbox", field(1, podA), refused},
			{services + "ListPodSandboxMetrics", nil, refused},
			{images + "ListImages", nil, refused},
		}},
	} {
		t.Run(file, func(t *testing.T) {
			text, err := os.ReadFile(filepath.Join("..", "..", "..", "config", "cri", file))
			if err != nil {
				t.Fatal(err)
			}
			rules, err := runtimerules.Parse(file, text)
			if err != nil {
				t.Fatal(err)
			}
			if notes := rules.Notes(); len(notes) != c.notes {
				t.Errorf("warnings: %v", notes)
			}
			newStand(t, string(text)).tried(t, c.tries)
		})
	}
}
