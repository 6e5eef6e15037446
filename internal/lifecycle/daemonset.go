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

// daemonSet judges a DaemonSet by kstatus, which asks that all Pods are at the
// update revision whatever the strategy, OnDelete included.
//
// kstatus does not look at Pods on nodes that are no longer selected. They count
// here only for a set that is to run nowhere: then nothing else in the status
// shows that Pods are still to be deleted, which the controller does in batches.
// In other sets they may stay for good, for a taint that came after the Pod does
// not evict it, but the set has not reached them.
func daemonSet(obj *unstructured.Unstructured) (Progress, bool) {
	if judgement := compute(obj, appsv1.SchemeGroupVersion.WithKind("DaemonSet")); judgement != kstatus.CurrentStatus {
		return unfinished(judgement)
	}

	state := section(obj, "status")
	runsSomewhere := count(state, "desiredNumberScheduled") > 0
	misscheduled := count(state, "numberMisscheduled") > 0
	if misscheduled && !runsSomewhere {
		return working(whyMisscheduled)
	}
	return settled(whyReconciled, runsSomewhere && !misscheduled)
}
