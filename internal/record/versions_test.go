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

package record

import (
	"context"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/upgrade"
)

// TestReplicasRememberOneUpgrade has two replicas let the same upgrade of a parent through, one of
// which reads records from a cache that never hears of what the other one writes.
func TestReplicasRememberOneUpgrade(t *testing.T) {
	const controller = "system:serviceaccount:web-system:controller"
	noon := time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)
	older, newer := upgrade.Version{Image: "web:v1", PodCreated: noon.Add(-time.Hour)}, upgrade.Version{Image: "web:v2", PodCreated: noon}
	allowance, errs := upgrade.Compile(&v1alpha1.UpgradeAllowance{
		ObjectMeta: metav1.ObjectMeta{Name: "v2", UID: "uid"}, Spec: v1alpha1.UpgradeAllowanceSpec{ServiceAccount: controller},
	}, func(schema.GroupVersionResource) (schema.GroupVersionKind, bool) {
		return schema.GroupVersionKind{}, false
	})
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	rec := recordNamed(v1alpha1.AllowanceRecordStatus{Versions: []v1alpha1.ControllerVersion{*upgrade.MadeBy(controller, older, older.PodCreated)}})
	live := fake.NewClientBuilder().WithScheme(scheme).WithStatusSubresource(rec).WithObjects(rec).Build()
	seen := &v1alpha1.AllowanceRecord{}
	if err := live.Get(t.Context(), client.ObjectKeyFromObject(rec), seen); err != nil {
		t.Fatal(err)
	}
	stale := interceptor.NewClient(live, interceptor.Funcs{
		Get: func(_ context.Context, _ client.WithWatch, _ client.ObjectKey, obj client.Object, _ ...client.GetOption) error {
			if out, ok := obj.(*v1alpha1.AllowanceRecord); ok {
				seen.DeepCopyInto(out)
			}
			return nil
		},
	})
	one := NewStore(Config{Client: live, Live: live, OperatorNamespace: "kausality-system"})
	other := NewStore(Config{Client: stale, Live: live, OperatorNamespace: "kausality-system"})
	ask := func(s *Store, by upgrade.Version, now time.Time) (begins, open bool) {
		t.Helper()
		if err := s.RememberVersion(t.Context(), rec.Spec.TargetRef, func(memory []v1alpha1.ControllerVersion) *v1alpha1.ControllerVersion {
			answer := allowance.Ask(memory, by, now)
			open = answer.Open
			begins = answer.Note != nil && answer.Note.LastUsed.Equal(&answer.Note.Since)
			return answer.Note
		}); err != nil {
			t.Fatal(err)
		}
		return begins, open
	}
	if begins, open := ask(one, newer, noon); !begins || !open {
		t.Errorf("the first request: begins %t, open %t", begins, open)
	}
	if begins, open := ask(other, newer, noon.Add(time.Second)); begins || !open {
		t.Errorf("one that the other replica is asked about: begins %t, open %t", begins, open)
	}
	if _, open := ask(one, older, noon.Add(2*time.Second)); open {
		t.Error("the older Pod takes its turn")
	}
	now, err := one.Live(t.Context(), rec.Spec.TargetRef)
	if err != nil {
		t.Fatal(err)
	}
	if v := now.Status.Versions; len(v) != 1 || v[0].Image != "web:v2" || !v[0].Since.Time.Equal(noon) || !upgrade.IsMoving(&v[0]) {
		t.Errorf("remembered: %+v", v)
	}
	if err := one.Update(t.Context(), rec.Spec.TargetRef, false, func(status *v1alpha1.AllowanceRecordStatus) bool {
		status.Versions[0].MovedAt = new(metav1.NewTime(noon.Add(time.Minute)))
		return true
	}); err != nil {
		t.Fatal(err)
	}
	if _, open := ask(other, newer, noon.Add(2*time.Minute)); open {
		t.Error("what is over for one replica begins again for the other one")
	}
}
