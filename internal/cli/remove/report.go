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

package remove

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"kausality.io/operator/internal/cli/text"
)

// Object is one that something was left on.
type Object struct {
	Group     string `json:"group,omitempty"`
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	Left      `json:",inline"`
}

func (o Object) id() string {
	return strings.Join([]string{o.Group, o.Kind, o.Namespace, o.Name}, "/")
}

// Report is what the command has found.
type Report struct {
	// DryRun says that nothing was written.
	DryRun bool `json:"dryRun,omitempty"`
	// Objects are those that something was left on.
	Objects []Object `json:"objects,omitempty"`
	// Incomplete says that not all could be read, or written.
	Incomplete bool `json:"incomplete,omitempty"`
	// Waiting are the objects whose controllers Kausality kept from something, before anything was taken back.
	Waiting []Waiting `json:"waiting,omitempty"`
	// Staying are the objects of Kausality's own kinds that nobody deletes, as KIND/NAME.
	Staying []string `json:"staying,omitempty"`
	// Generating are the GeneratingPolicies, which are deleted so that what they made stays, as KIND/NAME.
	Generating []string `json:"generating,omitempty"`
	// Notes say what could not be told of that.
	Notes []string `json:"notes,omitempty"`

	// told is true where people were told already what follows, as they were asked.
	told bool
}

// undecided returns the objects whose deletion is held back, and nobody says what is to become of
// what they stand for.
func (r *Report) undecided() int {
	n := 0
	for _, o := range r.Objects {
		if o.Undecided {
			n++
		}
	}
	return n
}

// merged returns what was found on one object in two rounds.
func merged(a, b Left) Left {
	union := func(a, b []string) []string {
		out := slices.Concat(a, b)
		slices.Sort(out)
		return slices.Compact(out)
	}
	return Left{
		Annotations: union(a.Annotations, b.Annotations),
		Labels:      union(a.Labels, b.Labels),
		Conditions:  union(a.Conditions, b.Conditions),
		Gate:        a.Gate || b.Gate,
		Pause:       a.Pause || b.Pause,
		Undecided:   b.Undecided,
	}
}

// render says it to people.
func render(r *Report, terminal text.Terminal) string {
	ahead := ""
	if !r.told {
		ahead = renderAhead(r, terminal)
	}
	switch {
	case len(r.Objects) == 0 && r.Incomplete:
		return "Nothing is left on the objects that could be read. Others may have something.\n" + ahead
	case len(r.Objects) == 0:
		return "Nothing is left on any object.\n" + ahead
	}
	var table text.Table
	table.Header("OBJECT", "NAMESPACE", "WHAT")
	for _, o := range r.Objects {
		table.Row(schema.GroupKind{Group: o.Group, Kind: o.Kind}.String()+"/"+o.Name, o.Namespace, o.String())
	}
	said := fmt.Sprintf("Taken back from %d objects:\n", len(r.Objects))
	if r.DryRun {
		said = fmt.Sprintf("Would be taken back from %d objects:\n", len(r.Objects))
	}
	return said + table.Render(terminal, "  ") + ahead
}

// String says it in one line.
func (l Left) String() string {
	if l.Undecided {
		return "nothing: its deletion is held back; --held says what becomes of what it stands for"
	}
	var parts []string
	if l.Gate {
		parts = append(parts, "gate")
	}
	if l.Pause {
		parts = append(parts, "pause")
	}
	if n := len(l.Annotations); n > 0 {
		parts = append(parts, "annotations "+strings.Join(l.Annotations, ", "))
	}
	if n := len(l.Labels); n > 0 {
		parts = append(parts, "labels "+strings.Join(l.Labels, ", "))
	}
	if n := len(l.Conditions); n > 0 {
		parts = append(parts, "conditions "+strings.Join(l.Conditions, ", "))
	}
	return strings.Join(parts, "; ")
}
