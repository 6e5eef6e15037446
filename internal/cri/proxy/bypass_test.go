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
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"kausality.io/operator/internal/cri/caller"
)

// refusal is what who may not is told of a container, whatever else is true of it.
const refusal = "kausality-cri: rule 2 (line 4) asks that ContainerId belongsToPod podSandboxIdFromPID"

// field returns a string of a message.
func field(number int, value string) []byte {
	return protowire.AppendString(protowire.AppendTag(nil, protowire.Number(number), protowire.BytesType), value)
}

// refused fails unless Pod A is refused a call, which the runtime never sees.
func refused(t *testing.T, path string, message []byte, want codes.Code) {
	t.Helper()
	s := newStand(t, ownOnly)
	wantCode(t, s.frames("a", path, message), want)
	s.untouched()
}

// untouched fails if anything has reached the runtime but our own questions.
func (s *stand) untouched() {
	s.t.Helper()
	s.runtime.mu.Lock()
	defer s.runtime.mu.Unlock()
	for _, call := range s.runtime.calls {
		if call != "ListContainers" && call != "ListPodSandbox" {
			s.t.Errorf("the runtime was asked for %s", call)
		}
	}
}

// sameRefusal fails unless Pod A is refused to execute in what an id stands for, as it
// would be of another Pod's container.
func sameRefusal(t *testing.T, id string) {
	t.Helper()
	s := newStand(t, ownOnly)
	err := s.exec("a", id)
	wantCode(t, err, codes.PermissionDenied)
	if got := status.Convert(err).Message(); got != refusal {
		t.Errorf("the refusal of %q is %q", id, got)
	}
	s.untouched()
}

func (s *stand) exec(as, id string) error {
	_, err := s.client(as).Exec(s.t.Context(), &runtimeapi.ExecRequest{ContainerId: id})
	return err
}

// generous lets through whoever could not be judged, if it was asked.
const generous = ownOnly + "\n- {method: /*/Exec, action: allow}\n"

