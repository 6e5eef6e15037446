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

package checker

import (
	"bufio"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"kausality.io/operator/test/campaign/audit"
	"kausality.io/operator/test/campaign/marks"
)

// refusal is what the API server says before the words of a webhook of the operator's.
var refusal = regexp.MustCompile(`admission webhook "[^"]*kausality\.io" denied the request`)

// checkMessages looks for values of strangers in what the operator tells people: in Events, refusals,
// records, conditions, the audit log and its own log. What a stranger's act names something by may be told.
func (c *checker) checkMessages() {
	values := c.values()
	look := func(at time.Time, where string, found []int) {
		c.report.Messages++
		for _, n := range found {
			if values[n] {
				c.report.Findings = append(c.report.Findings, Finding{
					Promise: Told, At: at, Object: where, What: fmt.Sprintf("it has what act %d wrote as a value, and nothing else", n),
				})
			}
		}
	}
	for _, w := range c.Log.Writes {
		if refusal.MatchString(w.Message) {
			look(w.Received, "the answer to "+w.String(), marks.In(w.Message))
		}
		for key, text := range w.Notes {
			look(w.Received, "the annotation "+key+" of "+w.String(), marks.In(text))
		}
		if w.User == c.Operator && (w.Subresource == "status" || slices.Contains([]string{events, records, policies}, w.Resource)) {
			found := slices.Concat(w.Named, w.Valued)
			slices.Sort(found)
			look(w.Received, w.String(), slices.Compact(found))
		}
	}
	lines := bufio.NewScanner(strings.NewReader(c.Said))
	lines.Buffer(nil, len(c.Said)+1)
	for lines.Scan() {
		var line struct {
			At time.Time `json:"ts"`
		}
		_ = json.Unmarshal(lines.Bytes(), &line) // What was left of a crash has no time.
		look(line.At, "a line of the operator's log", marks.In(lines.Text()))
	}
}

// values returns the acts whose marks somebody wrote as values, and nobody as the name of anything.
func (c *checker) values() map[int]bool {
	out := map[int]bool{}
	other := func(w *audit.Write) bool { return w.User != c.Operator }
	for _, w := range c.Log.Writes {
		if other(w) && w.Resource != events {
			for _, n := range w.Valued {
				out[n] = true
			}
		}
	}
	for _, w := range c.Log.Writes {
		for _, n := range w.Named {
			if other(w) {
				delete(out, n)
			}
		}
	}
	return out
}
