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

package valuefree

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// fieldProblems say what is wrong with a field. What the API server says of it besides may hold its value.
var fieldProblems = map[metav1.CauseType]string{
	metav1.CauseTypeFieldValueRequired:        "is missing",
	metav1.CauseTypeFieldValueInvalid:         "has a value that it may not have",
	metav1.CauseTypeFieldValueNotSupported:    "has none of the values that it may have",
	metav1.CauseTypeFieldValueDuplicate:       "is there twice",
	metav1.CauseTypeForbidden:                 "may not be there, or not be changed",
	metav1.CauseTypeTypeInvalid:               "has a value of another type",
	metav1.CauseTypeTooLong:                   "is too long",
	metav1.CauseTypeTooMany:                   "has too many items",
	metav1.CauseType(field.ErrorTypeNotFound): "names something that is not there",
}

// invalidFields says which fields of an object the API server does not take, as far as it names them.
func invalidFields(status *metav1.Status) []string {
	if status.Details == nil {
		return nil
	}
	var out []string
	for _, cause := range status.Details.Causes {
		if cause.Field == "" || cause.Field == "<nil>" {
			continue
		}
		problem, known := fieldProblems[cause.Type]
		if !known {
			problem = "is refused (" + string(cause.Type) + ")"
		}
		if text := fmt.Sprintf("%s %s", cause.Field, problem); !slices.Contains(out, text) {
			out = append(out, text)
		}
	}
	return out
}

// typed begins what the API server says of an object that has not the types of its schema; what it says of each
// field is in a line. The fields' values are in the same lines.
const typed = "failed to create typed "

// typedProblem matches what is said of one field: where it is, and what is wrong. What follows may be a value.
var typedProblem = regexp.MustCompile(`(?m)^(?: {2}|failed to create typed [^\n]*?\): )((?:\.[^\s:\[]+|\[[^\]\n]*\])+): ` +
	`(?:expected (string|boolean|numeric|any scalar|list|map)\b|(field not declared in schema)|(duplicate entries for key)|(.))`)

// inBrackets matches an item of a list in a path: the number of one has no value in it, a key has.
var inBrackets = regexp.MustCompile(`\[[^\]\n]*\]`)

// number matches the place of an item that has one.
var number = regexp.MustCompile(`^\[\d+\]$`)

// mistyped says which fields of an object are not of the type that the schema of its kind has, and which type that is.
func mistyped(message string) []string {
	at := strings.Index(message, typed)
	if at < 0 {
		return nil
	}
	var out []string
	for _, found := range typedProblem.FindAllStringSubmatch(message[at:], -1) {
		path := inBrackets.ReplaceAllStringFunc(strings.TrimPrefix(found[1], "."), func(item string) string {
			if number.MatchString(item) {
				return item
			}
			return "[*]"
		})
		text := path + " has a value that it may not have"
		switch {
		case found[2] != "":
			text = path + " has a value of another type: expected " + found[2]
		case found[3] != "":
			text = path + " is no field of its kind"
		case found[4] != "":
			text = path + " has an item twice"
		}
		if !slices.Contains(out, text) {
			out = append(out, text)
		}
	}
	return out
}

// misread matches what is said of a field that cannot be read into its kind.
var misread = regexp.MustCompile(`cannot unmarshal (?:string|number|bool|object|array)(?: \S+)? into Go struct field (\S+) of type (\S+)`)

// unread says which fields cannot be read into their kind, and what they have to be.
func unread(message string) []string {
	var out []string
	for _, found := range misread.FindAllStringSubmatch(message, -1) {
		if text := found[1] + " has a value of another type: expected " + found[2]; !slices.Contains(out, text) {
			out = append(out, text)
		}
	}
	return out
}
