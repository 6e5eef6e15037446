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

// Package failures has suites end with what failed. The log of a long run is often kept, or
// read, from its end, where Ginkgo names the specs that failed and not why.
package failures

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/onsi/ginkgo/v2/types"
)

// maxMessage is how many bytes of a message are printed.
const maxMessage = 600

// Print prints the message of each spec of a suite that failed. It is for ReportAfterSuite.
func Print(report types.Report) { fprint(os.Stdout, report) }

func fprint(out io.Writer, report types.Report) {
	for i := range report.SpecReports {
		spec := &report.SpecReports[i]
		if !spec.State.Is(types.SpecStateFailureStates) {
			continue
		}
		message := strings.TrimSpace(spec.Failure.Message)
		if len(message) > maxMessage {
			message = strings.ToValidUTF8(message[:maxMessage], "") + " [...]"
		}
		if spec.Failure.ForwardedPanic != "" {
			message += ": " + spec.Failure.ForwardedPanic
		}
		_, _ = fmt.Fprintf(out, "\n%s: %s\n%s\n  %s\n",
			spec.State, spec.FullText(), spec.Failure.Location, strings.ReplaceAll(message, "\n", "\n  "))
	}
}
