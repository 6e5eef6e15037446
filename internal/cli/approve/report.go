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

package approve

import (
	"slices"
	"strings"
	"time"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/change"
	"kausality.io/operator/internal/cli/cluster"
	"kausality.io/operator/internal/cli/phrase"
	"kausality.io/operator/internal/cli/text"
	"kausality.io/operator/internal/ledger"
)

// Report is what an approval does, or did.
type Report struct {
	// Object that has the changes.
	Object v1alpha1.TargetReference `json:"object"`
	// Paths that are approved.
	Paths []string `json:"paths"`
	// Unenforced are the policies about it that are not enforced.
	Unenforced []cluster.Unenforced `json:"unenforced,omitempty"`
	// DryRun is true where it only would.
	DryRun bool `json:"dryRun"`
	// Added are the entries that the ledger gets.
	Added []v1alpha1.Allowance `json:"added"`
	// Removed are those that it loses, such as the marks of withheld changes.
	Removed []v1alpha1.Allowance `json:"removed"`
	// Strays are the parents that the object ceases to be a stray of.
	Strays []v1alpha1.TargetReference `json:"strays,omitempty"`
	// Warnings of the API server.
	Warnings []string `json:"warnings,omitempty"`
}

// unversioned returns the report without what changes with every generation.
func (r *Report) unversioned() Report {
	out := Report{Object: r.Object, Paths: r.Paths, Strays: r.Strays, Warnings: r.Warnings}
	for _, a := range r.Added {
		out.Added = append(out.Added, timeless(a))
	}
	for _, a := range r.Removed {
		out.Removed = append(out.Removed, timeless(a))
	}
	return out
}

// permits reports whether the approval allows something, or ends something for good: a mark that another one takes the
// place of, which withholds the same, has ended nothing.
func (r *Report) permits(now ledger.Ledger) bool {
	if len(r.Strays) > 0 || slices.ContainsFunc(r.Added, func(a v1alpha1.Allowance) bool { return a.Relation != v1alpha1.RelationWithheld }) {
		return true
	}
	return slices.ContainsFunc(r.Removed, func(gone v1alpha1.Allowance) bool {
		return gone.Relation != v1alpha1.RelationWithheld || !isWithheldAround(now, gone.Mutation)
	})
}

// isWithheldAround reports whether a ledger withholds something at, below or above a path.
func isWithheldAround(now ledger.Ledger, path string) bool {
	at, err := change.ParsePath(path)
	return err == nil && slices.ContainsFunc(now, func(e ledger.Entry) bool {
		held, err := change.ParsePath(e.Mutation)
		return err == nil && e.IsWithheld() && at.Overlaps(held)
	})
}

func timeless(a v1alpha1.Allowance) v1alpha1.Allowance {
	a = *a.DeepCopy()
	a.Generation = 0
	for i := range a.Trace {
		a.Trace[i].Generation = 0
	}
	return a
}

const indent = "  "

// render turns a report into text: the difference that it makes to the ledger.
func render(r *Report, t text.Terminal) string {
	verb := "Approved "
	if r.DryRun {
		verb = "This approves "
	}
	var out strings.Builder
	out.WriteString(cluster.Banner(t, time.Now(), nil, r.Unenforced))
	out.WriteString(t.Wrap("", verb+strings.Join(r.Paths, ", ")+" of "+phrase.Target(r.Object)))
	var diff text.Table
	removed, added := differing(r.Removed, r.Added)
	for _, a := range removed {
		diff.Cells(text.Cell{Text: "-", Style: text.Bad}, text.Cell{Text: phrase.Allowance(a), Style: text.Bad}, text.Cell{Text: by(a)})
	}
	for _, a := range added {
		diff.Cells(text.Cell{Text: "+", Style: text.Good}, text.Cell{Text: phrase.Allowance(a), Style: text.Good}, text.Cell{Text: by(a)})
	}
	for _, parent := range r.Strays {
		diff.Cells(text.Cell{Text: "-", Style: text.Bad}, text.Cell{Text: "a stray of " + phrase.Target(parent), Style: text.Bad})
	}
	out.WriteString("\n" + diff.Render(t, indent))
	for _, w := range r.Warnings {
		out.WriteString("\n" + t.Wrap("", "Warning: "+w))
	}
	return out.String()
}

// differing leaves out what is in both lists for a reader: an entry that only gets another generation, or another way to
// it, is none the less there before and after. Where nothing else differs, all is shown.
func differing(removed, added []v1alpha1.Allowance) (gone, come []v1alpha1.Allowance) {
	come = slices.Clone(added)
	for _, a := range removed {
		i := slices.IndexFunc(come, func(b v1alpha1.Allowance) bool { return phrase.Allowance(a) == phrase.Allowance(b) && by(a) == by(b) })
		if i < 0 {
			gone = append(gone, a)
			continue
		}
		come = slices.Delete(come, i, i+1)
	}
	if len(gone)+len(come) == 0 {
		return removed, added
	}
	return gone, come
}

// by says who an entry comes from, with what was attested.
func by(a v1alpha1.Allowance) string {
	var out strings.Builder
	out.WriteString("by " + phrase.Author(a.Initiator))
	for _, h := range a.Trace {
		for _, line := range phrase.Attestations(h.Attestations) {
			out.WriteString(", " + line)
		}
	}
	return out.String()
}
