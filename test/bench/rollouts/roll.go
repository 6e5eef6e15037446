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
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/test/builders"
)

func name(deployment int) string { return fmt.Sprintf("web-%d", deployment) }

// roll gives all Deployments of a world another image at once, and returns how long it
// takes until all of it is done.
func (s *stage) roll(ctx context.Context, w world) (time.Duration, error) {
	s.image++
	body := fmt.Appendf(nil, `{"spec":{"template":{"spec":{"containers":[{"name":%q,"image":"web:%d"}]}}}}`, builders.Container, s.image)
	began := time.Now()
	group, groupCtx := errgroup.WithContext(ctx)
	for i := range *deployments {
		d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: string(w), Name: name(i)}}
		group.Go(func() error {
			return s.alice.Patch(groupCtx, d, client.RawPatch(types.StrategicMergePatchType, body))
		})
	}
	if err := group.Wait(); err != nil {
		return 0, err
	}
	err := s.untilRolled(ctx, w)
	return time.Since(began), err
}

// untilRolled waits until all Deployments of a world have their new Pods, and no others
// are left.
func (s *stage) untilRolled(ctx context.Context, w world) error {
	waiting := 0
	err := wait.PollUntilContextTimeout(ctx, poll, patience, true, func(ctx context.Context) (bool, error) {
		var list appsv1.DeploymentList
		if err := s.admin.List(ctx, &list, client.InNamespace(string(w))); err != nil {
			return false, err
		}
		waiting = 0
		for i := range list.Items {
			if !complete(&list.Items[i]) {
				waiting++
			}
		}
		if waiting > 0 {
			return false, nil
		}
		pods := &metav1.PartialObjectMetadataList{}
		pods.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("PodList"))
		err := s.admin.List(ctx, pods, client.InNamespace(string(w)))
		return len(pods.Items) == *deployments**replicas, err
	})
	if err != nil {
		return fmt.Errorf("waiting for the rollouts, %d of which are not complete: %w", waiting, err)
	}
	return nil
}

// complete reports whether a Deployment says that it has all its new Pods, which are
// available, and no old ones.
func complete(d *appsv1.Deployment) bool {
	want := *d.Spec.Replicas
	return d.Status.ObservedGeneration == d.Generation &&
		d.Status.UpdatedReplicas == want && d.Status.Replicas == want && d.Status.AvailableReplicas == want
}
