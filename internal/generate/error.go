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

package generate

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Reason is why a policy could not be evaluated for a trigger.
type Reason string

const (
	// ReasonEvaluation means that an expression fails for this trigger.
	ReasonEvaluation Reason = "EvaluationFailed"
	// ReasonRead means that something could not be read.
	ReasonRead Reason = "ReadFailed"
	// ReasonLimit means that the trigger wants, reads or costs too much.
	ReasonLimit Reason = "LimitExceeded"
	// ReasonObject means that what is applied cannot be an object.
	ReasonObject Reason = "InvalidObject"
)

// Error is why a policy could not be evaluated for a trigger. It names no values of objects.
// What there is for the trigger stays as it is.
type Error struct {
	// Field is the expression that failed.
	Field *field.Path
	// Reason is what kind of failure it is.
	Reason Reason
	// Detail is what happened, and what to do.
	Detail string
	// Err is what it comes from, if anything.
	Err error
}

// Error implements error.
func (e *Error) Error() string {
	out := e.Detail
	if e.Err != nil {
		out = fmt.Sprintf("%s: %v", e.Detail, e.Err)
	}
	if e.Field != nil {
		out = fmt.Sprintf("%s: %s", e.Field, out)
	}
	return out
}

// Unwrap returns what the error comes from.
func (e *Error) Unwrap() error { return e.Err }
