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

package admission

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"kausality.io/operator/api/v1alpha1"
)

// enough is far more time than any input may cost, also with the race detector on a machine that
// does twenty other things: what explodes takes hours.
const enough = time.Minute

// Inputs that are as bad as an API server lets them be, or worse: each has an answer, soon.
func TestBadInput(t *testing.T) {
	review := func(apiVersion, object string) string {
		return fmt.Sprintf(`{"kind":"AdmissionReview","apiVersion":%q,"request":{"uid":"1","operation":"UPDATE","namespace":"ns","name":"web",
			"kind":{"group":"apps","version":"v1","kind":"Deployment"},"resource":{"group":"apps","version":"v1","resource":"deployments"},
			"userInfo":{"username":"mallory"},"oldObject":%s,"object":%s}}`, apiVersion, deploymentWith(`{}`, `{"replicas":1}`), object)
	}
	const v1 = "admission.k8s.io/v1"
	annotated := func(key, value string) string {
		return review(v1, deploymentWith(fmt.Sprintf(`{%q:%q}`, key, value), `{"replicas":2}`))
	}
	items := func(n int, format string) string {
		list := make([]string, n)
		for i := range list {
			list[i] = fmt.Sprintf(format, i)
		}
		return strings.Join(list, ",")
	}
	for name, body := range map[string]string{
		"an older version":             review("admission.k8s.io/v1beta1", deploymentWith(`{}`, `{"replicas":2}`)),
		"a version that is none":       review("admission.k8s.io/v9", deploymentWith(`{}`, `{"replicas":2}`)),
		"no version":                   review("", deploymentWith(`{}`, `{"replicas":2}`)),
		"no object":                    review(v1, `null`),
		"an object that is a list":     review(v1, `[]`),
		"a large annotation":           annotated("example.com/large", strings.Repeat("x", 256<<10)),
		"a large ledger":               annotated(v1alpha1.AnnotationAllowances, "["+items(4000, `{"kind":"Pod","mutation":"p%d","generation":1}`)+"]"),
		"a deep ledger":                annotated(v1alpha1.AnnotationAllowances, strings.Repeat("[", 100<<10)),
		"a ledger of aliases":          annotated(v1alpha1.AnnotationAllowances, "a: &a [x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c]\ne: &e [*d,*d,*d,*d,*d,*d,*d,*d]\nf: [*e,*e,*e,*e,*e,*e,*e,*e]"),
		"an approval of everything":    annotated(v1alpha1.AnnotationApprove, strings.Repeat("spec[", 50<<10)),
		"an approval of many paths":    annotated(v1alpha1.AnnotationApprove, items(20000, "spec.a%d")),
		"a reason to break the glass":  annotated(v1alpha1.AnnotationBreakGlass, strings.Repeat("é", 10<<10)),
		"deep JSON":                    review(v1, deploymentWith(`{}`, strings.Repeat(`{"a":`, 5000)+`1`+strings.Repeat(`}`, 5000))),
		"deeper JSON":                  review(v1, deploymentWith(`{}`, strings.Repeat(`{"a":`, 20000)+`1`+strings.Repeat(`}`, 20000))),
		"ten thousand items":           review(v1, deploymentWith(`{}`, `{"template":{"spec":{"containers":[`+items(10000, `{"name":"c%d","image":"i"}`)+`]}}}`)),
		"ten thousand items alike":     review(v1, deploymentWith(`{}`, `{"template":{"spec":{"containers":[`+items(10000, `{"name":"c","image":"i%d"}`)+`]}}}`)),
		"ten thousand owners":          review(v1, `{"kind":"Deployment","apiVersion":"apps/v1","metadata":{"name":"web","ownerReferences":[`+items(10000, `{"kind":"X","name":"x","uid":"%d","controller":true}`)+`]}}`),
		"metadata of another type":     review(v1, `{"kind":"Deployment","apiVersion":"apps/v1","metadata":7,"spec":"x"}`),
		"a number that no float holds": review(v1, deploymentWith(`{}`, `{"replicas":1e999}`)),
	} {
		t.Run(name, func(t *testing.T) {
			w := &world{records: map[types.UID]*v1alpha1.AllowanceRecord{}}
			mutator, validator := w.hooks(t, deploymentPolicy, replicaSetPolicy)
			for which, handler := range map[string]admission.Handler{"mutating": mutator, "validating": validator} {
				hook := SetObjectsAside(Hook(handler).WithRecoverPanic(false))
				recorder := httptest.NewRecorder()
				request := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", strings.NewReader(body))
				request.Header.Set("Content-Type", "application/json")
				began := time.Now()
				hook.ServeHTTP(recorder, request)

				var answer admissionv1.AdmissionReview
				if err := json.Unmarshal(recorder.Body.Bytes(), &answer); err != nil || answer.Response == nil {
					t.Errorf("the %s webhook answers %d, with no review: %v", which, recorder.Code, err)
				}
				if took := time.Since(began); took > enough {
					t.Errorf("the %s webhook takes %s", which, took)
				}
			}
		})
	}
}

func deploymentWith(annotations, spec string) string {
	return fmt.Sprintf(`{"kind":"Deployment","apiVersion":"apps/v1","metadata":{"name":"web","namespace":"ns","uid":"u","generation":1,"annotations":%s},"spec":%s}`, annotations, spec)
}
