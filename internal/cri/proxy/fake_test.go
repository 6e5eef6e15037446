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
	"errors"
	"io"
	"maps"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"kausality.io/operator/internal/cri/audit"
	"kausality.io/operator/internal/cri/caller"
	"kausality.io/operator/internal/runtimerules"
)

const (
	services = "/runtime.v1.RuntimeService/"
	images   = "/runtime.v1.ImageService/"
)

// The Pods of the fake runtime, each with a container.
var (
	podA, podB = strings.Repeat("a", 64), strings.Repeat("b", 64)
	inA, inB   = strings.Repeat("1a", 32), strings.Repeat("2b", 32)
)

// fake is a container runtime that runs nothing.
type fake struct {
	runtimeapi.UnimplementedRuntimeServiceServer
	runtimeapi.UnimplementedImageServiceServer

	mu         sync.Mutex
	containers map[string]string // by id, the Pod sandbox
	calls      []string
	metadata   metadata.MD
	// lists is called when containers are listed.
	lists func()
	// events are sent to who asks for them.
	events chan *runtimeapi.ContainerEventResponse
	// during is called while a container is executed in.
	during func(context.Context) error
	execs  []string
}

func newFake() *fake {
	return &fake{
		containers: map[string]string{inA: podA, inB: podB},
		events:     make(chan *runtimeapi.ContainerEventResponse, 16),
	}
}

// note keeps what was called.
func (f *fake) note(ctx context.Context, method string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls = append(f.calls, method)
	if method != "ListContainers" && method != "ListPodSandbox" {
		f.metadata, _ = metadata.FromIncomingContext(ctx)
	}
}

// called returns how often a method was.
func (f *fake) called(method string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := 0
	for _, call := range f.calls {
		if call == method {
			n++
		}
	}
	return n
}

func (f *fake) remove(id string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.containers, id)
}

func (f *fake) Version(ctx context.Context, _ *runtimeapi.VersionRequest) (*runtimeapi.VersionResponse, error) {
	f.note(ctx, "Version")
	return &runtimeapi.VersionResponse{RuntimeName: "fake"}, nil
}

