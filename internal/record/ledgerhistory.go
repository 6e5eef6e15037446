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

package record

import (
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kausality.io/operator/api/v1alpha1"
)

// LedgerHistory returns what the history of a target tells of entries of its ledger: one
// entry for all that one change of a field gave, with event where it gave allowances, and with
// withheld where it is withheld. Their order is that of the allowances.
func LedgerHistory(target v1alpha1.TargetReference, allowances []v1alpha1.Allowance, event, withheld v1alpha1.HistoryEvent, at metav1.Time) []v1alpha1.HistoryEntry {
	var out []v1alpha1.HistoryEntry
	for _, a := range allowances {
		e := v1alpha1.HistoryEntry{Time: at, Event: event, Initiator: a.Initiator, Trace: shortTrace(a.Trace)}
		if a.Relation == v1alpha1.RelationWithheld {
			// Who made the change started no chain.
			e.Event, e.Initiator = withheld, ""
			e.Trace = shortTrace([]v1alpha1.TraceHop{{Kind: target.Kind, Name: target.Name, Generation: a.Generation, Field: a.Mutation}})
			if withheld == v1alpha1.EventWithheld {
				e.User = a.Initiator
			}
		}
		if last := len(e.Trace) - 1; last >= 0 {
			e.Paths = []string{e.Trace[last].Field}
		}
		what := describeAllowance(a)
		i := slices.IndexFunc(out, func(other v1alpha1.HistoryEntry) bool { return e.Event == other.Event && sameCause(e, other) })
		switch {
		case i < 0:
			e.Message = what
			out = append(out, e)
		case what != "" && !slices.Contains(strings.Split(out[i].Message, "; "), what):
			out[i].Message += "; " + what
		}
	}
	return out
}

// IsCarriedOut reports whether an entry tells of a withheld change that was carried out although nobody
// approved it.
func IsCarriedOut(e v1alpha1.HistoryEntry) bool {
	return e.Event == v1alpha1.EventReleased && e.Reason == v1alpha1.ReasonCarriedOut
}

// describeAllowance says what an allowance permits, in short.
func describeAllowance(a v1alpha1.Allowance) string {
	switch {
	case a.Relation == v1alpha1.RelationWithheld:
		return ""
	case a.Relation == v1alpha1.RelationExternal:
		return string(a.Relation) + " " + strings.Join(a.Mutations, "+")
	case a.Kind == v1alpha1.Any && a.Mutation == v1alpha1.Any && len(a.Verbs) == 0:
		return "anything"
	case len(a.Verbs) > 0:
		verbs := make([]string, 0, len(a.Verbs))
		for _, v := range a.Verbs {
			verbs = append(verbs, string(v))
		}
		return a.Kind + " " + a.Mutation + " (" + strings.Join(verbs, ", ") + ")"
	default:
		return a.Kind + " " + a.Mutation
	}
}

// FollowLedger adds to a history what a look at the target shows: what it holds
// since the look before that admission has not told of, and what is over, of what it
// held then and of what was granted since. generation is the target's.
func FollowLedger(target v1alpha1.TargetReference, history []v1alpha1.HistoryEntry, before, held []v1alpha1.Allowance, generation int64, at metav1.Time) []v1alpha1.HistoryEntry {
	has := func(event v1alpha1.HistoryEvent, like v1alpha1.HistoryEntry) bool {
		like.Event = event
		return tells(history, like)
	}
	then := LedgerHistory(target, before, v1alpha1.EventConsumed, v1alpha1.EventReleased, at)
	now := LedgerHistory(target, held, v1alpha1.EventGranted, v1alpha1.EventWithheld, at)
	var news []v1alpha1.HistoryEntry
	for _, e := range now {
		wasHeld := slices.ContainsFunc(then, func(other v1alpha1.HistoryEntry) bool { return sameCause(e, other) })
		if !wasHeld && !has(e.Event, e) {
			news = append(news, e)
		}
	}
	isHeld := func(e v1alpha1.HistoryEntry) bool {
		return slices.ContainsFunc(now, func(other v1alpha1.HistoryEntry) bool { return sameCause(e, other) })
	}
	for _, e := range then {
		if !isHeld(e) && !has(e.Event, e) {
			news = append(news, e)
		}
	}
	for _, e := range history {
		if e.Event != v1alpha1.EventGranted || !reached(e, generation) {
			continue
		}
		whole := IsFolded(&e)
		ended := over(&e, at, func(one *v1alpha1.HistoryEntry) bool {
			if whole {
				return holdsField(now, one) || tellsField(history, one) || tellsField(news, one)
			}
			return isHeld(*one) || tells(history, *one) || tells(news, *one)
		})
		if ended != nil {
			news = append(news, *ended)
		}
	}
	return WithHistory(history, news...)
}

