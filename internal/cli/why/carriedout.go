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

package why

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/cli/phrase"
	"kausality.io/operator/internal/cli/text"
	"kausality.io/operator/internal/record"
)

// carriedOut returns the withheld changes of a record's target that were carried out although nobody approved
// them, the latest first.
func carriedOut(rec *v1alpha1.AllowanceRecord) []CarriedOut {
	var out []CarriedOut
	for _, e := range rec.Status.History {
		if record.IsCarriedOut(e) {
			out = append(out, CarriedOut{Time: e.Time, Object: rec.Spec.TargetRef, Paths: e.Paths, User: e.User, Message: e.Message})
		}
	}
	return out
}

// carriedOutSince returns what was carried out after a child was refused, nil where nothing was.
func carriedOutSince(rec *v1alpha1.AllowanceRecord, refused v1alpha1.HistoryEntry) *CarriedOut {
	all := carriedOut(rec)
	i := slices.IndexFunc(all, func(c CarriedOut) bool { return !c.Time.Before(&refused.Time) })
	if i < 0 {
		return nil
	}
	return &all[i]
}

// text says what was carried out, and why, as the record tells.
func (c *CarriedOut) text(now time.Time) string {
	text := fmt.Sprintf("%s changed %s, which was withheld and is carried out all the same, as was found %s", phrase.Author(c.User), strings.Join(c.Paths, ", "),
		phrase.Ago(c.Time.Time, now))
	if _, why, found := strings.Cut(c.Message, ": "); found {
		return text + ": " + why
	}
	return text + ". Change it back to take it back"
}

// renderCarriedOut tells of a change that was carried out.
func renderCarriedOut(c CarriedOut, place string, t text.Terminal, now time.Time) string {
	var facts text.Table
	facts.Row("what", c.text(now))
	return t.Paint(text.Bad, "Carried out "+phrase.Ago(c.Time.Time, now)) + indent + t.Paint(text.Strong, phrase.Target(c.Object)) + place + "\n" +
		facts.Render(t, indent)
}
