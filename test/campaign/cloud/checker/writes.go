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
	"time"

	"kausality.io/operator/test/campaign/audit"
)

// Users are those who act for the machinery.
type Users struct{ Crossplane, Provider, Operator string }

// stale is how old what Crossplane composes of may be: it looks at its cache, runs its functions,
// and tries again what was refused.
const stale = time.Minute

// platform are those who end what is left behind, and keep the cluster alive.
const platform = "system:serviceaccount:kube-system:"

// bookkeeping are the fields of claims and composite resources by which Crossplane remembers
// what belongs to them.
var bookkeeping = []string{
	"resourceRef", "resourceRefs", "claimRef", "compositionRef", "compositionRevisionRef", "compositionSelector",
	"compositionRevisionSelector", "compositionUpdatePolicy", "compositeDeletePolicy", "writeConnectionSecretToRef",
	"publishConnectionDetailsTo", "crossplane",
}

// writes looks at each request that changed what a database consists of: who it was, and what
// lets that be. What it knows is requests, and nothing that the operator wrote.
func (c *checker) writes() {
	for _, o := range slices.Concat(c.byResource["databaseclaims"], c.composites(), c.byResource[instances]) {
		for i, v := range o.versions {
			var before *version
			if i > 0 {
				before = o.versions[i-1]
			}
			c.write(o, before, v)
		}
		for _, r := range o.deletions {
			c.ends(o, r)
		}
	}
}

// write judges a version by the one before.
func (c *checker) write(o *object, before, v *version) {
	w := v.write
	if before == nil {
		c.made(o, v)
		return
	}
	changes := audit.Diff(nil, anyOf(before.Content), anyOf(v.Content))
	if len(changes) == 0 {
		return
	}
	c.verdict.Counts.Writes++
	for _, ch := range changes {
		if why := c.unbounded(o, before, v, ch); why != "" {
			c.findf("Written", v.from(), "%s of %s in version %s by %s: %s",
				strings.Join(ch.Path, "."), o.place, v.Metadata.ResourceVersion, w.User, why)
			return // One for each request.
		}
	}
}

func anyOf(fields map[string]any) any {
	if fields == nil {
		return nil
	}
	return fields
}

// made judges that an object was created: what a database consists of, Crossplane makes.
func (c *checker) made(o *object, v *version) {
	if c.isRoot(o) {
		return // Creations are everybody's.
	}
	c.verdict.Counts.Writes++
	if v.write.User != c.Users.Crossplane {
		c.findf("Written", v.from(), "%s was created by %s", o.place, v.write.User)
		return
	}
	if root := c.rootOf(o); root != nil && !c.mayBe(root, sizeOf(v.Object), v) {
		c.findf("Written", v.from(), "%s was created with size %s, which nobody who may had asked for", o.place, sizeOf(v.Object))
	}
}

// unbounded says why a change of a field may not be, or nothing.
func (c *checker) unbounded(o *object, before, v *version, ch audit.Change) string {
	user := v.write.User
	switch o.place.resource {
	case instances:
		return c.unboundedInstance(o, before, v, ch)
	case "xdatabases":
		if user != c.Users.Crossplane {
			return "nothing above lets anybody but Crossplane do that"
		}
		if slices.Contains(bookkeeping, ch.Path[0]) {
			return ""
		}
		return c.unboundedSize(o, v, ch, "size")
	default:
		// The one at the top is for whoever may write it; what strangers change is withheld,
		// which shows in what it consists of.
		if user == c.Users.Crossplane && !slices.Contains(bookkeeping, ch.Path[0]) {
			return "Crossplane keeps books there, and nothing else"
		}
		return ""
	}
}

// unboundedInstance is unbounded for managed resources.
func (c *checker) unboundedInstance(o *object, before, v *version, ch audit.Change) string {
	gate := ch.Path[0] == "managementPolicies"
	switch user := v.write.User; {
	case user == c.Users.Operator && gate, user == c.Users.Crossplane && gate:
		return "" // How far it may be open is judged by itself.
	case user == c.Users.Provider && ch.Verb == audit.Inserts:
		return "" // What the cloud has chosen, where nothing was said.
	case user == c.Users.Crossplane:
		return c.unboundedSize(o, v, ch, "forProvider", "instanceClass")
	case gate && before.deleting():
		return "" // Who lets go of it in the cloud is judged by what the cloud is asked for.
	default:
		return "nothing above lets anybody but Crossplane do that"
	}
}

