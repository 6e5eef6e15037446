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

package cloud

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
)

// CallerHeader tells on behalf of whom a request is made.
const CallerHeader = "X-Caller"

// Where the cloud serves: instances to providers, control to tests, and ready to
// whoever starts it.
const (
	instancesPath = "/instances/"
	controlPath   = "/control/instances/"
	callsPath     = "/control/calls/"
	faultsPath    = "/control/faults"
	// ReadyPath answers as soon as the cloud works.
	ReadyPath = "/readyz"
)

// The default of what nobody has to ask for.
const (
	defaultedParameter = "backupWindow"
	defaultedValue     = "03:00-04:00"
)

// Server is the cloud.
type Server struct {
	mu        sync.Mutex
	log       io.Writer
	instances map[string]Parameters
	calls     Calls
	faults    []*Fault
	// delayed has, by the name of an instance, what is closed once its faults are taken back.
	delayed map[string]chan struct{}
}

// NewServer returns an empty cloud that writes its log to the given writer: a line
// for each call that is received, and one for what came of it.
func NewServer(log io.Writer) *Server {
	return &Server{log: log, instances: map[string]Parameters{}, delayed: map[string]chan struct{}{}}
}

// Handler serves the cloud.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	for method, verb := range map[string]Verb{
		http.MethodGet: Observe, http.MethodPost: Create, http.MethodPatch: Update, http.MethodDelete: Delete,
	} {
		mux.HandleFunc(method+" "+instancesPath+"{name}", func(w http.ResponseWriter, r *http.Request) { s.serve(w, r, verb) })
	}
	mux.HandleFunc("GET "+controlPath+"{name}", s.peek)
	mux.HandleFunc("PATCH "+controlPath+"{name}", s.drift)
	mux.HandleFunc("DELETE "+controlPath+"{name}", s.lose)
	mux.HandleFunc("GET "+callsPath+"{name}", s.tell)
	mux.HandleFunc("POST "+faultsPath, s.inject)
	mux.HandleFunc("DELETE "+faultsPath+"/{name}", s.clear)
	mux.HandleFunc("GET "+ReadyPath, func(http.ResponseWriter, *http.Request) {})
	return mux
}

// serve answers a provider.
func (s *Server) serve(w http.ResponseWriter, r *http.Request, verb Verb) {
	var asked Parameters
	if verb == Create || verb == Update {
		if err := json.NewDecoder(r.Body).Decode(&asked); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
	}
	name := r.PathValue("name")
	number, fault := s.receive(Call{By: r.Header.Get(CallerHeader), Verb: verb, Name: name, Parameters: asked})
	if fault.Delay > 0 {
		// Whether or not somebody waits for it.
		select {
		case <-time.After(time.Duration(fault.Delay)):
		case <-s.takenBack(name):
		}
	}
	code, instance := s.carryOut(number, fault.Outcome)
	if code >= http.StatusBadRequest {
		http.Error(w, fmt.Sprintf("the cloud answers %s of %s: %s", verb, name, http.StatusText(code)), code)
		return
	}
	answer(w, instance)
}

// takenBack returns what is closed once the faults of an instance are taken back.
func (s *Server) takenBack(name string) <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.delayed[name] == nil {
		s.delayed[name] = make(chan struct{})
	}
	return s.delayed[name]
}

// receive notes a call, and returns its number and what is to go wrong.
func (s *Server) receive(call Call) (int, Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	call.Number, call.Outcome, call.Received = len(s.calls), Pending, time.Now()
	s.calls = append(s.calls, call)
	s.write(call)
	at := slices.IndexFunc(s.faults, func(f *Fault) bool { return f.hits(call.Verb, call.Name) })
	if at < 0 {
		return call.Number, Fault{}
	}
	fault := s.faults[at]
	hit := *fault
	if fault.Times == 1 {
		s.faults = slices.Delete(s.faults, at, at+1)
	} else if fault.Times > 1 {
		fault.Times--
	}
	return call.Number, hit
}

// carryOut does what a call asks for, or as much of it as a fault lets it.
func (s *Server) carryOut(number int, outcome Outcome) (int, Instance) {
	s.mu.Lock()
	defer s.mu.Unlock()
	call := &s.calls[number]
	has, exists := s.instances[call.Name]
	code := http.StatusOK
	switch {
	case outcome == Refused:
		code = http.StatusInternalServerError
	case call.Verb == Create && exists:
		code, outcome = http.StatusConflict, Refused
	case call.Verb != Create && !exists:
		code, outcome = http.StatusNotFound, Refused
	case outcome == Partial:
		code = http.StatusInternalServerError
	default:
		outcome = Done
	}
	if outcome != Refused {
		s.change(call, has, outcome == Partial)
	}
	call.Outcome, call.Ended = outcome, time.Now()
	s.write(*call)
	return code, Instance{Name: call.Name, Parameters: maps.Clone(s.instances[call.Name])}
}

// change makes the change that a call asks for, or the first part of it. Half a
// deletion is none.
func (s *Server) change(call *Call, has Parameters, partly bool) {
	switch call.Verb {
	case Observe:
	case Delete:
		if !partly {
			delete(s.instances, call.Name)
		}
	case Create:
		s.instances[call.Name] = changed(Parameters{defaultedParameter: defaultedValue}, call.Parameters, partly)
	case Update:
		s.instances[call.Name] = changed(has, call.Parameters, partly)
	}
}

// changed returns parameters with those that were asked for, or with the first of
// them that is another.
func changed(has, asked Parameters, partly bool) Parameters {
	out := maps.Clone(has)
	for _, key := range slices.Sorted(maps.Keys(asked)) {
		if has, found := out[key]; found && equality.Semantic.DeepEqual(has, asked[key]) {
			continue
		}
		out[key] = asked[key]
		if partly {
			return out
		}
	}
	return out
}

// write appends to the log. The caller holds s.mu.
func (s *Server) write(call Call) {
	_ = json.NewEncoder(s.log).Encode(call) //nolint:errchkjson // Parameters came as JSON, and nobody is there to tell that the log is full.
}

func answer(w http.ResponseWriter, content any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(content) //nolint:errchkjson // All of it came as JSON; who has hung up does not read.
}