// TestBypass has the rows of docs/cri-bypasses.md by their names, as have those of other
// packages. Pod A tries to reach Pod B by a socket that is for one's own containers.
func TestBypass(t *testing.T) {
	for name, try := range map[string]func(t *testing.T){
		"executing in another Pod's container": func(t *testing.T) { sameRefusal(t, inB) },
		"a method that no rule is about":       func(t *testing.T) { refused(t, services+"RemoveContainer", field(1, inA), codes.PermissionDenied) },
		"ExecSync in place of Exec":            func(t *testing.T) { refused(t, services+"ExecSync", field(1, inB), codes.PermissionDenied) },
		"Attach in place of Exec":              func(t *testing.T) { refused(t, services+"Attach", field(1, inB), codes.PermissionDenied) },
		"PortForward in place of Exec":         func(t *testing.T) { refused(t, services+"PortForward", field(1, podB), codes.PermissionDenied) },
		"a checkpoint in place of Exec":        func(t *testing.T) { refused(t, services+"CheckpointContainer", field(1, inB), codes.PermissionDenied) },
		"a new container in one's own sandbox": func(t *testing.T) { refused(t, services+"CreateContainer", field(1, podA), codes.PermissionDenied) },
		"a stream in place of a list":          func(t *testing.T) { refused(t, services+"StreamContainers", nil, codes.PermissionDenied) },
		"the status of another Pod":            func(t *testing.T) { refused(t, services+"PodSandboxStatus", field(1, podB), codes.PermissionDenied) },
		"metrics in place of stats":            func(t *testing.T) { refused(t, services+"ListPodSandboxMetrics", nil, codes.PermissionDenied) },
		"a list that asks for another Pod's containers": func(t *testing.T) {
			s := newStand(t, ownOnly)
			got, err := s.client("a").ListContainers(t.Context(), &runtimeapi.ListContainersRequest{Filter: &runtimeapi.ContainerFilter{PodSandboxId: podB}})
			if err != nil || len(got.GetContainers()) != 0 {
				t.Errorf("%v, %v", got, err)
			}
		},
		"stats of all containers": func(t *testing.T) {
			s := newStand(t, ownOnly)
			got, err := s.client("a").ListContainerStats(t.Context(), &runtimeapi.ListContainerStatsRequest{})
			if err != nil || len(got.GetStats()) != 1 || got.GetStats()[0].GetAttributes().GetId() != inA {
				t.Errorf("%v, %v", got, err)
			}
		},
		"events of another Pod": func(t *testing.T) {
			s := newStand(t, ownOnly)
			s.runtime.events <- event(podB)
			s.runtime.events <- &runtimeapi.ContainerEventResponse{ContainerId: inB}
			close(s.runtime.events)
			stream, err := s.client("a").GetContainerEvents(t.Context(), &runtimeapi.GetEventsRequest{})
			if err != nil {
				t.Fatal(err)
			}
			if got, err := stream.Recv(); !errors.Is(err, io.EOF) {
				t.Errorf("%v, %v", got, err)
			}
		},

		"a method that runtime.v1 does not have":    func(t *testing.T) { refused(t, services+"ExecAnywhere", nil, codes.PermissionDenied) },
		"a new method under a pattern":              func(t *testing.T) { neverForwarded(t, services+"ExecAnywhere") },
		"containerd's own API":                      func(t *testing.T) { neverForwarded(t, "/containerd.services.tasks.v1.Tasks/Exec") },
		"gRPC's reflection":                         func(t *testing.T) { neverForwarded(t, "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo") },
		"an older version of the API":               func(t *testing.T) { neverForwarded(t, "/runtime.v1alpha2.RuntimeService/Exec") },
		"a path in another case":                    func(t *testing.T) { neverForwarded(t, "/runtime.v1.RuntimeService/exec") },
		"a path that is percent-encoded":            func(t *testing.T) { neverForwarded(t, "/runtime.v1.RuntimeService/%45xec") },
		"a path with a slash at its end":            func(t *testing.T) { oddPath(t, services+"Exec/") },
		"a path with two slashes":                   func(t *testing.T) { oddPath(t, "/"+services+"Exec") },
		"a path with dots":                          func(t *testing.T) { oddPath(t, services+"../RuntimeService/Exec") },
		"a path with a query":                       func(t *testing.T) { oddPath(t, services+"Exec?a=b") },
		"a path without a slash at its beginning":   func(t *testing.T) { oddPath(t, services[1:]+"Exec") },
		"a path that is only the name of a method":  func(t *testing.T) { oddPath(t, "Exec") },
		"a path that is as long as headers may be":  func(t *testing.T) { neverForwarded(t, services+strings.Repeat("E", 60<<10)) },
		"a path with a character that ends strings": func(t *testing.T) { oddPath(t, services+"Exec\x00") },

		"an empty id":                              func(t *testing.T) { sameRefusal(t, "") },
		"a short id":                               func(t *testing.T) { sameRefusal(t, inB[:12]) },
		"a Pod's id":                               func(t *testing.T) { sameRefusal(t, podB) },
		"one's own Pod":                            func(t *testing.T) { sameRefusal(t, podA) },
		"an id that does not exist":                func(t *testing.T) { sameRefusal(t, strings.Repeat("9", 64)) },
		"an id in capitals":                        func(t *testing.T) { sameRefusal(t, strings.ToUpper(inB)) },
		"an id with a space":                       func(t *testing.T) { sameRefusal(t, inA+" ") },
		"an id with a line break":                  func(t *testing.T) { sameRefusal(t, inA+"\n"+inB) },
		"an id with a character that ends strings": func(t *testing.T) { sameRefusal(t, inA+"\x00") },
		"a pattern in place of an id":              func(t *testing.T) { sameRefusal(t, "*") },
		"a path in place of an id":                 func(t *testing.T) { sameRefusal(t, "../"+inB) },
		"an id that is too long to be one": func(t *testing.T) {
			s := newStand(t, ownOnly)
			wantCode(t, s.exec("a", strings.Repeat("1a", 1<<20)), codes.PermissionDenied)
			if n := s.runtime.called("ListContainers"); n > 1 {
				t.Errorf("the runtime was asked %d times", n)
			}
		},
		"a short id of one's own container and another's": func(t *testing.T) {
			s := newStand(t, ownOnly)
			s.runtime.containers[inA[:32]+inB[:32]] = podB
			wantCode(t, s.exec("a", inA[:16]), codes.PermissionDenied)
			s.untouched()
		},
		"a short id that becomes another's": func(t *testing.T) {
			s := newStand(t, ownOnly)
			wantCode(t, s.exec("a", inA[:16]), codes.OK)
			if len(s.runtime.execs) != 1 || s.runtime.execs[0] != inA {
				t.Errorf("sent on as %v", s.runtime.execs)
			}
		},
		"a container that was removed": func(t *testing.T) {
			s := newStand(t, ownOnly)
			wantCode(t, s.exec("a", inB), codes.PermissionDenied)
			s.runtime.remove(inB)
			err := s.exec("a", inB)
			if got := status.Convert(err).Message(); got != refusal {
				t.Errorf("the refusal is %q", got)
			}
		},

		"no message": func(t *testing.T) {
			s := newStand(t, ownOnly)
			wantCode(t, s.frames("a", services+"Exec"), codes.InvalidArgument)
			s.untouched()
		},
		"two messages in one call": func(t *testing.T) {
			s := newStand(t, ownOnly)
			wantCode(t, s.frames("a", services+"Exec", field(1, inA), field(1, inB)), codes.InvalidArgument)
			s.untouched()
		},
		"two messages where the rules ask nothing": func(t *testing.T) {
			s := newStand(t, allowAll)
			wantCode(t, s.frames("a", services+"Exec", field(1, inA), field(1, inB)), codes.InvalidArgument)
			s.untouched()
		},
		"an id twice in a message": func(t *testing.T) {
			refused(t, services+"Exec", append(field(1, inA), field(1, inB)...), codes.PermissionDenied)
		},
		"a field that nobody knows": func(t *testing.T) {
			refused(t, services+"Exec", append(field(1, inA), field(1000, inB)...), codes.InvalidArgument)
		},
		"a field of another type":      func(t *testing.T) { refused(t, services+"Exec", append(field(1, inA), 0x08, 1), codes.InvalidArgument) },
		"a message that is cut off":    func(t *testing.T) { refused(t, services+"Exec", field(1, inA)[:10], codes.InvalidArgument) },
		"a message that is none":       func(t *testing.T) { refused(t, services+"Exec", []byte("exec"), codes.InvalidArgument) },
		"an id that is no text":        func(t *testing.T) { refused(t, services+"Exec", field(1, "\xff\xfe"), codes.InvalidArgument) },
		"a message that is compressed": compressed,
		"a message that says it is compressed": func(t *testing.T) {
			s := newStand(t, ownOnly)
			r := s.raw()
			r.begin(services + "Exec")
			r.data(message(1, 3, []byte("abc")), true)
			if got := r.answer(); got != "grpc 13" {
				t.Error(got)
			}
			s.untouched()
		},
		"a message that is larger than any may be": func(t *testing.T) {
			s := newStand(t, allowAll, func(o *Options) { o.Limits.MessageBytes = 1 << 20; o.Limits.ResponseBytesPerContainer = 1 << 20 })
			wantCode(t, s.frames("a", services+"Exec", make([]byte, 1<<20+1)), codes.ResourceExhausted)
			s.untouched()
		},
		"a message that claims to be larger than it is": func(t *testing.T) {
			s := newStand(t, ownOnly)
			r := s.raw()
			r.begin(services + "Exec")
			r.data(message(0, 1<<31, field(1, inA)), true)
			if got := r.answer(); got != "grpc 8" {
				t.Error(got)
			}
			s.untouched()
		},
		"a message that ends early": func(t *testing.T) {
			s := newStand(t, ownOnly)
			r := s.raw()
			r.begin(services + "Exec")
			r.data(message(0, 500, field(1, inA)), true)
			if got := r.answer(); got != "grpc 13" {
				t.Error(got)
			}
			s.untouched()
		},
		"a content type that is not gRPC": func(t *testing.T) {
			s := newStand(t, ownOnly)
			r := s.raw()
			r.begin(services+"Exec", "content-type", "application/json")
			if got := r.answer(); got != "grpc 3" {
				t.Error(got)
			}
			s.untouched()
		},
		"JSON in place of protocol buffers": func(t *testing.T) {
			s := newStand(t, ownOnly)
			r := s.raw()
			r.begin(services+"Exec", "content-type", "application/grpc+json")
			body := []byte(fmt.Sprintf(`{"container_id":%q}`, inA))
			r.data(message(0, len(body), body), true)
			if got := r.answer(); got != "grpc 3" {
				t.Error(got)
			}
			s.untouched()
		},

		"a process in no container": func(t *testing.T) {
			s := newStand(t, ownOnly)
			wantCode(t, s.exec("host", inB), codes.PermissionDenied)
			_, err := s.client("host").ListContainers(t.Context(), &runtimeapi.ListContainersRequest{})
			wantCode(t, err, codes.PermissionDenied)
			s.untouched()
		},
		"a caller that has ended, before a more generous rule": func(t *testing.T) {
			s := newStand(t, generous)
			wantCode(t, s.exec("gone", inB), codes.Unavailable)
			s.untouched()
		},
		"a container that the runtime does not know, before a more generous rule": func(t *testing.T) {
			s := newStand(t, generous)
			wantCode(t, s.exec("other", inB), codes.Unavailable)
			s.untouched()
		},
		"a control group within one's own that is named after a victim": func(t *testing.T) {
			s := newStand(t, ownOnly)
			wantCode(t, s.exec("nested", inB), codes.PermissionDenied)
			wantCode(t, s.exec("nested", inA), codes.OK)
		},
		"a caller in another PID namespace": func(t *testing.T) {
			s := newStand(t, generous)
			if err := s.Ready(); err != nil {
				t.Fatal(err)
			}
			wantCode(t, s.exec("foreign", inB), codes.Unavailable)
			if !errors.Is(s.Ready(), caller.ErrForeign) {
				t.Error("it is ready")
			}
		},

		"a runtime that goes away in the middle of a judgement": func(t *testing.T) {
			s := newStand(t, generous)
			s.runtime.lists = sync.OnceFunc(func() { go s.started.Stop() })
			wait := make(chan struct{})
			t.Cleanup(func() { close(wait) })
			stop := s.runtime.lists
			s.runtime.lists = func() { stop(); <-wait }
			err := s.exec("a", inB)
			wantCode(t, err, codes.Unavailable)
			// A call that is passed on is answered alike.
			if got := status.Convert(err).Message(); !strings.Contains(got, "cannot be judged") {
				t.Errorf("it was passed on: %s", got)
			}
		},
		"a runtime that does not answer questions": func(t *testing.T) {
			s := newStand(t, generous, func(o *Options) { o.Limits.Lookup = 50 * time.Millisecond })
			wait := make(chan struct{})
			t.Cleanup(func() { close(wait) })
			s.runtime.lists = func() { <-wait }
			wantCode(t, s.exec("a", inB), codes.Unavailable)
			if n := s.runtime.called("Exec"); n > 0 {
				t.Errorf("%d calls", n)
			}
		},
		"a stream that was opened under older rules": func(t *testing.T) {
			s := newStand(t, allowAll)
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			stream, err := s.client("a").GetContainerEvents(ctx, &runtimeapi.GetEventsRequest{})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := stream.Header(); err != nil {
				t.Fatal(err)
			}
			s.Use(mustParse(t, ownOnly))
			_, err = stream.Recv()
			wantCode(t, err, codes.Unavailable)
		},

		"events that are never read": func(t *testing.T) {
			queue := newEventQueue(t)
			s := runtimeOf(t, queue.listen, func(o *Options) { o.Limits.Unread = 200 * time.Millisecond })
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			listen := func(as string) grpc.ClientStream {
				stream, err := s.dial(as).NewStream(ctx, downstream, services+"GetContainerEvents", grpc.ForceCodecV2(codec{}))
				if err == nil {
					err = errors.Join(stream.SendMsg(framed(nil)), stream.CloseSend())
				}
				if err != nil {
					t.Fatal(err)
				}
				return stream
			}
			unread, kubelet := listen("a"), listen("host")
			s.eventually("both listen", func() bool { return queue.listening() == 2 })
			go queue.send()
			for range 200 {
				event := &frame{}
				if err := kubelet.RecvMsg(event); err != nil {
					t.Fatal(err)
				}
				event.free()
			}
			s.eventually("one listens", func() bool { return queue.listening() == 1 })
			var err error
			for err == nil {
				err = unread.RecvMsg(&frame{})
			}
			wantCode(t, err, codes.ResourceExhausted)
		},
		"more calls than a container has": func(t *testing.T) {
			s := newStand(t, ownOnly, func(o *Options) { o.Limits.CallsPerContainer = 2 })
			for range 2 {
				stream, err := s.client("a").GetContainerEvents(t.Context(), &runtimeapi.GetEventsRequest{})
				if err != nil {
					t.Fatal(err)
				}
				if _, err := stream.Header(); err != nil {
					t.Fatal(err)
				}
			}
			ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
			defer cancel()
			_, err := s.client("a").Version(ctx, &runtimeapi.VersionRequest{})
			wantCode(t, err, codes.DeadlineExceeded)
			wantCode(t, s.exec("b", inB), codes.OK)
		},
		"more connections than a container has": func(t *testing.T) {
			s := newStand(t, ownOnly, func(o *Options) { o.Limits.ConnectionsPerContainer = 2 })
			for range 2 {
				if err := s.exec("a", inA); err != nil {
					t.Fatal(err)
				}
			}
			wantCode(t, s.exec("a", inA), codes.Unavailable)
			wantCode(t, s.exec("b", inB), codes.OK)
		},
		"connections that leave none to the kubelet": func(t *testing.T) {
			s := newStand(t, allowAll, func(o *Options) { o.Limits.Connections = 8; o.Limits.ConnectionsPerContainer = 100 })
			connected := 0
			for range 8 {
				if s.exec("a", inA) == nil {
					connected++
				}
			}
			if connected != 6 {
				t.Errorf("%d connections", connected)
			}
			wantCode(t, s.exec("host", inA), codes.OK)
		},
		"a connection that says nothing": func(t *testing.T) {
			s := newStand(t, ownOnly, func(o *Options) { o.preface = time.Second })
			conn, err := net.Dial("unix", filepath.Join(s.folder, "a.sock")) //nolint:noctx // it does not wait
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = conn.Close() }()
			wantCode(t, s.exec("a", inA), codes.OK)
			if err := conn.SetReadDeadline(time.Now().Add(5 * time.Second)); err != nil {
				t.Fatal(err)
			}
			if _, err := io.Copy(io.Discard, conn); errors.Is(err, os.ErrDeadlineExceeded) {
				t.Error("it is still open")
			}
		},
		"requests that are never finished": func(t *testing.T) {
			s := newStand(t, ownOnly)
			for range DefaultLimits.RequestsPerContainer + 1 {
				r := s.raw()
				r.begin(services + "Exec")
				r.data(message(0, 1<<20, field(1, inA)), false)
			}
			s.eventually("they are being read", func() bool {
				requests := s.share(inA).requests
				if requests.TryAcquire(1) {
					requests.Release(1)
					return false
				}
				return true
			})
			wantCode(t, s.exec("b", inB), codes.OK)
			ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
			defer cancel()
			_, err := s.client("a").Exec(ctx, &runtimeapi.ExecRequest{ContainerId: inA})
			wantCode(t, err, codes.DeadlineExceeded)
		},
		"responses that are never read": func(t *testing.T) {
			s := newStand(t, allowAll, func(o *Options) { o.Limits.MessageBytes = 1 << 10; o.Limits.ResponseBytesPerContainer = 1 << 10 })
			r := s.raw()
			if err := r.framer.WriteSettings(); err != nil {
				t.Fatal(err)
			}
			share := func() *share {
				s.shares.mu.Lock()
				defer s.shares.mu.Unlock()
				return s.shares.byKey[inB]
			}
			b := s.dial("b")
			if err := b.Invoke(t.Context(), services+"Version", &runtimeapi.VersionRequest{}, &runtimeapi.VersionResponse{}); err != nil {
				t.Fatal(err)
			}
			if !share().responses.TryAcquire(1 << 10) {
				t.Fatal("something is held")
			}
			_, err := runtimeapi.NewRuntimeServiceClient(b).Version(t.Context(), &runtimeapi.VersionRequest{})
			wantCode(t, err, codes.ResourceExhausted)
			_, err = s.client("a").Version(t.Context(), &runtimeapi.VersionRequest{})
			wantCode(t, err, codes.OK)
		},
		"requests of many containers that are never finished": func(t *testing.T) {
			s := newStand(t, allowAll, func(o *Options) { o.Limits.MemoryBytes = 2 * o.Limits.MessageBytes })
			for range 2 {
				r := s.raw()
				r.begin(services + "Exec")
				r.data(message(0, 1<<20, field(1, inA)), false)
			}
			s.eventually("they are being read", func() bool {
				if s.shares.memory.TryAcquire(1) {
					s.shares.memory.Release(1)
					return false
				}
				return true
			})
			ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
			defer cancel()
			_, err := s.client("b").Exec(ctx, &runtimeapi.ExecRequest{ContainerId: inB})
			wantCode(t, err, codes.DeadlineExceeded)
			wantCode(t, s.exec("host", inB), codes.OK)
		},
		"calls that are reset at once": func(t *testing.T) {
			s := newStand(t, ownOnly)
			r := s.raw()
			for range 2000 {
				r.begin(services + "Exec")
				if err := r.framer.WriteRSTStream(r.stream, http2.ErrCodeCancel); err != nil {
					break
				}
			}
			wantCode(t, s.exec("b", inB), codes.OK)
			s.once("Exec")
		},
		"a namespace of containerd in the headers": func(t *testing.T) {
			s := newStand(t, ownOnly)
			ctx := metadata.AppendToOutgoingContext(t.Context(), "containerd-namespace", "moby", "containerd-lease", "l", "traceparent", "kept")
			if _, err := s.client("a").Exec(ctx, &runtimeapi.ExecRequest{ContainerId: inA}); err != nil {
				t.Fatal(err)
			}
			s.runtime.mu.Lock()
			defer s.runtime.mu.Unlock()
			for _, name := range []string{"containerd-namespace", "containerd-lease"} {
				if got := s.runtime.metadata.Get(name); got != nil {
					t.Errorf("%s is %v", name, got)
				}
			}
			if got := s.runtime.metadata.Get("traceparent"); len(got) != 1 {
				t.Errorf("traceparent is %v", got)
			}
		},
		"two paths in one call": func(t *testing.T) {
			oddHeaders(t, ":method", "POST", ":path", services+"Version", ":path", services+"Exec")
		},
		"a call by another verb":     func(t *testing.T) { oddHeaders(t, ":method", "GET", ":path", services+"Exec") },
		"a path after other headers": func(t *testing.T) { oddHeaders(t, ":method", "POST", "te", "trailers", ":path", services+"Exec") },
		"a message before its headers": func(t *testing.T) {
			s := newStand(t, allowAll)
			r := s.raw()
			r.stream = 1
			r.data(message(0, 66, field(1, inB)), true)
			r.begin(services + "Version")
			r.data(message(0, 0, nil), true)
			if got := r.answer(); got != "grpc 0" {
				t.Error(got)
			}
			s.once("Version")
			if n := s.runtime.called("Exec"); n > 0 {
				t.Errorf("%d calls", n)
			}
		},
		"a second set of headers": func(t *testing.T) {
			s := newStand(t, ownOnly)
			r := s.raw()
			r.begin(services + "Version")
			r.stream -= 2
			r.begin(services + "Exec")
			r.data(message(0, 66, field(1, inB)), true)
			// The connection is closed for it. The call that the first set began may have
			// come to its end by then: it is judged, and made, as what it began as.
			r.answer()
			if n := s.runtime.called("Exec"); n > 0 {
				t.Errorf("%d calls", n)
			}
			wantCode(t, s.exec("b", inB), codes.OK)
			s.once("Exec")
		},
		"questions that leave none to others": func(t *testing.T) {
			s := newStand(t, ownOnly, func(o *Options) { o.Limits.LookupsPerContainer = 1; o.Limits.Lookup = time.Second })
			client := s.client("a")
			if _, err := client.Exec(t.Context(), &runtimeapi.ExecRequest{ContainerId: inA}); err != nil {
				t.Fatal(err)
			}
			s.shares.mu.Lock()
			share := s.shares.byKey[inA]
			s.shares.mu.Unlock()
			if !share.lookups.TryAcquire(1) {
				t.Fatal("a question is being asked")
			}
			_, err := client.Exec(t.Context(), &runtimeapi.ExecRequest{ContainerId: inB})
			wantCode(t, err, codes.Unavailable)
			wantCode(t, s.exec("b", inB), codes.OK)
		},
		"headers that are larger than any may be": func(t *testing.T) {
			s := newStand(t, allowAll)
			conn := s.dial("a")
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			err := conn.Invoke(ctx, services+strings.Repeat("E", 100<<10), &runtimeapi.VersionRequest{}, &runtimeapi.VersionResponse{})
			// Who is asked to do such a thing says Unimplemented.
			if code := status.Code(err); code == codes.OK || code == codes.Unimplemented {
				t.Errorf("it was answered: %v", err)
			}
			s.untouched()
		},
	} {
		t.Run(name, try)
	}
}

