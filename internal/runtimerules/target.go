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
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// maxID is how much of an id is told: more than any has.
const maxID = 128

// Target is what a request names, for those who tell of calls.
type Target struct {
	// ContainerID is the container, as the request has it.
	ContainerID string
	// PodSandboxID is the Pod sandbox, as the request has it.
	PodSandboxID string
}

// Target returns what a request names, whatever else is in it. It is empty for a request
// that is none.
func (m *Method) Target(data []byte) Target {
	message := m.request.New().Interface()
	if proto.Unmarshal(data, message) != nil {
		return Target{}
	}
	text := func(name protoreflect.Name) string {
		field := message.ProtoReflect().Descriptor().Fields().ByName(name)
		if field == nil || field.Kind() != protoreflect.StringKind || field.IsList() {
			return ""
		}
		value := message.ProtoReflect().Get(field).String()
		return value[:min(len(value), maxID)]
	}
	return Target{ContainerID: text("container_id"), PodSandboxID: text("pod_sandbox_id")}
}
