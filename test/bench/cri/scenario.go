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
	"errors"
	"fmt"
	"io"
	"math/rand/v2"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// world names the way that a call takes to the runtime.
type world string

// The worlds. Rules are those of ours.
const (
	direct world = "direct"
	bare   world = "bare"
	again  world = "bare again"
	ours   world = "kausality-cri"
)

// scenario is a kind of call, with the most that it may be slower by our rules.
type scenario struct {
	name string
	// rules are the name of a socket of ours; and of another, if that is in the place of the
	// bare proxy.
	rules, than string
	// p50 and p99 are what is aimed at, as a ratio; 0 for nothing. of is to what.
	p50, p99 float64
	of       world
	// each is how many messages a call has.
	each float64
	call func(ctx context.Context, client runtimeapi.RuntimeServiceClient) error
}

func version(ctx context.Context, client runtimeapi.RuntimeServiceClient) error {
	_, err := client.Version(ctx, &runtimeapi.VersionRequest{})
	return err
}

func status(id func() string) func(context.Context, runtimeapi.RuntimeServiceClient) error {
	return func(ctx context.Context, client runtimeapi.RuntimeServiceClient) error {
		_, err := client.ContainerStatus(ctx, &runtimeapi.ContainerStatusRequest{ContainerId: id()})
		return err
	}
}

// list tells, too, if filters do not leave what they should.
func list(ctx context.Context, client runtimeapi.RuntimeServiceClient) error {
	answer, err := client.ListContainers(ctx, &runtimeapi.ListContainersRequest{})
	if n := len(answer.GetContainers()); err == nil && n != own && n != containers {
		return fmt.Errorf("%d containers are listed", n)
	}
	return err
}

func follow(ctx context.Context, client runtimeapi.RuntimeServiceClient) error {
	stream, err := client.GetContainerEvents(ctx, &runtimeapi.GetEventsRequest{})
	if err != nil {
		return err
	}
	for n := 0; ; n++ {
		if _, err := stream.Recv(); errors.Is(err, io.EOF) && n == events {
			return nil
		} else if err != nil {
			return fmt.Errorf("after %d events: %w", n, err)
		}
	}
}

func known() string   { return callersContainer }
func unknown() string { return fmt.Sprintf("%032x%016x%016x", 1, rand.Uint64(), rand.Uint64()) }

// What is aimed at is in docs/cri.md.
var scenarios = []scenario{
	{name: "no conditions", rules: "all", p50: 1.05, p99: 1.1, of: bare, each: 1, call: version},
	{name: "belongsToPod, known", rules: "own", p50: 1.15, of: bare, each: 1, call: status(known)},
	{name: "belongsToPod, unknown", rules: "own", of: bare, each: 1, call: status(unknown)},
	{name: "500 containers cut to 5", rules: "own", p50: 1, of: direct, each: 1, call: list},
	{name: "events, each", rules: "own", p50: 1.2, of: bare, each: events, call: follow},
	{name: "10,000 rules beside 10", rules: "many", than: "few", p50: 1.03, of: bare, each: 1, call: version},
}
