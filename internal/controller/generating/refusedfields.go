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
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kausality.io/operator/internal/controller/listing"
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

// refusedFields says which fields of an object the API server does not take, without their values; empty where it
// does not tell.
func refusedFields(err error) string {
	var status apierrors.APIStatus
	if !errors.As(err, &status) || status.Status().Details == nil {
		return ""
	}
	var out []string
	for _, cause := range status.Status().Details.Causes {
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
	if len(out) == 0 {
		return ""
	}
	return ", " + strings.TrimSuffix(listing.Join(out, ", "), ".")
}