// share returns what a container has of the socket.
func (s *stand) share(container string) *share {
	s.t.Helper()
	s.eventually("it has connected", func() bool {
		s.shares.mu.Lock()
		defer s.shares.mu.Unlock()
		return s.shares.byKey[container] != nil
	})
	s.shares.mu.Lock()
	defer s.shares.mu.Unlock()
	return s.shares.byKey[container]
}

// eventually waits until a condition holds.
func (s *stand) eventually(what string, holds func() bool) {
	s.t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for !holds() {
		if time.Now().After(deadline) {
			s.t.Fatalf("not in time: %s", what)
		}
		time.Sleep(time.Millisecond) //nolint:forbidigo // a poll with a deadline
	}
}

// neverForwarded fails if what the API does not have reaches the runtime, where all is
// allowed.
func neverForwarded(t *testing.T, path string) {
	t.Helper()
	s := newStand(t, allowAll)
	wantCode(t, s.frames("a", path, field(1, inB)), codes.Unimplemented)
	s.untouched()
}

// oddPath fails if a path is taken for another.
func oddPath(t *testing.T, path string) {
	t.Helper()
	s := newStand(t, allowAll)
	r := s.raw()
	r.begin(path)
	r.data(message(0, 0, nil), true)
	if got := r.answer(); got == "grpc 0" {
		t.Error("it was answered")
	}
	s.untouched()
}

