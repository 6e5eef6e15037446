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

// Package exit says with which code a command exits.
package exit

import "errors"

// The codes.
const (
	// Findings is that of a command that has found what it was asked to look for, and
	// of any that failed.
	Findings = 1
	// Usage is that of a command that could not do what it was asked.
	Usage = 2
)

// codedError is an error with a code.
type codedError struct {
	error
	code int
}

// Unwrap returns the error without its code.
func (e codedError) Unwrap() error { return e.error }

// With gives an error a code.
func With(code int, err error) error {
	return codedError{error: err, code: code}
}

// Code returns the code of an error: 0 where there is none, and 1 of one without.
func Code(err error) int {
	var coded codedError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &coded):
		return coded.code
	default:
		return Findings
	}
}
