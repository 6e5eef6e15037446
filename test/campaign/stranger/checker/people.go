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
	"encoding/json"
	"slices"

	"kausality.io/operator/test/campaign/audit"
	"kausality.io/operator/test/campaign/policylog"
)

// Barred is broken by a refusal of a change that could wait, or that was the requester's to make.
const Barred Promise = "somebody refused what may wait, or is theirs"

// checkPeople looks for people who were refused a change of an object that has no owner, of which policies say that it goes
// through: one who may initiate with all of it is refused nothing, and anybody else's change is withheld. docs/allowancepolicy.md
// names what is refused: fields that are carried out all the same, scales, statuses, commands, and what leaves a policy or gets
// an owner. Where any of that may be in a request it is not judged.
func (c *checker) checkPeople() {
	for _, w := range c.Log.Writes {
		kind := kinds[w.Resource]
		if c.unjudged(w) {
			continue
		}
		if c.keepsAlive(w) || !refusal.MatchString(w.Message) || controllers[kind] == "" || slices.Contains(c.trusted(), w.User) || len(w.Said.Owners) > 0 {
			continue
		}
		switch l, v := c.alone(w); {
		case l != nil:
			c.checkBarred(l, v, w)
		case w.Verb == audit.VerbCreate && w.Subresource == "" && w.Refused != nil:
			c.checkUnborn(w)
		}
	}
}

// unjudged reports whether somebody was refused as the operator could not find out what that depends on, or could not write
// down what follows from it: policies have it that nothing goes on then. That is counted.
func (c *checker) unjudged(w *audit.Write) bool {
	if !refusal.MatchString(w.Message) || !slices.Contains(w.Reasons, couldNotTell) {
		return false
	}
	c.report.Unjudged++
	return true
}

// alone returns what a denied request was about, and the version that there was, where that has no owner.
func (c *checker) alone(w *audit.Write) (*audit.Life, *audit.Version) {
	if w.Verb == audit.VerbCreate || w.Name == "" {
		return nil, nil
	}
	l, v := c.target(w, nil)
	if v == nil || len(v.Owners) > 0 || v.Deleting {
		return nil, nil
	}
	return l, v
}

func (c *checker) checkBarred(l *audit.Life, v *audit.Version, w *audit.Write) {
	from, to := w.Received.Add(-lag), w.Answered.Add(lag)
	governing := c.rulesOf(l).During(v.Kind, false, from, to)
	if c.disturbed(l, from.Add(-policylog.Moment), to) || c.adopting(l, to) || len(governing) == 0 && len(c.rulesOf(l).Ever(v.Kind, from, to)) > 0 {
		return
	}
	switch {
	case c.initiates(l, v, w) && !c.rightsTo(l, &audit.Version{Object: v.Object, By: w, Before: v}).less:
		if w.Subresource == "" && c.stays(v, w) || w.Subresource == audit.SubScale {
			c.barred(l, w, "who may initiate with all of it")
		}
	case w.Subresource == "" && !w.Removes() && c.mayWait(v, w, governing):
		c.barred(l, w, "which can wait")
	}
}

// barred notes that somebody was refused something.
func (c *checker) barred(l *audit.Life, w *audit.Write, why string) {
	c.report.Denials++
	c.findf(Barred, w.Received, l, nil, "%s is refused, %s: %s", w, why, w.Message)
}

// checkUnborn judges the refusal of what was to be made, without an owner: of what is new nothing is refused.
func (c *checker) checkUnborn(w *audit.Write) {
	asked, err := c.Log.Decode(w.Refused)
	if err != nil || len(asked.Owners) > 0 {
		return
	}
	asked.Kind, asked.Namespace = kinds[w.Resource], w.Namespace
	l := &audit.Life{Versions: []*audit.Version{{Object: asked, By: w, Until: audit.Forever}}}
	if !c.rules.Came(asked.Kind, w.Received.Add(-2*lag), w.Answered.Add(lag)) {
		c.barred(l, w, "which is new")
	}
}

// patchOf returns what a patch says, or nothing where it is a list of operations.
func patchOf(w *audit.Write) map[string]any {
	var out map[string]any
	if json.Unmarshal(w.Patch, &out) != nil {
		return nil
	}
	return out
}

// stays reports whether a request is not about labels, owners or finalizers, by which objects leave policies.
func (c *checker) stays(v *audit.Version, w *audit.Write) bool {
	switch w.Verb {
	case audit.VerbUpdate:
		asked, err := c.Log.Decode(w.Refused)
		return err == nil && len(audit.LabelChanges(v.Object, asked)) == 0 && slices.Equal(v.Finalizers, asked.Finalizers)
	case audit.VerbPatch:
		patch := patchOf(w)
		meta := audit.AsMap(patch["metadata"])
		return patch != nil && !slices.ContainsFunc([]string{"labels", "ownerReferences", "finalizers"}, func(key string) bool { _, there := meta[key]; return there })
	}
	return w.Verb == audit.VerbDelete
}

// mayWait reports whether a request is about nothing but the spec, and in that about no field that cannot wait: it says so
// itself. What it says of metadata, and what is applied or put in place as a whole, may be about more.
func (*checker) mayWait(v *audit.Version, w *audit.Write, governing []*policylog.Policy) bool {
	fields := patchOf(w)
	if w.Verb != audit.VerbPatch || fields == nil || fields["kind"] != nil || fields["status"] != nil || fields["metadata"] != nil {
		return false
	}
	if slices.ContainsFunc(governing, func(p *policylog.Policy) bool { return p.UncausedChanges == "Refuse" }) {
		return false
	}
	patch, whole := audit.AsMap(fields["spec"]), fields["spec"] == nil
	// Of a number nobody can tell from the request what was approved, or whether an autoscaler goes by it.
	_, counts := patch["replicas"]
	_, parallel := patch["parallelism"]
	return !whole && len(patch) > 0 && !counts && !parallel && !slices.ContainsFunc(cannotWait[v.Kind], func(field []string) bool {
		last := len(field) - 1
		_, there := audit.AsMap(audit.ValueAt(fields, field[:last]...))[field[last]]
		return there
	})
}
