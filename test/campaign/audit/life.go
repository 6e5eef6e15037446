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

package audit

import (
	"cmp"
	"maps"
	"net/http"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Version is an object as one write left it.
type Version struct {
	*Object
	By *Write
	// Also are other writes that were answered with this version: all but one of them found it
	// done what they asked for, and the log does not say which.
	Also []*Write
	// Before is the version that the write found, or nil.
	Before *Version
	// Until is when the next one was certainly there.
	Until time.Time
}

// Writers returns all writes that may have made the version: one of them did.
func (v *Version) Writers() []*Write { return append([]*Write{v.By}, v.Also...) }

// Approves reports whether a write that may have made the version approves something of it: by an
// annotation of the object's own, before the write or after it. Under another key it means nothing.
func (v *Version) Approves(w *Write) bool {
	keys := []string{KeyPrefix(v.Kind, v.Owners) + approval}
	if v.Before != nil {
		keys = append(keys, KeyPrefix(v.Kind, v.Before.Owners)+approval)
	}
	return len(w.approvedUnder(func(key string) bool { return slices.Contains(keys, key) })) > 0
}

// Life is an object from its creation to its end.
type Life struct {
	UID      types.UID
	Versions []*Version
	// Asked is when its end was asked for with success, by whom; Gone when it was no more.
	Asked, Gone time.Time
	Ends        []*Write
}

// Forever is later than everything in a log.
var Forever = time.Unix(1<<40, 0)

// First returns the version that is known first: each life has one.
func (l *Life) First() *Version { return l.Versions[0] }

// Last returns the version that was there last.
func (l *Life) Last() *Version { return l.Versions[len(l.Versions)-1] }

// String says what it is.
func (l *Life) String() string {
	v := l.First()
	return v.Kind + " " + v.Namespace + "/" + v.Name
}

// Lives puts the versions of each object into the order in which they were stored.
func Lives(writes []*Write) map[types.UID]*Life {
	all := map[types.UID]*Life{}
	var unheard []*Write
	of := func(uid types.UID) *Life {
		if all[uid] == nil {
			all[uid] = &Life{UID: uid}
		}
		return all[uid]
	}
	for _, w := range writes {
		if !w.Succeeded() {
			if w.Code == http.StatusGatewayTimeout && len(w.Said.Owners) > 0 {
				unheard = append(unheard, w)
			}
			continue
		}
		for _, obj := range w.Items {
			of(obj.UID).end(w, obj)
		}
		if w.UID == "" || w.Subresource == SubEviction {
			continue
		}
		l := of(w.UID)
		if w.Verb == VerbDelete {
			l.end(w, w.Object)
			continue
		}
		if w.Object != nil {
			if l.Gone.IsZero() && w.Object.ended() {
				l.Gone = w.Answered
			}
			l.Versions = append(l.Versions, &Version{Object: w.Object, By: w, Until: Forever})
		}
	}
	maps.DeleteFunc(all, func(_ types.UID, l *Life) bool { return !l.link() })
	for _, w := range unheard {
		for _, l := range all {
			l.addUnheard(w)
		}
	}
	return all
}

// addUnheard adds the version that a write made whose answer was lost, if the next known version has the
// owners that the write gave.
func (l *Life) addUnheard(w *Write) {
	i := slices.IndexFunc(l.Versions, func(v *Version) bool {
		return v.Before != nil && v.Namespace == w.Namespace && v.Name == w.Name && v.By.Resource == w.Resource &&
			!v.By.Received.Before(w.Received) && !v.Before.By.Received.After(w.Answered) && v.gotOwnersOf(w)
	})
	if i < 0 {
		return
	}
	next, heard := l.Versions[i], *w
	object := *next.Before.Object
	object.Owners = next.Owners
	heard.Code, heard.UID, heard.Object = http.StatusOK, l.UID, &object
	made := &Version{Object: &object, By: &heard, Before: next.Before, Until: next.By.Answered}
	made.Before.Until, next.Before = heard.Answered, made
	l.Versions = slices.Insert(l.Versions, i, made)
}

// gotOwnersOf reports whether the version has owners that the one before did not have, all of which a
// write gives.
func (v *Version) gotOwnersOf(w *Write) bool {
	got := slices.DeleteFunc(slices.Clone(v.Owners), func(o Owner) bool { return slices.ContainsFunc(v.Before.Owners, o.Same) })
	return len(got) > 0 && !slices.ContainsFunc(got, func(o Owner) bool { return !slices.ContainsFunc(w.Said.Owners, o.Same) })
}

// ended reports whether nothing keeps an object any more whose end was asked for. Pods end
// when their node says so.
func (o *Object) ended() bool {
	return o.Deleting && len(o.Finalizers) == 0 && o.Kind != "Pod"
}

// end notes that somebody asked for the end of an object. An object that waits for its
// finalizers is a version more.
func (l *Life) end(w *Write, obj *Object) {
	if l.Asked.IsZero() || w.Received.Before(l.Asked) {
		l.Asked = w.Received
	}
	l.Ends = append(l.Ends, w)
	switch {
	case obj != nil && obj.Revision == 0:
		// It went while this was asked: the answer is of no version that was stored.
		if l.Gone.IsZero() {
			l.Gone = w.Answered
		}
	case obj == nil || !obj.Deleting || obj.ended():
		l.Gone = w.Received
	default:
		l.Versions = append(l.Versions, &Version{Object: obj, By: w, Until: Forever})
	}
}

// link sorts the versions and connects each with the one before it. It reports whether any
// is known.
func (l *Life) link() bool {
	slices.SortStableFunc(l.Versions, func(a, b *Version) int { return cmp.Compare(a.Revision, b.Revision) })
	all := l.Versions
	l.Versions = nil
	for _, v := range all {
		if n := len(l.Versions); n > 0 && l.Versions[n-1].Revision == v.Revision {
			l.Versions[n-1].Also = append(l.Versions[n-1].Also, v.By)
			continue
		}
		if v.Kind == "Scale" || v.Kind == Partial {
			if len(l.Versions) == 0 {
				continue // Of what was there before the log.
			}
			v.Object = v.completed(l.Versions[len(l.Versions)-1].Object)
		}
		if n := len(l.Versions); n > 0 {
			v.Before = l.Versions[n-1]
			v.Before.Until = v.By.Answered
		}
		l.Versions = append(l.Versions, v)
	}
	return len(l.Versions) > 0
}

// completed returns the object of which an answer shows only a part.
func (v *Version) completed(before *Object) *Object {
	if v.Kind == "Scale" {
		return scaled(before, v.Object, *v.By.Scaled)
	}
	after := *v.Object
	after.Kind, after.Content, after.Status = before.Kind, before.Content, before.Status
	return &after
}

// scaled returns the object with the number of replicas that its scale got.
func scaled(before, scale *Object, replicas int64) *Object {
	after := *before
	after.Revision = scale.Revision
	if replicas == before.Replicas() {
		return &after
	}
	after.Generation++
	fields := maps.Clone(before.Fields)
	spec := maps.Clone(AsMap(fields["spec"]))
	if spec == nil {
		spec = map[string]any{}
	}
	spec["replicas"] = float64(replicas)
	fields["spec"] = spec
	after.Content = &Content{Fields: fields, Raw: before.Raw, Marks: before.Marks}
	return &after
}

// Current returns the places of the versions that were there at some time of the interval.
func (l *Life) Current(from, to time.Time) []int {
	var out []int
	for i, v := range l.Versions {
		if !v.By.Received.After(to) && !v.Until.Before(from) {
			out = append(out, i)
		}
	}
	return out
}

// GoneBefore reports whether it was no more at a time.
func (l *Life) GoneBefore(t time.Time) bool {
	return !l.Gone.IsZero() && l.Gone.Before(t)
}

// FoundAt returns the version that a request found.
func (l *Life) FoundAt(t time.Time) *Version {
	found := l.First()
	for _, v := range l.Versions {
		if v.By.Answered.Before(t) {
			found = v
		}
	}
	return found
}
