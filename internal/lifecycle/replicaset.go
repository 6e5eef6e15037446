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

package lifecycle

import (
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kstatus "sigs.k8s.io/cli-utils/pkg/kstatus/status"
)

// replicaSet judges a ReplicaSet by kstatus. Pods that are terminating are not
// in its counts, and need not be: their deletion has been admitted.
//
// It never proves that a change has reached all Pods. A change of the template
// leaves existing Pods as they are, and nothing in the status tells from which
// template they were made.
func replicaSet(obj *unstructured.Unstructured) (Progress, bool) {
	if judgement := compute(obj, appsv1.SchemeGroupVersion.WithKind("ReplicaSet")); judgement != kstatus.CurrentStatus {
		return unfinished(judgement)
	}
	return settled(whyReconciled, false)
}
