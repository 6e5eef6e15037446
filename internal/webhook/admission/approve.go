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
	"slices"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/approved"
	"kausality.io/operator/internal/change"
	"kausality.io/operator/internal/decision"
	"kausality.io/operator/internal/ledger"
	"kausality.io/operator/internal/lineage"
	"kausality.io/operator/internal/policy"
	"kausality.io/operator/internal/record"
)

// approval is what a request says about approving what is already there (D20).
type approval struct {
	// asked is true where the request sets the annotation, of the text.
	asked bool
	text  string
	// allowed is true where the requester may approve.
	allowed bool
	// changes are the approved fields, as if just changed.
	changes []change.Change
	// adoption is true where the adoption of the object by its parent is approved.
	adoption bool
	// all is true where everything is, as it is.
	all bool
	// unknown are paths that cannot be read.
	unknown []string
	// since are paths whose content was changed after somebody looked at it.
	since []string
	// settled are paths of which a digest says what somebody looked at, and at which nothing is withheld any more.
	settled []string
	// missing are paths at which the object has no field, and nothing is withheld: nothing is approved there.
	missing []string
}

// approval reads the annotation, which counts only in the request that sets it.
func (r *request) approval(f *facts) approval {
	if r.new == nil || r.operation != decision.Update || r.subresource != "" || f.copied() {
		return approval{}
	}
	text, ok := r.asksToApprove()
	if !ok {
		return approval{}
	}
	a := approval{asked: true, text: text}
	a.allowed = f.mayApprove()
	if !a.allowed {
		return a
	}
	st := r.unapproved(f)
	for _, part := range change.SplitPaths(text) {
		r.approve(f, st, part, &a)
	}
	return a
}

// asksToApprove returns what the request sets the annotation to. Where another webhook has this one asked again,
// it was taken away before.
func (r *request) asksToApprove() (string, bool) {
	key := ledger.AnnotationKey(r.new, ledger.NameApprove)
	text, ok := r.new.GetAnnotations()[key]
	switch {
	case ok && annotation(r.old, key) != text:
		return text, true
	case r.again != nil:
		return r.again.approve, r.again.approve != ""
	default:
		return "", false
	}
}

// unapproved returns what is withheld of the object as the request leaves it, before anything
// of it is approved: what it changes itself has a cause, as its requester may approve.
func (r *request) unapproved(f *facts) *approved.Standing {
	if f.Child.Standing == nil {
		return nil
	}
	o := f.Child.Standing.Object
	o.Fields, o.Generation = f.Child.New, f.Child.Generation
	return f.Child.Standing.After(approved.Request{New: o, User: f.Requester.Username})
}

// approve reads one part of the annotation: a path, or *, with or without the digest of
// what was looked at.
func (r *request) approve(f *facts, st *approved.Standing, part string, a *approval) {
	text, digest := decision.ParseApproval(part)
	var path change.Path
	switch text {
	case "":
		return
	case lineage.OwnersPath:
		a.adoption = true
		return
	case v1alpha1.Any:
		a.adoption = true
		a.all = digest == "" || st != nil && st.Digest(nil) == digest
	default:
		path, _ = change.ParsePath(text)
	}
	if digest != "" && len(withheldAt(st, text)) == 0 && st.WaitsAt(path) {
		return // It is as it was; no rule is about it any more.
	}
	if digest != "" && (st == nil || st.Digest(path) != digest && !record.IsPending(f.record, r.old, text, digest)) {
		if !isHeldAround(st, path) {
			a.settled = append(a.settled, text)
		} else {
			a.since = append(a.since, text)
		}
		return
	}
	if text == v1alpha1.Any {
		a.changes = append(a.changes, r.approvable(f, st)...)
		return
	}
	changes, err := r.approved(text)
	if err != nil {
		a.unknown = append(a.unknown, text)
	}
	// What is withheld there is known with the value that it replaced.
	if held := withheldAt(st, text); len(held) > 0 {
		changes = held
	} else if err == nil && !r.isOfAll(f, text) && !slices.ContainsFunc(changes, func(c change.Change) bool { return c.Old != nil || c.New != nil || st.WaitsAt(c.Path) }) {
		// It would be the cause of what a rule gives for any field there, in the name of who mistyped it.
		a.missing = append(a.missing, text)
		return
	}
	a.changes = append(a.changes, changes...)
}

