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
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/test/builders"
	"kausality.io/operator/test/campaign/faults/plan"
)

// podCollector is the controller that deletes Pods which are lost.
const podCollector = "system:serviceaccount:kube-system:pod-garbage-collector"

// replicasAtFirst is how many Pods each Deployment has at the beginning.
const replicasAtFirst = 2

func nameOf(deployment int) string { return fmt.Sprintf("web-%d", deployment) }

// imageOf says in the image who wanted it, and when. A stranger's bears the mark by which the
// checker of the campaign of strangers knows it again.
func imageOf(who plan.Who, round, n int) string {
	if who == plan.Mallory {
		return fmt.Sprintf("%s:zq%dz", who, round*strangest+n)
	}
	return fmt.Sprintf("%s:%d-%d", who, round, n)
}

// strangest is how many changes there are in a round at most.
const strangest = 100_000

func bare(deployment int) *appsv1.Deployment {
	return &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: nameOf(deployment)}}
}

// patch changes an object the way that kubectl does.
func patch(ctx context.Context, c client.Client, obj client.Object, format string, args ...any) error {
	return c.Patch(ctx, obj, client.RawPatch(types.StrategicMergePatchType, fmt.Appendf(nil, format, args...)))
}

func roll(ctx context.Context, c client.Client, deployment int, image string) error {
	return patch(ctx, c, bare(deployment), `{"spec":{"template":{"spec":{"containers":[{"name":%q,"image":%q}]}}}}`, builders.Container, image)
}

func scale(ctx context.Context, c client.Client, deployment int, replicas int32) error {
	return patch(ctx, c, bare(deployment), `{"spec":{"replicas":%d}}`, replicas)
}

func create(ctx context.Context, c client.Client, deployment int, image string) error {
	err := c.Create(ctx, builders.MakeDeployment(namespace, nameOf(deployment)).Image(image).Replicas(replicasAtFirst).Obj())
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

// act has somebody do something. Whoever may insists; a stranger tries once, whatever
// comes of it.
func (s *stage) act(ctx context.Context, round, n int, change plan.Change) error {
	c := s.people[change.Who]
	image := imageOf(change.Who, round, n)
	try := func(ctx context.Context) error { return s.try(ctx, c, change, image) }
	switch {
	case change.Who == plan.Mallory:
		ctx, cancel := context.WithTimeout(ctx, insisting)
		defer cancel()
		_ = try(ctx) // What comes of it is in the audit log.
		return nil
	case change.Act == plan.Recreate:
		return s.recreate(ctx, c, change.Deployment, image)
	}
	if err := insist(ctx, try); err != nil {
		return fmt.Errorf("%s cannot %s %s: %w", change.Who, change.Act, nameOf(change.Deployment), err)
	}
	return nil
}

// try does what is to be done to a Deployment, or below it, once.
func (s *stage) try(ctx context.Context, c client.Client, change plan.Change, image string) error {
	switch change.Act {
	case plan.Roll:
		return roll(ctx, c, change.Deployment, image)
	case plan.Scale:
		return scale(ctx, c, change.Deployment, change.Replicas)
	case plan.ScaleByAPI:
		return c.SubResource("scale").Update(ctx, bare(change.Deployment), client.WithSubResourceBody(&autoscalingv1.Scale{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: nameOf(change.Deployment)},
			Spec:       autoscalingv1.ScaleSpec{Replicas: change.Replicas},
		}))
	case plan.Touch:
		return patch(ctx, c, bare(change.Deployment), `{"metadata":{"annotations":{"campaign.example.org/touched":%q}}}`, image)
	case plan.ScaleChild, plan.DeleteChild:
		rs, err := s.replicaSet(ctx, change.Deployment)
		if err != nil {
			return err
		}
		if change.Act == plan.DeleteChild {
			return c.Delete(ctx, rs)
		}
		return patch(ctx, c, rs, `{"spec":{"replicas":%d}}`, change.Replicas)
	default:
		return s.tryPod(ctx, c, change, image)
	}
}

func (s *stage) tryPod(ctx context.Context, c client.Client, change plan.Change, image string) error {
	pod, err := s.pod(ctx, change.Deployment)
	if err != nil || pod == nil {
		return err
	}
	switch change.Act {
	case plan.Evict:
		err = c.SubResource("eviction").Create(ctx, pod, &policyv1.Eviction{})
	case plan.LosePod:
		if c, err = s.as(s.cp.ConfigAs(podCollector)); err != nil {
			return err
		}
		err = c.Delete(ctx, pod)
	case plan.ChangePod:
		return patch(ctx, c, pod, `{"spec":{"containers":[{"name":%q,"image":%q}]}}`, builders.Container, image)
	case plan.DeletePod:
		return c.Delete(ctx, pod)
	default:
		return fmt.Errorf("nobody knows how to %s", change.Act)
	}
	return client.IgnoreNotFound(err)
}

// recreate deletes a Deployment and creates one of the same name.
func (s *stage) recreate(ctx context.Context, c client.Client, deployment int, image string) error {
	old := bare(deployment)
	if err := insist(ctx, func(ctx context.Context) error {
		return client.IgnoreNotFound(s.admin.Get(ctx, client.ObjectKeyFromObject(old), old))
	}); err != nil {
		return err
	}
	return insist(ctx, func(ctx context.Context) error {
		err := c.Delete(ctx, bare(deployment), client.Preconditions{UID: new(old.UID)})
		if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
			return err
		}
		return create(ctx, c, deployment, image)
	})
}

// replicaSet returns the one of a Deployment with the most Pods.
func (s *stage) replicaSet(ctx context.Context, deployment int) (*appsv1.ReplicaSet, error) {
	var list appsv1.ReplicaSetList
	if err := s.admin.List(ctx, &list, client.InNamespace(namespace), client.MatchingLabels{"app": nameOf(deployment)}); err != nil {
		return nil, err
	}
	var most *appsv1.ReplicaSet
	for i := range list.Items {
		if rs := &list.Items[i]; most == nil || rs.Status.Replicas > most.Status.Replicas {
			most = rs
		}
	}
	if most == nil {
		return nil, errors.New("it has no ReplicaSet")
	}
	return most, nil
}

// pod returns a Pod of a Deployment that is to stay, or none.
func (s *stage) pod(ctx context.Context, deployment int) (*corev1.Pod, error) {
	var list corev1.PodList
	if err := s.admin.List(ctx, &list, client.InNamespace(namespace), client.MatchingLabels{"app": nameOf(deployment)}); err != nil {
		return nil, err
	}
	for i := range list.Items {
		if list.Items[i].DeletionTimestamp == nil {
			return &list.Items[i], nil
		}
	}
	return nil, nil //nolint:nilnil // A rollout may have none at a moment.
}

// nudge makes the controllers look at a Deployment again. What was changed while nobody could
// be asked, or before policies were in effect, is to be approved, too.
func (s *stage) nudge(ctx context.Context, deployment int) error {
	key, value := "campaign.example.org/nudged", strconv.Itoa(s.nudged)
	if s.unasked.Load() {
		key, value = v1alpha1.AnnotationApprove, v1alpha1.Any
	}
	return patch(ctx, s.people[plan.Alice], bare(deployment), `{"metadata":{"annotations":{%q:%q}}}`, key, value)
}
