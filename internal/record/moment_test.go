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

package record

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestMoment(t *testing.T) {
	noon := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	written := func(version string, second int, subresource string) *metav1.ObjectMeta {
		at := metav1.NewTime(noon.Add(time.Duration(second) * time.Second))
		return &metav1.ObjectMeta{ResourceVersion: version, ManagedFields: []metav1.ManagedFieldsEntry{
			{Time: &metav1.Time{Time: noon}}, {Time: &at, Subresource: subresource},
		}}
	}
	for name, tc := range map[string]struct {
		a, b   Moment
		before bool
	}{
		"a second earlier":                        {WriteOf(written("9", 1, "")), WriteOf(written("5", 2, "")), true},
		"a second later":                          {WriteOf(written("5", 2, "")), WriteOf(written("9", 1, "")), false},
		"earlier in the same second":              {WriteOf(written("9", 1, "")), WriteOf(written("10", 1, "")), true},
		"the same":                                {WriteOf(written("9", 1, "")), WriteOf(written("9", 1, "")), false},
		"no numbers in the same second":           {WriteOf(written("a", 1, "")), WriteOf(written("b", 1, "")), false},
		"no number before one":                    {WriteOf(written("a", 1, "")), WriteOf(written("5", 1, "")), false},
		"a status is a write":                     {WriteOf(written("9", 1, "status")), WriteOf(written("10", 0, "")), false},
		"a status is no change":                   {ChangeOf(written("9", 1, "status")), WriteOf(written("10", 0, "")), true},
		"before all others":                       {Moment{}, WriteOf(written("9", 0, "")), true},
		"nothing is before what is before others": {WriteOf(written("9", 0, "")), Moment{}, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := tc.a.Before(tc.b); got != tc.before {
				t.Errorf("%v.Before(%v) = %t, want %t", tc.a, tc.b, got, tc.before)
			}
			want := tc.a
			if tc.before {
				want = tc.b
			}
			if got := tc.a.Later(tc.b); got != want {
				t.Errorf("%v.Later(%v) = %v, want %v", tc.a, tc.b, got, want)
			}
		})
	}
}
