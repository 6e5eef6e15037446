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
	"slices"
	"strconv"
	"time"
)

// timeline is when something was done, since a moment.
type timeline []time.Duration

func (t timeline) sorted() timeline { return slices.Sorted(slices.Values(t)) }

// first of a sorted timeline; zero where there is none.
func (t timeline) first() time.Duration {
	if len(t) == 0 {
		return 0
	}
	return t[0]
}

// last of a sorted timeline; zero where there is none.
func (t timeline) last() time.Duration {
	if len(t) == 0 {
		return 0
	}
	return t[len(t)-1]
}

// busiest returns how often it was done at most in so much time, wherever that begins. The
// timeline is sorted.
func (t timeline) busiest(window time.Duration) int {
	most, begin := 0, 0
	for end := range t {
		for t[end]-t[begin] >= window {
			begin++
		}
		most = max(most, end-begin+1)
	}
	return most
}

// perSecond returns how often it was done in each second, from that of the first time on.
func (t timeline) perSecond() []string {
	if len(t) == 0 {
		return nil
	}
	counts := make([]int, int((t.last()-t.first())/time.Second)+1)
	for _, at := range t {
		counts[(at-t.first())/time.Second]++
	}
	out := make([]string, 0, len(counts))
	for _, n := range counts {
		out = append(out, strconv.Itoa(n))
	}
	return out
}
