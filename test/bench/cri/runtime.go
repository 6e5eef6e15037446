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

package main

import (
	"context"
	"fmt"
	"net"
	"strings"

	"google.golang.org/grpc"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

const (
	// containers is how many the runtime has, of which few are the caller's.
	containers = 500
	own        = 5
	// events are sent to who asks for them.
	events = 2000
)

// The caller's container and its Pod, and another Pod.
var (
	callersContainer = strings.Repeat("c", 64)
	callersPod       = strings.Repeat("a", 64)
	otherPod         = strings.Repeat("b", 64)
)

// runtime is a container runtime that runs nothing.
type runtime struct {
	runtimeapi.UnimplementedRuntimeServiceServer

	list  []*runtimeapi.Container
	event *runtimeapi.ContainerEventResponse
}

// serveRuntime answers at a socket, until the program ends.
func serveRuntime(socket string) error {
	r := &runtime{event: &runtimeapi.ContainerEventResponse{
		ContainerId: callersContainer, CreatedAt: 1,
		PodSandboxStatus: &runtimeapi.PodSandboxStatus{Id: callersPod, Metadata: &runtimeapi.PodSandboxMetadata{Name: "web-0", Namespace: "shop"}},
	}}
	for i := range containers {
		pod := otherPod
		if i%(containers/own) == 0 {
			pod = callersPod
		}
		r.list = append(r.list, container(fmt.Sprintf("%064x", i), pod))
	}
	listener, err := net.Listen("unix", socket) //nolint:noctx // it does not wait
	if err != nil {
		return err
	}
	server := grpc.NewServer()
	runtimeapi.RegisterRuntimeServiceServer(server, r)
	return server.Serve(listener)
}

// container returns a container as a kubelet makes it.
func container(id, pod string) *runtimeapi.Container {
	return &runtimeapi.Container{
		Id: id, PodSandboxId: pod, Metadata: &runtimeapi.ContainerMetadata{Name: "main"},
		Image: &runtimeapi.ImageSpec{Image: "registry.example/shop/web@sha256:" + strings.Repeat("0", 64)},
		State: runtimeapi.ContainerState_CONTAINER_RUNNING, CreatedAt: 1,
		Labels: map[string]string{
			"io.kubernetes.container.name": "main", "io.kubernetes.pod.name": "web-0",
			"io.kubernetes.pod.namespace": "shop", "io.kubernetes.pod.uid": "6ba7b810-9dad-11d1-80b4-00c04fd430c8",
		},
		Annotations: map[string]string{"io.kubernetes.container.hash": "12345678", "io.kubernetes.container.restartCount": "0"},
	}
}

// Version implements runtimeapi.RuntimeServiceServer.
func (r *runtime) Version(context.Context, *runtimeapi.VersionRequest) (*runtimeapi.VersionResponse, error) {
	return &runtimeapi.VersionResponse{Version: "0.1.0", RuntimeName: "none", RuntimeVersion: "1", RuntimeApiVersion: "v1"}, nil
}

// ListContainers implements runtimeapi.RuntimeServiceServer. Whatever id is asked for is
// that of a container of the caller's Pod.
func (r *runtime) ListContainers(_ context.Context, request *runtimeapi.ListContainersRequest) (*runtimeapi.ListContainersResponse, error) {
	if id := request.GetFilter().GetId(); id != "" {
		return &runtimeapi.ListContainersResponse{Containers: []*runtimeapi.Container{container(id, callersPod)}}, nil
	}
	return &runtimeapi.ListContainersResponse{Containers: r.list}, nil
}

// StopContainer implements runtimeapi.RuntimeServiceServer.
func (r *runtime) StopContainer(context.Context, *runtimeapi.StopContainerRequest) (*runtimeapi.StopContainerResponse, error) {
	return &runtimeapi.StopContainerResponse{}, nil
}

// ContainerStatus implements runtimeapi.RuntimeServiceServer.
func (r *runtime) ContainerStatus(_ context.Context, request *runtimeapi.ContainerStatusRequest) (*runtimeapi.ContainerStatusResponse, error) {
	return &runtimeapi.ContainerStatusResponse{Status: &runtimeapi.ContainerStatus{Id: request.GetContainerId(), State: runtimeapi.ContainerState_CONTAINER_RUNNING}}, nil
}

// GetContainerEvents implements runtimeapi.RuntimeServiceServer.
func (r *runtime) GetContainerEvents(_ *runtimeapi.GetEventsRequest, stream grpc.ServerStreamingServer[runtimeapi.ContainerEventResponse]) error {
	for range events {
		if err := stream.Send(r.event); err != nil {
			return err
		}
	}
	return nil
}
