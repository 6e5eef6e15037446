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
	"errors"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kausality.io/operator/internal/listing"
)

// plain are the reasons of answers that speak of names and versions of objects, and never of their content.
var plain = []metav1.StatusReason{
	metav1.StatusReasonUnauthorized, metav1.StatusReasonNotFound, metav1.StatusReasonAlreadyExists, metav1.StatusReasonConflict,
	metav1.StatusReasonGone, metav1.StatusReasonExpired, metav1.StatusReasonServerTimeout, metav1.StatusReasonTimeout,
	metav1.StatusReasonTooManyRequests, metav1.StatusReasonMethodNotAllowed, metav1.StatusReasonNotAcceptable,
	metav1.StatusReasonRequestEntityTooLarge, metav1.StatusReasonUnsupportedMediaType, metav1.StatusReasonServiceUnavailable,
}

// harmless matches whole answers without values: a missing right, a webhook that does not answer, a storage that does not.
var harmless = regexp.MustCompile(`(?s)^(?:[^\n]* is forbidden: )?User "[^"\n]*" cannot [^\n]*$` +
	`|^(?:Internal error occurred: )?failed calling webhook "[^"\n]+": failed to call webhook: Post "[^"\n]*": [^\n]*$` +
	`|^(?:etcdserver: |rpc error: code = |context (?:deadline exceeded|canceled))[^\n]*$` +
	`|^[^\n]* because it is being terminated$` +
	`|^unable to (?:create|patch|update|delete) [^\n]*: the server has asked for the client to provide credentials$`)

// verdict matches a denial by AllowancePolicies, whose messages have no values. Those of other webhooks of Kausality have
// them, as they are about objects that who is told has written.
var verdict = regexp.MustCompile(`^admission webhook "verdict[^"\n]*\.kausality\.io" denied the request`)

// deniedBy finds who refused a request. The rest of the message may tell values.
var deniedBy = regexp.MustCompile(`(?:admission webhook "[^"\n]+"|failed calling webhook "[^"\n]+"|ValidatingAdmissionPolicy '[^'\n]+'|` +
	`exceeded quota: [^,\n]+|attempting to grant RBAC permissions not currently held)`)

// telling are the reasons that say what is wrong where no field is named.
var telling = []metav1.StatusReason{metav1.StatusReasonForbidden, metav1.StatusReasonInvalid, metav1.StatusReasonBadRequest}

// phrases are what libraries say of a value without saying it.
var phrases = regexp.MustCompile(`illegal base64 data|quantities must match the regular expression|` +
	`cannot (?:convert|restore) (?:struct|slice|map|string|bool|int64|float64|interface)\b|unrecognized type: \w+`)

// Why says why an API server did not take a request, by its reason, the fields that it names, and who denied it, and
// never what a field holds.
func Why(err error) string {
	var answer apierrors.APIStatus
	if !errors.As(err, &answer) {
		return Text(err)
	}
	return why(new(answer.Status()))
}

func why(status *metav1.Status) string {
	fields := slices.Concat(invalidFields(status), mistyped(status.Message), unread(status.Message))
	var parts []string
	switch {
	case status.Reason != metav1.StatusReasonUnknown:
		parts = append(parts, string(status.Reason))
	case len(fields) == 0 && status.Code != 0:
		parts = append(parts, strings.TrimSpace(strconv.Itoa(int(status.Code))+" "+http.StatusText(int(status.Code))))
	}
	if len(fields) > 0 {
		parts = append(parts, strings.TrimSuffix(listing.Join(fields, ", "), "."))
	}
	phrase := phrases.FindString(status.Message)
	if phrase != "" {
		parts = append(parts, phrase)
	}
	if by := deniedBy.FindString(status.Message); by != "" {
		parts = append(parts, by)
	}
	if len(fields) == 0 && phrase == "" && !slices.Contains(telling, status.Reason) {
		parts = append(parts, "in words that may have values of fields, and are not shown: apply the object by hand to read them")
	}
	return strings.Join(parts, ", ")
}

// NamesFields reports whether an API server names fields that it does not take, as not of the type of their schema:
// such an answer has no reason by which one can tell.
func NamesFields(err error) bool {
	var answer apierrors.APIStatus
	return errors.As(err, &answer) && len(mistyped(answer.Status().Message)) > 0
}

// Text is the text of an error without what fields hold: an answer of an API server in it that may have such values
// is replaced by why it is one.
func Text(err error) string {
	text := err.Error()
	for _, answer := range answersIn(err) {
		status := answer.Status()
		said, known := answer.(error)
		if !known || isHarmless(&status) {
			continue
		}
		text = strings.ReplaceAll(text, said.Error(), "the API server refuses it: "+why(&status))
	}
	return text
}

func isHarmless(status *metav1.Status) bool {
	return slices.Contains(plain, status.Reason) || verdict.MatchString(status.Message) || harmless.MatchString(status.Message)
}

// answersIn returns all answers of API servers that an error has in it.
func answersIn(err error) []apierrors.APIStatus {
	switch err := err.(type) { //nolint:errorlint // All of the tree is looked at.
	case nil:
		return nil
	case apierrors.APIStatus:
		return []apierrors.APIStatus{err}
	case interface{ Unwrap() error }:
		return answersIn(err.Unwrap())
	case interface{ Unwrap() []error }:
		var out []apierrors.APIStatus
		for _, one := range err.Unwrap() {
			out = append(out, answersIn(one)...)
		}
		return out
	}
	return nil
}
