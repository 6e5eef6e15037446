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
		// What is created, and what is patched by a list of operations, may get any parent.
		if w.Verb == audit.VerbCreate && w.Subresource == "" || w.Verb == audit.VerbPatch && patchOf(w) == nil {
			continue
		}
		l, v := c.target(w, nil)
		if v == nil || slices.ContainsFunc(w.Said.Owners, func(o audit.Owner) bool { return c.mayBeGoverned(c.lives[o.UID], w, deepest) }) {
			continue
		}
		if !c.mayBeGoverned(l, w, deepest) {
			c.report.Denials++
			c.findf(Barred, w.Received, l, nil, "%s is refused, which no policy is about: %s", w, w.Message)
		}
	}
}

// mayBeGoverned reports whether any policy may have been in effect for an object, or for what owns it, when a request came: one
// that nobody knows may be governed by anything.
func (c *checker) mayBeGoverned(l *audit.Life, w *audit.Write, depth int) bool {
	if l == nil || depth == 0 {
		return true
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
