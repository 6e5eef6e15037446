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
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/baseline"
	"kausality.io/operator/internal/controller/controllertest"
	"kausality.io/operator/internal/policy"
	"kausality.io/operator/internal/record"
)

// The cache has an object before the record that was made with it.
func TestDecideByTheAPIServer(t *testing.T) {
	since := controllertest.Noon
	h := makeHolder()
	h.SetCreationTimestamp(metav1.NewTime(since))
	target := record.TargetOf(h.Unstructured)
	for name, tc := range map[string]struct {
		spec  v1alpha1.AllowanceRecordSpec
		adopt bool
	}{
		"somebody was asked":             {spec: v1alpha1.AllowanceRecordSpec{TargetRef: target, LedgerKnown: true, CreationJudged: true}},
		"nobody was asked":               {adopt: true},
		"somebody was asked, and no end": {spec: v1alpha1.AllowanceRecordSpec{TargetRef: target}, adopt: true},
	} {
		t.Run(name, func(t *testing.T) {
			scheme := runtime.NewScheme()
			if err := v1alpha1.AddToScheme(scheme); err != nil {
				t.Fatal(err)
			}
			building := fake.NewClientBuilder().WithScheme(scheme).WithStatusSubresource(&v1alpha1.AllowanceRecord{})
			if tc.spec.TargetRef.UID != "" {
				rec := &v1alpha1.AllowanceRecord{ObjectMeta: metav1.ObjectMeta{Namespace: target.Namespace, Name: record.Name(target)}, Spec: tc.spec}
				building = building.WithObjects(rec)
			}
			c := building.Build()
			s := NewSignOfLife(SignOfLifeConfig{
				Records: record.NewStore(record.Config{Client: c, Live: c}), Baseline: baseline.New(baseline.Config{}),
				Clock: clocktesting.NewFakeClock(since),
			})
			s.since = &since
			if err := s.decide(t.Context(), look(h.Unstructured, []*policy.Policy{{Name: "deployment"}}, since), nil); err != nil {
				t.Fatal(err)
			}
			rec, err := s.Records.Live(t.Context(), target)
			if err != nil {
				t.Fatal(err)
			}
			if got := rec != nil && rec.Status.Adopting; got != tc.adopt {
				t.Errorf("adopted = %t, want %t", got, tc.adopt)
			}
		})
	}
}
