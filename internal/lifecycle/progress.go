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
	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	kstatus "sigs.k8s.io/cli-utils/pkg/kstatus/status"
)

// Progress says how far a holder's controllers are with its current generation.
// The zero value means that they are still at work.
type Progress struct {
	// Settled is true when the status says that the controllers have finished
	// acting on the current metadata.generation (D8).
	Settled bool

	// Timed is true when the status can never say so. Then only time can
	// (spec.consumption.ttl of the policy), and Settled is false.
	Timed bool

	// Why is a short constant text for logs and explanations. It never holds
	// anything taken from the object.
	Why string
}

// Of says how far obj is. The admission of a status write calls it, as does the
// watch that consumes allowances.
//
// obj is the full object as the API server stores it. In an admission request
// that is not for the status sub-resource, the status of the new object is only
// what the client sent: pass the old object there.
//
// For a Crossplane composite resource Settled is necessary but not sufficient: see
// NeedsQuiet.
func Of(obj *unstructured.Unstructured) Progress {
	progress, _ := assess(obj)
	return progress
}

// Reached says whether the status of obj proves that all of its children are as
// its current generation wants them. It implies that obj has settled, and asks
// for more: a holder that has settled behind a partition, has no children at
// present, or does not tell from which template they were made has not reached
// them. A withheld change that has reached all children is over (D2); one that
// only waits for the next Pod is not.
func Reached(obj *unstructured.Unstructured) bool {
	_, reached := assess(obj)
	return reached
}

// A family judges the objects of one kind, or of kinds alike. The second result
// is that of Reached.
type family func(obj *unstructured.Unstructured) (Progress, bool)

// workloads are the kinds whose controllers are known to write
// status.observedGeneration, so that its absence means that they have not seen
// the object yet.
var workloads = map[schema.GroupKind]family{
	{Group: appsv1.GroupName, Kind: "DaemonSet"}:   daemonSet,
	{Group: appsv1.GroupName, Kind: "Deployment"}:  deployment,
	{Group: appsv1.GroupName, Kind: "ReplicaSet"}:  replicaSet,
	{Group: appsv1.GroupName, Kind: "StatefulSet"}: statefulSet,
}

// jobKind stands apart from the workloads: a Job's status says no generation.
var jobKind = schema.GroupKind{Group: batchv1.GroupName, Kind: "Job"}

func assess(obj *unstructured.Unstructured) (Progress, bool) {
	if obj.GetDeletionTimestamp() != nil {
		return working(whyDeleting)
	}

	generation := obj.GetGeneration()
	observed, observes := observedGeneration(obj)
	if observes && observed != generation {
		return working(whyBehind)
	}

	kind := obj.GroupVersionKind().GroupKind()
	if judge, ok := workloads[kind]; ok {
		if !observes || generation == 0 {
			return working(whyUnseen)
		}
		return judge(obj)
	}
	if kind == jobKind {
		return job(obj)
	}
	if generation == 0 {
		return timed(whyNoGeneration)
	}
	if kstatus.GetLegacyConditionsFn(obj) != nil {
		return wellKnown(obj, observes)
	}
	return conditioned(obj, generation, observes)
}

func settled(why string, reached bool) (Progress, bool) {
	return Progress{Settled: true, Why: why}, reached
}

func working(why string) (Progress, bool) {
	return Progress{Why: why}, false
}

func timed(why string) (Progress, bool) {
	return Progress{Timed: true, Why: why}, false
}
