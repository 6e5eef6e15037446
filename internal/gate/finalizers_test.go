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

package gate

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestLetsGo(t *testing.T) {
	const system = "finalizer.example.org"
	tests := map[string]struct{ before, after, want []string }{
		"all are taken":                               {before: []string{system, "other"}, want: []string{system, "other"}},
		"that of the system is":                       {before: []string{system, "other"}, after: []string{"other"}, want: []string{system}},
		"it is replaced by another one":               {before: []string{system}, after: []string{"mine"}, want: []string{system}},
		"another one is":                              {before: []string{system, "other"}, after: []string{system}},
		"the last one of a system with others":        {before: []string{"its.own"}, want: []string{"its.own"}},
		"all but that of the garbage collector":       {before: []string{"its.own", "foregroundDeletion"}, after: []string{"foregroundDeletion"}, want: []string{"its.own"}},
		"one of two of a system with others":          {before: []string{"its.own", "other"}, after: []string{"other"}},
		"that of the garbage collector":               {before: []string{"foregroundDeletion", system}, after: []string{system}},
		"that of the garbage collector, the last one": {before: []string{"foregroundDeletion"}},
		"one is added":                                {before: []string{system}, after: []string{system, "other"}},
		"the order changes":                           {before: []string{system, "other"}, after: []string{"other", system}},
		"there was none":                              {},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, LetsGo(system, tt.before, tt.after)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
