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
	"maps"
	"net/http"
	"slices"
)

// peek tells a test what an instance is like. It is no call.
func (s *Server) peek(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	name := r.PathValue("name")
	parameters, exists := s.instances[name]
	if !exists {
		http.NotFound(w, r)
		return
	}
	answer(w, Instance{Name: name, Parameters: parameters})
}

// drift changes an instance behind everybody's back.
func (s *Server) drift(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	name := r.PathValue("name")
	var to Parameters
	if err := json.NewDecoder(r.Body).Decode(&to); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	has, exists := s.instances[name]
	if !exists {
		http.NotFound(w, r)
		return
	}
	has = maps.Clone(has)
	maps.Copy(has, to)
	s.instances[name] = has
}

// lose makes an instance vanish.
func (s *Server) lose(_ http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.instances, r.PathValue("name"))
}

// tell returns what the log has of an instance.
func (s *Server) tell(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	answer(w, s.calls.On(r.PathValue("name")))
}

// inject adds a fault. The first that is about a call counts.
func (s *Server) inject(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fault := &Fault{}
	if err := json.NewDecoder(r.Body).Decode(fault); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	s.faults = append(s.faults, fault)
}

// clear takes back all faults of an instance, and has its calls go on that are delayed.
func (s *Server) clear(_ http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if delayed := s.delayed[r.PathValue("name")]; delayed != nil {
		close(delayed)
		delete(s.delayed, r.PathValue("name"))
	}
	s.faults = slices.DeleteFunc(s.faults, func(f *Fault) bool { return f.Name == r.PathValue("name") })
}
