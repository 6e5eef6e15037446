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

package derive

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/cli/source"
	"kausality.io/operator/internal/cli/text"
	"kausality.io/operator/internal/derive/draft"
)

// Report says for people which field reaches which, and what was not derived.
func Report(d *draft.Derivation, doc *source.Document, terminal text.Terminal) string {
	rows := slices.Clone(d.Rows)
	slices.SortStableFunc(rows, func(a, b draft.Row) int {
		// What changes by itself comes last.
		return cmp.Or(strings.Compare(a.Observed, b.Observed), strings.Compare(a.Field, b.Field))
	})
	var table text.Table
	table.Header("FIELD", "REACHES", "WHY")
	for _, r := range rows {
		from := cmp.Or(r.Field, "("+r.Observed+")")
		to := r.Resource + "." + r.Reaches
		if r.Reaches == "" {
			to = r.Resource
		}
		table.Row(from, to, r.Why)
	}
	var out strings.Builder
	fmt.Fprintf(&out, "%s\n", terminal.Paint(text.Strong, title(d.Policy)))
	if len(rows) > 0 {
		out.WriteString(table.Render(terminal, "  "))
	} else {
		out.WriteString("  no change of one reaches anything\n")
	}
	for _, n := range d.Notes {
		label, style := "note", text.Wait
		if n.Lost {
			label, style = "not derived", text.Bad
		}
		p := doc.Problem("spec", "%s", n.Message)
		p.Field = strings.TrimSpace(n.Resource + " " + n.Field)
		out.WriteString(source.Told(terminal, terminal.Paint(style, label), p))
	}
	return out.String()
}

// title names a policy: by the kind of the parents, and where several are derived from the same, by its
// own name.
func title(p *v1alpha1.AllowancePolicy) string {
	kind := schema.GroupKind{Group: p.Spec.For.APIGroup, Kind: p.Spec.For.Kind}.String()
	if p.Annotations[v1alpha1.AnnotationDerivedFrom] != "" {
		return kind
	}
	return kind + ", " + p.Name
}
