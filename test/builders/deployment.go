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

// Package builders makes the objects that tests work with, so that a test says
// only what matters to it:
//
//	builders.MakeDeployment(namespace, "web").Replicas(10).Image("web:2").Obj()
package builders

import (
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Container is the name of the one container of all Pods.
const Container = "main"

// DeploymentBuilder makes a Deployment.
type DeploymentBuilder struct {
	appsv1.Deployment
}

// MakeDeployment begins a Deployment with one replica, whose Pods need no grace
// to end.
func MakeDeployment(namespace, name string) *DeploymentBuilder {
	template := podTemplate(name)
	return &DeploymentBuilder{appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: template.Labels},
		Spec: appsv1.DeploymentSpec{
			Replicas: new(int32(1)),
			Selector: &metav1.LabelSelector{MatchLabels: template.Labels},
			Template: template,
		},
	}}
}

// Replicas sets how many Pods there are to be.
func (b *DeploymentBuilder) Replicas(n int32) *DeploymentBuilder {
	b.Spec.Replicas = new(n)
	return b
}

// Image sets the image of the container.
func (b *DeploymentBuilder) Image(image string) *DeploymentBuilder {
	b.Spec.Template.Spec.Containers[0].Image = image
	return b
}

// RollingUpdate sets by how many Pods, or by how much of them in percent, a
// rollout may exceed and miss the number of replicas.
func (b *DeploymentBuilder) RollingUpdate(maxSurge, maxUnavailable string) *DeploymentBuilder {
	b.Spec.Strategy = appsv1.DeploymentStrategy{
		Type: appsv1.RollingUpdateDeploymentStrategyType,
		RollingUpdate: &appsv1.RollingUpdateDeployment{
			MaxSurge:       new(intstr.Parse(maxSurge)),
			MaxUnavailable: new(intstr.Parse(maxUnavailable)),
		},
	}
	return b
}

// Recreate lets all old Pods end before the first new one is made.
func (b *DeploymentBuilder) Recreate() *DeploymentBuilder {
	b.Spec.Strategy = appsv1.DeploymentStrategy{Type: appsv1.RecreateDeploymentStrategyType}
	return b
}

// RevisionHistoryLimit sets how many ReplicaSets without Pods are kept.
func (b *DeploymentBuilder) RevisionHistoryLimit(n int32) *DeploymentBuilder {
	b.Spec.RevisionHistoryLimit = new(n)
	return b
}

// Annotation sets an annotation.
func (b *DeploymentBuilder) Annotation(key, value string) *DeploymentBuilder {
	metav1.SetMetaDataAnnotation(&b.ObjectMeta, key, value)
	return b
}

// Obj returns the Deployment that was made.
func (b *DeploymentBuilder) Obj() *appsv1.Deployment {
	return b.DeepCopy()
}