// Done adds to a history that allowances of the target have done what they were for,
// and that they were granted before, where nobody has told so: they can be over
// before anybody has seen them.
func Done(target v1alpha1.TargetReference, history []v1alpha1.HistoryEntry, allowances []v1alpha1.Allowance, at metav1.Time) []v1alpha1.HistoryEntry {
	for _, event := range []v1alpha1.HistoryEvent{v1alpha1.EventGranted, v1alpha1.EventConsumed} {
		for _, e := range LedgerHistory(target, allowances, event, v1alpha1.EventReleased, at) {
			if !tells(history, e) {
				history = WithHistory(history, e)
			}
		}
	}
	return history
}

// reached reports whether the target has the generation that something was granted
// for: then its ledger has had the grant, too.
func reached(granted v1alpha1.HistoryEntry, generation int64) bool {
	last := len(granted.Trace) - 1
	return last >= 0 && granted.Trace[last].Generation > 0 && granted.Trace[last].Generation <= generation
}

// tells reports whether a history has an entry, or what came of the same cause
// later.
func tells(history []v1alpha1.HistoryEntry, e v1alpha1.HistoryEntry) bool {
	return slices.ContainsFunc(history, func(old v1alpha1.HistoryEntry) bool {
		return step(e) <= step(old) && repeats(e, old) && (!IsFolded(&old) || tellsFields(&old, &e))
	})
}

// tellsField reports whether a history tells of the event of a field of a write, whatever is attested to.
func tellsField(history []v1alpha1.HistoryEntry, e *v1alpha1.HistoryEntry) bool {
	return slices.ContainsFunc(history, func(old v1alpha1.HistoryEntry) bool { return step(*e) <= step(old) && tellsFields(&old, e) })
}

// holdsField reports whether one of the entries of what is held is because of a field of a write.
func holdsField(now []v1alpha1.HistoryEntry, e *v1alpha1.HistoryEntry) bool {
	return slices.ContainsFunc(now, func(other v1alpha1.HistoryEntry) bool {
		return step(other) == step(*e) && sameOrigin(&other, e) && slices.Equal(other.Paths, e.Paths)
	})
}

// sameCause reports whether two entries come from the same change.
func sameCause(a, b v1alpha1.HistoryEntry) bool {
	return a.Initiator == b.Initiator && slices.EqualFunc(a.Trace, b.Trace, sameHop)
}

// sameChain reports whether two entries come from the same change further up, by whichever
// of the changes that it has made below: a rollout changes the number of a ReplicaSet's
// Pods many times.
func sameChain(a, b v1alpha1.HistoryEntry) bool {
	last := len(a.Trace) - 1
	if last < 1 || last != len(b.Trace)-1 {
		return sameCause(a, b)
	}
	end := a.Trace[last]
	end.Generation = b.Trace[last].Generation
	return a.Initiator == b.Initiator && slices.EqualFunc(a.Trace[:last], b.Trace[:last], sameHop) && sameHop(end, b.Trace[last])
}

// step returns the generation of the target that an entry is about.
func step(e v1alpha1.HistoryEntry) int64 {
	if len(e.Trace) == 0 {
		return 0
	}
	return e.Trace[len(e.Trace)-1].Generation
}

// sameHop is written out because a whole history is compared at every look, and
// reflection took a fifth of the operator's time.
func sameHop(a, b v1alpha1.TraceHop) bool {
	return a.Generation == b.Generation && a.Name == b.Name && a.Namespace == b.Namespace && a.Kind == b.Kind && a.Field == b.Field &&
		maps.Equal(a.Attestations, b.Attestations)
}
