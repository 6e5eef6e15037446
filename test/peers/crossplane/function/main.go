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

// Command function is a composition function for tests: it composes what its input
// spells out, copies fields of the composite resource into it, and nothing else. It
// serves Crossplane over mutual TLS on the loopback interface.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/certificates"
	fnv1 "github.com/crossplane/crossplane/v2/proto/fn/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
)

// headerTimeout bounds how long somebody may take to ask whether the function is
// ready.
const headerTimeout = 5 * time.Second

// options say where to serve, and as whom.
type options struct {
	address, health string
	ca, cert, key   string
	// also is a field that is set in each managed resource, and its value.
	also string
}

func main() {
	var o options
	flag.StringVar(&o.address, "address", "127.0.0.1:9443", "where to serve Crossplane")
	flag.StringVar(&o.health, "health-address", "127.0.0.1:8081", "where to tell that the function is ready")
	flag.StringVar(&o.ca, "client-ca-file", "", "certificate of the authority that Crossplane has its certificate from")
	flag.StringVar(&o.cert, "cert-file", "", "certificate to serve with")
	flag.StringVar(&o.key, "key-file", "", "key of that certificate")
	flag.StringVar(&o.also, "also", "", "what to set in each managed resource beside what the input says, such as spec.forProvider.engine=mysql")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := o.serve(ctx)
	stop()
	if err != nil {
		_, _ = fmt.Fprintln(os.Stderr, "function:", err)
		os.Exit(1)
	}
}

// serve answers until ctx is done.
func (o options) serve(ctx context.Context) error {
	config, err := certificates.LoadMTLSConfig(o.ca, o.cert, o.key, true)
	if err != nil {
		return err
	}
	var listen net.ListenConfig
	functions, err := listen.Listen(ctx, "tcp", o.address)
	if err != nil {
		return err
	}
	health, err := listen.Listen(ctx, "tcp", o.health)
	if err != nil {
		return errors.Join(err, functions.Close())
	}
	path, value, _ := strings.Cut(o.also, "=")
	server := grpc.NewServer(grpc.Creds(credentials.NewTLS(config)))
	fnv1.RegisterFunctionRunnerServiceServer(server, composer{also: also{path, value}})
	ready := &http.Server{ReadHeaderTimeout: headerTimeout, Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})}

	ended := make(chan error, 2)
	go func() { ended <- server.Serve(functions) }()
	go func() { ended <- ready.Serve(health) }()
	select {
	case err = <-ended:
	case <-ctx.Done():
	}
	server.Stop()
	return errors.Join(err, ready.Close())
}
