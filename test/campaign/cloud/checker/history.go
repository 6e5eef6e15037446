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
	"cmp"
	"maps"
	"net/http"
	"slices"
	"strings"

	"kausality.io/operator/test/campaign/audit"
)

// history is all that was of all objects.
type history struct {
	byUID map[string]*object
	// in order of their first versions, by resource
	byResource map[string][]*object
}

// remember makes the history of what the API server was asked for.
func remember(requests []Request) history {
	h := history{byUID: map[string]*object{}, byResource: map[string][]*object{}}
	for i := range requests {
		if r := &requests[i]; r.Object != nil {
			h.add(r)
		}
	}
	for _, o := range h.byUID {
		slices.SortStableFunc(o.versions, func(a, b *version) int { return cmp.Compare(a.revision(), b.revision()) })
		h.amend(o, requests)
		for i, v := range o.versions[1:] {
			o.versions[i].until = v.known
		}
		h.byResource[o.place.resource] = append(h.byResource[o.place.resource], o)
	}
	for _, objects := range h.byResource {
		slices.SortFunc(objects, func(a, b *object) int { return cmp.Compare(a.versions[0].revision(), b.versions[0].revision()) })
	}
	h.end(requests)
	return h
}

// add notes what a request has stored. One that changes nothing is answered with what
// somebody else has stored, who has been answered before as a rule. What writes a status
// never changes what counts, and people ask for nothing that is there already, as
// controllers do all the time.
func (h history) add(r *Request) {
	uid := r.Object.Metadata.UID
	o, known := h.byUID[uid]
	if !known && r.Object.Kind == audit.Partial {
		return // Of what was there before the log.
	}
	if !known {
		o = &object{place: place{group: r.APIGroup, resource: r.Resource, namespace: r.Object.Metadata.Namespace, name: r.Object.Metadata.Name}}
		h.byUID[uid] = o
	}
	if r.Verb == "delete" {
		o.deletions = append(o.deletions, r)
	}
	if r.Object.deleting() && len(r.Object.Metadata.Finalizers) == 0 {
		o.ended = r.Answered // what is gone has the revision that it had before
	}
	if r.Object.Kind == audit.Partial {
		return // It does not show what else there is.
	}
	same := func(v *version) bool { return v.revision() == r.Object.revision() }
	if i := slices.IndexFunc(o.versions, same); i >= 0 {
		v := o.versions[i]
		if r.Received.Before(v.began) {
			v.began = r.Received
		}
		if r.Answered.Before(v.known) {
			v.known = r.Answered
		}
		if a, b := r.weight(), v.write.weight(); a > b || a == b && r.Answered.Before(v.write.Answered) {
			v.write = r
		}
		return
	}
	o.versions = append(o.versions, &version{Object: r.Object, write: r, began: r.Received, known: r.Answered})
}

// weight tells how likely it is that a request has made a version.
func (r *Request) weight() int {
	switch {
	case r.Subresource != "":
		return 0
	case strings.Contains(r.User, ":"):
		return 1
	default:
		return 2
	}
}

// amend finds who has made versions of an object that are first seen in what somebody
// has written of its status, which changes no generation: who gave up waiting is told
// nothing of what was stored.
func (history) amend(o *object, requests []Request) {
	for i, v := range o.versions {
		if i == 0 || v.write.Subresource == "" || v.Metadata.Generation == o.versions[i-1].Metadata.Generation {
			continue
		}
		for j := range requests {
			r := &requests[j]
			unanswered := r.Code >= http.StatusInternalServerError && r.Subresource == ""
			if unanswered && r.place() == o.place && r.Received.Before(v.known) && r.Received.After(o.versions[i-1].began) {
				v.began, v.write = r.Received, r
			}
		}
	}
}

// end notes the deletions that are answered with a status: of objects without
// finalizers.
func (h history) end(requests []Request) {
	for i := range requests {
		r := &requests[i]
		if r.Verb != "delete" || !r.Succeeded() || r.Object != nil || r.Subresource != "" {
			continue
		}
		for _, o := range h.byResource[r.Resource] {
			if o.place == r.place() && o.alive() && o.versions[0].from().Before(r.Answered) {
				o.ended = r.Answered
				o.deletions = append(o.deletions, r)
			}
		}
	}
}

// at returns the objects that were at a place.
func (h history) at(p place) []*object {
	return slices.DeleteFunc(slices.Clone(h.byResource[p.resource]), func(o *object) bool { return o.place != p })
}

// named returns the objects of a kind with a name. A trace says no more.
func (h history) named(kind, name string) []*object {
	var out []*object
	for _, resource := range slices.Sorted(maps.Keys(h.byResource)) {
		for _, o := range h.byResource[resource] {
			if o.versions[0].Kind == kind && o.place.name == name {
				out = append(out, o)
			}
		}
	}
	return out
}

// composite returns the composite resource of a managed resource; nil if it has none.
func (h history) composite(managed *object) *object {
	name := managed.last().Metadata.Labels[compositeKey]
	for _, kind := range []string{compositeKind, databaseKind} {
		for _, o := range h.named(kind, name) {
			if o.place.namespace == managed.place.namespace {
				return o
			}
		}
	}
	return nil
}

// root returns what people change of a managed resource; nil if there is none.
func (h history) root(managed *object) *object {
	composite := h.composite(managed)
	if composite == nil || composite.versions[0].Kind == databaseKind {
		return composite
	}
	for _, claim := range h.named(claimKind, composite.last().Spec.ClaimRef.Name) {
		return claim
	}
	return nil
}

// The kinds of what people change, and of what a claim is composed of.
const (
	claimKind     = "DatabaseClaim"
	compositeKind = "XDatabase"
	databaseKind  = "Database"
)

// managed returns the managed resources of what people change.
func (h history) managed(root *object) []*object {
	return slices.DeleteFunc(slices.Clone(h.byResource[instances]), func(o *object) bool { return h.root(o) != root })
}

// roots returns all that people change.
func (h history) roots() []*object {
	var out []*object
	for _, resource := range []string{"databaseclaims", "databases"} {
		out = append(out, h.byResource[resource]...)
	}
	return out
}

// composites returns all composite resources.
func (h history) composites() []*object {
	return slices.Concat(h.byResource["xdatabases"], h.byResource["databases"])
}

// change is a size that an initiator has asked for, or has approved.
type change struct {
	root *object
	made *version
	// approved is set where somebody else has asked for it.
	approved bool
}

// changes returns the changes of a root, in order.
func (all Policies) changes(root *object) []change {
	var out []change
	for i, v := range root.versions {
		if !all.initiates(v.Kind, v.write.User, v.write.Groups) {
			continue
		}
		anew := i == 0 || root.versions[i-1].Spec.Size != v.Spec.Size
		approved := i > 0 && approves(v.write)
		if anew && all.ticketed(v.Object) || approved {
			out = append(out, change{root: root, made: v, approved: approved && !anew})
		}
	}
	return out
}

// ticketed reports whether a change of an object's size names what it has to.
func (all Policies) ticketed(o *Object) bool {
	return !slices.ContainsFunc(all.attested(o.Kind, sizeField), func(key string) bool { return o.Metadata.Annotations[key] == "" })
}

// sizeField is what people change.
const sizeField = "spec.size"

// approves reports whether a request approves of the size that is there.
func approves(r *Request) bool {
	return slices.Contains(r.Approved, sizeField) || slices.Contains(r.Approved, everything)
}
