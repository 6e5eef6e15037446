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
	"strings"

	"kausality.io/operator/test/campaign/audit"
	"kausality.io/operator/test/campaign/policylog"
)

// initiatesWith reports whether any of the policies lets somebody begin something with a field of an object: one may initiate
// where a rule is about it, and not elsewhere.
func initiatesWith(all []*policylog.Policy, w *audit.Write, o *audit.Object, path []string) bool {
	return slices.ContainsFunc(all, func(p *policylog.Policy) bool {
		return policylog.Knows([]*policylog.Policy{p}, w, true) && slices.ContainsFunc(p.Rules, func(r policylog.Rule) bool {
			return (o == nil || r.Holds(o)) && isPart(path, policylog.PathOf(r.Trigger))
		})
	})
}

// isPart reports whether a path is another one, or in it, whatever the places in lists: these are told by keys, too.
func isPart(path, top []string) bool { return len(path) >= len(top) && alike(path, top) }

// mayBegin reports whether somebody who wrote a version may begin something with a field of it, or with a part of that which
// they approve of.
func (c *checker) mayBegin(l *audit.Life, v *audit.Version, w *audit.Write, path []string) bool {
	return c.mayChange(l, v, w, path) || v.Approves(w) && namesExactly(w, path) && c.initiates(l, v, w)
}

// mayChange reports whether somebody who wrote a version may begin something with all of a field of it: by a policy for its
// kind that has a rule about it, or, by approving, by one for what is above it.
func (c *checker) mayChange(l *audit.Life, v *audit.Version, w *audit.Write, path []string) bool {
	own := c.rulesOf(l).Ever(v.Kind, w.Received.Add(-lag), w.Answered)
	return c.initiates(l, v, w) && (!policylog.Knows(own, w, true) || initiatesWith(own, w, v.Object, path))
}

// namesExactly reports whether an approval names a field as it is: it may name what something is a part of, of which what
// is theirs counts. One of everything is told by the top field.
func namesExactly(w *audit.Write, path []string) bool {
	return slices.ContainsFunc(w.Approved(), func(text string) bool {
		field, _, _ := strings.Cut(strings.TrimSpace(text), "@")
		return slices.Equal(fieldPath(field), path) || field == "*" && len(path) == 1
	})
}
