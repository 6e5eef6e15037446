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

package main

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kausality.io/operator/test/campaign/stranger/checker"
)

// What a stranger has made invalid does not end a campaign, and what a webhook refuses does.
func TestUnlessInvalid(t *testing.T) {
	tick := schema.GroupKind{Group: "batch", Kind: "CronJob"}
	refused := apierrors.NewInvalid(tick, "tick", field.ErrorList{field.Forbidden(field.NewPath("spec"), "")})
	refused.ErrStatus.Message = `admission webhook "verdict.kausality.io" denied the request`
	tests := map[string]struct {
		err  error
		ends bool
	}{
		"nothing":                {},
		"it is gone":             {err: apierrors.NewNotFound(schema.GroupResource{Resource: "cronjobs"}, "tick")},
		"it is invalid":          {err: apierrors.NewInvalid(tick, "tick", field.ErrorList{field.Invalid(field.NewPath("metadata", "finalizers"), "zq1z", "")})},
		"a webhook says so":      {err: refused, ends: true},
		"the API server is gone": {err: errors.New("connection refused"), ends: true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if got := unlessInvalid(tc.err, &unstructured.Unstructured{}); (got != nil) != tc.ends {
				t.Errorf("unlessInvalid() = %v", got)
			}
		})
	}
}

// What was found when the acts were done stays found, once.
func TestWithAll(t *testing.T) {
	finding := func(second int, object string) checker.Finding {
		return checker.Finding{Promise: checker.Uncovered, At: time.Date(2026, 1, 1, 0, 0, second, 0, time.UTC), Object: object}
	}
	later := &checker.Report{Findings: []checker.Finding{finding(2, "b"), finding(3, "c")}}
	var got []string
	for _, f := range withAll(later, []checker.Finding{finding(1, "a"), finding(2, "b")}).Findings {
		got = append(got, f.Object)
	}
	if diff := cmp.Diff([]string{"a", "b", "c"}, got); diff != "" {
		t.Errorf("findings (-want +got):\n%s", diff)
	}
}
