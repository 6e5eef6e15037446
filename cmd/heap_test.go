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
	for in, want := range map[struct{ live, scanned uint64 }]int{
		{0, 0}: 1000, {8, 4}: 500, {40, 20}: 100, {80, 40}: 48, {125, 40}: 26, {200, 40}: 15, {1000, 40}: 15,
		// Much of it is scanned.
		{60, 60}: 67, {120, 110}: 46, {200, 180}: 32, {1000, 900}: 15,
	} {
		if got := gcPercent(in.live*mebibyte, in.scanned*mebibyte); got != want {
			t.Errorf("gcPercent(%d MiB, %d MiB) = %d, want %d", in.live, in.scanned, got, want)
		}
	}
}
