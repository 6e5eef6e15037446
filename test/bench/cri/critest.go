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
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"kausality.io/operator/test/bench/stats"
	"kausality.io/operator/test/node"
)

// lives are how many Pods, and how many containers, critest makes in a block.
const lives = 10

// The files that critest's benchmarks write, by what they are about.
var lifecycles = map[string]string{
	"Pods": "pod_benchmark_data.json", "containers": "container_benchmark_data.json",
}

// mostOfCritest is what is aimed at, to no proxy.
const mostOfCritest = 1.02

// critestBenchmarks compares the lives of real Pods and containers by way of us with those
// without us, as critest measures them.
func critestBenchmarks(ctx context.Context) error {
	bin, err := filepath.Abs(*bin)
	if err != nil {
		return err
	}
	containerd, err := node.StartContainerd(ctx, filepath.Join(bin, "cri"))
	if err != nil {
		return err
	}
	if _, err := containerd.ImageService().PullImage(ctx, &runtimeapi.PullImageRequest{Image: &runtimeapi.ImageSpec{Image: node.Image}}); err != nil {
		return err
	}
	proxied, file := filepath.Join(node.Root(), "all.sock"), filepath.Join(node.Root(), "all.yaml")
	if err := os.WriteFile(file, []byte(rules()["all"]), 0o600); err != nil {
		return err
	}
	if _, err := node.Begin("kausality-cri", filepath.Join(bin, "kausality-cri"), "serve", "--runtime-endpoint=unix://"+node.Socket,
		"--endpoint="+proxied+"="+file); err != nil {
		return err
	}
	if err := answers(ctx, proxied); err != nil {
		return err
	}
	sockets := map[world]string{direct: node.Socket, again: node.Socket, ours: proxied}
	worlds := []world{direct, again, ours}
	// Once for what is made at the first time.
	if _, err := critest(ctx, bin, node.Socket); err != nil {
		return err
	}
	taken := map[string]map[world][]stats.Block{}
	for name := range lifecycles {
		taken[name] = map[world][]stats.Block{}
	}
	for range *blocks {
		rand.Shuffle(len(worlds), func(i, j int) { worlds[i], worlds[j] = worlds[j], worlds[i] })
		for _, in := range worlds {
			found, err := critest(ctx, bin, sockets[in])
			if err != nil {
				return err
			}
			for name, block := range found {
				taken[name][in] = append(taken[name][in], block)
			}
		}
	}
	median := stats.Quantile(0.5)
	for name, in := range taken {
		// Both measurements without us are the baseline: twice the lives have less noise.
		without := make([]stats.Block, *blocks)
		for i := range without {
			without[i] = slices.Concat(in[direct][i], in[again][i])
		}
		ratio, noise := stats.Ratio(median, in[ours], without, 1), stats.Ratio(median, in[again], in[direct], 1)
		fmt.Printf("critest's benchmark of %s, %d lives by way of us, and twice as many without: %.1f ms without us, %.1f ms by way of us, %s; at most %g: %s (without us again, to without us: %s)\n",
			name, lives**blocks, stats.Of(median, without), stats.Of(median, in[ours]), ratio, mostOfCritest,
			stats.Against(ratio.Low, ratio.High, mostOfCritest), noise)
	}
	return stats.Save(*save, taken)
}

// critest makes a block by a socket: how long each life took, in milliseconds, by what it
// was the life of.
func critest(ctx context.Context, bin, socket string) (map[string]stats.Block, error) {
	dir, err := os.MkdirTemp(node.Root(), "critest-")
	if err != nil {
		return nil, err
	}
	number := strconv.Itoa(lives)
	for name, text := range map[string]string{
		"images.yaml": "defaultTestContainerImage: " + node.Image + "\n",
		"params.yaml": "podsNumber: " + number + "\ncontainersNumber: " + number + "\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			return nil, err
		}
	}
	cmd := exec.CommandContext(ctx, filepath.Join(bin, "cri", "critest"), "-benchmark",
		"--runtime-endpoint=unix://"+socket, "--image-endpoint=unix://"+socket, "--test-images-file="+filepath.Join(dir, "images.yaml"),
		"--benchmarking-params-file="+filepath.Join(dir, "params.yaml"), "--benchmarking-output-dir="+dir,
		// What is about images pulls published ones.
		"--ginkgo.skip=Image|from scratch", "--ginkgo.no-color")
	cmd.Dir = dir
	if printed, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("critest: %w:\n%s", err, printed)
	}
	out := map[string]stats.Block{}
	for name, file := range lifecycles {
		text, err := os.ReadFile(filepath.Join(dir, file))
		if err != nil {
			return nil, err
		}
		var told struct {
			Datapoints []struct {
				OperationsDurationsNs []int64 `json:"operationsDurationsNs"`
			} `json:"datapoints"`
		}
		if err := json.Unmarshal(text, &told); err != nil {
			return nil, err
		}
		if len(told.Datapoints) != lives {
			return nil, fmt.Errorf("critest tells of %d lives of %s, not of %d", len(told.Datapoints), name, lives)
		}
		for _, life := range told.Datapoints {
			var whole time.Duration
			for _, each := range life.OperationsDurationsNs {
				whole += time.Duration(each)
			}
			out[name] = append(out[name], float64(whole.Microseconds())/1000)
		}
	}
	return out, os.RemoveAll(dir)
}
