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

package check

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"kausality.io/operator/internal/cli/source"
	"kausality.io/operator/internal/cli/text"
)

// CaseResult is what came of a case.
type CaseResult struct {
	source.Place
	// Test and Name are the names of the test and of the case.
	Test string `json:"test,omitempty"`
	Name string `json:"name"`
	// Differences are how the answer differs from what is expected: none where the
	// case has passed.
	Differences []Difference `json:"differences,omitempty"`
}

// Passed reports whether the answer is what is expected.
func (r CaseResult) Passed() bool { return len(r.Differences) == 0 }

// Report is what a check has found.
type Report struct {
	// Policies is how many policies were looked at.
	Policies int `json:"policies"`
	// Unknown are the kinds and resources that policies name and of which nothing is
	// known here.
	Unknown []string `json:"unknown,omitempty"`
	// Findings are what there is to say about the files.
	Findings []Finding `json:"findings,omitempty"`
	// Cases are the cases that were run.
	Cases []CaseResult `json:"cases,omitempty"`
}

func (r *Report) add(findings ...Finding) {
	for _, f := range findings {
		if !slices.Contains(r.Findings, f) {
			r.Findings = append(r.Findings, f)
		}
	}
}

// count counts findings of a severity.
func (r *Report) count(severity Severity) int {
	n := 0
	for _, f := range r.Findings {
		if f.Severity == severity {
			n++
		}
	}
	return n
}

func (r *Report) failed() int {
	n := 0
	for _, c := range r.Cases {
		if !c.Passed() {
			n++
		}
	}
	return n
}

// Sound reports whether nothing is wrong. To the strict, a warning is.
func (r *Report) Sound(strict bool) bool {
	return r.count(SeverityError) == 0 && r.failed() == 0 && (!strict || r.count(SeverityWarning) == 0)
}

// Text returns the report for people. verbose lists the cases that passed, too.
func (r *Report) Text(terminal text.Terminal, verbose bool) string {
	var out strings.Builder
	findings := slices.Clone(r.Findings)
	slices.SortStableFunc(findings, func(a, b Finding) int { return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line)) })
	for _, f := range findings {
		style := text.Bad
		if f.Severity == SeverityWarning {
			style = text.Wait
		}
		out.WriteString(source.Told(terminal, terminal.Paint(style, string(f.Severity)), f.Problem))
	}
	for _, c := range r.Cases {
		switch {
		case !c.Passed():
			out.WriteString(c.String() + ": " + terminal.Paint(text.Bad, "FAIL") + " " + c.Name + "\n")
			out.WriteString(diff(terminal, c.Differences))
		case verbose:
			out.WriteString(c.String() + ": " + terminal.Paint(text.Good, "ok") + " " + c.Name + "\n")
		}
	}
	if len(r.Unknown) > 0 {
		out.WriteString(terminal.Wrap("", "Not known here: "+strings.Join(r.Unknown, ", ")+". Give the CustomResourceDefinitions with --crds."))
	}
	out.WriteString(r.summary() + "\n")
	return out.String()
}

// diff shows what was expected, and what came instead.
func diff(terminal text.Terminal, differences []Difference) string {
	var table text.Table
	for _, d := range differences {
		of := d.Of
		for _, side := range []struct {
			mark  string
			style text.Style
			lines []string
		}{{"- want", text.Good, d.Want}, {"+ got", text.Bad, d.Got}} {
			for _, line := range side.lines {
				table.Cells(text.Cell{Text: of}, text.Cell{Text: side.mark, Style: side.style}, text.Cell{Text: line})
				of = ""
			}
		}
	}
	return table.Render(terminal, "    ")
}

func (r *Report) summary() string {
	parts := []string{counted(r.Policies, "policy", "policies"), counted(r.count(SeverityError), "error", "errors"), counted(r.count(SeverityWarning), "warning", "warnings")}
	out := strings.Join(parts, ", ")
	if len(r.Cases) > 0 {
		out += fmt.Sprintf("; %s, %d failed", counted(len(r.Cases), "case", "cases"), r.failed())
	}
	return out
}

func counted(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
