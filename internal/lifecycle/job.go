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
)

// job judges a Job by its conditions alone, as kstatus calls it Current from its
// start on. A Job that is Complete or Failed makes no further Pod, whatever the
// generation, and its status says none.
//
// A suspended Job has settled once it has been started and nothing is active
// any more. One that was created suspended, as queueing systems do, has not: its
// first Pods are still to come.
func job(obj *unstructured.Unstructured) (Progress, bool) {
	spec, state := section(obj, "spec"), section(obj, "status")
	list := conditionsOf(obj)

	if list.isTrue("Complete") || list.isTrue("Failed") {
		return settled(whyFinished, true)
	}
	suspend, _ := spec["suspend"].(bool)
	if !suspend || !list.isTrue("Suspended") || count(state, "active") > 0 {
		return working(whyWorking)
	}
	if !everStarted(state) {
		return working(whyNeverStarted)
	}
	return settled(whySuspended, false)
}

// everStarted says whether the status of a Job still shows a start. Since
// Kubernetes 1.36 suspension takes startTime away; what the Pods of an earlier
// run left behind remains.
func everStarted(state map[string]any) bool {
	return text(state, "startTime") != "" ||
		count(state, "succeeded") > 0 ||
		count(state, "failed") > 0 ||
		count(state, "terminating") > 0
}
