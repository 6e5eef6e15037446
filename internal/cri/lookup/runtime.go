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

// Package lookup asks the container runtime what judgements depend on.
package lookup

import (
	"context"
	"errors"
	"strings"
	"time"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	"k8s.io/utils/lru"

	"kausality.io/operator/internal/runtimerules"
)

const (
	// kept is how many containers, and how many Pods, are remembered. Ids are not used
	// again, so what was said of one stays true.
	kept = 4096
	// longestID is how long an id may be. Runtimes make them of 64 characters.
	longestID = 127
)

// Why something could not be found out. What the runtime said is not told to callers.
var (
	errRuntime = errors.New("the runtime does not answer")
	errUnknown = errors.New("the caller is in a container that the runtime does not know")
)

// Pod is whose a sandbox is.
type Pod struct {
	Namespace string
	Name      string
	UID       string
}

// Runtime remembers what it was told.
type Runtime struct {
	client     runtimeapi.RuntimeServiceClient
	timeout    time.Duration
	containers *lru.Cache
	pods       *lru.Cache
	asked      func()
}

// New asks a runtime, each time no longer than the timeout; asked is called for each time.
func New(client runtimeapi.RuntimeServiceClient, timeout time.Duration, asked func()) *Runtime {
	return &Runtime{client: client, timeout: timeout, containers: lru.New(kept), pods: lru.New(kept), asked: asked}
}

// Container says which container has an id, or begins with it.
func (r *Runtime) Container(ctx context.Context, id string) runtimerules.Container {
	if id == "" || len(id) > longestID {
		return runtimerules.Container{}
	}
	if pod, known := r.pod(id); known {
		return runtimerules.Container{ID: id, PodSandboxID: pod}
	}
	list, err := r.list(ctx, &runtimeapi.ContainerFilter{Id: id})
	switch {
	case err != nil:
		return runtimerules.Container{Err: err}
	case len(list) != 1 || !strings.HasPrefix(list[0].GetId(), id) || list[0].GetPodSandboxId() == "":
		return runtimerules.Container{}
	}
	return runtimerules.Container{ID: list[0].GetId(), PodSandboxID: list[0].GetPodSandboxId()}
}

// Members returns the containers of a Pod sandbox.
func (r *Runtime) Members(ctx context.Context, pod string) runtimerules.Members {
	list, err := r.list(ctx, &runtimeapi.ContainerFilter{PodSandboxId: pod})
	if err != nil {
		return runtimerules.Members{Err: err}
	}
	ids := make(map[string]bool, len(list))
	for _, container := range list {
		if container.GetPodSandboxId() == pod {
			ids[container.GetId()] = true
		}
	}
	return runtimerules.Members{IDs: ids}
}

// Caller returns who is in the outermost of some containers that the runtime knows; of no
// containers, a process that is in no Pod.
func (r *Runtime) Caller(ctx context.Context, containers []string) runtimerules.Caller {
	for _, id := range containers {
		switch container := r.Container(ctx, id); {
		case container.Err != nil:
			return runtimerules.Caller{Err: container.Err}
		case container.ID == id:
			return runtimerules.Caller{PodSandboxID: container.PodSandboxID, ContainerID: id}
		}
	}
	if len(containers) > 0 {
		return runtimerules.Caller{Err: errUnknown}
	}
	return runtimerules.Caller{}
}

// Pod returns whose a sandbox is, as far as the runtime knows.
func (r *Runtime) Pod(ctx context.Context, sandbox string) (Pod, bool) {
	if sandbox == "" {
		return Pod{}, false
	}
	if found, known := r.pods.Get(sandbox); known {
		pod, ok := found.(Pod)
		return pod, ok
	}
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	r.asked()
	answer, err := r.client.ListPodSandbox(ctx, &runtimeapi.ListPodSandboxRequest{Filter: &runtimeapi.PodSandboxFilter{Id: sandbox}})
	if err != nil || len(answer.GetItems()) != 1 || answer.GetItems()[0].GetId() != sandbox {
		return Pod{}, false
	}
	metadata := answer.GetItems()[0].GetMetadata()
	pod := Pod{Namespace: metadata.GetNamespace(), Name: metadata.GetName(), UID: metadata.GetUid()}
	r.pods.Add(sandbox, pod)
	return pod, true
}

// pod returns the sandbox of a container that is known by its id in full.
func (r *Runtime) pod(id string) (string, bool) {
	found, known := r.containers.Get(id)
	if !known {
		return "", false
	}
	pod, ok := found.(string)
	return pod, ok
}

// list asks for containers, and remembers them.
func (r *Runtime) list(ctx context.Context, filter *runtimeapi.ContainerFilter) ([]*runtimeapi.Container, error) {
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	r.asked()
	answer, err := r.client.ListContainers(ctx, &runtimeapi.ListContainersRequest{Filter: filter})
	if err != nil {
		return nil, errRuntime
	}
	for _, container := range answer.GetContainers() {
		if container.GetId() != "" && container.GetPodSandboxId() != "" {
			r.containers.Add(container.GetId(), container.GetPodSandboxId())
		}
	}
	return answer.GetContainers(), nil
}
