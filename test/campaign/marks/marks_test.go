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

package marks

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestIn(t *testing.T) {
	want := []int{3, 12, 45}
	if diff := cmp.Diff(want, In(`{"a":"zq12z:1","b":7000045,"c":"7000003m","d":7000,"e":"zqz"}`)); diff != "" {
		t.Errorf("In() (-want +got):\n%s", diff)
	}
}

func TestUsed(t *testing.T) {
	type uses struct{ Named, Valued []int }
	tests := map[string]struct {
		request string
		want    uses
	}{
		"nothing":        {request: `{"spec":{"image":"web:1"}}`},
		"a value":        {`{"spec":{"containers":[{"image":"zq1z:1"}]}}`, uses{nil, []int{1}}},
		"a number":       {`{"spec":{"minReadySeconds":7000002}}`, uses{nil, []int{2}}},
		"a key":          {`{"data":{"zq3z":"a"}}`, uses{[]int{3}, nil}},
		"a key, a value": {`{"data":{"zq3z":"zq3z"}}`, uses{[]int{3}, []int{3}}},
		"a name":         {`{"metadata":{"name":"zq4z"}}`, uses{[]int{4}, nil}},
		"an item":        {`{"spec":{"containers":[{"name":"zq4z"}]}}`, uses{[]int{4}, nil}},
		"an owner":       {`{"metadata":{"ownerReferences":[{"kind":"zq5z"}]}}`, uses{[]int{5}, nil}},
		"a label":        {`{"metadata":{"labels":{"app":"zq6z"}}}`, uses{[]int{6}, nil}},
		"an annotation":  {`{"metadata":{"annotations":{"note":"zq7z"}}}`, uses{nil, []int{7}}},
		"one of ours":    {`{"metadata":{"annotations":{"kausality.io/allowances":"zq8z"}}}`, uses{[]int{8}, nil}},
		"a JSON patch":   {`[{"op":"add","path":"/metadata/labels/zq9z","value":"zq10z"},{"op":"add","path":"/spec","value":{"config":"zq11z"}}]`, uses{[]int{9, 10}, []int{11}}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			named, valued := Used([]byte(tc.request))
			if diff := cmp.Diff(tc.want, uses{named, valued}); diff != "" {
				t.Errorf("Used() (-want +got):\n%s", diff)
			}
		})
	}
}
