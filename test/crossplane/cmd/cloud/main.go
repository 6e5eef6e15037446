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

// Command cloud runs the cloud of the tests.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"kausality.io/operator/test/crossplane/cloud"
)

// headerTimeout bounds how long somebody may take to say what they want.
const headerTimeout = 5 * time.Second

func main() {
	address := flag.String("address", "127.0.0.1:8090", "where to serve")
	log := flag.String("log", "cloud-calls.log", "file to append to what was asked for, and what came of it")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := serve(ctx, *address, *log)
	stop()
	if err != nil {
		_, _ = fmt.Fprintln(os.Stderr, "cloud:", err)
		os.Exit(1)
	}
}

// serve serves until ctx is done.
func serve(ctx context.Context, address, log string) (err error) {
	file, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	server := &http.Server{Addr: address, Handler: cloud.NewServer(file).Handler(), ReadHeaderTimeout: headerTimeout}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stop()
	if err := server.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
