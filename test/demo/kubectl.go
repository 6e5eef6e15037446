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
	"os/exec"
	"slices"
	"strings"
)

// answer is what a command has to answer.
type answer struct {
	// refused is true where it has to fail.
	refused bool
	// says are parts of what it has to say, however that is spaced.
	says []string
}

// kubectl shows a command, runs it, and shows what it answers, which has to be as
// wanted. It returns that.
func (s *story) kubectl(ctx context.Context, who person, want answer, args ...string) (string, error) {
	args = slices.Concat(who.flags(), args)
	s.narrator.command("kubectl " + quoted(args))
	out, err := s.cp.Kubectl(ctx, args...).CombinedOutput()
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return "", fmt.Errorf("running kubectl: %w", err)
	}
	s.narrator.output(string(out))
	if err := want.check(string(out), err == nil); err != nil {
		return "", s.claim("the answer is as it has to be", err)
	}
	return string(out), nil
}

// check holds the answer of a command against what is wanted.
func (a answer) check(out string, succeeded bool) error {
	switch {
	case succeeded && a.refused:
		return errors.New("the command succeeded, and has to be refused")
	case !succeeded && !a.refused:
		return errors.New("the command failed")
	}
	out = spaced(out)
	for _, text := range a.says {
		if !strings.Contains(out, spaced(text)) {
			return fmt.Errorf("it does not say: %s", text)
		}
	}
	return nil
}

// spaced returns a text with one space wherever there was any.
func spaced(text string) string {
	return strings.Join(strings.Fields(text), " ")
}

// quoted returns a command line that a shell takes apart into args again.
func quoted(args []string) string {
	parts := make([]string, 0, len(args))
	for _, arg := range args {
		if arg == "" || strings.ContainsAny(arg, " \t\n*?[]{}()<>|&;$'\"\\`#~!") {
			arg = "'" + strings.ReplaceAll(arg, "'", `'\''`) + "'"
		}
		parts = append(parts, arg)
	}
	return strings.Join(parts, " ")
}
