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
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

const (
	// deadline is how long something may take that has to happen.
	deadline = 20 * time.Second
	// pollEvery is how often it is looked whether it has.
	pollEvery = 50 * time.Millisecond
)

// errFailed is the end of a story in which a claim did not hold; the narrator has
// told it already.
var errFailed = errors.New("a claim does not hold")

// condition returns nil where something is so, and else an error that says what
// is so instead.
type condition func(context.Context) error

// claim tells what is so now, and fails the story if err says otherwise.
func (s *story) claim(text string, err error) error {
	if err != nil {
		s.narrator.fails(text, err)
		return errFailed
	}
	s.narrator.holds(text)
	s.checked++
	return nil
}

// eventually tells what comes to be so, and fails the story if it does not before
// the deadline.
func (s *story) eventually(ctx context.Context, text string, is condition) error {
	var last error
	err := wait.PollUntilContextTimeout(ctx, pollEvery, deadline, true, func(ctx context.Context) (bool, error) {
		err := is(ctx)
		// The answer to a look that the deadline cut short says nothing.
		if err == nil || ctx.Err() == nil {
			last = err
		}
		return err == nil, nil
	})
	switch {
	case err == nil:
		return s.claim(text, nil)
	case ctx.Err() != nil:
		return ctx.Err()
	default:
		return s.claim(text, fmt.Errorf("not within %s: %w", deadline, last))
	}
}
