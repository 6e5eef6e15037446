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

// Package caller says who opened a connection: by what the kernel kept of the peer when
// it connected, and never by who has its process number now.
package caller

import (
	"errors"
	"regexp"
	"slices"
	"strings"
)

// containerName is how container runtimes name the control group of a container, by 64
// hexadecimal digits: containerd without and with systemd, and with its path as a name;
// CRI-O without and with systemd. CRI-O's conmon has a group of its own, which is no
// container.
var containerName = regexp.MustCompile(`^(?:cri-containerd-|crio-|[^/]*:cri-containerd:)?([0-9a-f]{64})(?:\.scope)?$`)

// deleted is what the kernel appends to the path of a control group that is gone.
const deleted = " (deleted)"

var (
	errDeleted  = errors.New("its control group is gone")
	errDisagree = errors.New("its control groups are those of different containers")
	errFormat   = errors.New("its control groups cannot be read")
)

// containers returns the ids in the control groups of a process, outermost first. Within its
// own group a container may make others, of any name. There are none for a process that is
// in no container.
func containers(cgroups string) ([]string, error) {
	var longest []string
	for line := range strings.Lines(cgroups) {
		// ID:CONTROLLERS:PATH, where the path may have colons.
		parts := strings.SplitN(strings.TrimSuffix(line, "\n"), ":", 3)
		if len(parts) != 3 || !strings.HasPrefix(parts[2], "/") {
			return nil, errFormat
		}
		if strings.HasSuffix(parts[2], deleted) {
			return nil, errDeleted
		}
		ids := inPath(parts[2])
		if len(ids) > len(longest) {
			ids, longest = longest, ids
		}
		if !slices.Equal(ids, longest[:len(ids)]) {
			return nil, errDisagree
		}
	}
	if cgroups == "" {
		return nil, errFormat
	}
	return longest, nil
}

func inPath(path string) []string {
	var ids []string
	for segment := range strings.SplitSeq(path, "/") {
		if found := containerName.FindStringSubmatch(segment); found != nil {
			ids = append(ids, found[1])
		}
	}
	return ids
}
