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

package digestkey

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
)

func TestEnsure(t *testing.T) {
	c := fake.NewClientBuilder().Build()
	first, err := Ensure(t.Context(), c, c, "kausality-system")
	if err != nil || len(first) != 2*size {
		t.Fatalf("made %q, %v", first, err)
	}
	again, err := Ensure(t.Context(), c, c, "kausality-system")
	if err != nil || again != first {
		t.Errorf("after a restart %q, %v; want %q", again, err, first)
	}
	other, err := Ensure(t.Context(), c, c, "elsewhere")
	if err != nil || other == first {
		t.Errorf("another installation has the same key: %v", err)
	}
}

func TestEnsureOfAnEmptySecret(t *testing.T) {
	c := fake.NewClientBuilder().WithObjects(&corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: "kausality-system", Name: SecretName},
	}).Build()
	if _, err := Ensure(t.Context(), c, c, "kausality-system"); err == nil || !strings.Contains(err.Error(), "delete the Secret") {
		t.Errorf("%v, want an error that says what to do", err)
	}
}
