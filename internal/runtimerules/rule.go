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
	"fmt"
	"strings"
)

// Action is what a rule does with the calls that it decides.
type Action string

// The actions.
const (
	// Allow lets a call through, as far as the rule's conditions and filters do.
	Allow Action = "allow"
	// Deny refuses a call.
	Deny Action = "deny"
)

// Operator is how a field is compared.
type Operator string

// The operators.
const (
	// Equals holds for a field that has exactly the value.
	Equals Operator = "equals"
	// BelongsToPod holds for a field that has the id of a container of the Pod.
	BelongsToPod Operator = "belongsToPod"
)

// CallersPod is the only source of values that are not in the file: the id of the
// caller's Pod sandbox.
const CallersPod = "podSandboxIdFromPID"

// Self is the field of a filter that is about each message of a stream as a whole.
const Self = "."

// Rule is one of a file, as it was written.
type Rule struct {
	// Number counts the rules of a file from 1.
	Number int
	// Line is where the rule begins.
	Line int
	// Method is the pattern of the methods that it is about.
	Method string
	// Action is what it does.
	Action Action
	// Conditions all have to hold, or else the rule is skipped.
	Conditions []Condition
	// Filters say what remains of the response.
	Filters []Filter
}

// Condition is what a rule asks of a request.
type Condition struct {
	// Line is where the condition begins.
	Line int
	// Field is the path to a field of the request.
	Field string
	// Operator compares it.
	Operator Operator
	// Source is where the value comes from; empty where Value has it.
	Source string
	// Value is the value as the file has it; nil where Source names one.
	Value *Scalar
}

// Filter is what a rule keeps of a response.
type Filter struct {
	// Line is where the filter begins.
	Line int
	// Field is the path to a list of the response, or Self.
	Field string
	// FilterField is the path to a field within each element.
	FilterField string
	// Operator compares it.
	Operator Operator
	// Source is where the value comes from.
	Source string
}

// Scalar is a value of a file that has not been given a type yet.
type Scalar struct {
	// Tag is YAML's for it, such as !!str.
	Tag string
	// Text is how it is written, without quotes.
	Text string
}

// String names the rule in messages to people.
func (r *Rule) String() string { return fmt.Sprintf("rule %d (line %d)", r.Number, r.Line) }

// String returns the condition as one reads it aloud. The value is the admin's own.
func (c Condition) String() string {
	return c.Field + " " + string(c.Operator) + " " + c.operand()
}

func (c Condition) operand() string {
	if c.Value == nil {
		return c.Source
	}
	if c.Value.Tag == tagString {
		return fmt.Sprintf("%q", c.Value.Text)
	}
	return c.Value.Text
}

// String returns the filter as one reads it aloud.
func (f Filter) String() string {
	return fmt.Sprintf("%s where %s %s %s", f.Field, f.FilterField, f.Operator, f.Source)
}

// meaning returns all of a rule by which a call is judged: the same for two rules that differ
// only in where they stand.
func (r *Rule) meaning() string {
	var b strings.Builder
	b.WriteString(string(r.Action))
	for _, c := range r.Conditions {
		fmt.Fprintf(&b, " if %q", c.String())
	}
	for _, f := range r.Filters {
		fmt.Fprintf(&b, " keep %q", f.String())
	}
	return b.String()
}
