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
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kstatus "sigs.k8s.io/cli-utils/pkg/kstatus/status"
)

// wellKnown judges the other kinds that kstatus has rules for, such as Pod,
// CronJob and PodDisruptionBudget. kstatus assumes a status without
// observedGeneration to be about the current generation; whatever it says about
// such a status, only time can tell.
func wellKnown(obj *unstructured.Unstructured, observes bool) (Progress, bool) {
	if !observes {
		return timed(whyNoGeneration)
	}
	if judgement := compute(obj, obj.GroupVersionKind()); judgement != kstatus.CurrentStatus {
		return unfinished(judgement)
	}
	return settled(whyReconciled, true)
}
