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

package updates

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"kausality.io/operator/api/v1alpha1"
)

func TestOfSpec(t *testing.T) {
	of := func(uid types.UID, generation int64) *v1alpha1.AllowancePolicy {
		return &v1alpha1.AllowancePolicy{ObjectMeta: metav1.ObjectMeta{UID: uid, Generation: generation}}
	}
	for name, tc := range map[string]struct {
		before, after *v1alpha1.AllowancePolicy
		want          bool
	}{
		"of the status":                           {before: of("a", 1), after: of("a", 1)},
		"of the spec":                             {before: of("a", 1), after: of("a", 2), want: true},
		"to another object of the generation":     {before: of("a", 1), after: of("b", 1), want: true},
		"to another object of a lower generation": {before: of("a", 3), after: of("b", 1), want: true},
	} {
		t.Run(name, func(t *testing.T) {
			if got := OfSpec().Update(event.UpdateEvent{ObjectOld: tc.before, ObjectNew: tc.after}); got != tc.want {
				t.Errorf("the update matters: %v, want %v", got, tc.want)
			}
		})
	}
}
