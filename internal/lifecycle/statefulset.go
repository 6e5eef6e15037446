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

// statefulSet judges a StatefulSet by kstatus and then by the revisions of its
// Pods, as kstatus
//
//   - calls any set with the strategy OnDelete Current. Here all Pods have to be
//     there, ready, and at the update revision.
//   - compares, where there is a partition (the API defaults it to 0), only the
//     number of updated Pods with the number of Pods above it. A canary that is
//     taken back meets that at once with the Pods below the partition, and the
//     canary Pods are still to be replaced: then both revisions are the same,
//     and all Pods have to be at it. A third revision is not settled either.
//
// A set that has settled behind a partition has not reached all Pods. Without
// replicas, the template of the Pods to come is still unproven.
func statefulSet(obj *unstructured.Unstructured) (Progress, bool) {
	if judgement := compute(obj, appsv1.SchemeGroupVersion.WithKind("StatefulSet")); judgement != kstatus.CurrentStatus {
		return unfinished(judgement)
	}

	spec, state := section(obj, "spec"), section(obj, "status")
	want := replicas(spec)
	if count(state, "replicas") != want || count(state, "readyReplicas") < want {
		return working(whyReplicas)
	}

	updated := count(state, "updatedReplicas")
	allUpdated := updated >= want
	oneRevision := text(state, "currentRevision") == text(state, "updateRevision")
	// Under OnDelete the controller leaves currentRevision as it is, even when
	// no Pod is at it any more.
	onDelete := text(child(spec, "updateStrategy"), "type") == "OnDelete"

	if onDelete || oneRevision {
		if !allUpdated {
			return working(whyOldRevision)
		}
		return settled(whyReconciled, want > 0)
	}
	if count(state, "currentReplicas")+updated < want {
		return working(whyOldRevision)
	}
	return settled(whyReconciled, false)
}
