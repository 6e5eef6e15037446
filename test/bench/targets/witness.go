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

package main

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"kausality.io/operator/test/controlplane"
)

// call is what the operator has asked of the API server.
type call struct {
	// What is the verb and the resource.
	What  string        `json:"what"`
	Count int           `json:"count"`
	First time.Duration `json:"first"`
	Last  time.Duration `json:"last"`
}

// witness reads in the audit log what the operator writes.
type witness struct {
	began  time.Time
	marks  timeline
	marked map[string]struct{}
	byWhat map[string]call
}

func newWitness(began time.Time) *witness {
	return &witness{began: began, marked: map[string]struct{}{}, byWhat: map[string]call{}}
}

// see takes note of events. What was refused counts as well: it is a request all the
// same, and would be made again.
func (w *witness) see(events controlplane.AuditEvents) {
	events = events.Where(controlplane.ByUser(controlplane.OperatorUser), controlplane.Writes)
	for i := range events {
		e := &events[i]
		at := e.RequestReceivedTimestamp.Sub(w.began)
		what := e.Verb + " " + strings.TrimSuffix(e.ObjectRef.Resource+"/"+e.ObjectRef.Subresource, "/")
		c, known := w.byWhat[what]
		if !known {
			c = call{What: what, First: at}
		}
		c.Count++
		c.First, c.Last = min(c.First, at), max(c.Last, at)
		w.byWhat[what] = c
		if e.ObjectRef.Resource == "configmaps" && e.ObjectRef.Namespace == namespace {
			w.marks = append(w.marks, at)
			w.marked[e.ObjectRef.Name] = struct{}{}
		}
	}
}

// calls returns all that were seen, the most frequent first.
func (w *witness) calls() []call {
	return slices.SortedFunc(maps.Values(w.byWhat), func(a, b call) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.What, b.What))
	})
}
