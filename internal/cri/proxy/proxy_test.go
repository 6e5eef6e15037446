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

package proxy

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"kausality.io/operator/internal/cri/audit"
	"kausality.io/operator/internal/runtimerules"
)

const (
	allowAll = `[{method: "/*/*", action: allow}]`
	ownOnly  = `
- method: /runtime.v1.RuntimeService/Version
  action: allow
- method: /runtime.v1.RuntimeService/Exec
  action: allow
  conditions: [{field: ContainerId, operator: belongsToPod, source: podSandboxIdFromPID}]
- method: /runtime.v1.RuntimeService/StopContainer
  action: allow
  conditions: [{field: ContainerId, operator: belongsToPod, source: podSandboxIdFromPID}]
- method: /runtime.v1.RuntimeService/ListContainers
  action: allow
  filters: [{field: Containers, filterField: PodSandboxId, operator: equals, source: podSandboxIdFromPID}]
- method: /runtime.v1.RuntimeService/ListContainerStats
  action: allow
  filters: [{field: Stats, filterField: Attributes.Id, operator: belongsToPod, source: podSandboxIdFromPID}]
- method: /runtime.v1.RuntimeService/GetContainerEvents
  action: allow
  filters: [{field: ., filterField: PodSandboxStatus.Id, operator: equals, source: podSandboxIdFromPID}]
`
)

// wantCode fails unless an error has a code.
func wantCode(t *testing.T, err error, want codes.Code) {
	t.Helper()
	if got := status.Code(err); got != want {
		t.Errorf("answered %s (%v), want %s", got, err, want)
	}
}

func event(pod string) *runtimeapi.ContainerEventResponse {
	return &runtimeapi.ContainerEventResponse{PodSandboxStatus: &runtimeapi.PodSandboxStatus{Id: pod}}
}

// Every method of the API passes, those that the runtime lacks as well: their answer is its own.
func TestEveryMethodPasses(t *testing.T) {
	s := newStand(t, allowAll)
	close(s.runtime.events)
	answered := map[string]bool{
		"Version": true, "ListContainers": true, "ListPodSandbox": true, "Exec": true, "ListContainerStats": true,
		"GetContainerEvents": true,
	}
	for _, method := range runtimerules.Methods() {
		name := method.Path[strings.LastIndex(method.Path, "/")+1:]
		want := codes.Unimplemented
		switch {
		case answered[name]:
			want = codes.OK
		case name == "StopContainer":
			want = codes.NotFound
		}
		wantCode(t, s.frames("host", method.Path, nil), want)
	}
}

// What rules ask nothing about is passed on even if nobody here knows it.
func TestUnknownFieldsPass(t *testing.T) {
	s := newStand(t, allowAll)
	unknown := protowire.AppendString(protowire.AppendTag(nil, 1000, protowire.BytesType), "news")
	data, err := proto.Marshal(&runtimeapi.ExecRequest{ContainerId: inA})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.frames("host", services+"Exec", append(data, unknown...)); err != nil {
		t.Error(err)
	}
}

