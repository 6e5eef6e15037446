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
	"slices"
	"time"

	"kausality.io/operator/test/campaign/audit"
	"kausality.io/operator/test/campaign/policylog"
)

// checkUngoverned looks for refusals in namespaces of which no policy selects the object that a request was about, or any
// above it, whatever their labels are.
func (c *checker) checkUngoverned() {
	for _, w := range c.Log.Writes {
		kind := kinds[w.Resource]
		if !refusal.MatchString(w.Message) || slices.Contains(w.Reasons, couldNotTell) || !slices.Contains(childKinds, kind) && controllers[kind] == "" {
			continue
		}
		if w.Verb == audit.VerbCreate && w.Subresource == "" {
			c.checkUngovernedBirth(w)
			continue
		}
		// What is patched by a list of operations may get any parent.
		if w.Verb == audit.VerbPatch && patchOf(w) == nil {
			continue
		}
		l, v := c.target(w, nil)
		if v == nil || !c.isAlone(l, w) || slices.ContainsFunc(w.Said.Owners, func(o audit.Owner) bool { return c.mayBeGoverned(c.lives[o.UID], w, deepest) }) {
			continue
		}
		if !c.mayBeGoverned(l, w, deepest) {
			c.report.Denials++
			c.findf(Barred, w.Received, l, nil, "%s is refused, which no policy is about: %s", w, w.Message)
		}
	}
}

// isAlone reports whether a request is about an object for certain: it was there, nobody had asked for its end, and no other one of its
// name was there around that time.
func (c *checker) isAlone(l *audit.Life, w *audit.Write) bool {
	if !l.Asked.IsZero() && l.Asked.Before(w.Answered) {
		return false
	}
	return !slices.ContainsFunc(c.byName[kinds[w.Resource]+"/"+w.Namespace+"/"+w.Name], func(other *audit.Life) bool {
		return other != l && other.First().By.Received.Before(w.Answered.Add(lag)) && !other.GoneBefore(w.Received.Add(-lag))
	})
}

// checkUngovernedBirth looks whether what was to be made has parents of which no policy is about any: it is nobody's, or that of
// objects that were never there, or are gone for long, whatever there is of their names.
func (c *checker) checkUngovernedBirth(w *audit.Write) {
	asked, err := c.Log.Decode(w.Refused)
	if err != nil || !c.Whole || controllers[kinds[w.Resource]] != "" || len(asked.Owners) == 0 {
		return // Whose kind has policies of its own is judged as such.
	}
	from, to := w.Received.Add(-gone), w.Answered.Add(lag)
	if slices.ContainsFunc(asked.Owners, func(o audit.Owner) bool {
		l := c.lives[o.UID]
		return l != nil && !l.GoneBefore(from) && c.mayBeGoverned(l, w, deepest) || l == nil && !slices.Contains(kindNames, c.knownAs(o))
	}) || c.rulesIn(w.Namespace).Came(kinds[w.Resource], from, to) {
		return
	}
	asked.Kind, asked.Namespace = kinds[w.Resource], w.Namespace
	l := &audit.Life{Versions: []*audit.Version{{Object: asked, By: w, Until: audit.Forever}}}
	c.report.Denials++
	c.findf(Barred, w.Received, l, nil, "%s is refused, below nothing that is there: %s", w, w.Message)
}

// knownAs returns what the kind of an owner is known as.
func (*checker) knownAs(o audit.Owner) string { return o.Kind }

// mayBeGoverned reports whether any policy may have been in effect for an object, or for what owns it, when a request came: one
// that nobody knows may be governed by anything.
func (c *checker) mayBeGoverned(l *audit.Life, w *audit.Write, depth int) bool {
	if l == nil || depth == 0 {
		return true
	}
	if l.GoneBefore(w.Received.Add(-gone)) {
		return false // What is called like it now is another object.
	}
	v := l.FoundAt(w.Received)
	from, to := w.Received.Add(-gone), w.Answered.Add(lag)
	return len(c.anyIn(v.Namespace).Ever(v.Kind, from, to)) > 0 || slices.ContainsFunc(v.Owners, func(o audit.Owner) bool {
		return c.mayBeGoverned(c.lives[o.UID], w, depth-1)
	})
}

// gone is how long a policy may count after a namespace has left it.
const gone = 10 * time.Second

// anyIn returns the policies as they are in effect in a namespace for an object that all of them select by its labels.
func (c *checker) anyIn(namespace string) policylog.Log {
	all := make(policylog.Log, 0, len(c.rules))
	for _, p := range c.rules {
		out := *p
		out.ObjectSelector = nil
		all = append(all, &out)
	}
	return all.Of(c.labelsOfNamespace(namespace), nil)
}
