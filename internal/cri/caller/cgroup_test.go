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

package caller

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestContainers(t *testing.T) {
	a, b := strings.Repeat("a1", 32), strings.Repeat("b2", 32)
	for name, c := range map[string]struct {
		cgroups string
		want    []string
		err     error
	}{
		"a host process":                {"0::/system.slice/kubelet.service\n", nil, nil},
		"the first process":             {"0::/init.scope\n", nil, nil},
		"the root":                      {"0::/\n", nil, nil},
		"containerd with systemd":       {"0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-podx.slice/cri-containerd-" + a + ".scope\n", []string{a}, nil},
		"containerd without":            {"0::/kubepods/burstable/podx/" + a + "\n", []string{a}, nil},
		"containerd, its path a name":   {"0::/system.slice/kubepods-podx.slice:cri-containerd:" + a + "\n", []string{a}, nil},
		"CRI-O with systemd":            {"0::/kubepods.slice/kubepods-podx.slice/crio-" + a + ".scope\n", []string{a}, nil},
		"CRI-O without":                 {"0::/kubepods/podx/crio-" + a + "\n", []string{a}, nil},
		"CRI-O's monitor":               {"0::/kubepods.slice/kubepods-podx.slice/crio-conmon-" + a + ".scope\n", nil, nil},
		"groups of the container's own": {"0::/kubepods/podx/" + a + "/init/" + b + "\n", []string{a, b}, nil},
		"seen from another namespace":   {"0::/../../podx/cri-containerd-" + a + ".scope\n", []string{a}, nil},
		"the same in all hierarchies":   {"5:cpu,cpuacct:/kubepods/podx/" + a + "\n1:name=systemd:/kubepods/podx/" + a + "\n0::/\n", []string{a}, nil},
		"deeper in one hierarchy":       {"5:cpu:/kubepods/podx/" + a + "\n1:name=systemd:/kubepods/podx/" + a + "/" + b + "\n", []string{a, b}, nil},
		"deeper in the first hierarchy": {"5:cpu:/kubepods/podx/" + a + "/" + b + "\n1:name=systemd:/kubepods/podx/" + a + "\n", []string{a, b}, nil},
		"another in one hierarchy":      {"5:cpu:/kubepods/podx/" + a + "\n1:name=systemd:/kubepods/podx/" + b + "\n", nil, errDisagree},
		"another below, in one":         {"5:cpu:/kubepods/podx/" + a + "/" + b + "\n1:name=systemd:/kubepods/podx/" + a + "/" + a + "\n", nil, errDisagree},
		"an id that is too short":       {"0::/kubepods/podx/" + a[1:] + "\n", nil, nil},
		"an id that is too long":        {"0::/kubepods/podx/" + a + "a\n", nil, nil},
		"an id in capitals":             {"0::/kubepods/podx/" + strings.ToUpper(a) + "\n", nil, nil},
		"another scope":                 {"0::/kubepods/podx/cri-containerd-" + a + ".slice\n", nil, nil},
		"a group that is gone":          {"0::/kubepods/podx/" + a + " (deleted)\n", nil, errDeleted},
		"a colon in a path":             {"0::/a:b/" + a + "\n", []string{a}, nil},
		"no path":                       {"0::\n", nil, errFormat},
		"nothing":                       {"", nil, errFormat},
		"something else":                {"cgroups\n", nil, errFormat},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := containers(c.cgroups)
			if err != c.err { //nolint:errorlint // these are not wrapped
				t.Errorf("error %v, want %v", err, c.err)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// What a process is called, or how its groups are, crashes nobody.
func FuzzContainers(f *testing.F) {
	f.Add("0::/kubepods/podx/" + strings.Repeat("a1", 32) + "\n")
	f.Add("5:cpu,cpuacct:/\n1:name=systemd:/a:b\n")
	f.Fuzz(func(t *testing.T, cgroups string) {
		ids, err := containers(cgroups)
		for _, id := range ids {
			if err != nil || len(id) != 64 {
				t.Errorf("the id %q, and %v", id, err)
			}
		}
	})
}
