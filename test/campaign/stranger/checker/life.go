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
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// version is an object as one write left it.
type version struct {
	*object
	by *write
	// also are other writes that were answered with this version: all but one of them found it
	// done what they asked for, and the log does not say which.
	also []*write
	// before is the version that the write found, or nil.
	before *version
	// until is when the next one was certainly there.
	until time.Time
}

// writers are those of whom one wrote it.
func (v *version) writers() []*write { return append([]*write{v.by}, v.also...) }

// life is an object from its creation to its end.
type life struct {
	uid      types.UID
	versions []*version
	// asked is when its end was asked for with success, by whom; gone when it was no more.
	asked, gone time.Time
	ends        []*write

	// states are what the model says of each version, once it was asked.
	states []*state
	// thinking is true while the model finds out.
	thinking bool
}

// forever is later than everything in a log.
var forever = time.Unix(1<<40, 0)

func (l *life) first() *version { return l.versions[0] }
func (l *life) last() *version  { return l.versions[len(l.versions)-1] }

// name says what it is.
func (l *life) name() string {
	v := l.first()
	return v.kind + " " + v.namespace + "/" + v.name
}

// lives puts the versions of each object into the order in which they were stored.
func lives(writes []*write) map[types.UID]*life {
	all := map[types.UID]*life{}
	of := func(uid types.UID) *life {
		if all[uid] == nil {
			all[uid] = &life{uid: uid}
		}
		return all[uid]
	}
	for _, w := range writes {
		if !w.succeeded() {
			continue
		}
		for _, obj := range w.items {
			of(obj.uid).end(w, obj)
		}
		if w.uid == "" || w.sub == subEviction {
			continue
		}
		l := of(w.uid)
		if w.verb == verbDelete {
			l.end(w, w.object)
			continue
		}
		if w.object != nil {
			if l.gone.IsZero() && w.object.ended() {
				l.gone = w.answered
			}
			l.versions = append(l.versions, &version{object: w.object, by: w, until: forever})
		}
	}
	maps.DeleteFunc(all, func(_ types.UID, l *life) bool { return !l.link() })
	return all
}

// ended reports whether nothing keeps an object any more whose end was asked for. Pods end
// when their node says so.
func (o *object) ended() bool {
	return o.deleting && len(o.finalizers) == 0 && o.kind != kinds[pods]
}

// end notes that somebody asked for the end of an object. An object that waits for its
// finalizers is a version more.
func (l *life) end(w *write, obj *object) {
	if l.asked.IsZero() || w.received.Before(l.asked) {
		l.asked = w.received
	}
	l.ends = append(l.ends, w)
	switch {
	case obj == nil || !obj.deleting || obj.ended():
		l.gone = w.received
	default:
		l.versions = append(l.versions, &version{object: obj, by: w, until: forever})
	}
}

// link sorts the versions and connects each with the one before it. It reports whether any
// is known.
func (l *life) link() bool {
	slices.SortStableFunc(l.versions, func(a, b *version) int { return cmp.Compare(a.revision, b.revision) })
	all := l.versions
	l.versions = nil
	for _, v := range all {
		if n := len(l.versions); n > 0 && l.versions[n-1].revision == v.revision {
			l.versions[n-1].also = append(l.versions[n-1].also, v.by)
			continue
		}
		if v.kind == "Scale" || v.kind == partial {
			if len(l.versions) == 0 {
				continue // Of what was there before the log.
			}
			v.object = v.completed(l.versions[len(l.versions)-1].object)
		}
		if n := len(l.versions); n > 0 {
			v.before = l.versions[n-1]
			v.before.until = v.by.answered
		}
		l.versions = append(l.versions, v)
	}
	return len(l.versions) > 0
}

// completed is the object of which an answer shows only a part.
func (v *version) completed(before *object) *object {
	if v.kind == "Scale" {
		return scaled(before, v.object, *v.by.scaled)
	}
	after := *v.object
	after.kind, after.content, after.status = before.kind, before.content, before.status
	return &after
}

// scaled is the object with the number of replicas that its scale got.
func scaled(before, scale *object, replicas int64) *object {
	after := *before
	after.revision = scale.revision
	if replicas == before.replicas() {
		return &after
	}
	after.generation++
	fields := maps.Clone(before.fields)
	spec := maps.Clone(asMap(fields["spec"]))
	if spec == nil {
		spec = map[string]any{}
	}
	spec["replicas"] = float64(replicas)
	fields["spec"] = spec
	after.content = &content{fields: fields, raw: before.raw, marks: before.marks}
	return &after
}

// current are the places of the versions that were there at some time of the interval.
func (l *life) current(from, to time.Time) []int {
	var out []int
	for i, v := range l.versions {
		if !v.by.received.After(to) && !v.until.Before(from) {
			out = append(out, i)
		}
	}
	return out
}

// goneBefore reports whether it was no more at a time.
func (l *life) goneBefore(t time.Time) bool {
	return !l.gone.IsZero() && l.gone.Before(t)
}
