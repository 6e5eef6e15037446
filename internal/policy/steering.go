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

package policy

import (
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kausality.io/operator/internal/change"
)

// steering lists, of the kinds of Kubernetes, the fields that say what the controller of
// an object does with its children. A rollout is held back by some of them as much as it is
// started by others: a partition that somebody takes away finishes it, under the allowance
// of who began it. So rules that are about one field of a kind have to be about all.
//
// Fields that cannot be changed are left out, and those whose effect no allowance is needed
// for, such as revisionHistoryLimit: what it has deleted is bookkeeping (D5).
var steering = map[schema.GroupKind][]change.Path{
	{Group: appsv1.GroupName, Kind: "Deployment"}: paths(
		"spec.replicas", "spec.template", "spec.paused", "spec.strategy", "spec.minReadySeconds"),
	{Group: appsv1.GroupName, Kind: "ReplicaSet"}: paths(
		"spec.replicas", "spec.template"),
	{Group: appsv1.GroupName, Kind: "StatefulSet"}: paths(
		"spec.replicas", "spec.template", "spec.updateStrategy", "spec.minReadySeconds", "spec.ordinals",
		"spec.persistentVolumeClaimRetentionPolicy"),
	{Group: appsv1.GroupName, Kind: "DaemonSet"}: paths(
		"spec.template", "spec.updateStrategy", "spec.minReadySeconds"),
	{Group: batchv1.GroupName, Kind: "Job"}: paths(
		"spec.parallelism", "spec.completions", "spec.suspend", "spec.template", "spec.activeDeadlineSeconds", "spec.backoffLimit"),
	{Group: batchv1.GroupName, Kind: "CronJob"}: paths(
		"spec.schedule", "spec.timeZone", "spec.suspend", "spec.concurrencyPolicy", "spec.startingDeadlineSeconds", "spec.jobTemplate"),
}

// Unruled are the fields by which anybody steers what happens to the children of an object
// although the policy has rules about others: no rule touches them. A policy that only
// continues chains has none: who bounds its objects bounds all of their fields.
func (p *Policy) Unruled() []string {
	if len(p.Rules) == 0 || !p.HasInitiator() {
		return nil
	}
	var out []string
	for _, field := range steering[p.For.GroupKind()] {
		if !p.HasRuleFor(field) {
			out = append(out, field.String())
		}
	}
	return out
}

func paths(texts ...string) []change.Path {
	out := make([]change.Path, 0, len(texts))
	for _, text := range texts {
		out = append(out, mustParse(text))
	}
	return out
}
