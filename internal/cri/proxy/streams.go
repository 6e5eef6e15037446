//go:build linux

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

package proxy

import (
	"context"
	"errors"
	"sync"

	"kausality.io/operator/internal/cri/caller"
	"kausality.io/operator/internal/runtimerules"
)

var (
	errForeign = caller.ErrForeign
	// errRulesChanged ends streams.
	errRulesChanged = errors.New("the rules that allowed this stream have changed: open it again")
	// errUnread ends streams, too.
	errUnread = errors.New("a message of this stream was not read for too long: read on, or close it")
)

// streams are the open streams, each with what allowed it.
type streams struct {
	mu   sync.Mutex
	next int
	open map[int]opened
}

type opened struct {
	path  string
	basis string
	end   context.CancelCauseFunc
}

// add registers a stream until the returned function is called.
func (s *streams) add(path, basis string, end context.CancelCauseFunc) (remove func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open == nil {
		s.open = map[int]opened{}
	}
	s.next++
	number := s.next
	s.open[number] = opened{path: path, basis: basis, end: end}
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.open, number)
	}
}

// keep ends the streams that rules would judge otherwise, and says how many.
func (s *streams) keep(rules *runtimerules.Rules) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	ended := 0
	for _, stream := range s.open {
		if !rules.Plan(stream.path).Has(stream.basis) {
			stream.end(errRulesChanged)
			ended++
		}
	}
	return ended
}
