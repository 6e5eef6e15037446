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

package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"golang.org/x/perf/benchunit"
)

// report writes a table for each result.
func report(w io.Writer, results []result) error {
	for _, r := range results {
		if _, err := fmt.Fprintf(w, "\n%s (%s.svg)\n", r.title, r.file); err != nil {
			return err
		}
		table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
		for _, row := range r.rows() {
			if _, err := fmt.Fprintln(table, strings.Join(row, "\t")); err != nil {
				return err
			}
		}
		if err := table.Flush(); err != nil {
			return err
		}
	}
	return nil
}

// rows returns a heading, and what there is to say of each line.
func (r result) rows() [][]string {
	heading := []string{""}
	for _, p := range r.lines[0].Points {
		heading = append(heading, r.x.Format(p.X))
	}
	rows := [][]string{append(heading, "growth", "slope", "target")}
	for _, l := range r.lines {
		row := []string{l.Name}
		for _, p := range l.Points {
			row = append(row, shown(p.Y, r.y.Unit))
		}
		rows = append(rows, append(row,
			fmt.Sprintf("%.2f [%.2f, %.2f]", l.growth.Value, l.growth.Low, l.growth.High),
			fmt.Sprintf("%.2f", l.slope), r.target.describe(l)))
	}
	return rows
}

// shown returns a value in its unit, or a ratio, which has none.
func shown(value float64, unit string) string {
	if unit == "" {
		return fmt.Sprintf("%.2f", value)
	}
	return benchunit.Scale(value, benchunit.ClassOf(unit)) + unit
}

// describe returns the target, and whether it holds for a line.
func (t target) describe(l grown) string {
	switch {
	case t.growth != nil:
		return fmt.Sprintf("at most %.3g times: %s", t.growth(l.first().X, l.last().X), l.verdict)
	case t.most > 0:
		return fmt.Sprintf("at most %g: %s (%.2f at most)", t.most, l.verdict, l.largest(highEnd))
	default:
		return "none"
	}
}
