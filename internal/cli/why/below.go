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

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/cli/cluster"
	"kausality.io/operator/internal/cli/output"
	"kausality.io/operator/internal/cli/phrase"
	"kausality.io/operator/internal/cli/text"
	"kausality.io/operator/internal/policy"
)

// addBelow adds what waits below the subject: it is why the subject itself goes no further. obj is nil
// where it cannot be read; of a namespace everything is told in any case.
func (r *Report) addBelow(records []v1alpha1.AllowanceRecord, subject *cluster.Target, obj *unstructured.Unstructured) {
	if subject == nil {
		return
	}
	for _, rec := range cluster.Below(records, cluster.UIDOf(*subject, obj, records)) {
		if b := belowIn(rec); b != nil {
			r.Below = append(r.Below, *b)
		}
	}
}

// belowIn returns what waits as one record tells, nil where nothing does.
func belowIn(rec *v1alpha1.AllowanceRecord) *Below {
	ref := rec.Spec.TargetRef
	b := &Below{Object: ref, Command: phrase.Command("why", ref)}
	for _, a := range rec.Status.Active {
		if isWithheld(a) {
			b.Withheld = append(b.Withheld, a.Mutation)
		}
	}
	if blocked := rec.Status.Blocked; blocked != nil {
		b.Since, b.Refused = &blocked.Since, blocked.Message
		if i := slices.IndexFunc(rec.Status.History, func(e v1alpha1.HistoryEntry) bool {
			return e.Event == v1alpha1.EventDenied && isOf(blocked, e)
		}); i >= 0 {
			e := rec.Status.History[i]
			b.Since, b.Refused = &e.Time, changeText(Refusal{HistoryEntry: e, Parent: ref})
		}
	}
	if e := refusedByItself(rec); e != nil && b.Refused == "" {
		b.Since, b.Refused, b.ByItself = &e.Time, changeText(Refusal{HistoryEntry: *e, Parent: ref})+" to "+e.User, true
	}
	if b.Refused == "" && len(b.Withheld) == 0 {
		return nil
	}
	return b
}

// refusedByItself returns what a record's target has refused last to a controller by policies of its own, nil where that
// is nothing, or the controller has changed it since.
func refusedByItself(rec *v1alpha1.AllowanceRecord) *v1alpha1.HistoryEntry {
	history := rec.Status.History
	i := slices.IndexFunc(history, func(e v1alpha1.HistoryEntry) bool {
		return e.Event == v1alpha1.EventRefused && (policy.Requester{Username: e.User}).IsController()
	})
	if i < 0 || slices.ContainsFunc(history[:i], func(e v1alpha1.HistoryEntry) bool {
		return e.User == history[i].User && (e.Event == v1alpha1.EventGranted || e.Event == v1alpha1.EventWithheld)
	}) {
		return nil
	}
	return &history[i]
}

// shorten leaves out what is too much, and says how much that is.
func (r *Report) shorten(most output.Limit) {
	r.Refusals, r.More = output.Latest(r.Refusals, most)
	var more int
	if r.Below, more = output.Latest(r.Below, most); more > 0 {
		r.Notes = append(r.Notes, fmt.Sprintf("Below it %d more wait (--limit).", more))
	}
}

func renderBelow(b Below, t text.Terminal, now time.Time) string {
	var facts text.Table
	if b.ByItself {
		facts.Row("refused", fmt.Sprintf("%s, %s, by its own policies", b.Refused, phrase.Ago(b.Since.Time, now)))
	} else if b.Refused != "" {
		facts.Row("refused", fmt.Sprintf("%s, %s, still waiting", strings.TrimSuffix(b.Refused, "."), phrase.Ago(b.Since.Time, now)))
	}
	if len(b.Withheld) > 0 {
		facts.Row("withheld", strings.Join(b.Withheld, ", "))
	}
	facts.Cells(text.Cell{Text: "command"}, text.Cell{Text: b.Command, Unbroken: true})
	return t.Paint(text.Wait, "Below it") + indent + t.Paint(text.Strong, phrase.Target(b.Object)) + "\n" + facts.Render(t, indent)
}
