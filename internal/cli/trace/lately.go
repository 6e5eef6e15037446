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

package trace

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/cli/cluster"
	"kausality.io/operator/internal/cli/output"
	"kausality.io/operator/internal/cli/phrase"
	"kausality.io/operator/internal/cli/text"
)

// Lately is what was changed in a namespace.
type Lately struct {
	// SwitchedOff is there while everything is switched off: nothing counts then.
	SwitchedOff *cluster.Off `json:"switchedOff,omitempty"`
	// Unenforced are the policies about it that are not enforced.
	Unenforced []cluster.Unenforced `json:"unenforced,omitempty"`
	// Namespace that was asked about.
	Namespace string `json:"namespace"`
	// Causes are the changes, and what came of each, the latest first.
	Causes []*Cause `json:"causes"`
	// More is how many earlier ones there are.
	More int `json:"more,omitempty"`
}

// lately reads the records of the namespace, and of their causes takes the latest.
func lately(ctx context.Context, c *cluster.Cluster, most output.Limit) (*Lately, error) {
	records, err := c.Records(ctx, c.Namespace)
	if err != nil {
		return nil, err
	}
	report := latest(c.Namespace, records, most)
	report.SwitchedOff = c.Off(ctx)
	if policies, err := c.Policies(ctx); err == nil {
		report.Unenforced = c.UnenforcedIn(ctx, policies, c.Namespace)
	}
	if len(report.Causes)+report.More == 0 {
		if err := c.HasNamespace(ctx); err != nil {
			return nil, err
		}
	}
	return report, nil
}

func latest(namespace string, records []v1alpha1.AllowanceRecord, most output.Limit) *Lately {
	links := make([]link, 0, len(records))
	for i := range records {
		links = append(links, linksOf(&records[i])...)
	}
	report := &Lately{Namespace: namespace}
	report.Causes, report.More = output.Latest(grow(links, links), most)
	return report
}

// renderLately turns it into a table.
func renderLately(r *Lately, t text.Terminal, now time.Time) string {
	first := cluster.Banner(t, now, r.SwitchedOff, r.Unenforced)
	if len(r.Causes)+r.More == 0 {
		return first + t.Wrap("", "The AllowanceRecords of namespace "+r.Namespace+" tell of no change.")
	}
	var table text.Table
	table.Header("WHEN", "WHO", "OBJECT", "CHANGE", "TOUCHED")
	for _, c := range r.Causes {
		when := "open"
		if c.Since != nil {
			when = phrase.Ago(c.Since.Time, now)
		}
		table.Row(when, c.who(), phrase.Object(c.First.Kind, c.First.Name), phrase.Change(c.First.Kind, c.First.What), c.touched())
	}
	out := first + table.Render(t, "")
	if more := output.More(t, r.More); more != "" {
		out += "\n" + more
	}
	return out
}

// touched counts the objects below the first one, by kind.
func (c *Cause) touched() string {
	seen := []Child{c.First.child()}
	counts := map[string]int{}
	var kinds []string
	c.First.visit(func(n *Node) {
		if n.child().isAmong(seen) {
			return
		}
		seen = append(seen, n.child())
		if !slices.Contains(kinds, n.Kind) {
			kinds = append(kinds, n.Kind)
		}
		counts[n.Kind]++
	})
	switch {
	case len(kinds) == 0 && c.First.CarriedOut:
		return "not told: it was carried out although nobody approved it"
	case len(kinds) == 0:
		return "nothing"
	}
	parts := make([]string, 0, len(kinds))
	for _, kind := range kinds {
		parts = append(parts, fmt.Sprintf("%d %s", counts[kind], kind))
	}
	if c.First.CarriedOut {
		parts = append(parts, "and what it was carried out on although nobody approved it")
	}
	return strings.Join(parts, ", ")
}
