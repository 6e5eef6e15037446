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

// Command load measures what Kausality adds to requests to a real API server: the same
// requests are made, block by block in turn, where nobody is asked, where a bare pair
// of webhooks is asked that says yes at once, and where Kausality is. What the machine
// does besides is in all of them, and their ratios stay.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
)

var (
	blocks   = flag.Int("blocks", 14, "blocks of requests in each world, beside one to warm up")
	requests = flag.Int("requests", 100, "requests of a block by one client; many clients make four times as many between them")
	clients  = flag.Int("clients", 16, "how many clients there are where there are many")
	pause    = flag.Duration("pause", 0, "how long a client waits between an answer and its next request; rates are then how patient clients are, and say nothing else")
	size     = flag.Int("size", 2, "size of the objects, in KiB")
	only     = flag.String("only", "", "the one scenario to measure; all of them by default")
	seed     = flag.Uint64("seed", 1, "of the order in a block, and of the bootstrap")
	root     = flag.String("root", ".", "the root of the repository")
	pprof    = flag.String("pprof", "", "where the operator serves its profiles meanwhile, as 127.0.0.1:6060; nowhere by default")
	folder   = flag.String("profiles", "", "the directory to keep a processor profile of each block in, of the API server and with -pprof of the operator; they make the requests slower")
	out      = flag.String("out", "", "the file to write all latencies to, as JSON")
)

func main() {
	flag.Parse()
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "load:", err)
		os.Exit(1)
	}
}

func run() error {
	if flag.Arg(0) == "bare" {
		return serveBare()
	}
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()
	return measure(ctx)
}

func operatorBinary() string { return filepath.Join(*root, "bin", "manager") }