// unboundedSize says why Crossplane may not change a field: there is one that follows from what
// people ask for.
func (c *checker) unboundedSize(o *object, v *version, ch audit.Change, path ...string) string {
	if !slices.Equal(ch.Path, path) {
		return "no policy lets that follow from anything"
	}
	root := c.rootOf(o)
	if root == nil {
		return "nobody can tell whose it is"
	}
	if c.wasThere(root, sizeOf(v.Object), v) {
		c.verdict.Counts.TakenBack++
		c.back[v] = true
		return ""
	}
	if !c.mayBe(root, sizeOf(v.Object), v) {
		return "nobody who may had asked for size " + sizeOf(v.Object) + ", or not lately"
	}
	return ""
}

// late is how long after a size was taken back, or overruled, Crossplane may still carry it out
// under an allowance that there is: an allowance is for a field, and not for a value.
const late = 5 * time.Second

// wasThere reports whether a size that nobody who may wanted was that of a root until the moment
// before a version of something below it, or that of what is between them.
func (c *checker) wasThere(root *object, size string, v *version) bool {
	if c.mayBe(root, size, v) {
		return false
	}
	for i, r := range root.versions[:len(root.versions)-1] {
		next := root.versions[i+1]
		if r.Spec.Size == size && !r.until.IsZero() && !r.until.Add(late).Before(v.write.Received) && next.began.Before(v.known) {
			return true
		}
	}
	between := c.composite(&object{versions: []*version{v}, place: place{namespace: v.Metadata.Namespace}})
	return between != nil && between != root && slices.ContainsFunc(between.versions, func(b *version) bool {
		return c.back[b] && b.Spec.Size == size && !b.began.Before(v.began.Add(-late))
	})
}

// followsTakenBack reports whether a call is of a version that has what was taken back.
func (c *checker) followsTakenBack(call Call) bool {
	return slices.ContainsFunc(c.at(call.resource()), func(o *object) bool {
		return slices.ContainsFunc(o.versions, func(v *version) bool {
			return c.back[v] && v.during(call.Received.Add(-Flight), call.Received) && v.Spec.ForProvider["instanceClass"] == call.size()
		})
	})
}

// mayBe reports whether a size was one that people who may wanted of a root, at the time of a
// version of something below it, or lately.
func (c *checker) mayBe(root *object, size string, v *version) bool {
	changes := c.Policies.changes(root)
	for i, ch := range changes {
		if ch.made.Spec.Size != size || ch.made.from().After(v.known) {
			continue
		}
		if i == len(changes)-1 {
			return true
		}
		next := changes[i+1].made.known
		if (Span{From: next, To: v.from()}).without(c.Outages) <= stale {
			return true
		}
	}
	return false
}

// ends judges that somebody asked for the end of an object.
func (c *checker) ends(o *object, r *Request) {
	if c.isRoot(o) {
		return // Whose end takes what it consists of along.
	}
	c.verdict.Counts.Writes++
	if strings.HasPrefix(r.User, platform) || r.User == c.Users.Provider {
		return // The collector, of what has lost its owner; and who has done what it was there for.
	}
	root := c.rootOf(o)
	if r.User == c.Users.Crossplane && root != nil && slices.ContainsFunc(root.deletions, func(of *Request) bool {
		return of.Received.Before(r.Answered)
	}) {
		return
	}
	c.findf("Ended", r.Received, "%s was deleted by %s, and what it belongs to was not", o.place, r.User)
}

// isRoot reports whether an object is one that people make.
func (c *checker) isRoot(o *object) bool {
	return o.place.resource == "databaseclaims" || o.place.resource == "databases"
}

// rootOf returns what people change of an object; nil if there is none.
func (c *checker) rootOf(o *object) *object {
	if o.place.resource != "xdatabases" {
		return c.root(o)
	}
	for _, claim := range c.named(claimKind, o.last().Spec.ClaimRef.Name) {
		return claim
	}
	return nil
}

// sizeOf returns the size that an object has.
func sizeOf(o *Object) string {
	if size, ok := o.Spec.ForProvider["instanceClass"].(string); ok {
		return size
	}
	return o.Spec.Size
}
