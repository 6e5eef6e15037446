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
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// secret is what a field holds that nobody is to see.
const secret = "hunter2"

var secrets = schema.GroupResource{Resource: "secrets"}

func invalid(errs ...*field.Error) error {
	return apierrors.NewInvalid(schema.GroupKind{Group: "apps", Kind: "Deployment"}, "web", errs)
}

// unnamed is an answer without a reason, as that to an apply of what has not the types of its schema.
func unnamed(format string, args ...any) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: http.StatusInternalServerError, Message: fmt.Sprintf(format, args...)}}
}

func untyped(problems string) error {
	return unnamed("failed to create typed patch object (q1/s; /v1, Kind=Secret): %s", problems)
}

const hidden = "in words that may have values of fields, and are not shown: apply the object by hand to read them"

// TestWhy names the fields that have to be corrected, and never what they hold.
func TestWhy(t *testing.T) {
	at := field.NewPath("spec", "selector")
	for name, tc := range map[string]struct {
		err  error
		want string
	}{
		"a value":        {invalid(field.Invalid(at, secret, "it is "+secret)), "Invalid, spec.selector has a value that it may not have"},
		"what is absent": {invalid(field.Required(at, "")), "Invalid, spec.selector is missing"},
		"several": {
			invalid(field.Required(at, ""), field.NotSupported(at.Child("x"), secret, []string{"a"}), field.Forbidden(at, secret), field.TypeInvalid(at, secret, "")),
			"Invalid, spec.selector is missing, spec.selector.x has none of the values that it may have, " +
				"spec.selector may not be there, or not be changed, spec.selector has a value of another type",
		},
		"the same twice": {invalid(field.Required(at, "a"), field.Required(at, "b")), "Invalid, spec.selector is missing"},
		"no field":       {apierrors.NewForbidden(schema.GroupResource{}, "web", errors.New(secret)), "Forbidden"},
		"who denies it": {
			apierrors.NewForbidden(secrets, "s", fmt.Errorf("ValidatingAdmissionPolicy 'p' with binding 'b' denied request: %s", secret)),
			"Forbidden, ValidatingAdmissionPolicy 'p'",
		},
		"a map for a string": {
			untyped(`.data.pin: expected string, got &value.valueUnstructured{Value:map[string]interface {}{"pin":"hunter2"}}`),
			"data.pin has a value of another type: expected string",
		},
		"a string for a boolean": {untyped(".immutable: expected boolean, got &{hunter2}"), "immutable has a value of another type: expected boolean"},
		"values in lines":        {untyped(".immutable: expected boolean, got &{a\nhunter2}"), "immutable has a value of another type: expected boolean"},
		"several types": {
			untyped("errors:\n  .data.a: expected string, got &{hunter2}\n  .spec.ports[name=\"hunter2\"].port: expected numeric (int or float), got string\n" +
				"  .spec.args[0]: expected map, got &{hunter2}\n  .spec.nosuch: field not declared in schema\n" +
				"  .spec.ports: duplicate entries for key [name=\"hunter2\"]\n  .spec.ports: element 0: hunter2"),
			"data.a has a value of another type: expected string, spec.ports[*].port has a value of another type: expected numeric, " +
				"spec.args[0] has a value of another type: expected map, spec.nosuch is no field of its kind, spec.ports has an item twice, " +
				"spec.ports has a value that it may not have",
		},
		"what is applied has a line that looks so": {unnamed("hunter2\n  .data.hunter2: expected string, got x"), "500 Internal Server Error, " + hidden},
		"what cannot be read": {
			apierrors.NewBadRequest("Deployment in version \"v1\" cannot be handled as a Deployment: json: cannot unmarshal number 31.5 into Go struct field DeploymentSpec.spec.replicas of type int32"),
			"BadRequest, DeploymentSpec.spec.replicas has a value of another type: expected int32",
		},
		"what is no base64": {unnamed("failed to convert new object: illegal base64 data at input byte 3: hunter2"), "500 Internal Server Error, illegal base64 data"},
		"an unknown answer": {apierrors.NewInternalError(errors.New(secret)), "InternalError, " + hidden},
		"no answer":         {errors.New("connection refused"), "connection refused"},
	} {
		t.Run(name, func(t *testing.T) {
			got := Why(tc.err)
			if diff := cmp.Diff(tc.want, got); diff != "" || strings.Contains(got, secret) {
				t.Errorf("Why (-want +got):\n%s", diff)
			}
		})
	}
}

// TestText replaces what may have values, wherever it is in an error, and leaves what has none.
func TestText(t *testing.T) {
	conflict := apierrors.NewConflict(secrets, "s", errors.New("the object has been modified"))
	right := apierrors.NewForbidden(secrets, "s", errors.New(`User "u" cannot patch resource "secrets" in API group ""`))
	down := apierrors.NewInternalError(errors.New(`failed calling webhook "w.example": failed to call webhook: Post "https://w.x.svc/": dial tcp: connection refused`))
	denial := apierrors.NewForbidden(secrets, "s", errors.New(secret))
	denial.ErrStatus.Message = `admission webhook "verdict.kausality.io" denied the request: update of Secret s`
	other := apierrors.NewForbidden(secrets, "s", errors.New(secret))
	other.ErrStatus.Message = `admission webhook "vallowancepolicy.kausality.io" denied the request: ` + secret
	for name, tc := range map[string]struct {
		err  error
		want string
	}{
		"wrapped": {
			fmt.Errorf("writing Secret q1/s: %w", invalid(field.Invalid(field.NewPath("data"), secret, ""))),
			"writing Secret q1/s: the API server refuses it: Invalid, data has a value that it may not have",
		},
		"joined": {
			errors.Join(errors.New("a"), fmt.Errorf("b: %w", untyped(".immutable: expected boolean, got &{hunter2}")), untyped(".data: expected map, got &{hunter2}")),
			"a\nb: the API server refuses it: immutable has a value of another type: expected boolean\nthe API server refuses it: data has a value of another type: expected map",
		},
		"a conflict":            {conflict, conflict.Error()},
		"a missing right":       {right, right.Error()},
		"a webhook that is off": {down, down.Error()},
		"a storage":             {unnamed("etcdserver: request timed out"), "etcdserver: request timed out"},
		"a denial of ours":      {denial, denial.Error()},
		"another webhook":       {other, `the API server refuses it: Forbidden, admission webhook "vallowancepolicy.kausality.io"`},
		"no answer":             {errors.New("eof"), "eof"},
	} {
		t.Run(name, func(t *testing.T) {
			got := Text(tc.err)
			if diff := cmp.Diff(tc.want, got); diff != "" || strings.Contains(got, secret) {
				t.Errorf("Text (-want +got):\n%s", diff)
			}
		})
	}
}

// TestLogger tells no values, by whatever way an error comes.
func TestLogger(t *testing.T) {
	var lines strings.Builder
	log := Logger(funcr.New(func(prefix, args string) { lines.WriteString(prefix + args + "\n") }, funcr.Options{}))
	err := fmt.Errorf("writing: %w", untyped(".immutable: expected boolean, got &{hunter2}"))
	log.Error(err, "Reconciler error")
	log.Info("Tried again", "reason", err)
	log.WithName("a").WithValues("why", err).V(0).Info("Named", "other", 1)
	log.WithCallDepth(1).Error(err, "Deeper")
	log.Error(nil, "None")
	got := lines.String()
	if strings.Contains(got, secret) || strings.Count(got, "expected boolean") != 4 || !strings.Contains(got, `"error"=null`) {
		t.Errorf("log:\n%s", got)
	}
}
