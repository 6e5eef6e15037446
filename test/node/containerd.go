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
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"k8s.io/apimachinery/pkg/util/wait"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

const (
	// Socket is that of containerd.
	Socket = "/run/containerd/containerd.sock"
	// ready bounds how long containerd may take to answer.
	ready = time.Minute
	poll  = 50 * time.Millisecond
)

// Containerd is a running containerd.
type Containerd struct {
	*Process

	// Images answers who pulls them.
	Images *Registry

	conn *grpc.ClientConn
}

// containerdConfig is the configuration: all that is not its default. Images of any host
// come from our registry.
const containerdConfig = `version = 3
disabled_plugins = ["io.containerd.nri.v1.nri", "io.containerd.tracing.processor.v1.otlp", "io.containerd.internal.v1.tracing"]

[plugins.'io.containerd.cri.v1.images']
  snapshotter = "overlayfs"
  [plugins.'io.containerd.cri.v1.images'.pinned_images]
    sandbox = %[1]q
  [plugins.'io.containerd.cri.v1.images'.registry]
    config_path = "/run/containerd-hosts"

# Containers may be as likely to be killed as containerd itself: to make them less takes a
# right that root of a virtual machine may lack.
[plugins.'io.containerd.cri.v1.runtime']
  restrict_oom_score_adj = true
  [plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
    [plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc.options]
      BinaryName = %[2]q
  [plugins.'io.containerd.cri.v1.runtime'.cni]
    bin_dirs = [%[3]q]
    conf_dir = "/run/cni"
`

// network is that of Pods: a bridge that leads nowhere.
const network = `{
  "cniVersion": "1.0.0",
  "name": "pods",
  "plugins": [{
    "type": "bridge", "bridge": "pods0", "isGateway": true,
    "ipam": {"type": "host-local", "ranges": [[{"subnet": "10.88.0.0/16"}]]}
  }]
}
`

// StartContainerd starts containerd with binaries of a folder, and returns when it answers.
func StartContainerd(ctx context.Context, bin string) (*Containerd, error) {
	bin, err := filepath.Abs(bin)
	if err != nil {
		return nil, err
	}
	images, err := StartRegistry(bin)
	if err != nil {
		return nil, err
	}
	for path, text := range map[string]string{
		"/run/containerd.toml":                      fmt.Sprintf(containerdConfig, Image, filepath.Join(bin, "runc"), bin),
		"/run/cni/10-pods.conflist":                 network,
		"/run/containerd-hosts/_default/hosts.toml": fmt.Sprintf("server = %q\n", images.URL),
	} {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return nil, err
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			return nil, err
		}
	}
	// containerd starts its shim, which is beside it.
	if err := os.Setenv("PATH", bin+":"+os.Getenv("PATH")); err != nil {
		return nil, err
	}
	process, err := Begin("containerd", filepath.Join(bin, "containerd"), "--config=/run/containerd.toml")
	if err != nil {
		return nil, fmt.Errorf("%w: run \"make cri-binaries\" first", err)
	}
	c := &Containerd{Process: process, Images: images}
	if c.conn, err = Dial(Socket); err != nil {
		return nil, err
	}
	if err := c.Wait(ctx); err != nil {
		return nil, err
	}
	return c, nil
}

// Dial connects to a socket when it is needed.
func Dial(socket string) (*grpc.ClientConn, error) {
	return grpc.NewClient("unix://"+socket, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(16<<20)))
}

// Runtime asks containerd itself.
func (c *Containerd) Runtime() runtimeapi.RuntimeServiceClient {
	return runtimeapi.NewRuntimeServiceClient(c.conn)
}

// ImageService asks containerd itself.
func (c *Containerd) ImageService() runtimeapi.ImageServiceClient {
	return runtimeapi.NewImageServiceClient(c.conn)
}

// Wait returns when containerd runs Pods.
func (c *Containerd) Wait(ctx context.Context) error {
	said := "nothing"
	err := wait.PollUntilContextTimeout(ctx, poll, ready, true, func(ctx context.Context) (bool, error) {
		status, err := c.Runtime().Status(ctx, &runtimeapi.StatusRequest{})
		if err != nil {
			said = err.Error()
			return !c.Running(), nil //nolint:nilerr // it is asked again, while it runs
		}
		for _, condition := range status.GetStatus().GetConditions() {
			if !condition.GetStatus() && condition.GetType() != "ContainerdHasNoDeprecationWarnings" {
				said = condition.GetType() + ": " + condition.GetMessage()
				return false, nil
			}
		}
		return true, nil
	})
	if err != nil || !c.Running() {
		log, _ := os.ReadFile(Log("containerd"))
		return fmt.Errorf("containerd is not ready, the last that it said was %s; its log:\n%s", said, log)
	}
	return nil
}
