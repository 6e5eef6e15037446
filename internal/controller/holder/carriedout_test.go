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

package holder

import (
	stdcmp "cmp"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/approved"
	"kausality.io/operator/internal/controller/controllertest"
	"kausality.io/operator/internal/policy"
)

func TestTellCarriedOut(t *testing.T) {
	const field = "spec.template"
	web := func() testHolder {
		h := makeHolder()
		if spec, ok := h.Object["spec"].(map[string]any); ok {
			spec["template"] = "new"
		}
		return h
	}
	over := func() testHolder {
		h := web()
		h.SetAPIVersion("batch/v1")
		h.SetKind("Job")
		h.Object["status"] = map[string]any{"conditions": []any{map[string]any{"type": "Complete", "status": "True"}}}
		return h
	}
	mark := func(value any) v1alpha1.Allowance {
		a := withheldChange(field)
		a.Replaced = approved.Print("web-uid", value)
		return a
	}
	told := []v1alpha1.HistoryEntry{{
		Time: metav1.NewTime(controllertest.Noon), Event: v1alpha1.EventReleased, User: "mallory", Reason: v1alpha1.ReasonCarriedOut,
		Paths: []string{field}, Message: carriedOutText, Trace: []v1alpha1.TraceHop{{Kind: "Deployment", Name: "web", Generation: 5, Field: field}},
	}}
	unruled := []v1alpha1.HistoryEntry{*told[0].DeepCopy()}
	unruled[0].Message = carriedOutUnruledText
	for name, tc := range map[string]struct {
		holder testHolder
		// about is what the policy has a rule about, the field where it is empty.
		about  string
		before v1alpha1.AllowanceRecordStatus
		want   []v1alpha1.HistoryEntry
	}{
		"its status proves it":               {holder: web().settled().holding(mark("old")), want: told},
		"no rule is about it any more":       {holder: web().settled().holding(mark("old")), about: "spec.replicas", want: unruled},
		"and it is known":                    {holder: web().settled().holding(mark("old")), before: v1alpha1.AllowanceRecordStatus{History: told}, want: told},
		"it is as it was approved":           {holder: web().settled().holding(mark("new"))},
		"nothing proves it":                  {holder: web().holding(mark("old"))},
		"it is being deleted":                {holder: web().settled().deleting().holding(mark("old"))},
		"a child was refused since the look": {holder: web().settled().holding(mark("old")), before: v1alpha1.AllowanceRecordStatus{Denials: 1}},
		"nothing is withheld":                {holder: web().settled()},
		"it has finished for good":           {holder: over().holding(mark("old"))},
	} {
		t.Run(name, func(t *testing.T) {
			status := tc.before.DeepCopy()
			stored := &v1alpha1.AllowancePolicy{}
			if err := yaml.UnmarshalStrict([]byte("spec: {for: {apiGroup: apps, apiVersion: v1, kind: Deployment}, validationActions: [Deny], rules: [{trigger: "+stdcmp.Or(tc.about, field)+"}]}"), stored); err != nil {
				t.Fatal(err)
			}
			denies, _ := policy.Compile(stored, func(schema.GroupVersionResource) (schema.GroupVersionKind, bool) {
				return schema.GroupVersionKind{}, false
			})
			v := look(tc.holder.Unstructured, []*policy.Policy{denies}, controllertest.Noon)
			v.tellCarriedOut(status)
			if diff := cmp.Diff(tc.want, status.History, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("history (-want +got):\n%s", diff)
			}
			if n := len(newlyCarriedOut(tc.before.History, status.History)); n > 0 != (len(tc.want) > len(tc.before.History)) {
				t.Errorf("%d are new", n)
			}
		})
	}
}
