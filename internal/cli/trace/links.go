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
	"cmp"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/cli/phrase"
	"kausality.io/operator/internal/record"
)

// link is a piece of a chain, as one entry of a ledger or of a history tells it.
type link struct {
	initiator string
	why       string
	// time it was last told of, and the first such time.
	time, since *metav1.Time
	hops        []v1alpha1.TraceHop
	// children of the last hop's object, at which it ends, and what happened to them.
	kind, in string
	names    []string
	what     string

	active, withheld, carriedOut bool
}

// linksOf returns what a record, or a ledger in its form, tells.
func linksOf(rec *v1alpha1.AllowanceRecord) []link {
	ref := rec.Spec.TargetRef
	var out []link
	for _, a := range rec.Status.Active {
		out = append(out, ofAllowance(ref, a))
	}
	for _, e := range rec.Status.History {
		if l, ok := ofHistory(ref, e); ok {
			out = append(out, ofFields(l, e)...)
		}
	}
	if d := rec.Status.Deletion; d != nil {
		out = append(out, ofDeletion(ref, d))
	}
	return out
}

func ofAllowance(ref v1alpha1.TargetReference, a v1alpha1.Allowance) link {
	l := link{initiator: a.Initiator, hops: phrase.Named(a.Trace, ref), active: true}
	if a.Relation == v1alpha1.RelationWithheld {
		l.why, l.withheld, l.active = string(a.Relation), true, false
		l.hops = phrase.Named([]v1alpha1.TraceHop{{Kind: ref.Kind, Name: ref.Name, Generation: a.Generation, Field: a.Mutation}}, ref)
	}
	return l
}

// ofHistory leaves out what says nothing of causes: refusals, and the ends of
// allowances.
func ofHistory(ref v1alpha1.TargetReference, e v1alpha1.HistoryEntry) (link, bool) {
	l := link{initiator: e.Initiator, time: &e.Time, since: record.Since(&e), hops: phrase.Named(e.Trace, ref)}
	switch e.Event {
	case v1alpha1.EventGranted:
		return l, len(l.hops) > 0
	case v1alpha1.EventWithheld:
		l.initiator, l.why = e.User, string(e.Event)
		return l, len(l.hops) > 0
	case v1alpha1.EventReleased:
		// The cause is told as when it was withheld, what became of it besides.
		l.initiator, l.why, l.carriedOut = e.User, string(v1alpha1.EventWithheld), true
		return l, len(l.hops) > 0 && record.IsCarriedOut(e)
	case v1alpha1.EventExercised, v1alpha1.EventAllowed, v1alpha1.EventWarned, v1alpha1.EventAudited, v1alpha1.EventBreakGlass:
		if e.Kind == "" && len(e.Paths) > 0 { // It is about the object itself.
			l.initiator, l.why = e.User, e.Reason
			l.hops = phrase.Named([]v1alpha1.TraceHop{{Kind: ref.Kind, Name: ref.Name, Field: e.Paths[0]}}, ref)
			return l, true
		}
		l.kind, l.in, l.names, l.what = e.Kind, cmp.Or(e.Namespace, ref.Namespace), e.Names, happened(e)
		if l.initiator == "" || len(l.hops) == 0 {
			l.initiator, l.why = e.User, e.Reason
			l.hops = phrase.Named([]v1alpha1.TraceHop{{Kind: ref.Kind, Name: ref.Name}}, ref)
		}
		return l, true
	default:
		return link{}, false
	}
}

// ofFields returns a link for each field where an entry tells of several of a write, of which its trace has one.
func ofFields(l link, e v1alpha1.HistoryEntry) []link {
	last := len(l.hops) - 1
	if !record.IsFolded(&e) || last < 0 {
		return []link{l}
	}
	out := make([]link, 0, len(e.Paths))
	for _, path := range e.Paths {
		one := l
		one.hops = slices.Clone(l.hops)
		one.hops[last].Field = path
		out = append(out, one)
	}
	return out
}

func ofDeletion(ref v1alpha1.TargetReference, d *v1alpha1.Deletion) link {
	l := link{initiator: d.Initiator, time: &d.Time, since: &d.Time, hops: phrase.Named(d.Trace, ref)}
	if l.initiator == "" || len(l.hops) == 0 {
		l.initiator, l.why = d.User, string(v1alpha1.EventDeleted)
		l.hops = phrase.Named([]v1alpha1.TraceHop{record.DeletedHop(ref)}, ref)
	}
	return l
}

// What happened to a child at the end of a way, where it is no change of it.
const (
	whatCreated = "created"
	whatDeleted = "deleted"
	whatEvicted = "evicted"
)

// happened says what a request did to a child.
func happened(e v1alpha1.HistoryEntry) string {
	switch e.Operation {
	case "Create":
		return whatCreated
	case "Delete":
		return whatDeleted
	case "Eviction":
		return whatEvicted
	default:
		return "changed " + strings.Join(e.Paths, ", ")
	}
}

// through reports whether the way leads through an object, and keeps of its ends only
// that, where it is one of them.
func (l link) through(kind, namespace, name string) (link, bool) {
	if slices.ContainsFunc(l.hops, func(h v1alpha1.TraceHop) bool {
		return h.Kind == kind && h.Name == name && mayBeOne(h.Namespace, namespace)
	}) {
		return l, true
	}
	if l.kind == kind && slices.Contains(l.names, name) && mayBeOne(l.in, namespace) {
		l.names = []string{name}
		return l, true
	}
	return link{}, false
}

// mayBeOne reports whether two namespaces may be the same: an empty one is not known, or none.
func mayBeOne(a, b string) bool { return a == "" || b == "" || a == b }
