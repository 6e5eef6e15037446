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

package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/test/campaign/soak/plan"
)

// finish has alice ask for everything once more, and returns when all is done. There has
// to have been all that the soak is for.
func (s *stage) finish(ctx context.Context) error {
	for _, act := range []plan.Act{plan.Roll, plan.Scale, plan.Approve, plan.Recreate, plan.Withhold, plan.EditPolicy, plan.ReplacePolicy} {
		if s.count[act] == nil || s.count[act].done == 0 {
			return fmt.Errorf("there was no %s", act)
		}
	}
	if s.count[plan.Deny] == nil || s.count[plan.Deny].refused == 0 {
		return errors.New("no stranger was refused")
	}
	for d := range *deployments {
		if err := s.create(ctx, d); err != nil {
			return err
		}
		if err := insist(ctx, func(ctx context.Context) error {
			return patch(ctx, s.alice, bare(d), `{"metadata":{"annotations":{%q:%q}},"spec":{"replicas":%d}}`, v1alpha1.AnnotationApprove, v1alpha1.Any, replicasAtFirst)
		}); err != nil {
			return err
		}
	}
	return insist(ctx, s.settled)
}

// settled reports whether all Deployments are what they are to be.
func (s *stage) settled(ctx context.Context) error {
	var list appsv1.DeploymentList
	if err := s.admin.List(ctx, &list, client.InNamespace(namespace)); err != nil {
		return err
	}
	if len(list.Items) != *deployments {
		return fmt.Errorf("there are %d of %d Deployments", len(list.Items), *deployments)
	}
	for i := range list.Items {
		d, st := &list.Items[i], list.Items[i].Status
		want := ptr.Deref(d.Spec.Replicas, 1)
		if st.ObservedGeneration != d.Generation || st.UpdatedReplicas != want || st.Replicas != want || st.AvailableReplicas != want {
			return fmt.Errorf("of Deployment %s %d of %d Pods are new, %d are available, there are %d", d.Name, st.UpdatedReplicas, want, st.AvailableReplicas, st.Replicas)
		}
	}
	return nil
}

// tally tells how often everything happened, and what came of it.
func (s *stage) tally() []string {
	var out []string
	for _, act := range slices.Sorted(maps.Keys(s.count)) {
		line := fmt.Sprintf("%s: %d times", act, s.count[act].done)
		if refused := s.count[act].refused; refused > 0 {
			line += fmt.Sprintf(", refused %d times", refused)
		}
		out = append(out, line)
	}
	return out
}
