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
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"gomodules.xyz/jsonpatch/v2"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

// The paths of the bare webhooks.
const (
	barePath       = "/bare"
	bareMutatePath = "/bare/mutate"
	// patchPath sets the text of the annotation that the mutating one writes: a ledger.
	patchPath = "/patch"
)

// bareAnnotation is what the bare mutating webhook writes.
const bareAnnotation = "bench.example.org/bare"

// serveBare returns the program with the arguments "bare ADDRESS CERTIFICATE KEY": a pair of
// webhooks that say yes at once, built with the same library as the operator's.
func serveBare() error {
	address, certificate, key := flag.Arg(1), flag.Arg(2), flag.Arg(3)
	var value atomic.Value
	var requests atomic.Int64
	value.Store("")
	mux := http.NewServeMux()
	mux.Handle(barePath, &admission.Webhook{Handler: admission.HandlerFunc(func(context.Context, admission.Request) admission.Response {
		return admission.Allowed("")
	})})
	mux.Handle(bareMutatePath, &admission.Webhook{Handler: admission.HandlerFunc(func(context.Context, admission.Request) admission.Response {
		text, _ := value.Load().(string)
		if text == "" {
			return admission.Allowed("")
		}
		// No ledger is ever the same again.
		number := fmt.Sprintf("%06d", requests.Add(1)%1_000_000)
		text = text[:len(text)-len(number)] + number
		return admission.Patched("", jsonpatch.NewOperation("add", "/metadata/annotations/"+strings.ReplaceAll(bareAnnotation, "/", "~1"), text))
	})})
	mux.HandleFunc(patchPath, func(_ http.ResponseWriter, r *http.Request) {
		if text, err := io.ReadAll(r.Body); err == nil {
			value.Store(string(text))
		}
	})
	mux.HandleFunc("/readyz", func(http.ResponseWriter, *http.Request) {})
	listener, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", address)
	if err != nil {
		return err
	}
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	return server.ServeTLS(listener, certificate, key)
}
