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
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"kausality.io/operator/test/bench/stats"
	"kausality.io/operator/test/node"
)

// resident returns how much memory a process has, in MiB.
func resident(p *node.Process) (float64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.PID()))
	if err != nil {
		return 0, err
	}
	found := regexp.MustCompile(`(?m)^VmRSS:\s+(\d+) kB`).FindSubmatch(text)
	if found == nil {
		return 0, fmt.Errorf("the memory of process %d is not told", p.PID())
	}
	kib, err := strconv.ParseFloat(string(found[1]), 64)
	return kib / 1024, err
}

// get asks by HTTP.
func get(ctx context.Context, url string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return nil, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	return io.ReadAll(response.Body)
}

// metric returns the sum of one of ours.
func (s *stage) metric(ctx context.Context, name string) (float64, error) {
	text, err := get(ctx, "http://"+s.oursAt+"/metrics")
	if err != nil {
		return 0, err
	}
	sum := 0.0
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, name+" ") || strings.HasPrefix(line, name+"{") {
			value, err := strconv.ParseFloat(strings.TrimSpace(line[strings.LastIndex(line, " "):]), 64)
			if err != nil {
				return 0, err
			}
			sum += value
		}
	}
	return sum, nil
}

func (s *stage) lookups(ctx context.Context) (float64, error) {
	return s.metric(ctx, "kausality_cri_lookups_total")
}

// idle compares memory when each has answered a call, and then none.
func (s *stage) idle(ctx context.Context) error {
	// A proxy for one socket, as the bare one is.
	socket := filepath.Join(s.folder, "idle.sock")
	one, err := node.Begin("idle", filepath.Join(*bin, "kausality-cri"), "serve", "--runtime-endpoint="+filepath.Join(s.folder, "runtime.sock"),
		"--endpoint="+socket+"="+filepath.Join(s.folder, "all.yaml"))
	if err != nil {
		return err
	}
	defer func() { _ = one.Stop() }()
	for _, at := range []string{socket, filepath.Join(s.folder, "bare.sock")} {
		if err := answers(ctx, at); err != nil {
			return err
		}
		clients, closed, err := dial(at, 1)
		if err != nil {
			return err
		}
		err = version(ctx, clients[0])
		closed()
		if err != nil {
			return err
		}
	}
	select {
	case <-time.After(quiet):
	case <-ctx.Done():
		return ctx.Err()
	}
	theirs, err := resident(s.bare)
	if err != nil {
		return err
	}
	mine, err := resident(one)
	if err != nil {
		return err
	}
	const most = 1.5
	fmt.Printf("idle memory: bare %.1f MiB, kausality-cri %.1f MiB, %.2f times; at most %g: %s\n", theirs, mine, mine/theirs, most, stats.Judge(mine <= most*theirs))
	return nil
}

// quiet is how long nobody calls before memory is looked at.
const quiet = 5 * time.Second

// allocations compares how many each makes for a call without conditions.
func (s *stage) allocations(ctx context.Context) error {
	const made = 20_000
	theirs := func() (float64, error) {
		text, err := get(ctx, "http://"+s.bareAt)
		if err != nil {
			return 0, err
		}
		var told struct{ Mallocs float64 }
		return told.Mallocs, json.Unmarshal(text, &told)
	}
	mine := func() (float64, error) { return s.metric(ctx, "go_memstats_mallocs_total") }
	of := func(socket string, count func() (float64, error)) (float64, error) {
		clients, closed, err := dial(filepath.Join(s.folder, socket), 1)
		if err != nil {
			return 0, err
		}
		defer closed()
		before, err := count()
		if err != nil {
			return 0, err
		}
		for range made {
			if err := version(ctx, clients[0]); err != nil {
				return 0, err
			}
		}
		after, err := count()
		return (after - before) / made, err
	}
	a, err := of("bare.sock", theirs)
	if err != nil {
		return err
	}
	b, err := of("all.sock", mine)
	if err != nil {
		return err
	}
	fmt.Printf("allocations of a call: bare %.1f, kausality-cri %.1f; no more: %s\n", a, b, stats.Judge(b <= a))
	return nil
}

// grow sees whether memory grows over many calls, and then over many connections.
func (s *stage) grow(ctx context.Context) error {
	const samples = 50
	clients, closed, err := dial(filepath.Join(s.folder, "own.sock"), callers)
	if err != nil {
		return err
	}
	defer closed()
	call := func(by, i int) error {
		switch i % 3 {
		case 0:
			return version(ctx, clients[by])
		case 1:
			return status(known)(ctx, clients[by])
		}
		return status(unknown)(ctx, clients[by])
	}
	open := func(int, int) error {
		one, closed, err := dial(filepath.Join(s.folder, "own.sock"), 1)
		if err != nil {
			return err
		}
		defer closed()
		return version(ctx, one[0])
	}
	// What is remembered of containers is bounded, and is to be full.
	if err := spread(*calls/10, call); err != nil {
		return err
	}
	grew := false
	for _, of := range []struct {
		name string
		n    int
		once func(by, i int) error
	}{{"calls", *calls, call}, {"connections", *connect, open}} {
		var x, y []float64
		for sample := range samples {
			if err := spread(of.n/samples, of.once); err != nil {
				return err
			}
			inUse, err := s.metric(ctx, "go_memstats_heap_inuse_bytes")
			if err != nil {
				return err
			}
			x, y = append(x, float64(sample)), append(y, inUse/(1<<20))
		}
		rss, err := resident(s.ours)
		if err != nil {
			return err
		}
		goroutines, err := s.metric(ctx, "go_goroutines")
		if err != nil {
			return err
		}
		slope := stats.Slope(x, y, samples/10, 1)
		// Over all of them, so that what is left of each would be seen.
		over := stats.Interval{Value: slope.Value * samples, Low: slope.Low * samples, High: slope.High * samples}
		fmt.Printf("%d %s: the heap grew by %.2f MiB (%.2f to %.2f), is %.1f MiB; %.1f MiB resident, %.0f goroutines: %s\n",
			of.n, of.name, over.Value, over.Low, over.High, y[len(y)-1], rss, goroutines, stats.Judge(over.Low <= tolerated))
		grew = grew || over.Low > tolerated
	}
	if grew {
		return errors.New("memory grows")
	}
	return nil
}

// callers are how many call at a time while memory is looked at.
const callers = 4

// spread has the callers do something together, as often as n says.
func spread(n int, once func(by, i int) error) error {
	var group errgroup.Group
	for by := range callers {
		group.Go(func() error {
			for i := by; i < n; i += callers {
				if err := once(by, i); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return group.Wait()
}

// tolerated is how many MiB the heap may grow: when it is collected is chance.
const tolerated = 1.0
