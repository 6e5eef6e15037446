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

package output_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"kausality.io/operator/internal/cli/output"
)

func TestLatest(t *testing.T) {
	for name, tc := range map[string]struct {
		most output.Limit
		want []string
		more int
	}{
		"fewer than there are": {most: 1, want: []string{"a"}, more: 2},
		"as many":              {most: 3, want: []string{"a", "b", "c"}},
		"more":                 {most: 9, want: []string{"a", "b", "c"}},
		"none":                 {most: 0, want: []string{}, more: 3},
		"all":                  {most: -1, want: []string{"a", "b", "c"}},
	} {
		t.Run(name, func(t *testing.T) {
			got, more := output.Latest([]string{"a", "b", "c"}, tc.most)
			if diff := cmp.Diff(tc.want, got); diff != "" || more != tc.more {
				t.Errorf("%d more, want %d; -want, +got:\n%s", more, tc.more, diff)
			}
		})
	}
}

func TestLimit(t *testing.T) {
	for arg, valid := range map[string]bool{"0": true, "5": true, "-1": true, "-5": false, "x": false, "": false} {
		cmd := &cobra.Command{}
		most := output.Limit(10)
		most.AddTo(cmd, "refusals")
		if err := cmd.ParseFlags([]string{"--limit=" + arg}); (err == nil) != valid {
			t.Errorf("--limit=%s: %v, want it taken: %v", arg, err, valid)
		}
	}
}
