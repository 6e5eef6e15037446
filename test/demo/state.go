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
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/api/v1alpha1"
)

// namespace is where the story plays.
const namespace = metav1.NamespaceDefault

// deploymentName is what the story is about, and also how kubectl calls its only
// container.
const deploymentName = "web"

// deployment reads the Deployment.
func (s *story) deployment(ctx context.Context) (*appsv1.Deployment, error) {
	d := &appsv1.Deployment{}
	return d, s.api.Get(ctx, types.NamespacedName{Namespace: namespace, Name: deploymentName}, d)
}

// replicaSets reads the ReplicaSets of the Deployment.
func (s *story) replicaSets(ctx context.Context) ([]appsv1.ReplicaSet, error) {
	var list appsv1.ReplicaSetList
	err := s.api.List(ctx, &list, client.InNamespace(namespace))
	return list.Items, err
}

// activeReplicaSet reads the one ReplicaSet that is to have Pods.
func (s *story) activeReplicaSet(ctx context.Context) (*appsv1.ReplicaSet, error) {
	all, err := s.replicaSets(ctx)
	if err != nil {
		return nil, err
	}
	active := slices.DeleteFunc(all, func(rs appsv1.ReplicaSet) bool { return rs.Spec.Replicas == nil || *rs.Spec.Replicas == 0 })
	if len(active) != 1 {
		return nil, fmt.Errorf("%d ReplicaSets are to have Pods, not one", len(active))
	}
	return &active[0], nil
}

// pods reads the Pods of a ReplicaSet that are to stay, by name.
func (s *story) pods(ctx context.Context, rs *appsv1.ReplicaSet) (map[string]corev1.Pod, error) {
	var list corev1.PodList
	if err := s.api.List(ctx, &list, client.InNamespace(namespace)); err != nil {
		return nil, err
	}
	pods := map[string]corev1.Pod{}
	for _, pod := range list.Items {
		if metav1.IsControlledBy(&pod, rs) && pod.DeletionTimestamp == nil {
			pods[pod.Name] = pod
		}
	}
	return pods, nil
}

// record reads the AllowanceRecord of an object.
func (s *story) record(ctx context.Context, obj client.Object) (*v1alpha1.AllowanceRecord, error) {
	var list v1alpha1.AllowanceRecordList
	if err := s.api.List(ctx, &list, client.InNamespace(obj.GetNamespace())); err != nil {
		return nil, err
	}
	for i := range list.Items {
		if list.Items[i].Spec.TargetRef.UID == obj.GetUID() {
			return &list.Items[i], nil
		}
	}
	return nil, fmt.Errorf("%s has no AllowanceRecord", obj.GetName())
}

// rolledOut is so when all Pods of the Deployment run the image, and are as many
// as they are to be.
func (s *story) rolledOut(image string, replicas int32) condition {
	return func(ctx context.Context) error {
		d, err := s.deployment(ctx)
		if err != nil {
			return err
		}
		if got := d.Spec.Template.Spec.Containers[0].Image; got != image {
			return fmt.Errorf("the Deployment's image is %s", got)
		}
		st := d.Status
		if st.ObservedGeneration != d.Generation || st.UpdatedReplicas != replicas ||
			st.AvailableReplicas != replicas || st.Replicas != replicas {
			return fmt.Errorf("%d of %d Pods are up to date, %d available, %d in all", st.UpdatedReplicas, replicas, st.AvailableReplicas, st.Replicas)
		}
		return nil
	}
}

// settled is so when no ledger is left, on the Deployment nor on its ReplicaSets,
// and their records say so too.
func (s *story) settled(ctx context.Context) error {
	d, err := s.deployment(ctx)
	if err != nil {
		return err
	}
	all, err := s.replicaSets(ctx)
	if err != nil {
		return err
	}
	holders := []client.Object{d}
	for i := range all {
		holders = append(holders, &all[i])
	}
	for _, obj := range holders {
		if text := ledgerText(obj); text != "" {
			return fmt.Errorf("%s holds %s", obj.GetName(), text)
		}
		rec, err := s.record(ctx, obj)
		if err != nil {
			return err
		}
		if rec.Status.ActiveCount != 0 || rec.Status.Phase != v1alpha1.PhaseSteady {
			return fmt.Errorf("AllowanceRecord %s is %s with %d active allowances", rec.Name, rec.Status.Phase, rec.Status.ActiveCount)
		}
	}
	return nil
}

// ledgerText returns the annotation that is the ledger of a Deployment or ReplicaSet.
// That of a ReplicaSet has a key of its own: what is under the other one is the
// Deployment controller's copy (D10).
func ledgerText(obj client.Object) string {
	if _, ok := obj.(*appsv1.ReplicaSet); ok {
		return obj.GetAnnotations()[v1alpha1.ReplicaSetAnnotationPrefix+"allowances"]
	}
	return obj.GetAnnotations()[v1alpha1.AnnotationAllowances]
}

// blocked returns the message of the Deployment's Blocked condition, empty where it is
// not blocked.
func blocked(d *appsv1.Deployment) string {
	for _, c := range d.Status.Conditions {
		if c.Type == v1alpha1.ConditionBlocked && c.Status == corev1.ConditionTrue {
			return c.Message
		}
	}
	return ""
}

// unblocked is so when the Deployment has no Blocked condition.
func (s *story) unblocked(ctx context.Context) error {
	d, err := s.deployment(ctx)
	if err != nil {
		return err
	}
	if message := blocked(d); message != "" {
		return errors.New(message)
	}
	return nil
}