// oddHeaders fails if what no client of HTTP/2 sends is taken for a call.
func oddHeaders(t *testing.T, headers ...string) {
	t.Helper()
	s := newStand(t, allowAll)
	r := s.raw()
	r.buffer.Reset()
	for i := 0; i < len(headers); i += 2 {
		if err := r.headers.WriteField(hpack.HeaderField{Name: headers[i], Value: headers[i+1]}); err != nil {
			t.Fatal(err)
		}
	}
	for name, value := range map[string]string{":scheme": "http", ":authority": "localhost", "content-type": "application/grpc"} {
		if err := r.headers.WriteField(hpack.HeaderField{Name: name, Value: value}); err != nil {
			t.Fatal(err)
		}
	}
	r.stream = 1
	if err := r.framer.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: r.buffer.Bytes(), EndHeaders: true}); err != nil {
		t.Fatal(err)
	}
	r.data(message(0, 0, nil), true)
	if got := r.answer(); got == "grpc 0" {
		t.Error("it was answered")
	}
	s.untouched()
}

// once fails if the runtime was called otherwise than once.
func (s *stand) once(method string) {
	s.t.Helper()
	if n := s.runtime.called(method); n != 1 {
		s.t.Errorf("the runtime was called %d times", n)
	}
}

// compressed is refused: nothing that we could not read is taken for anything.
func compressed(t *testing.T) {
	s := newStand(t, ownOnly)
	var body bytes.Buffer
	w := gzip.NewWriter(&body)
	if _, err := w.Write(field(1, inB)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	r := s.raw()
	r.begin(services+"Exec", "grpc-encoding", "gzip")
	r.data(message(1, body.Len(), body.Bytes()), true)
	if got := r.answer(); got != "grpc 12" {
		t.Error(got)
	}
	s.untouched()
}
