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
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// TestRefusedFields names the fields that have to be corrected, and never what they hold.
func TestRefusedFields(t *testing.T) {
	const secret = "hunter2"
	invalid := func(errs ...*field.Error) error {
		return apierrors.NewInvalid(schema.GroupKind{Group: "apps", Kind: "Deployment"}, "web", errs)
	}
	at := field.NewPath("spec", "selector")
	for name, tc := range map[string]struct {
		err  error
		want string
	}{
		"a value":        {invalid(field.Invalid(at, secret, "it is "+secret)), "the API server refuses it: Invalid, spec.selector has a value that it may not have"},
		"what is absent": {invalid(field.Required(at, "")), "the API server refuses it: Invalid, spec.selector is missing"},
		"several": {
			invalid(field.Required(at, ""), field.NotSupported(at.Child("x"), secret, []string{"a"}), field.Forbidden(at, secret), field.TypeInvalid(at, secret, "")),
			"the API server refuses it: Invalid, spec.selector is missing, spec.selector.x has none of the values that it may have, " +
				"spec.selector may not be there, or not be changed, spec.selector has a value of another type",
		},
		"the same twice": {invalid(field.Required(at, "a"), field.Required(at, "b")), "the API server refuses it: Invalid, spec.selector is missing"},
		"no field":       {apierrors.NewForbidden(schema.GroupResource{}, "web", errors.New(secret)), "the API server refuses it: Forbidden"},
	} {
		t.Run(name, func(t *testing.T) {
			got := verdictOn(tc.err)
			if diff := cmp.Diff(tc.want, got.message); diff != "" || strings.Contains(got.message, secret) {
				t.Errorf("message (-want +got):\n%s", diff)
			}
		})
	}
}
