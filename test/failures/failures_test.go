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

package failures

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/onsi/ginkgo/v2/types"
)

func TestPrint(t *testing.T) {
	spec := func(text string, state types.SpecState, failure types.Failure) types.SpecReport {
		failure.Location = types.CodeLocation{FileName: "web_test.go", LineNumber: 7}
		return types.SpecReport{ContainerHierarchyTexts: []string{"The web"}, LeafNodeText: text, State: state, Failure: failure}
	}
	long := strings.Repeat("x", maxMessage-1) + "é" // The é is cut in two.
	var out strings.Builder
	fprint(&out, types.Report{SpecReports: []types.SpecReport{
		spec("is there", types.SpecStatePassed, types.Failure{}),
		spec("is not run", types.SpecStateSkipped, types.Failure{Message: "no"}),
		spec("answers", types.SpecStateFailed, types.Failure{Message: "Expected\n    0\nto equal\n    1\n"}),
		spec("says much", types.SpecStateTimedout, types.Failure{Message: long}),
		spec("panics", types.SpecStatePanicked, types.Failure{Message: "Test Panicked", ForwardedPanic: "index out of range"}),
	}})
	want := `
failed: The web answers
web_test.go:7
  Expected
      0
  to equal
      1

timedout: The web says much
web_test.go:7
  ` + strings.Repeat("x", maxMessage-1) + ` [...]

panicked: The web panics
web_test.go:7
  Test Panicked: index out of range
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
