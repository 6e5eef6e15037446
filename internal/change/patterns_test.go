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

package change

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// To ask many patterns together is to ask each.
func TestPatternsTouching(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		path := anyPath.Draw(t, "path")
		all := rapid.SliceOfN(rapid.OneOf(
			rapid.Custom(func(t *rapid.T) Pattern { return patternFor(t, path) }), anyPattern,
		), 0, 20).Draw(t, "patterns")
		var each []int
		for i, p := range all {
			if p.Touches(path) {
				each = append(each, i)
			}
		}
		together := PatternsOf(all)
		if diff := cmp.Diff(each, together.Touching(path)); diff != "" {
			t.Errorf("each, together: %s", diff)
		}
	})
}
