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

package can

import (
	"fmt"

	"kausality.io/operator/internal/cli/generation"
	"kausality.io/operator/internal/cli/phrase"
	"kausality.io/operator/internal/cli/text"
	"kausality.io/operator/internal/generate/plan"
)

// mostGenerated is how many objects are listed, unless people want to see more.
const mostGenerated = 20

// verbs say what would be done to an object.
var verbs = map[plan.Verb]string{plan.Create: "create", plan.Apply: "change", plan.Delete: "delete", plan.Leave: "leave"}

// renderGenerated turns what GeneratingPolicies would do into text.
func renderGenerated(all []Generated, t text.Terminal, wide bool) string {
	shown := all
	if !wide && len(all) > mostGenerated {
		shown = all[:mostGenerated-1]
	}
	var table text.Table
	for _, g := range shown {
		aside := "by " + g.Policy
		if why := generation.Why(g.Reason); why != "" {
			aside += ": " + why
		}
		table.Row(verbs[g.Do], phrase.Reference(g.Object), aside)
	}
	out := "GeneratingPolicies would then, as far as rights and other policies let them:\n" + table.Render(t, "  ")
	if rest := len(all) - len(shown); rest > 0 {
		out += t.Paint(text.Faint, fmt.Sprintf("  and %d more (-o wide lists them)\n", rest))
	}
	return out
}
