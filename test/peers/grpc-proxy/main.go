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

// Command grpc-proxy passes all calls on from one socket to another, by a published proxy
// and its raw codec. Benchmarks measure beside it.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"runtime"
	"time"

	"github.com/siderolabs/grpc-proxy/proxy"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
)

func main() {
	if len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr, "usage: grpc-proxy SOCKET RUNTIME ADDRESS")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2], os.Args[3]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run serves at a socket, and tells how much it has allocated at an address.
func run(socket, upstream, address string) error {
	conn, err := grpc.NewClient("unix://"+upstream, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.ForceCodecV2(proxy.Codec()), grpc.MaxCallRecvMsgSize(maxMessage)))
	if err != nil {
		return err
	}
	backend := &proxy.SingleBackend{GetConn: func(ctx context.Context) (context.Context, *grpc.ClientConn, error) {
		sent, _ := metadata.FromIncomingContext(ctx)
		return metadata.NewOutgoingContext(ctx, sent.Copy()), conn, nil
	}}
	director := func(context.Context, string) (proxy.Mode, []proxy.Backend, error) {
		return proxy.One2One, []proxy.Backend{backend}, nil
	}
	listener, err := net.Listen("unix", socket) //nolint:noctx // it does not wait
	if err != nil {
		return err
	}
	http.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		var memory runtime.MemStats
		runtime.ReadMemStats(&memory)
		_ = json.NewEncoder(w).Encode(map[string]uint64{"mallocs": memory.Mallocs})
	})
	server := &http.Server{Addr: address, ReadHeaderTimeout: time.Minute}
	go func() { _ = server.ListenAndServe() }()
	return grpc.NewServer(grpc.ForceServerCodecV2(proxy.Codec()), grpc.MaxRecvMsgSize(maxMessage),
		grpc.UnknownServiceHandler(proxy.TransparentHandler(director))).Serve(listener)
}

// maxMessage is how large a message may be: 16 MiB, as for containerd and kubelets.
const maxMessage = 16 << 20
