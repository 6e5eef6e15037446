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

package holder

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/ledger"
	"kausality.io/operator/internal/lifecycle"
)

// QuietTimes are the times for which nothing may happen to a holder before what its status says
// is believed (D8), by what is doubtful about it.
type QuietTimes struct {
	// Status is for one that another loop of its controller may write than the one that acts. It
	// has to be longer than the first takes to begin.
	Status time.Duration
	// Composition is for a Crossplane composite resource. It has to be longer than one run of
	// the functions of its composition.
	Composition time.Duration
}

// DefaultQuietTimes are those of an operator that is told no others.
var DefaultQuietTimes = QuietTimes{Status: 5 * time.Second, Composition: 30 * time.Second}

func (t QuietTimes) of(doubt lifecycle.Doubt) time.Duration {
	switch doubt {
	case lifecycle.LooseComposition:
		return t.Composition
	case lifecycle.LooseStatus:
		return t.Status
	default:
		return 0
	}
}

// quiet tells for which entries the quiet time has passed: since the entry was first
// seen, since anything was last decided about a child, which may have used it, and
// since the spec changed.
func (c *consumption) quiet(status *v1alpha1.AllowanceRecordStatus) lifecycle.Quiet {
	last := c.changed
	if d := status.LastDecision; d != nil && d.Time.After(last) {
		last = d.Time.Time
	}
	return func(e ledger.Entry) bool {
		since := last
		if seen, ok := c.firstSeen[e.ID()]; ok && seen.After(since) {
			since = seen
		} else if !ok && !e.IsWithheld() {
			since = c.now
		}
		end := since.Add(c.quietTime)
		if !end.After(c.now) {
			return true
		}
		c.next.At(end)
		return false
	}
}

// specs remembers since when holders have the spec that they have. That is not kept
// anywhere: another process begins anew. Its zero value is ready for use.
type specs struct {
	mu    sync.Mutex
	known map[types.UID]spec
}

type spec struct {
	generation int64
	since      time.Time
}

// since returns when the holder was first seen with the generation that it has.
func (s *specs) since(obj *unstructured.Unstructured, now time.Time) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	known, ok := s.known[obj.GetUID()]
	if !ok || known.generation != obj.GetGeneration() {
		known = spec{generation: obj.GetGeneration(), since: now}
		if s.known == nil {
			s.known = map[types.UID]spec{}
		}
		s.known[obj.GetUID()] = known
	}
	return known.since
}

// forget a holder that is gone.
func (s *specs) forget(uid types.UID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.known, uid)
}
