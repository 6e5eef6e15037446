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

// Package proxy passes calls on to a container runtime, as far as rules let it. It looks
// into messages where the rules ask for something that is in them, and nowhere else.
package proxy

import (
	"cmp"
	"context"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials/insecure"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"kausality.io/operator/internal/cri/audit"
	"kausality.io/operator/internal/cri/caller"
	"kausality.io/operator/internal/cri/lookup"
	"kausality.io/operator/internal/runtimerules"
)

const (
	// headerBytes is how large the headers of a call may be.
	headerBytes = 64 << 10
	// windowBytes is how much of a call a client may send before it is read.
	windowBytes = 64 << 10
	// connectionWindowBytes is how much of all calls of a connection together.
	connectionWindowBytes = 1 << 20
	// prefaceTimeout is how long a client may take until it speaks HTTP/2.
	prefaceTimeout = 10 * time.Second
	// reconnect is how often at most a runtime that is away is tried again.
	reconnect = time.Second
)

// Options configure a Server.
type Options struct {
	// Endpoint is the name of the socket in audit lines and metrics.
	Endpoint string
	// Runtime is the path of the runtime's socket.
	Runtime string
	// Rules are in effect until others are set.
	Rules *runtimerules.Rules
	// Limits are its limits.
	Limits Limits
	// Audit has the lines.
	Audit *audit.Log
	// AuditAll has a line for each call, and not only for those that are refused or may
	// change something.
	AuditAll bool
	// Metrics are shared by all sockets.
	Metrics *Metrics

	// preface is prefaceTimeout, where a test sets no other.
	preface time.Duration
}

// Server answers the calls that come by one socket.
type Server struct {
	options  Options
	server   *grpc.Server
	upstream *grpc.ClientConn
	runtime  *lookup.Runtime
	shares   *shares
	metrics  *socketMetrics
	streams  streams
	rules    atomic.Pointer[runtimerules.Rules]
	// foreign is set when a caller was in another PID namespace than ours.
	foreign atomic.Bool
	// stories are audit lines that are to be written; written is closed when all are.
	stories chan story
	written chan struct{}
	stop    sync.Once
	// identify says who opened a connection.
	identify func(*net.UnixConn) caller.Peer
}

// New makes a server that listens nowhere yet, and connects when it is needed.
func New(options Options) (*Server, error) {
	upstream, err := grpc.NewClient("unix://"+options.Runtime,
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDisableRetry(),
		grpc.WithDisableServiceConfig(),
		grpc.WithIdleTimeout(0),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(options.Limits.MessageBytes)),
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff:           backoff.Config{BaseDelay: reconnect / 10, Multiplier: 2, Jitter: 0.2, MaxDelay: reconnect},
			MinConnectTimeout: reconnect,
		}),
	)
	if err != nil {
		return nil, err
	}
	var paths []string
	for _, method := range runtimerules.Methods() {
		paths = append(paths, method.Path)
	}
	s := &Server{
		options:  options,
		identify: caller.Of,
		upstream: upstream,
		shares:   newShares(options.Limits),
		metrics:  options.Metrics.socket(options.Endpoint, paths),
		stories:  make(chan story, maxStories),
		written:  make(chan struct{}),
	}
	s.runtime = lookup.New(runtimeapi.NewRuntimeServiceClient(upstream), options.Limits.Lookup, s.metrics.lookups.Inc)
	s.rules.Store(options.Rules)
	s.server = grpc.NewServer(
		grpc.Creds(handshake{server: s}),
		grpc.ForceServerCodecV2(codec{}),
		grpc.UnknownServiceHandler(s.handle),
		grpc.MaxRecvMsgSize(options.Limits.MessageBytes),
		grpc.MaxConcurrentStreams(uint32(options.Limits.CallsPerConnection)), //nolint:gosec // a flag of a few digits
		grpc.MaxHeaderListSize(headerBytes),
		grpc.InitialWindowSize(windowBytes),
		grpc.InitialConnWindowSize(connectionWindowBytes),
		grpc.ConnectionTimeout(cmp.Or(options.preface, prefaceTimeout)),
		grpc.WaitForHandlers(true),
	)
	go s.write()
	return s, nil
}

// Serve answers until the server is stopped.
func (s *Server) Serve(listener net.Listener) error { return s.server.Serve(listener) }

// Stop ends all calls, and returns when what there is to tell of them has been told.
func (s *Server) Stop() {
	s.stop.Do(func() {
		s.server.Stop()
		close(s.stories)
		<-s.written
		_ = s.upstream.Close()
	})
}

// Use makes rules count for all calls from now on. Streams that they would judge
// otherwise than those by which they were opened are ended; others stay, as kubelets give
// up on event streams that end.
func (s *Server) Use(rules *runtimerules.Rules) {
	s.rules.Store(rules)
	s.metrics.endedStreams.Add(float64(s.streams.keep(rules)))
}

// Ready says why calls cannot be judged; nil if they can. A runtime that is away is not
// our illness.
func (s *Server) Ready() error {
	if s.foreign.Load() {
		return errForeign
	}
	return nil
}

// Runtime reports whether the runtime answers.
func (s *Server) Runtime(ctx context.Context) error {
	_, err := runtimeapi.NewRuntimeServiceClient(s.upstream).Version(ctx, &runtimeapi.VersionRequest{})
	return err
}
