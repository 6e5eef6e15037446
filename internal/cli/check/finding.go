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

import "kausality.io/operator/internal/cli/source"

// Severity says how bad a finding is.
type Severity string

// The severities.
const (
	// SeverityError is what is refused.
	SeverityError Severity = "error"
	// SeverityWarning is what is accepted, and has another effect than its author may
	// think.
	SeverityWarning Severity = "warning"
)

// Finding is something to say about a file.
type Finding struct {
	source.Problem
	// Severity of the finding.
	Severity Severity `json:"severity"`
}

func problem(p source.Problem) Finding {
	return Finding{Problem: p, Severity: SeverityError}
}
