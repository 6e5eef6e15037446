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

package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"kausality.io/operator/test/bench/stats"
)

// measured are the latencies of one scenario, in microseconds a message.
type measured struct {
	Scenario string
	Clients  int
	Worlds   map[world][]stats.Block
	// made is how many calls were made by way of us.
	made float64
}

// socket returns that by which a scenario comes to the runtime in a world.
func (s *scenario) socket(in world) string {
	switch {
	case in == direct:
		return "runtime.sock"
	case in == ours:
		return s.rules + ".sock"
	case s.than != "":
		return s.than + ".sock"
	}
	return "bare.sock"
}

// measure runs a scenario in all worlds, block by block in turn.
func (s *scenario) measure(ctx context.Context, folder string, clients, blocks int, each time.Duration) (*measured, error) {
	out := &measured{Scenario: s.name, Clients: clients, Worlds: map[world][]stats.Block{}}
	worlds := []world{direct, bare, again, ours}
	conns := map[world][]runtimeapi.RuntimeServiceClient{}
	var closers []func()
	defer func() {
		for _, closed := range closers {
			closed()
		}
	}()
	for _, in := range []world{direct, bare, ours} {
		opened, closed, err := dial(filepath.Join(folder, s.socket(in)), clients)
		if err != nil {
			return nil, err
		}
		closers = append(closers, closed)
		conns[in] = opened
		// Once for what is made at the first call.
		_, made, err := s.block(ctx, opened, each/4)
		if err != nil {
			return nil, fmt.Errorf("%s, %s: %w", s.name, in, err)
		}
		if in == ours {
			out.made += made
		}
	}
	conns[again] = conns[bare]
	for range blocks {
		rand.Shuffle(len(worlds), func(i, j int) { worlds[i], worlds[j] = worlds[j], worlds[i] })
		for _, in := range worlds {
			block, made, err := s.block(ctx, conns[in], each)
			if err != nil {
				return nil, fmt.Errorf("%s, %s: %w", s.name, in, err)
			}
			if in == ours {
				out.made += made
			}
			out.Worlds[in] = append(out.Worlds[in], block)
		}
	}
	return out, nil
}

// dial opens a connection for each client.
func dial(socket string, clients int) (opened []runtimeapi.RuntimeServiceClient, closed func(), err error) {
	var conns []*grpc.ClientConn
	closed = func() {
		for _, conn := range conns {
			_ = conn.Close()
		}
	}
	for range clients {
		conn, err := grpc.NewClient("unix://"+socket, grpc.WithTransportCredentials(insecure.NewCredentials()))
		if err != nil {
			closed()
			return nil, nil, err
		}
		conns = append(conns, conn)
		opened = append(opened, runtimeapi.NewRuntimeServiceClient(conn))
	}
	return opened, closed, nil
}

// block has all clients call one after the other for some time.
func (s *scenario) block(ctx context.Context, clients []runtimeapi.RuntimeServiceClient, each time.Duration) (kept stats.Block, made float64, err error) {
	var (
		mu    sync.Mutex
		all   sync.WaitGroup
		first error
	)
	end := time.Now().Add(each)
	for _, client := range clients {
		all.Go(func() {
			var took stats.Block
			var err error
			for err == nil && time.Now().Before(end) {
				began := time.Now()
				err = s.call(ctx, client)
				took = append(took, float64(time.Since(began).Microseconds())/s.each)
			}
			mu.Lock()
			defer mu.Unlock()
			made += float64(len(took))
			kept = append(kept, thin(took, perBlock/len(clients))...)
			if first == nil {
				first = err
			}
		})
	}
	all.Wait()
	return kept, made, first
}

// perBlock is how many latencies of a block are kept: intervals are found by sorting them
// thousands of times.
const perBlock = 512

// thin keeps some values at equal distances, where there are more.
func thin(values stats.Block, most int) stats.Block {
	if len(values) <= most {
		return values
	}
	out := make(stats.Block, 0, most)
	for i := range most {
		out = append(out, values[i*len(values)/most])
	}
	return out
}

const header = "%-24s %7s  %-3s %9s %9s %9s  %-22s %-22s %s\n"

// report has a row for each statistic: microseconds, and ratios with their intervals of 95%.
func (m *measured) report(s *scenario) string {
	var out strings.Builder
	for _, row := range []struct {
		name string
		of   func([]float64) float64
		most float64
	}{{"p50", stats.Quantile(0.5), s.p50}, {"p99", stats.Quantile(0.99), s.p99}} {
		in := func(w world) float64 { return stats.Of(row.of, m.Worlds[w]) }
		ratio := stats.Ratio(row.of, m.Worlds[ours], m.Worlds[s.of], 1)
		verdict := ""
		if row.most > 0 {
			verdict = fmt.Sprintf("at most %g: %s", row.most, stats.Against(ratio.Low, ratio.High, row.most))
		}
		noise := stats.Ratio(row.of, m.Worlds[again], m.Worlds[bare], 1)
		fmt.Fprintf(&out, header, m.Scenario, strconv.Itoa(m.Clients), row.name,
			fmt.Sprintf("%.1f", in(direct)), fmt.Sprintf("%.1f", in(bare)), fmt.Sprintf("%.1f", in(ours)), ratio, noise, verdict)
	}
	return out.String()
}
