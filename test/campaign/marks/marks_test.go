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
