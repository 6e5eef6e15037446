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

// deployment judges a Deployment by kstatus, with four additions.
//
//   - Paused: the controller keeps the condition Progressing at Unknown, so
//     kstatus never calls it Current. It has settled when all replicas are of
//     its template. Without replicas, the counts of a template that was rolled
//     out and of one that waits are alike.
//   - Recreate without replicas: the controller creates the new ReplicaSet only
//     after the old Pods have ended, while the counts are already complete.
//   - Without replicas, complete counts prove nothing about the Pods to come.
//   - It is told to go back to an older template: the controller takes the annotation
//     off as it does so, and waits with it while the Deployment is paused.
//
// A Deployment over its progress deadline has not settled: it may still go on.
func deployment(obj *unstructured.Unstructured) (Progress, bool) {
	spec, state := section(obj, "spec"), section(obj, "status")
	want := replicas(spec)
	paused, _ := spec["paused"].(bool)

	if obj.GetAnnotations()[appsv1.DeprecatedRollbackTo] != "" {
		return working(whyRollback)
	}
	if want == 0 {
		if paused {
			return working(whyPausedAtZero)
		}
		if text(child(spec, "strategy"), "type") == "Recreate" && count(state, "terminatingReplicas") > 0 {
			return working(whyTerminating)
		}
	}

	switch judgement := compute(obj, appsv1.SchemeGroupVersion.WithKind("Deployment")); {
	case judgement == kstatus.CurrentStatus:
		return settled(whyReconciled, want > 0)
	case judgement == kstatus.InProgressStatus && paused && rolledOut(state, want):
		return settled(whyPaused, true)
	default:
		return unfinished(judgement)
	}
}

// rolledOut says that exactly the wanted replicas exist, all of them available
// and of the current template. Its controller counts as updated the replicas of
// the ReplicaSet that has this template, none if there is no such ReplicaSet.
func rolledOut(state map[string]any, want int64) bool {
	return count(state, "replicas") == want &&
		count(state, "updatedReplicas") == want &&
		count(state, "readyReplicas") == want &&
		count(state, "availableReplicas") == want
}
