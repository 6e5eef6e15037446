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

// QuietTimes says for how long nothing may happen to a holder whose status may lag before that status
// is believed (D8).
type QuietTimes struct {
	// Status is for lifecycle.StatusLag. It has to be longer than a controller takes to start with
	// a change.
	Status time.Duration
	// Composition is for lifecycle.CompositionLag. It has to be longer than one run of the functions
	// of a composition.
	Composition time.Duration
}

// DefaultQuietTimes holds the defaults of --status-quiet-time and --composite-quiet-time.
var DefaultQuietTimes = QuietTimes{Status: 5 * time.Second, Composition: 30 * time.Second}

func (t QuietTimes) of(lag lifecycle.Lag) time.Duration {
	switch lag {
	case lifecycle.CompositionLag:
		return t.Composition
	case lifecycle.StatusLag:
		return t.Status
	default:
		return 0
	}
}

// quiet tells for which entries the quiet time has passed: since the entry was first
// seen, since anything was last decided about a child, which may have used it, and
// since the status first told of the spec that there is. A controller that stood still, or did not
// hear of a change, may report as late as it likes what it did for the spec before: only from its first
// report on can it be expected to look at the newer one.
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

// specs remembers since when the status of holders tells of the spec that they have. That is not kept
// anywhere: another process begins anew. Its zero value is ready for use.
type specs struct {
	mu    sync.Mutex
	known map[types.UID]spec
}

type spec struct {
	generation int64
	since      time.Time
	// told is true where since is when the status told of the generation.
	told bool
}

// since returns when the holder was first seen with a status that tells of the generation that it has, or, while
// none does, with the generation. What the status says later does not begin it anew: one that changes without an
// end would keep allowances for ever.
func (s *specs) since(obj *unstructured.Unstructured, told bool, now time.Time) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	known, ok := s.known[obj.GetUID()]
	if !ok || known.generation != obj.GetGeneration() || told && !known.told {
		known = spec{generation: obj.GetGeneration(), since: now, told: told}
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
