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
	"net/http"
	"strings"

	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"

	"kausality.io/operator/test/controlplane"
)

// writes counts requests that change something: create, update, patch and delete,
// leases and Events apart, by namespace. Those that are refused, as somebody else was
// faster, count as well: they were sent.
type writes map[string]*written

// written is what is written in one namespace.
type written struct {
	// byController and byOperator are by user, verb and resource.
	byController, byOperator map[string]float64
	// records are those of the operator that are written, by name, and recordWrites is
	// how often.
	records      map[string]bool
	recordWrites float64
	// forbidden are those that somebody has refused; conflicts those that came too late.
	forbidden, conflicts float64
}

func newWrites() writes { return writes{} }

// add counts what was written according to events, and returns how much that is.
func (w writes) add(events controlplane.AuditEvents) int {
	found := events.Where(controlplane.Writes, notEvents)
	for i := range found {
		w.of(found[i].ObjectRef.Namespace).add(&found[i])
	}
	return len(found)
}

// notEvents is about everything that is worth counting: the audit log has no leases.
func notEvents(e *auditv1.Event) bool { return e.ObjectRef.Resource != "events" }

func (w writes) of(namespace string) *written {
	if w[namespace] == nil {
		w[namespace] = &written{byController: map[string]float64{}, byOperator: map[string]float64{}, records: map[string]bool{}}
	}
	return w[namespace]
}

func (w *written) add(e *auditv1.Event) {
	if e.ResponseStatus != nil {
		switch e.ResponseStatus.Code {
		case http.StatusForbidden:
			w.forbidden++
		case http.StatusConflict:
			w.conflicts++
		}
	}
	what := e.Verb + " " + e.ObjectRef.Resource
	if e.ObjectRef.Subresource != "" {
		what += "/" + e.ObjectRef.Subresource
	}
	switch user := e.User.Username; {
	case isController(user):
		w.byController[strings.TrimPrefix(user, controllers)+" "+what]++
	case user == controlplane.OperatorUser:
		w.byOperator[what]++
		if e.ObjectRef.Resource == "allowancerecords" {
			w.recordWrites++
			w.records[e.ObjectRef.Name] = true
		}
	}
}

// in returns the block of a world, as far as it is written.
func (w writes) in(of world) block {
	all := w.of(string(of))
	return block{
		ByController: all.byController, ByOperator: all.byOperator, Records: float64(len(all.records)), RecordWrites: all.recordWrites,
		Forbidden: all.forbidden, Conflicts: all.conflicts, Writes: sum(all.byController),
	}
}