func TestHeadersTrailersAndDeadlines(t *testing.T) {
	s := newStand(t, allowAll)
	left := make(chan time.Duration, 1)
	s.runtime.during = func(ctx context.Context) error {
		deadline, _ := ctx.Deadline()
		left <- time.Until(deadline)
		if err := grpc.SetHeader(ctx, metadata.Pairs("head", "1")); err != nil {
			return err
		}
		return grpc.SetTrailer(ctx, metadata.Pairs("tail", "2"))
	}
	ctx, cancel := context.WithTimeout(metadata.AppendToOutgoingContext(t.Context(),
		"traceparent", "00-1-2-01", "some-bin", "\x00\xff"), time.Hour)
	defer cancel()
	var header, trailer metadata.MD
	response, err := s.client("host").Exec(ctx, &runtimeapi.ExecRequest{ContainerId: inA}, grpc.Header(&header), grpc.Trailer(&trailer))
	if err != nil {
		t.Fatal(err)
	}
	if response.GetUrl() != "http://127.0.0.1:1/exec/token" {
		t.Errorf("the URL became %s", response.GetUrl())
	}
	if got := <-left; got > time.Hour || got < 59*time.Minute {
		t.Errorf("%s are left", got)
	}
	for name, c := range map[string]struct{ got, want []string }{
		"traceparent": {s.runtime.metadata.Get("traceparent"), []string{"00-1-2-01"}},
		"binary":      {s.runtime.metadata.Get("some-bin"), []string{"\x00\xff"}},
		"header":      {header.Get("head"), []string{"1"}},
		"trailer":     {trailer.Get("tail"), []string{"2"}},
	} {
		if diff := cmp.Diff(c.want, c.got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestCodesAndDetails(t *testing.T) {
	s := newStand(t, allowAll)
	s.runtime.during = func(context.Context) error {
		with, err := status.New(codes.FailedPrecondition, "not now").WithDetails(&runtimeapi.VersionResponse{Version: "busy"})
		if err != nil {
			return err
		}
		return with.Err()
	}
	_, err := s.client("host").Exec(t.Context(), &runtimeapi.ExecRequest{})
	got := status.Convert(err)
	if got.Code() != codes.FailedPrecondition || got.Message() != "not now" {
		t.Error(err)
	}
	if diff := cmp.Diff([]any{&runtimeapi.VersionResponse{Version: "busy"}}, got.Details(), protocmp.Transform()); diff != "" {
		t.Error(diff)
	}
	if n := s.runtime.called("Exec"); n != 1 {
		t.Errorf("called %d times", n)
	}
}

// Who gives up is not waited for.
func TestCancellation(t *testing.T) {
	s := newStand(t, allowAll)
	began, ended := make(chan struct{}), make(chan struct{})
	s.runtime.during = func(ctx context.Context) error {
		close(began)
		<-ctx.Done()
		close(ended)
		return ctx.Err()
	}
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-began
		cancel()
	}()
	_, err := s.client("host").Exec(ctx, &runtimeapi.ExecRequest{})
	wantCode(t, err, codes.Canceled)
	select {
	case <-ended:
	case <-time.After(10 * time.Second):
		t.Error("the runtime goes on")
	}
}

func TestOwnContainers(t *testing.T) {
	s := newStand(t, ownOnly)
	exec := func(as, id string) error {
		_, err := s.client(as).Exec(t.Context(), &runtimeapi.ExecRequest{ContainerId: id})
		return err
	}
	wantCode(t, exec("a", inA), codes.OK)
	wantCode(t, exec("b", inB), codes.OK)
	wantCode(t, exec("a", inB), codes.PermissionDenied)
	wantCode(t, exec("b", inA), codes.PermissionDenied)
	wantCode(t, exec("host", inA), codes.PermissionDenied)
	if diff := cmp.Diff([]string{inA, inB}, s.runtime.execs); diff != "" {
		t.Error(diff)
	}
}

// One more question for a container that is not known, and none for one that is.
func TestLookupsAreFew(t *testing.T) {
	s := newStand(t, ownOnly)
	client := s.client("a")
	for range 3 {
		if _, err := client.Exec(t.Context(), &runtimeapi.ExecRequest{ContainerId: inA}); err != nil {
			t.Fatal(err)
		}
	}
	if n := s.runtime.called("ListContainers"); n != 1 {
		t.Errorf("%d questions for who calls and whose the container is, which are the same", n)
	}
	if _, err := client.ListContainerStats(t.Context(), &runtimeapi.ListContainerStatsRequest{}); err != nil {
		t.Fatal(err)
	}
	if n := s.runtime.called("ListContainers"); n != 2 {
		t.Errorf("%d questions for a list", n-1)
	}
}

func TestFilteredLists(t *testing.T) {
	s := newStand(t, ownOnly)
	list, err := s.client("a").ListContainers(t.Context(), &runtimeapi.ListContainersRequest{})
	if err != nil {
		t.Fatal(err)
	}
	want := &runtimeapi.ListContainersResponse{Containers: []*runtimeapi.Container{{Id: inA, PodSandboxId: podA}}}
	if diff := cmp.Diff(want, list, protocmp.Transform()); diff != "" {
		t.Error(diff)
	}
	stats, err := s.client("b").ListContainerStats(t.Context(), &runtimeapi.ListContainerStatsRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if len(stats.GetStats()) != 1 || stats.GetStats()[0].GetAttributes().GetId() != inB {
		t.Errorf("%v", stats)
	}
	_, err = s.client("host").ListContainers(t.Context(), &runtimeapi.ListContainersRequest{})
	wantCode(t, err, codes.PermissionDenied)
}

func TestFilteredStreams(t *testing.T) {
	s := newStand(t, ownOnly)
	stream, err := s.client("a").GetContainerEvents(t.Context(), &runtimeapi.GetEventsRequest{})
	if err != nil {
		t.Fatal(err)
	}
	// Headers come before the first message does.
	if header, err := stream.Header(); err != nil || header.Get("began") == nil {
		t.Errorf("%v, %v", header, err)
	}
	for _, pod := range []string{podB, podA, "", podB, podA} {
		s.runtime.events <- event(pod)
	}
	close(s.runtime.events)
	for range 2 {
		got, err := stream.Recv()
		if err != nil || got.GetPodSandboxStatus().GetId() != podA {
			t.Errorf("%v, %v", got, err)
		}
	}
	if got, err := stream.Recv(); !errors.Is(err, io.EOF) {
		t.Errorf("%v, %v", got, err)
	}
	if stream.Trailer().Get("ended") == nil {
		t.Errorf("%v", stream.Trailer())
	}
}

// A stream goes on under rules that judge it alike, and ends under others.
func TestStreamsUnderOtherRules(t *testing.T) {
	s := newStand(t, ownOnly)
	stream, err := s.client("a").GetContainerEvents(t.Context(), &runtimeapi.GetEventsRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := stream.Header(); err != nil {
		t.Fatal(err)
	}
	s.Use(mustParse(t, "- {method: /*/ImageStatus, action: allow}"+ownOnly))
	s.runtime.events <- event(podA)
	if _, err := stream.Recv(); err != nil {
		t.Fatal(err)
	}
	s.Use(mustParse(t, "- {method: /*/GetContainerEvents, action: deny}"+ownOnly))
	_, err = stream.Recv()
	wantCode(t, err, codes.Unavailable)
	again, err := s.client("a").GetContainerEvents(t.Context(), &runtimeapi.GetEventsRequest{})
	if err == nil {
		_, err = again.Recv()
	}
	wantCode(t, err, codes.PermissionDenied)
}

func TestRefusalsNameTheRule(t *testing.T) {
	s := newStand(t, ownOnly)
	_, err := s.client("a").Exec(t.Context(), &runtimeapi.ExecRequest{ContainerId: inB})
	want := "kausality-cri: rule 2 (line 4) asks that ContainerId belongsToPod podSandboxIdFromPID"
	if diff := cmp.Diff(want, status.Convert(err).Message()); diff != "" {
		t.Error(diff)
	}
}

// A runtime that is away is waited for by its clients, and comes back.
func TestRuntimeRestarts(t *testing.T) {
	s := newStand(t, ownOnly)
	client := s.client("a")
	exec := func() error {
		_, err := client.Exec(t.Context(), &runtimeapi.ExecRequest{ContainerId: inA})
		return err
	}
	wantCode(t, exec(), codes.OK)
	s.started.Stop()
	wantCode(t, exec(), codes.Unavailable)
	s.startRuntime()
	deadline := time.Now().Add(20 * time.Second)
	for exec() != nil {
		if time.Now().After(deadline) {
			t.Fatal("the runtime is back, and not found")
		}
	}
}

func TestAuditLines(t *testing.T) {
	s := newStand(t, ownOnly)
	a := s.client("a")
	_, _ = a.Version(t.Context(), &runtimeapi.VersionRequest{})
	_, _ = a.Exec(t.Context(), &runtimeapi.ExecRequest{ContainerId: inA, Cmd: []string{"secret"}})
	_, _ = a.Exec(t.Context(), &runtimeapi.ExecRequest{ContainerId: inB, Cmd: []string{"secret"}})
	_, _ = s.client("host").RunPodSandbox(t.Context(), &runtimeapi.RunPodSandboxRequest{})
	_, _ = s.client("gone").StopContainer(t.Context(), &runtimeapi.StopContainerRequest{ContainerId: "x"})
	s.Stop()
	if strings.Contains(s.audit.String(), "secret") || strings.Contains(s.audit.String(), "token") {
		t.Errorf("contents are told:\n%s", s.audit)
	}
	partyA := audit.Party{PID: 1, Namespace: "default", Pod: "pod-a", UID: "uid-a", PodSandboxID: podA, ContainerID: inA}
	targetA, targetB := partyA, audit.Party{Namespace: "default", Pod: "pod-b", UID: "uid-b", PodSandboxID: podB, ContainerID: inB}
	targetA.PID = 0
	want := []audit.Line{
		{Endpoint: "test", Method: services + "Exec", Outcome: "allowed", Code: "OK", Rule: 2, RuleLine: 4, Caller: partyA, Target: &targetA},
		{
			Endpoint: "test", Method: services + "Exec", Outcome: "refused", Code: "PermissionDenied", Caller: partyA, Target: &targetB,
			Reason: "kausality-cri: rule 2 (line 4) asks that ContainerId belongsToPod podSandboxIdFromPID",
		},
		{
			Endpoint: "test", Method: services + "RunPodSandbox", Outcome: "refused", Code: "PermissionDenied",
			Caller: audit.Party{PID: 3}, Reason: "kausality-cri: no rule allows it",
		},
		{
			Endpoint: "test", Method: services + "StopContainer", Outcome: "undecided", Code: "Unavailable", Rule: 3, RuleLine: 7,
			Caller: audit.Party{PID: 4, Unknown: "the process that opened the connection has ended"}, Target: &audit.Party{ContainerID: "x"},
			Reason: "kausality-cri: rule 3 (line 7) cannot be judged: the process that opened the connection has ended",
		},
	}
	var got []audit.Line
	for line := range strings.Lines(s.audit.String()) {
		var one audit.Line
		if err := json.Unmarshal([]byte(line), &one); err != nil {
			t.Fatal(err)
		}
		if one.Time.IsZero() {
			t.Error("a line has no time")
		}
		one.Time = time.Time{}
		got = append(got, one)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
