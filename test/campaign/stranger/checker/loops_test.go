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

package checker

import (
	"testing"
	"time"

	"kausality.io/operator/test/campaign/audit"
)

// What the operator writes again and again, while nothing happens, is found.
func TestLoops(t *testing.T) {
	for times, want := range map[int][]Promise{20: nil, 2000: {Looping}} {
		s := begin(t)
		for range times {
			s.write(operatorUser, audit.VerbPatch, deployments, "web", map[string]any{"metadata": map[string]any{"annotations": map[string]any{"a": "b"}}})
			s.later(10*time.Millisecond - 10*time.Second)
		}
		s.finds(want)
	}
}
