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
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// Method is a call of runtime.v1.
type Method struct {
	// Path is what HTTP/2 calls it by: /runtime.v1.RuntimeService/ListContainers.
	Path string
	// Streams reports whether the runtime answers with any number of messages.
	Streams bool
	// Changes reports whether a call may change something: all do that are not known
	// only to read.
	Changes bool

	request, response protoreflect.MessageType
}

// methods are all that the API has, by path.
var methods = describe(runtimeapi.File_staging_src_k8s_io_cri_api_pkg_apis_runtime_v1_api_proto)

// Methods returns all calls of the API, ordered by path.
func Methods() []*Method {
	out := make([]*Method, 0, len(methods))
	for _, m := range methods {
		out = append(out, m)
	}
	slices.SortFunc(out, func(a, b *Method) int { return strings.Compare(a.Path, b.Path) })
	return out
}

func describe(file protoreflect.FileDescriptor) map[string]*Method {
	out := map[string]*Method{}
	for i := range file.Services().Len() {
		service := file.Services().Get(i)
		for j := range service.Methods().Len() {
			method := service.Methods().Get(j)
			path := "/" + string(service.FullName()) + "/" + string(method.Name())
			out[path] = &Method{
				Path:     path,
				Streams:  method.IsStreamingServer(),
				Changes:  !reads(string(method.Name())),
				request:  messageType(method.Input()),
				response: messageType(method.Output()),
			}
		}
	}
	return out
}

// messageType returns the generated type of a message of the API; all are registered by the
// package that has the descriptors.
func messageType(message protoreflect.MessageDescriptor) protoreflect.MessageType {
	found, err := protoregistry.GlobalTypes.FindMessageByName(message.FullName())
	if err != nil {
		panic(err)
	}
	return found
}

// reads reports whether calls of a name only read, as far as is known today.
func reads(name string) bool {
	switch name {
	case "Version", "Status", "ContainerStatus", "PodSandboxStatus", "ImageStatus", "ContainerStats",
		"PodSandboxStats", "ImageFsInfo", "RuntimeConfig", "GetContainerEvents":
		return true
	}
	return strings.HasPrefix(name, "List") || strings.HasPrefix(name, "Stream")
}

// matches reports whether a path is one that the pattern stands for. A "*" is any run of
// characters, the empty one included, that has no slash.
func matches(pattern, path string) bool {
	// The position of the last "*", and where the run that it stands for ends.
	star, end := -1, 0
	p, s := 0, 0
	for s < len(path) {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			star, end = p, s
			p++
		case p < len(pattern) && pattern[p] == path[s]:
			p++
			s++
		case star >= 0 && path[end] != '/':
			end++
			p, s = star+1, end
		default:
			return false
		}
	}
	return strings.Trim(pattern[p:], "*") == ""
}

// nearest returns the candidate that begins with what was written, or else has most in
// common with it, and whether that is enough for it to have been meant.
func nearest(written string, candidates []string) (string, bool) {
	best, least, begins := "", len(written)/2+1, false
	for _, candidate := range candidates {
		// What is missing at the end counts for little: names are often cut short.
		if d := len(candidate) - len(written); d > 0 && written != "" && strings.EqualFold(candidate[:len(written)], written) {
			if !begins || d < least {
				best, least, begins = candidate, d, true
			}
			continue
		}
		if begins {
			continue
		}
		if d := distance(strings.ToLower(written), strings.ToLower(candidate)); d < least {
			best, least = candidate, d
		}
	}
	return best, best != ""
}

// distance returns how many characters have to be put in, left out or replaced to make one
// of two words into the other.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replaced := diagonal
			if a[i] != b[j] {
				replaced++
			}
			diagonal = row[j+1]
			row[j+1] = min(replaced, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
