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
	"context"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/test/bench/metrics"
	"kausality.io/operator/test/bench/mirror"
	"kausality.io/operator/test/bench/usage"
	"kausality.io/operator/test/controlplane"
)

// effort is what requests cost beside the time of who makes them.
type effort struct {
	// Requests are how many were made.
	Requests float64
	// Asked is how often the API server called a webhook for them, and Waited how long
	// it waited, in seconds.
	Asked, Waited float64
	// Busy are the seconds of processor time of each process while they were made. What
	// the operator does later falls to nobody: it is waited for.
	Busy map[string]float64
}

// decided is what Kausality decided, and what of it was recorded.
type decided struct {
	Decisions, RecordWrites float64
	Lag                     mirror.Lag
}

// witness tells what requests cost: from the audit log, from what the API server says
// of its webhooks, and from what the system says of the processes.
type witness struct {
	*stage
	server rest.Interface
	offset int64
	before effort
	calls  map[string]int
	worlds map[world]*effort
	// recordWrites are the operator's, whenever they come: decisions are recorded a while
	// after they were made.
	recordWrites int
	// writes are all that the operator wrote: events and what objects show come late, too.
	writes int
	said   mirror.Said
}

func newWitness(s *stage) (*witness, error) {
	clients, err := kubernetes.NewForConfig(s.cp.AdminConfig())
	if err != nil {
		return nil, err
	}
	w := &witness{stage: s, server: clients.RESTClient(), calls: map[string]int{}, worlds: map[world]*effort{}}
	for _, each := range worlds {
		w.worlds[each] = &effort{Busy: map[string]float64{}}
	}
	return w, nil
}

// begin begins to measure, once everything before has been recorded.
func (w *witness) begin(ctx context.Context) (err error) {
	if err := w.untilRecorded(ctx); err != nil {
		return err
	}
	w.recordWrites = 0
	w.said, err = w.saidSoFar(ctx)
	return err
}

// end ends to measure, once everything has been recorded.
func (w *witness) end(ctx context.Context) (decided, error) {
	if err := w.untilRecorded(ctx); err != nil {
		return decided{}, err
	}
	said, err := w.saidSoFar(ctx)
	if err != nil {
		return decided{}, err
	}
	said = said.Since(w.said)
	out := decided{RecordWrites: float64(w.recordWrites), Lag: mirror.LagOf(said.Lag)}
	for _, n := range said.Decisions {
		out.Decisions += n
	}
	return out, nil
}

func (w *witness) saidSoFar(ctx context.Context) (mirror.Said, error) {
	families, err := w.operator.Scrape(ctx)
	if err != nil {
		return mirror.Said{}, err
	}
	return mirror.Read(families)
}

// calmFor is for how long the operator writes nothing once it has written all: records may be
// behind for two seconds.
const calmFor = 3 * time.Second

// untilRecorded waits until the operator writes nothing any more.
func (w *witness) untilRecorded(ctx context.Context) error {
	since := time.Now()
	return wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, setTimeout, true, func(context.Context) (bool, error) {
		written := w.writes
		if _, err := w.read(); err != nil {
			return false, err
		}
		if w.writes > written {
			since = time.Now()
		}
		return time.Since(since) > calmFor, nil
	})
}

// read reads what the operator asked for since it was read before.
func (w *witness) read() (controlplane.AuditEvents, error) {
	events, offset, err := controlplane.ReadAuditFrom(w.cp.AuditLog(), w.offset)
	if err != nil {
		return nil, err
	}
	w.offset = offset
	events = events.Where(controlplane.ByUser(controlplane.OperatorUser), func(e *auditv1.Event) bool {
		return e.ObjectRef != nil && e.ObjectRef.Resource != "leases"
	})
	w.writes += len(events.Where(controlplane.Writes))
	w.recordWrites += len(events.Where(controlplane.Writes, controlplane.OfResource(v1alpha1.GroupVersion.Group, "allowancerecords")))
	return events, nil
}

// start begins a block of requests.
func (w *witness) start(ctx context.Context, of world) (err error) {
	if _, err := w.read(); err != nil {
		return err
	}
	w.before, err = w.soFar(ctx, of)
	return err
}

// stop ends a block of requests.
func (w *witness) stop(ctx context.Context, of world, requests int) error {
	now, err := w.soFar(ctx, of)
	if err != nil {
		return err
	}
	sum := w.worlds[of]
	sum.Requests += float64(requests)
	sum.Asked += now.Asked - w.before.Asked
	sum.Waited += now.Waited - w.before.Waited
	for name, seconds := range now.Busy {
		sum.Busy[name] += seconds - w.before.Busy[name]
	}
	if of != kausality {
		return nil
	}
	events, err := w.read()
	if err != nil {
		return err
	}
	for i := range events {
		w.calls[events[i].Verb+" "+events[i].ObjectRef.Resource]++
	}
	return nil
}

// callsPerRequest returns the operator's own, by verb and resource.
func (w *witness) callsPerRequest() map[string]float64 {
	calls := map[string]float64{}
	for call, n := range w.calls {
		calls[call] = float64(n) / w.worlds[kausality].Requests
	}
	return calls
}

// soFar returns what all requests have cost by now.
func (w *witness) soFar(ctx context.Context, of world) (effort, error) {
	out := effort{Busy: map[string]float64{}}
	for _, m := range w.cp.Status() {
		var err error
		if out.Busy[m.Name], err = usage.Busy(w.cp, m.Name); err != nil {
			return out, err
		}
	}
	families, err := metrics.OfServer(ctx, w.server)
	if err != nil {
		return out, err
	}
	whose := "bare."
	if of == kausality {
		whose = ".kausality.io"
	}
	asked := families.Asked(whose)
	out.Asked, out.Waited = asked.Count, asked.Sum
	return out, nil
}
