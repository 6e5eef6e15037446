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

package runtimerules

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// maxProblems is how many problems of a file are told at once.
const maxProblems = 50

// Problem is something in a file that cannot be meant, or cannot be carried out.
type Problem struct {
	// Line counts from 1.
	Line int
	// Message says what is wrong and what would be right.
	Message string
}

// ProblemsError has those of one file.
type ProblemsError struct {
	// File is the name of the file.
	File string
	// List is ordered by line.
	List []Problem
}

// Error implements error: a line FILE:LINE: MESSAGE for each.
func (p *ProblemsError) Error() string {
	lines := make([]string, 0, len(p.List))
	for i, problem := range p.List {
		if i == maxProblems {
			lines = append(lines, fmt.Sprintf("%s: and %d more", p.File, len(p.List)-maxProblems))
			break
		}
		lines = append(lines, fmt.Sprintf("%s:%d: %s", p.File, problem.Line, problem.Message))
	}
	return strings.Join(lines, "\n")
}

func (p *ProblemsError) addf(line int, format string, args ...any) {
	p.List = append(p.List, Problem{Line: line, Message: fmt.Sprintf(format, args...)})
}

// err is nil where there are no problems.
func (p *ProblemsError) err() error {
	if len(p.List) == 0 {
		return nil
	}
	slices.SortStableFunc(p.List, func(a, b Problem) int { return cmp.Compare(a.Line, b.Line) })
	return p
}

// meant returns the end of a message about a word that nobody knows.
func meant(written string, candidates []string) string {
	if near, ok := nearest(written, candidates); ok {
		return fmt.Sprintf("did you mean %s?", near)
	}
	return "there are " + strings.Join(candidates, ", ")
}
