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

package plan

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func first(n int, seed uint64) []Step {
	var out []Step
	for i, s := range Steps(seed, 20) {
		if i == n {
			break
		}
		out = append(out, s)
	}
	return out
}

func TestSteps(t *testing.T) {
	const n = 2000
	steps := first(n, 1)
	if diff := cmp.Diff(steps, first(n, 1)); diff != "" {
		t.Errorf("the same seed has something else happen (-first +second):\n%s", diff)
	}
	if cmp.Equal(steps, first(n, 2)) {
		t.Error("another seed has the same happen")
	}
	acts, deployments := map[Act]int{}, map[int]bool{}
	for _, s := range steps {
		acts[s.Act]++
		deployments[s.Deployment] = true
		if s.Replicas < 1 || s.Replicas > mostReplicas {
			t.Errorf("%s asks for %d replicas", s, s.Replicas)
		}
	}
	if len(deployments) != 20 {
		t.Errorf("something happens to %d of 20 Deployments", len(deployments))
	}
	sum := 0
	for _, w := range weights {
		sum += w.weight
		if got, want := acts[w.act], n*w.weight/100; got < want/2 || got > 2*want {
			t.Errorf("there are %d of %s, and should be some %d", got, w.act, want)
		}
	}
	if sum != 100 {
		t.Errorf("the weights add up to %d", sum)
	}
}
