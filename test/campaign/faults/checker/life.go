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
	// also are other writes that were answered with this version. All but one of them found
	// it done what they asked for, and the log does not say which.
	also []*write
	// before is the version that the write found; nil where it created the object.
	before *version
	// until is when the next version was certainly there.
	until time.Time
}

// writers are those of whom one wrote it.
func (v *version) writers() []*write { return append([]*write{v.by}, v.also...) }

// changes are what the write changed that counts.
func (v *version) changes() []change {
	if v.before == nil {
		return []change{{verbCreate, wholeObject}}
	}
	return changes(v.before.object, v.object)
}

// life is an object from its creation to its end.
type life struct {
	uid      types.UID
	versions []*version
	// goneSince is when its deletion was asked for with success.
	goneSince time.Time
}

// forever is later than everything in a log.
var forever = time.Unix(1<<40, 0)

// lives puts the versions of each object into the order in which they were stored.
func lives(writes []*write) map[types.UID]*life {
	all := map[types.UID]*life{}
	for _, w := range writes {
		if w.UID == "" || !w.succeeded() {
			continue
		}
		l := all[w.UID]
		if l == nil {
			l = &life{uid: w.UID}
			all[w.UID] = l
		}
		if w.Verb == verbDelete && l.goneSince.IsZero() {
			l.goneSince = w.Received
		}
		if w.Object != nil && w.Verb != verbDelete {
			l.versions = append(l.versions, &version{object: w.Object, by: w, until: forever})
		}
	}
	for _, l := range all {
		l.link()
	}
	return all
}

// link sorts the versions and connects each with the one before it. A write that
// changed nothing shows the version that was there.
func (l *life) link() {
	slices.SortStableFunc(l.versions, func(a, b *version) int { return cmp.Compare(a.revision(), b.revision()) })
	all := l.versions
	l.versions = nil
	for _, v := range all {
		if n := len(l.versions); n > 0 && l.versions[n-1].revision() == v.revision() {
			l.versions[n-1].also = append(l.versions[n-1].also, v.by)
			continue
		}
		l.versions = append(l.versions, v)
	}
	for i, v := range l.versions {
		if i == 0 {
			continue
		}
		v.before = l.versions[i-1]
		v.before.until = v.by.Answered
		if v.Kind == "Scale" {
			v.object = scaled(v.before.object, v.object, *v.by.Scaled)
		}
	}
	// A scale of something whose creation the log does not show says nothing.
	l.versions = slices.DeleteFunc(l.versions, func(v *version) bool { return v.Kind == "Scale" })
}

// scaled is the object with the number of replicas that its scale got. One that asks for
// what there is leaves the generation, and may be stored all the same: it notes who asked.
func scaled(before, scale *object, replicas int64) *object {
	after := *before
	after.Metadata.ResourceVersion = scale.Metadata.ResourceVersion
	if replicas != before.replicas() {
		after.Metadata.Generation = before.Metadata.Generation + 1
	}
	spec := map[string]any{}
	if old, ok := before.Spec.(map[string]any); ok {
		maps.Copy(spec, old)
	}
	spec["replicas"] = float64(replicas)
	after.Spec = spec
	return &after
}

// current are the versions that were there at some time of the interval.
func (l *life) current(from, to time.Time) []*version {
	var out []*version
	for _, v := range l.versions {
		if !v.by.Received.After(to) && !v.until.Before(from) {
			out = append(out, v)
		}
	}
	return out
}

// name tells who it is.
func (l *life) name() string {
	if len(l.versions) == 0 {
		return string(l.uid)
	}
	v := l.versions[0]
	return v.Kind + " " + v.Metadata.Namespace + "/" + v.Metadata.Name
}
