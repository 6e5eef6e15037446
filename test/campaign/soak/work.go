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
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"
	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/test/builders"
	"kausality.io/operator/test/campaign/soak/plan"
)

const (
	// atOnce is how many people work at the same time.
	atOnce = 8
	// replicasAtFirst is how many Pods each Deployment has at the beginning.
	replicasAtFirst = 2
	// tidyEvery is how often records are looked through, and endedFor is how long those of
	// objects that are gone stay: what goes along with an object needs them for a moment.
	tidyEvery, endedFor = 5 * time.Second, 30 * time.Second
)

func nameOf(deployment int) string { return fmt.Sprintf("web-%d", deployment) }

func bare(deployment int) *appsv1.Deployment {
	return &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: nameOf(deployment)}}
}

// furnish makes the Deployments.
func (s *stage) furnish(ctx context.Context) error {
	for d := range *deployments {
		if err := s.create(ctx, d); err != nil {
			return err
		}
	}
	return insist(ctx, s.settled)
}

// create creates a Deployment, which keeps few of its old ReplicaSets: what is there is to
// stay as much as it is.
func (s *stage) create(ctx context.Context, deployment int) error {
	return insist(ctx, func(ctx context.Context) error {
		d := builders.MakeDeployment(namespace, nameOf(deployment)).Replicas(replicasAtFirst).Image("web:0").Obj()
		d.Spec.RevisionHistoryLimit = new(int32(1))
		err := s.alice.Create(ctx, d)
		if apierrors.IsAlreadyExists(err) {
			return nil
		}
		return err
	})
}

// work has people do what is planned, until the context ends.
func (s *stage) work(ctx context.Context) error {
	group, groupCtx := errgroup.WithContext(ctx)
	group.SetLimit(atOnce)
	ticker := time.NewTicker(time.Duration(float64(time.Second) / *rate))
	defer ticker.Stop()
	for n, step := range plan.Steps(*seed, *deployments) {
		select {
		case <-groupCtx.Done():
			return group.Wait()
		case <-ticker.C:
		}
		group.Go(func() error {
			err := s.act(groupCtx, n, step)
			if err != nil && groupCtx.Err() == nil {
				return fmt.Errorf("%s: %w", step, err)
			}
			return nil
		})
	}
	return group.Wait()
}

// act has somebody do something. What strangers do may be refused; the rest has to work,
// sooner or later.
func (s *stage) act(ctx context.Context, n int, step plan.Step) error {
	d := bare(step.Deployment)
	insisted := func(format string, args ...any) error {
		return s.counted(step.Act, insist(ctx, func(ctx context.Context) error {
			// It may be about to be created again.
			return client.IgnoreNotFound(patch(ctx, s.alice, d, format, args...))
		}))
	}
	switch step.Act {
	case plan.Roll:
		return insisted(`{"spec":{"template":{"spec":{"containers":[{"name":%q,"image":"web:%d"}]}}}}`, builders.Container, n)
	case plan.Scale:
		return insisted(`{"spec":{"replicas":%d}}`, step.Replicas)
	case plan.Approve:
		return insisted(`{"metadata":{"annotations":{%q:%q}}}`, v1alpha1.AnnotationApprove, v1alpha1.Any)
	case plan.Withhold:
		return s.counted(step.Act, tolerate(patch(ctx, s.mallory, d, `{"spec":{"replicas":%d}}`, step.Replicas)))
	case plan.Deny:
		return s.deny(ctx, step)
	case plan.Recreate:
		if err := client.IgnoreNotFound(s.alice.Delete(ctx, d)); err != nil {
			return err
		}
		return s.counted(step.Act, s.create(ctx, step.Deployment))
	case plan.EditPolicy:
		policy := &v1alpha1.AllowancePolicy{ObjectMeta: metav1.ObjectMeta{Name: "deployment"}}
		body := fmt.Appendf(nil, `{"spec":{"consumption":{"maxOpen":"%dh"}}}`, 24+n%7)
		return s.counted(step.Act, s.admin.Patch(ctx, policy, client.RawPatch(types.MergePatchType, body)))
	case plan.ReplacePolicy:
		return s.counted(step.Act, s.replacePolicy(ctx, n))
	default:
		return fmt.Errorf("nobody knows how to %s", step.Act)
	}
}

// deny has a stranger change a ReplicaSet.
func (s *stage) deny(ctx context.Context, step plan.Step) error {
	var sets appsv1.ReplicaSetList
	if err := s.admin.List(ctx, &sets, client.InNamespace(namespace), client.MatchingLabels{"app": nameOf(step.Deployment)}); err != nil {
		return err
	}
	for i := range sets.Items {
		err := patch(ctx, s.mallory, &sets.Items[i], `{"spec":{"replicas":%d}}`, 5+step.Replicas)
		if err := s.counted(step.Act, tolerate(err)); err != nil {
			return err
		}
	}
	return nil
}

// replacePolicy creates a policy for a kind that nobody else is asked about, and deletes
// it.
func (s *stage) replacePolicy(ctx context.Context, n int) error {
	policy := &v1alpha1.AllowancePolicy{
		ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("soak-%d", n)},
		Spec: v1alpha1.AllowancePolicySpec{
			For:   v1alpha1.ParentKind{APIGroup: "apps", APIVersion: "v1", Kind: "StatefulSet"},
			Rules: []v1alpha1.Rule{{Trigger: "spec", Conditions: []string{fmt.Sprintf("object.metadata.name != 'soak-%d'", n)}}},
		},
	}
	if err := s.admin.Create(ctx, policy); err != nil {
		return err
	}
	return s.admin.Delete(ctx, policy)
}

// refusal is what a stranger is told.
type refusal struct{ error }

// tolerate tells what a stranger is refused from what fails.
func tolerate(err error) error {
	switch {
	case apierrors.IsForbidden(err), apierrors.IsInvalid(err):
		return refusal{err}
	case apierrors.IsNotFound(err), apierrors.IsConflict(err):
		return nil
	}
	return err
}

// counted counts what came of an act.
func (s *stage) counted(act plan.Act, err error) error {
	_, refused := err.(refusal) //nolint:errorlint // It is never wrapped.
	if err != nil && !refused {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.count[act] == nil {
		s.count[act] = &outcome{}
	}
	if refused {
		s.count[act].refused++
	} else {
		s.count[act].done++
	}
	return nil
}

// tidy deletes the records of objects that are gone. The operator keeps them for ten
// minutes at least, and would take more and more for that long. Nobody else may delete them.
func (s *stage) tidy(ctx context.Context) error {
	return until(ctx, tidyEvery, func() error {
		var records v1alpha1.AllowanceRecordList
		if err := s.admin.List(ctx, &records, client.InNamespace(namespace)); err != nil {
			return err
		}
		for i := range records.Items {
			ended := records.Items[i].Status.EndedAt
			if ended == nil || time.Since(ended.Time) < endedFor {
				continue
			}
			if err := client.IgnoreNotFound(s.keeper.Delete(ctx, &records.Items[i])); err != nil {
				return err
			}
		}
		return nil
	})
}

// patch changes an object the way that kubectl does.
func patch(ctx context.Context, c client.Client, obj client.Object, format string, args ...any) error {
	return c.Patch(ctx, obj, client.RawPatch(types.StrategicMergePatchType, fmt.Appendf(nil, format, args...)))
}
