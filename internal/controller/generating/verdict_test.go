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

package generating

import (
	"errors"
	"fmt"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// TestVerdictOn says what the API server does not take, and never what a field holds.
func TestVerdictOn(t *testing.T) {
	const secret = "hunter2"
	answer := func(format string, args ...any) error {
		return &apierrors.StatusError{ErrStatus: metav1.Status{Code: http.StatusInternalServerError, Message: fmt.Sprintf(format, args...)}}
	}
	for name, tc := range map[string]struct {
		err  error
		want verdict
	}{
		"invalid": {
			apierrors.NewInvalid(schema.GroupKind{Kind: "Secret"}, "s", field.ErrorList{field.Invalid(field.NewPath("data"), secret, secret)}),
			verdict{state: refused, reason: reasonRefused, message: "the API server refuses it: Invalid, data has a value that it may not have"},
		},
		"another type": {
			answer(`failed to create typed patch object (q1/s; /v1, Kind=Secret): .data.pin: expected string, got &value.valueUnstructured{Value:[]interface {}{"%s"}}`, secret),
			verdict{state: refused, reason: reasonRefused, message: "the API server refuses it: data.pin has a value of another type: expected string"},
		},
		"an answer without a reason": {
			answer("cannot: %s", secret),
			verdict{state: failed, reason: reasonFailed, message: "the API server refuses it: 500 Internal Server Error, in words that may have values of fields, and are not shown: apply the object by hand to read them"},
		},
		"no answer": {errors.New("eof"), verdict{state: failed, reason: reasonFailed, message: "eof"}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, verdictOn(tc.err), cmp.AllowUnexported(verdict{})); diff != "" {
				t.Errorf("verdict (-want +got):\n%s", diff)
			}
		})
	}
}
