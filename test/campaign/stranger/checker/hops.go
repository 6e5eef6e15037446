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
	"fmt"
	"slices"
	"strings"

	"kausality.io/operator/test/campaign/audit"
)

// isLed reports whether an entry leads to the object that has it, one object after the other: each one after the first
// belongs to the one before, and was changed there as its hop says.
func (c *checker) isLed(l *audit.Life, at *audit.Version, e *entry) bool {
	last := e.Trace[len(e.Trace)-1]
	if last.Kind != audit.Plain(at.Kind) || last.Name != at.Name || last.Generation != e.Generation {
		return false
	}
	for i := 1; i < len(e.Trace); i++ {
		h, above := e.Trace[i], e.Trace[i-1]
		objects := c.named(at, e.Trace[i:])
		if i == len(e.Trace)-1 {
			objects = []*audit.Life{l}
		}
		if !slices.ContainsFunc(objects, func(o *audit.Life) bool { return belongs(o, at, above) && c.changedAs(o, at, h) }) {
			return false
		}
	}
	return true
}

// belongs reports whether an object had, before a version was written, an owner that a hop may be about. A change that
// comes by its creation has the object itself for the hop before.
func belongs(l *audit.Life, at *audit.Version, above hop) bool {
	if v := l.First(); audit.Plain(v.Kind) == above.Kind && v.Name == above.Name {
		return true
	}
	return slices.ContainsFunc(l.Versions, func(v *audit.Version) bool {
		return !v.By.Received.After(at.By.Answered) && slices.ContainsFunc(v.Owners, func(o audit.Owner) bool {
			return audit.Plain(o.Kind) == above.Kind && o.Name == above.Name
		})
	})
}

// changedAs reports whether an object was changed as a hop says, before a version was written. What a section let through
// is told by its phase.
func (*checker) changedAs(l *audit.Life, at *audit.Version, h hop) bool {
	path := fieldPath(h.Field)
	return slices.ContainsFunc(l.Versions, func(v *audit.Version) bool {
		switch {
		case v.By.Received.After(at.By.Answered) || v.Generation > h.Generation:
			return false
		case h.Field == created:
			return v.Before == nil
		case strings.HasPrefix(h.Field, "("):
			return true
		}
		return slices.ContainsFunc(v.Writers(), func(w *audit.Write) bool {
			// A scale shows no generation, and is folded in with a later one, as is what is approved.
			exact := v.Generation == h.Generation || bringsNone(v, path, h.Generation) || w.Subresource == audit.SubScale || v.Approves(w)
			return exact && (approves(v, w, path) || v.Before != nil && (changesField(v, path) || crossed(v, w, path)))
		})
	})
}

// way tells of a trace.
func way(trace []hop) string {
	var out []string
	for _, h := range trace {
		out = append(out, fmt.Sprintf("%s of %s %s at %d", h.Field, h.Kind, h.Name, h.Generation))
	}
	return strings.Join(out, ", ")
}
