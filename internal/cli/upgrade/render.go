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

package upgrade

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/cli/phrase"
	"kausality.io/operator/internal/cli/text"
)

const indent = "  "

// styles of states.
var styles = map[State]text.Style{Blocked: text.Bad, Moving: text.Wait, Waits: text.Wait, Moved: text.Good}

func render(r *Report, t text.Terminal, now time.Time) string {
	var out strings.Builder
	out.WriteString(t.Paint(text.Strong, "UpgradeAllowance/"+r.Name) + fmt.Sprintf(" of %s, by %s\n", r.ServiceAccount, cmp.Or(r.ChangedBy, "somebody")))
	out.WriteString(t.Wrap("", "It lets through what is new of: "+strings.Join(r.Triggers, ", ")+"."))
	for _, kind := range []string{v1alpha1.ConditionEnforced, v1alpha1.ConditionUpgraded} {
		if c := apimeta.FindStatusCondition(r.Conditions, kind); c != nil {
			out.WriteString(t.Wrap("", fmt.Sprintf("%s: %s. %s", c.Type, stateOf(c), c.Message)))
		}
	}
	out.WriteString("\n")
	if len(r.Parents) == 0 {
		out.WriteString("No AllowanceRecord tells of a parent that it is about.\n")
		return out.String()
	}
	var rows text.Table
	rows.Header("STATE", "AGE", "NAMESPACE", "PARENT", "MADE FROM", "WAITS FOR")
	for _, p := range r.Parents {
		rows.Cells(text.Cell{Text: string(p.State), Style: styles[p.State]}, text.Cell{Text: phrase.Ago(p.Since.Time, now)}, text.Cell{Text: p.Object.Namespace},
			text.Cell{Text: phrase.Target(p.Object), Style: text.Strong}, text.Cell{Text: strings.Join(p.Versions, ", ")}, text.Cell{Text: p.On})
	}
	out.WriteString(rows.Render(t, indent))
	if r.Parents[0].State == Blocked {
		out.WriteString("\nWhy:                        " + phrase.Command("why", r.Parents[0].Object) + "\n" +
			"What would let it through:  " + phrase.Suggest(r.ServiceAccount) + "\n")
	}
	if r.Note != "" {
		out.WriteString("\n" + t.Wrap("", r.Note))
	}
	return out.String()
}

// stateOf returns what a condition says: yes, or no and why.
func stateOf(c *metav1.Condition) string {
	if c.Status == metav1.ConditionTrue {
		return "yes"
	}
	return "no, " + c.Reason
}
