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

import "testing"

func TestGCPercent(t *testing.T) {
	const mebibyte = 1 << 20
	for live, want := range map[uint64]int{0: 1000, 8 * mebibyte: 500, 40 * mebibyte: 100, 80 * mebibyte: 48, 125 * mebibyte: 26, 200 * mebibyte: 15, 1000 * mebibyte: 15} {
		if got := gcPercent(live); got != want {
			t.Errorf("gcPercent(%d MiB) = %d, want %d", live/mebibyte, got, want)
		}
	}
}
