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

// Command cri measures what kausality-cri adds to calls of a container runtime, beside a
// published proxy that looks at nothing, and no proxy, in one run and in turn. The runtime
// runs nothing, and is as fast as can be.
//
// With -critest it is the lives of real Pods and containers of a containerd, as critest
// measures them.
//
// It is in namespaces and control groups of its own (see test/node), as its clients have to
// be in a container.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"time"

	"google.golang.org/grpc/connectivity"

	"kausality.io/operator/test/bench/stats"
	"kausality.io/operator/test/node"
)

var (
	bin     = flag.String("bin", "bin", "the folder of the programs")
	only    = flag.String("only", "", "a part of the names of the scenarios to measure")
	clients = flag.String("clients", "1,16", "how many clients there are at a time")
	blocks  = flag.Int("blocks", 30, "how many blocks there are of each scenario in each world")
	each    = flag.Duration("each", 150*time.Millisecond, "how long a block is")
	save    = flag.String("save", "", "the file for all that was measured, as JSON")
	growth  = flag.Bool("growth", false, "instead, see whether memory grows over calls and connections")
	calls   = flag.Int("calls", 1_000_000, "how many calls -growth makes")
	lived   = flag.Bool("critest", false, "instead, compare critest's benchmarks of real Pods and containers with and without us")
	connect = flag.Int("connections", 10_000, "how many connections -growth opens")
)

// runtimeRole has this program be the runtime.
const runtimeRole = "be-the-runtime"

func main() {
	if len(os.Args) == 3 && os.Args[1] == runtimeRole {
		fail(serveRuntime(os.Args[2]))
	}
	flag.Parse()
	os.Exit(node.Main(func() int {
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
		defer stop()
		if err := run(ctx); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		return 0
	}))
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

// run measures what the flags ask for.
func run(ctx context.Context) error {
	if *lived {
		return critestBenchmarks(ctx)
	}
	s, err := begin(ctx)
	if err != nil {
		return err
	}
	if *growth {
		return s.grow(ctx)
	}
	if err := s.idle(ctx); err != nil {
		return err
	}
	if err := s.allocations(ctx); err != nil {
		return err
	}
	var all []*measured
	fmt.Printf(header, "microseconds", "clients", "", direct, bare, ours, "ratio", "bare again / bare", "")
	for _, scenario := range scenarios {
		if !strings.Contains(scenario.name, *only) {
			continue
		}
		for number := range strings.SplitSeq(*clients, ",") {
			var n int
			if _, err := fmt.Sscan(number, &n); err != nil {
				return fmt.Errorf("-clients: %w", err)
			}
			asked, err := s.lookups(ctx)
			if err != nil {
				return err
			}
			m, err := scenario.measure(ctx, s.folder, n, *blocks, *each)
			if err != nil {
				return err
			}
			fmt.Print(m.report(&scenario))
			after, err := s.lookups(ctx)
			if err != nil {
				return err
			}
			fmt.Printf("%-24s %7d  the runtime was asked %.3f times a call\n", scenario.name, n, (after-asked)/m.made)
			all = append(all, m)
		}
	}
	return stats.Save(*save, all)
}

// stage is what is measured.
type stage struct {
	folder         string
	bare, ours     *node.Process
	bareAt, oursAt string
}

// The files of rules, by the names of their sockets.
func rules() map[string]string {
	const allowAll = "- {method: /*/*, action: allow}\n"
	return map[string]string{
		"all": allowAll,
		"own": "- method: /runtime.v1.RuntimeService/ContainerStatus\n  action: allow\n  conditions: [{field: ContainerId, operator: belongsToPod, source: podSandboxIdFromPID}]\n" +
			"- method: /runtime.v1.RuntimeService/ListContainers\n  action: allow\n  filters: [{field: Containers, filterField: PodSandboxId, operator: equals, source: podSandboxIdFromPID}]\n" +
			"- method: /runtime.v1.RuntimeService/GetContainerEvents\n  action: allow\n  filters: [{field: ., filterField: PodSandboxStatus.Id, operator: equals, source: podSandboxIdFromPID}]\n" +
			"- {method: /runtime.v1.RuntimeService/Version, action: allow}\n",
		"few":  strings.Repeat("- {method: /runtime.v1.RuntimeService/Exec, action: deny}\n", 9) + allowAll,
		"many": strings.Repeat("- {method: /runtime.v1.RuntimeService/Exec, action: deny}\n", 9_999) + allowAll,
	}
}

// begin starts all processes, and then enters the caller's container.
func begin(ctx context.Context) (*stage, error) {
	s := &stage{folder: node.Root(), bareAt: "127.0.0.1:9478", oursAt: "127.0.0.1:9477"}
	in := func(name string) string { return filepath.Join(s.folder, name) }
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	if _, err := node.Begin("runtime", self, runtimeRole, in("runtime.sock")); err != nil {
		return nil, err
	}
	if s.bare, err = node.Begin("grpc-proxy", filepath.Join(*bin, "peers", "grpc-proxy"), in("bare.sock"), in("runtime.sock"), s.bareAt); err != nil {
		return nil, err
	}
	args := []string{"serve", "--runtime-endpoint=" + in("runtime.sock"), "--health-address=" + s.oursAt}
	for name, text := range rules() {
		if err := os.WriteFile(in(name+".yaml"), []byte(text), 0o600); err != nil {
			return nil, err
		}
		args = append(args, "--endpoint="+in(name+".sock")+"="+in(name+".yaml"))
	}
	if s.ours, err = node.Begin("kausality-cri", filepath.Join(*bin, "kausality-cri"), args...); err != nil {
		return nil, err
	}
	for _, name := range []string{"runtime", "bare", "all", "own", "few", "many"} {
		if err := answers(ctx, in(name+".sock")); err != nil {
			return nil, err
		}
	}
	return s, node.Enter(callersContainer)
}

// answers waits until somebody does at a socket.
func answers(ctx context.Context, socket string) error {
	conn, err := node.Dial(socket)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for state := conn.GetState(); state != connectivity.Ready; state = conn.GetState() {
		conn.Connect()
		if !conn.WaitForStateChange(ctx, state) {
			return fmt.Errorf("nobody answers %s: %w", socket, ctx.Err())
		}
	}
	return nil
}