func (f *fake) ListContainers(ctx context.Context, request *runtimeapi.ListContainersRequest) (*runtimeapi.ListContainersResponse, error) {
	f.note(ctx, "ListContainers")
	if f.lists != nil {
		f.lists()
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	out := &runtimeapi.ListContainersResponse{}
	for _, id := range slices.Sorted(maps.Keys(f.containers)) {
		pod := f.containers[id]
		filter := request.GetFilter()
		// As containerd does: a short id is completed, and an empty one is none.
		if strings.HasPrefix(id, filter.GetId()) && (filter.GetPodSandboxId() == "" || filter.GetPodSandboxId() == pod) {
			out.Containers = append(out.Containers, &runtimeapi.Container{Id: id, PodSandboxId: pod})
		}
	}
	return out, nil
}

func (f *fake) ListPodSandbox(ctx context.Context, request *runtimeapi.ListPodSandboxRequest) (*runtimeapi.ListPodSandboxResponse, error) {
	f.note(ctx, "ListPodSandbox")
	out := &runtimeapi.ListPodSandboxResponse{}
	for _, pod := range []string{podA, podB} {
		if strings.HasPrefix(pod, request.GetFilter().GetId()) {
			out.Items = append(out.Items, &runtimeapi.PodSandbox{Id: pod, Metadata: &runtimeapi.PodSandboxMetadata{
				Name: "pod-" + pod[:1], Namespace: "default", Uid: "uid-" + pod[:1],
			}})
		}
	}
	return out, nil
}

func (f *fake) Exec(ctx context.Context, request *runtimeapi.ExecRequest) (*runtimeapi.ExecResponse, error) {
	f.note(ctx, "Exec")
	f.mu.Lock()
	f.execs = append(f.execs, request.GetContainerId())
	f.mu.Unlock()
	if f.during != nil {
		if err := f.during(ctx); err != nil {
			return nil, err
		}
	}
	return &runtimeapi.ExecResponse{Url: "http://127.0.0.1:1/exec/token"}, nil
}

func (f *fake) StopContainer(ctx context.Context, request *runtimeapi.StopContainerRequest) (*runtimeapi.StopContainerResponse, error) {
	f.note(ctx, "StopContainer")
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, found := f.containers[request.GetContainerId()]; !found {
		return nil, status.Error(codes.NotFound, "no such container")
	}
	return &runtimeapi.StopContainerResponse{}, nil
}

func (f *fake) ListContainerStats(ctx context.Context, _ *runtimeapi.ListContainerStatsRequest) (*runtimeapi.ListContainerStatsResponse, error) {
	f.note(ctx, "ListContainerStats")
	out := &runtimeapi.ListContainerStatsResponse{}
	for _, id := range []string{inA, inB} {
		out.Stats = append(out.Stats, &runtimeapi.ContainerStats{Attributes: &runtimeapi.ContainerAttributes{Id: id}})
	}
	return out, nil
}

func (f *fake) GetContainerEvents(_ *runtimeapi.GetEventsRequest, stream grpc.ServerStreamingServer[runtimeapi.ContainerEventResponse]) error {
	f.note(stream.Context(), "GetContainerEvents")
	if err := stream.SendHeader(metadata.Pairs("began", "now")); err != nil {
		return err
	}
	for {
		select {
		case event, open := <-f.events:
			if !open {
				stream.SetTrailer(metadata.Pairs("ended", "now"))
				return nil
			}
			if err := stream.Send(event); err != nil {
				return err
			}
		case <-stream.Context().Done():
			return stream.Context().Err()
		}
	}
}

// lines keeps audit lines.
type lines struct {
	mu  sync.Mutex
	all strings.Builder
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all.String()
}

// stand is a proxy before a fake runtime. Who connects is told by the socket.
type stand struct {
	*Server
	t       testing.TB
	folder  string
	runtime *fake
	started *grpc.Server
	audit   *lines
	metrics *prometheus.Registry
	// conns are the connections on which frames are sent.
	conns map[string]*grpc.ClientConn
}

// peers returns who connects by which socket.
func peers() map[string]caller.Peer {
	return map[string]caller.Peer{
		"a":       {PID: 1, Containers: []string{inA}},
		"b":       {PID: 2, Containers: []string{inB}},
		"host":    {PID: 3},
		"gone":    {PID: 4, Err: caller.ErrGone},
		"nested":  {PID: 5, Containers: []string{inA, inB}},
		"other":   {PID: 6, Containers: []string{strings.Repeat("3c", 32)}},
		"foreign": {Err: caller.ErrForeign},
		"inner":   {PID: 7, Containers: []string{strings.Repeat("3c", 32), inA}},
	}
}

func mustParse(tb testing.TB, text string) *runtimerules.Rules {
	tb.Helper()
	rules, err := runtimerules.Parse("rules.yaml", []byte(text))
	if err != nil {
		tb.Fatal(err)
	}
	return rules
}

// newStand starts both.
func newStand(tb testing.TB, rules string, change ...func(*Options)) *stand {
	tb.Helper()
	s := &stand{t: tb, folder: tb.TempDir(), runtime: newFake(), audit: &lines{}, metrics: prometheus.NewPedanticRegistry(), conns: map[string]*grpc.ClientConn{}}
	s.startRuntime()
	options := Options{
		Endpoint: "test", Runtime: filepath.Join(s.folder, "runtime.sock"), Rules: mustParse(tb, rules),
		Limits: DefaultLimits, Audit: audit.New(s.audit), Metrics: NewMetrics(s.metrics),
	}
	for _, c := range change {
		c(&options)
	}
	var err error
	if s.Server, err = New(options); err != nil {
		tb.Fatal(err)
	}
	s.identify = func(conn *net.UnixConn) caller.Peer {
		return peers()[strings.TrimSuffix(filepath.Base(conn.LocalAddr().String()), ".sock")]
	}
	tb.Cleanup(s.Stop)
	for name := range peers() {
		listener := s.listen(name + ".sock")
		go func() { _ = s.Serve(listener) }()
	}
	return s
}

func (s *stand) listen(name string) net.Listener {
	s.t.Helper()
	listener, err := net.Listen("unix", filepath.Join(s.folder, name)) //nolint:noctx // it does not wait
	if err != nil {
		s.t.Fatal(err)
	}
	return listener
}

func (s *stand) startRuntime() {
	s.t.Helper()
	// As containerd, it serves more than the API; what it does not know it has seen, too.
	server := grpc.NewServer(grpc.UnknownServiceHandler(func(_ any, stream grpc.ServerStream) error {
		path, _ := grpc.MethodFromServerStream(stream)
		s.runtime.note(stream.Context(), path)
		return status.Error(codes.Unimplemented, "no such method")
	}))
	runtimeapi.RegisterRuntimeServiceServer(server, s.runtime)
	runtimeapi.RegisterImageServiceServer(server, s.runtime)
	listener := s.listen("runtime.sock")
	go func() { _ = server.Serve(listener) }()
	s.started = server
	s.t.Cleanup(server.Stop)
}

// dial connects as one of the peers.
func (s *stand) dial(as string) *grpc.ClientConn {
	s.t.Helper()
	conn, err := grpc.NewClient("unix://"+filepath.Join(s.folder, as+".sock"),
		grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = conn.Close() })
	return conn
}

func (s *stand) client(as string) runtimeapi.RuntimeServiceClient {
	return runtimeapi.NewRuntimeServiceClient(s.dial(as))
}

// frames sends messages as they are.
func (s *stand) frames(as, path string, messages ...[]byte) error {
	s.t.Helper()
	if s.conns[as] == nil {
		s.conns[as] = s.dial(as)
	}
	stream, err := s.conns[as].NewStream(s.t.Context(), downstream, path, grpc.ForceCodecV2(codec{}))
	if err != nil {
		return err
	}
	for _, message := range messages {
		if err := stream.SendMsg(framed(message)); err != nil {
			break
		}
	}
	if err := stream.CloseSend(); err != nil {
		return err
	}
	for {
		if err := stream.RecvMsg(&frame{}); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
	}
}