// isOfAll reports whether a path is of an approval of everything, as another replica has answered it: that is of each
// field that triggers a rule, there or not.
func (r *request) isOfAll(f *facts, text string) bool {
	return r.again != nil && r.again.elsewhere && slices.ContainsFunc(f.OwnPolicies, func(p *policy.Policy) bool {
		return slices.ContainsFunc(p.Rules, func(rule policy.Rule) bool { return rule.Trigger.String() == text })
	})
}

// isHeldAround reports whether anything is withheld at, below or above a path; no path is anywhere.
func isHeldAround(st *approved.Standing, path change.Path) bool {
	return st != nil && slices.ContainsFunc(st.Withheld(), func(d approved.Difference) bool { return path.Overlaps(d.Path) })
}

// withheldAt returns the withheld changes that a pattern covers.
func withheldAt(st *approved.Standing, text string) []change.Change {
	pattern, err := change.ParsePattern(text)
	if err != nil || st == nil {
		return nil
	}
	var out []change.Change
	for _, d := range st.Withheld() {
		if pattern.Covers(d.Path) {
			out = append(out, d.Change)
		}
	}
	return out
}

// unruled returns what the request asks to approve and no rule of a policy in effect that denies is about: nothing of it
// is held back, and nothing of it can be approved.
func (o *outcome) unruled() []v1alpha1.Allowance {
	return slices.DeleteFunc(decision.Waiting(o.grant.Standing).Allowances(), func(a v1alpha1.Allowance) bool { return !o.approve.names(a.Mutation) })
}

// names reports whether an approval is of a field, of what is above it or below, or of everything.
func (a *approval) names(field string) bool {
	at, err := change.ParsePath(field)
	return err == nil && slices.ContainsFunc(change.SplitPaths(a.text), func(part string) bool {
		text, _ := decision.ParseApproval(part)
		if text == v1alpha1.Any {
			return true
		}
		pattern, err := change.ParsePattern(text)
		return err == nil && len(pattern) > 0 && pattern.Overlaps(change.Pattern(at))
	})
}

// approves reports whether the request approves something that was withheld.
func (o *outcome) approves() bool {
	st := o.grant.Standing
	return o.Child.Standing != nil && st != nil && len(o.approve.changes) > 0 &&
		len(st.Differences) < len(o.Child.Standing.Differences)
}

// mayApprove reports whether the requester may approve changes of the object.
func (f *facts) mayApprove() bool {
	return f.AncestorInitiator || policy.MayInitiate(f.Requester, f.OwnPolicies)
}

// mayApproveAdoption reports whether the requester may approve that the object has the parents that it has.
// That is about all of the object: who may initiate by policies alone that are less strict than others may not.
func (f *facts) mayApproveAdoption() bool {
	return f.AncestorInitiator || policy.MayInitiate(f.Requester, policy.Strictest(f.OwnPolicies))
}

// approved returns the fields that one path of the annotation names. A path without
// wildcards names its field even where that was removed.
func (r *request) approved(text string) ([]change.Change, error) {
	if path, err := change.ParsePath(text); err == nil {
		return []change.Change{r.asChange(path)}, nil
	}
	pattern, err := change.ParsePattern(text)
	if err != nil {
		return nil, err
	}
	var changes []change.Change
	for _, path := range pattern.Expand(r.new.Object) {
		changes = append(changes, r.asChange(path))
	}
	return changes, nil
}

// approvable returns everything that can be approved: what is withheld, and each
// field that triggers a rule.
func (r *request) approvable(f *facts, st *approved.Standing) []change.Change {
	var changes []change.Change
	if st != nil {
		for _, d := range st.Withheld() {
			changes = append(changes, d.Change)
		}
	}
	for _, p := range f.OwnPolicies {
		for _, rule := range p.Rules {
			// A trigger that ParsePattern read once can be read again.
			triggered, _ := r.approved(rule.Trigger.String())
			changes = append(changes, triggered...)
		}
	}
	return changes
}

func (r *request) asChange(path change.Path) change.Change {
	old, _ := path.Value(r.old.Object)
	value, _ := path.Value(r.new.Object)
	return change.Change{Path: path, Verb: change.Mutate, Old: old, New: value}
}
