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

package command

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"
)

// deployed returns a file of config/cri.
func deployed(t *testing.T, path ...string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(append([]string{"..", "..", "..", "config", "cri"}, path...)...))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// endpointsOf returns the sockets of a command line of kausality-cri, with their files.
func endpointsOf(t *testing.T, args []string) map[string]string {
	t.Helper()
	if len(args) == 0 || args[0] != "serve" {
		t.Fatalf("%v does not serve", args)
	}
	var o serveOptions
	flags := pflag.NewFlagSet("serve", pflag.ContinueOnError)
	o.addTo(flags)
	if err := flags.Parse(args[1:]); err != nil {
		t.Fatal(err)
	}
	if err := o.check(); err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, text := range o.endpoints {
		named, err := endpointOf(text)
		if err != nil {
			t.Fatal(err)
		}
		out[named.socket] = named.file
	}
	return out
}

// The DaemonSet may do what it needs and no more: who takes kausality-cri over has little
// beside the runtime's socket, which is enough.
func TestRightsOfTheDaemonSet(t *testing.T) {
	var set appsv1.DaemonSet
	if err := yaml.UnmarshalStrict([]byte(deployed(t, "daemonset.yaml")), &set); err != nil {
		t.Fatal(err)
	}
	pod := set.Spec.Template.Spec
	if !pod.HostPID || pod.HostNetwork || pod.HostIPC || ptr.Deref(pod.AutomountServiceAccountToken, true) {
		t.Errorf("host PID %t, network %t, IPC %t, or it has a token", pod.HostPID, pod.HostNetwork, pod.HostIPC)
	}
	if len(pod.Containers) != 1 || len(pod.InitContainers) != 0 {
		t.Fatalf("%d containers", len(pod.Containers))
	}
	one := pod.Containers[0]
	want := &corev1.SecurityContext{
		RunAsUser: new(int64(0)), RunAsGroup: new(int64(0)),
		AllowPrivilegeEscalation: new(false), ReadOnlyRootFilesystem: new(true),
		Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
	}
	if diff := cmp.Diff(want, one.SecurityContext); diff != "" {
		t.Error(diff)
	}
	if profile := pod.SecurityContext.SeccompProfile; profile == nil || profile.Type != corev1.SeccompProfileTypeRuntimeDefault {
		t.Errorf("seccomp: %v", profile)
	}
	readOnly, host := map[string]bool{}, map[string]bool{}
	for _, mount := range one.VolumeMounts {
		readOnly[mount.Name] = mount.ReadOnly
	}
	for _, volume := range pod.Volumes {
		switch {
		case volume.HostPath != nil:
			host[volume.HostPath.Path] = readOnly[volume.Name]
		case volume.ConfigMap == nil || !readOnly[volume.Name]:
			t.Errorf("the volume %s may be written, or is something else", volume.Name)
		}
	}
	// The folders of both sockets: a socket that is made anew is in them.
	if diff := cmp.Diff(map[string]bool{"/run/containerd": true, "/run/kausality-cri": false}, host); diff != "" {
		t.Errorf("folders of the node, and whether they are read only: %s", diff)
	}
	for socket, file := range endpointsOf(t, one.Args) {
		if filepath.Dir(socket) != "/run/kausality-cri" {
			t.Errorf("the socket %s is in no folder of the node", socket)
		}
		if !strings.Contains(deployed(t, "kustomization.yaml"), "- "+filepath.Base(file)+"\n") {
			t.Errorf("%s is not in the ConfigMap", file)
		}
	}
}

// directives returns the lines of a systemd unit, by their keys.
func directives(unit string) map[string][]string {
	out := map[string][]string{}
	for line := range strings.Lines(strings.ReplaceAll(unit, "\\\n", " ")) {
		if key, value, found := strings.Cut(strings.TrimSpace(line), "="); found && !strings.HasPrefix(key, "#") {
			out[key] = append(out[key], value)
		}
	}
	return out
}

// The units agree on the sockets, and the service may do no more than the DaemonSet.
func TestRightsOfTheUnits(t *testing.T) {
	service := directives(deployed(t, "systemd", "kausality-cri.service"))
	socket := directives(deployed(t, "systemd", "kausality-cri.socket"))
	for key, want := range map[string]string{
		"CapabilityBoundingSet": "", "NoNewPrivileges": "yes", "ProtectSystem": "strict", "PrivateDevices": "yes",
		"RestrictAddressFamilies": "AF_UNIX", "RestrictNamespaces": "yes", "SystemCallFilter": "@system-service",
		"Requires": "kausality-cri.socket", "Restart": "always",
	} {
		if diff := cmp.Diff([]string{want}, service[key]); diff != "" {
			t.Errorf("%s: %s", key, diff)
		}
	}
	// It has to see who calls.
	for _, key := range []string{"PrivatePIDs", "ProtectProc", "ProcSubset", "PrivateUsers", "User"} {
		if got, found := service[key]; found {
			t.Errorf("%s=%v hides the callers", key, got)
		}
	}
	if diff := cmp.Diff([]string{"0660"}, socket["SocketMode"]); diff != "" {
		t.Error(diff)
	}
	if len(service["ExecStart"]) != 1 {
		t.Fatalf("%v", service["ExecStart"])
	}
	endpoints := endpointsOf(t, strings.Fields(service["ExecStart"][0])[1:])
	if diff := cmp.Diff(slices.Sorted(slices.Values(socket["ListenStream"])), slices.Sorted(maps.Keys(endpoints))); diff != "" {
		t.Errorf("the sockets of the unit (-) are not those of the service (+):\n%s", diff)
	}
}
