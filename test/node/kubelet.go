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

package node

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"kausality.io/operator/test/controlplane"
)

// Kubelet is the name of the kubelet's process, and of its node.
const Kubelet = "kubelet"

// address is what the network of Pods gives the node. It is there with the first Pod.
const address = "10.88.0.1"

// kubeletConfig is the configuration: what is other than its default is that nothing is
// installed on the machine.
const kubeletConfig = `apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
containerRuntimeEndpoint: unix://%[1]s
cgroupDriver: cgroupfs
failCgroupV1: false
failSwapOn: false
oomScoreAdj: 0
enforceNodeAllocatable: []
localStorageCapacityIsolation: false
makeIPTablesUtilChains: false
authentication:
  anonymous: {enabled: true}
  webhook: {enabled: false}
authorization: {mode: AlwaysAllow}
address: %[2]s
healthzPort: %[3]d
volumePluginDir: /var/lib/kubelet/plugins-exec
resolvConf: ""
nodeStatusUpdateFrequency: 2s
syncFrequency: 5s
`

// APIServerFlags returns the flags with which an API server reaches the kubelet.
func APIServerFlags() []string { return []string{"--kubelet-preferred-address-types=InternalIP"} }

// StartKubelet starts a kubelet of a cluster with binaries of a folder, whose runtime is
// behind a socket. Its node has its name.
func StartKubelet(ctx context.Context, cp *controlplane.ControlPlane, bin, socket string) error {
	bin, err := filepath.Abs(bin)
	if err != nil {
		return err
	}
	const empty = "/run/kubelet"
	if err := os.MkdirAll(empty, 0o700); err != nil {
		return err
	}
	return cp.Launch(ctx, 1, func(ports []int) (controlplane.Program, error) {
		config := fmt.Sprintf(kubeletConfig, socket, address, ports[0])
		return controlplane.Program{
			Name: Kubelet,
			// It removes the logs of containers that it does not know, and where these have none
			// whatever is in the folder that it works in.
			Path: "/usr/bin/env",
			Args: []string{
				"--chdir=" + empty, filepath.Join(bin, Kubelet),
				"--config=/run/kubelet.yaml", "--kubeconfig=" + cp.Kubeconfig(),
				"--hostname-override=" + Kubelet, "--node-ip=" + address, "--v=2",
			},
			ReadyURL: fmt.Sprintf("http://127.0.0.1:%d/healthz", ports[0]),
		}, os.WriteFile("/run/kubelet.yaml", []byte(config), 0o600)
	})
}
