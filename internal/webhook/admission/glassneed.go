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

package admission

import (
	"context"
	"fmt"
	"slices"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/change"
	"kausality.io/operator/internal/decision"
	"kausality.io/operator/internal/eventrecorder"
	"kausality.io/operator/internal/record"
)

// byNeededGlass returns the verdict with the glass whole where the request needs none broken, and remembers else what
// it is broken for. Whether it is needed is found by deciding without: the request would be refused then, or some of
// what it changes withheld, or something let through only because a policy warns or audits, so that nothing follows
// from it. Who puts back what is withheld, or may initiate, has no use for it.
func (f *facts) byNeededGlass(ctx context.Context, r *request, verdict decision.Verdict) decision.Verdict {
	if f.BreakGlass == "" {
		return verdict
	}
	if verdict.Reason == decision.ReasonBreakGlass {
		f.brokenFor = verdict.Uncovered
		return verdict
	}
	without := *f
	without.BreakGlass = ""
	whole := decision.Decide(ctx, &without.Input)
	o := &outcome{facts: &without, verdict: whole, grant: decision.Grants(ctx, &without.Input, whole)}
	// The mutating hook has found that it was needed where it has made a grant of it: what this one knows may be older.
	if !f.glass.earned && !o.needsGlass(r) {
		f.BreakGlass = ""
		return whole
	}
	f.brokenFor = o.stoppedActs()
	return verdict
}

// needsGlass reports whether a request that was decided with the glass whole does not get through with all of it.
func (o *outcome) needsGlass(r *request) bool {
	_, isRefused := refusal(r, o)
	return isRefused || len(o.verdict.Uncovered) > 0 || len(o.grant.Withheld) > 0 || o.grant.Spared != nil || o.AdoptsWithoutCause()
}

// stoppedActs returns which of the acts of the request do not get through: those of which something is withheld, or
// would be, else all.
func (o *outcome) stoppedActs() []decision.Act {
	if len(o.verdict.Uncovered) > 0 {
		return o.verdict.Uncovered
	}
	stopped := withheldPaths(o.grant.Withheld)
	if s := o.grant.Spared; s != nil {
		stopped = append(stopped, s.Paths...)
	}
	var acts []decision.Act
	for _, c := range slices.Concat(o.OwnChanges, o.Actions, o.Reports) {
		if slices.ContainsFunc(stopped, func(text string) bool {
			path, err := change.ParsePath(text)
			return err == nil && path.Overlaps(c.Path)
		}) {
			acts = append(acts, decision.Act{Operation: decision.Update, Change: c})
		}
	}
	if len(acts) == 0 {
		return o.Acts()
	}
	return acts
}

// brokeGlass reports whether the request was let through, or allows something, only
// because it breaks the glass.
func (f *facts) brokeGlass() bool { return f.BreakGlass != "" }

// breaksOwnGlass reports whether it does by what is the object's own to tell: it has no parent whose verdict would.
func (o *outcome) breaksOwnGlass() bool {
	return o.brokeGlass() && (o.ParentState != decision.ParentFound || o.verdict.Reason != decision.ReasonBreakGlass)
}

// brokenText says what the glass was broken for, and why.
func (f *facts) brokenText() string {
	return fmt.Sprintf("%s of %s, for the reason %q", listed(f.brokenFor), objectText(f.Child.GVK.Kind, f.Child.Name), f.glass.reason)
}

// glassReason returns the reason for which the glass is broken for a request that passes, by whichever of the parents
// of its object.
func (ru *ruling) glassReason() (string, bool) {
	if ru.brokeGlass() {
		return ru.glass.reason, true
	}
	for _, other := range ru.others {
		if other.brokeGlass() {
			return other.glass.reason, true
		}
	}
	return "", false
}

// observeOwnGlass takes note of glass that is broken where no verdict of a parent tells of it: for an object at the top
// of a chain, or for what the policies of the object itself would withhold or refuse.
func (v *Validator) observeOwnGlass(r *request, o *outcome) {
	text := o.brokenText()
	e := v1alpha1.HistoryEntry{
		Event: v1alpha1.EventBreakGlass, User: r.requester.Username, Operation: operationText(r),
		Reason: string(decision.ReasonBreakGlass), Policies: names(o.OwnPolicies), Message: text,
		Paths: recordedPaths(o.brokenFor),
	}
	if len(o.verdict.Policies) > 0 {
		e.Policies = names(o.verdict.Policies)
	}
	v.Records.Observe(record.Outcome{Target: r.target(), History: []v1alpha1.HistoryEntry{e}})
	n := eventrecorder.Notice{
		Reason: eventrecorder.BreakGlass, Action: e.Operation, About: r.target(), Text: e.User + " broke the glass: " + text,
	}
	if o.ParentState == decision.ParentFound {
		n.About = o.parent
		tellChild(r, &n)
	}
	v.Notices.Post(n)
}
