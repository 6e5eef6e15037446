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

package takeover

import (
	"fmt"
	"strings"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/cli/generation"
	"kausality.io/operator/internal/cli/phrase"
	"kausality.io/operator/internal/cli/text"
)

// Outcome is what becomes of an object.
type Outcome string

// The outcomes.
const (
	// Same is that of an object which is as the policy wants it.
	Same Outcome = "Same"
	// Changes is that of an object which the policy will change.
	Changes Outcome = "Changes"
	// Left is that of an object which is left alone.
	Left Outcome = "Left"
	// Failed is that of an object which could not be written, or could not be with a dry run.
	Failed Outcome = "Failed"
)

// Report is what a policy takes over.
type Report struct {
	// Policy that does.
	Policy string `json:"policy"`
	// DryRun is true where nothing was taken over.
	DryRun bool `json:"dryRun,omitempty"`
	// Objects that it wants and that no policy made.
	Objects []Object `json:"objects,omitempty"`
	// Notes are what could not be found out.
	Notes []string `json:"notes,omitempty"`
}

// Object is an object that a policy wants and that no policy made.
type Object struct {
	// Object is which it is.
	Object v1alpha1.GeneratingReference `json:"object"`
	// Outcome is what becomes of it.
	Outcome Outcome `json:"outcome"`
	// Message says why, where it is left alone.
	Message string `json:"message,omitempty"`

	step generation.Step
}

// open returns how many objects could be taken over.
func (r *Report) open() int {
	n := 0
	for i := range r.Objects {
		if o := r.Objects[i].Outcome; o == Same || o == Changes {
			n++
		}
	}
	return n
}

// render turns a report into text.
func render(r *Report, t text.Terminal) string {
	if len(r.Objects) == 0 {
		return t.Wrap("", fmt.Sprintf("There is nothing that GeneratingPolicy %s wants and somebody else has made.", r.Policy)) + notes(r, t)
	}
	said := map[Outcome]string{Same: "taken over", Changes: "taken over, and changed by the policy", Left: "left alone", Failed: "not taken over"}
	if r.DryRun {
		said[Same], said[Changes], said[Failed] = "to be taken over", "to be taken over, and changed by the policy", "not to be taken over"
	}
	var table text.Table
	for _, o := range r.Objects {
		what := said[o.Outcome]
		if o.Message != "" {
			what += ": " + o.Message
		}
		table.Row(phrase.Reference(o.Object), what)
	}
	return table.Render(t, "") + notes(r, t)
}

func notes(r *Report, t text.Terminal) string {
	var out strings.Builder
	for _, note := range r.Notes {
		out.WriteString(t.Wrap("", note))
	}
	return out.String()
}
