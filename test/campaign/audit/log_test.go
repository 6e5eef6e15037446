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

package audit

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const lines = `{"verb":"get","objectRef":{"resource":"pods","name":"a"}}
{"verb":"patch","user":{"username":"admin"},"impersonatedUser":{"username":"alice"},"objectRef":{"resource":"deployments","namespace":"ns","name":"web"},"responseStatus":{"code":200},"requestObject":{"metadata":{"annotations":{"kausality.io/approve":"spec.replicas,spec.template","kausality.io/note":"x"}}},"responseObject":{"kind":"Deployment","metadata":{"namespace":"ns","name":"web","uid":"1","resourceVersion":"7"},"spec":{"replicas":3,"note":"zq12z"}},"annotations":{"verdict.kausality.io/reason":"Origin","grant.kausality.io/reason":"Granted"}}
{"verb":"delete","user":{"username":"bob"},"objectRef":{"resource":"deployments","namespace":"ns","name":"web"},"responseStatus":{"code":200},"requestObject":{"dryRun":["All"]},"responseObject":{"kind":"Status"}}
{"verb":"create","user":{"username":"bob"},"requestURI":"/apis?dryRun=All","objectRef":{"resource":"deployments","namespace":"ns"},"responseStatus":{"code":201}}
{"verb":"update","user":{"username":"bob"},"objectRef":{"resource":"deployments","namespace":"other","name":"web","subresource":"scale"},"responseStatus":{"code":200},"responseObject":{"kind":"Scale","metadata":{"uid":"2","resourceVersion":"8"},"spec":{"replicas":5}},"annotations":{"failed-open.validating.webhook.admission.k8s.io/round_0_index_0":"verdict"}}
{"verb":"deletecollection","user":{"username":"bob"},"objectRef":{"resource":"deployments","namespace":"ns"},"responseStatus":{"code":403}}
{"verb":"create","user":{"username":"bob"},"objectRef":{"resource":"secrets","namespace":"ns"},"responseStatus":{"code":201}}
{"verb":"create","objectRef":{"resource":"depl`

func TestRead(t *testing.T) {
	log, err := Read(strings.NewReader(lines), Kinds{"deployments": "Deployment"})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, w := range log.Writes {
		got = append(got, w.User+" "+w.Verb+" "+w.Resource+"/"+w.Subresource)
	}
	want := []string{"alice patch deployments/", "bob update deployments/scale", "bob deletecollection deployments/"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("requests (-want +got):\n%s", diff)
	}
	first, scale, refused := log.Writes[0], log.Writes[1], log.Writes[2]
	if diff := cmp.Diff([]string{"spec.replicas", "spec.template"}, first.Approved()); diff != "" {
		t.Errorf("Approved() (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"Granted", "Origin"}, first.Reasons); diff != "" {
		t.Errorf("reasons (-want +got):\n%s", diff)
	}
	if o := first.Object; o == nil || o.Replicas() != 3 || o.Revision != 7 || !slices.Equal(o.Marks, []int{12}) {
		t.Errorf("object: %+v", o)
	}
	if !scale.Unasked || scale.Scaled == nil || *scale.Scaled != 5 {
		t.Errorf("scale: %+v", scale)
	}
	if refused.Succeeded() || !refused.Removes() {
		t.Errorf("refused: %+v", refused)
	}
	if in := log.In("ns").Writes; len(in) != 2 {
		t.Errorf("%d requests are of the namespace, want 2", len(in))
	}
}

func TestReadStopsAtNonsense(t *testing.T) {
	_, err := Read(strings.NewReader(`{"verb":"create","objectRef":1}`+"\n"), Kinds{"pods": "Pod"})
	if err == nil || !strings.Contains(err.Error(), "line 1") {
		t.Errorf("got error %v, want one that names line 1", err)
	}
}
