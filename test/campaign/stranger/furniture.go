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
	"encoding/json"
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/test/builders"
	"kausality.io/operator/test/campaign/stranger/draw"
	"kausality.io/operator/test/campaign/stranger/plan"
)

// hers are the names of what alice has, by resource: she makes what is gone again.
var hers = map[string][]string{
	"deployments": {"web-0", "web-1", "web-2"}, "statefulsets": {"db-0", "db-1", "db-2"}, "daemonsets": {"agent-0"},
	"jobs": {"batch-0", "batch-1", "batch-2"}, "cronjobs": {"tick-0"}, "things": {"app-0", "app-1"},
}

// pristine returns one of her objects as she wants it, with her own image.
func (s *stage) pristine(resource, name string, n int) (*unstructured.Unstructured, error) {
	image := imageOf(n)
	var obj client.Object
	switch resource {
	case "deployments":
		b := builders.MakeDeployment(s.namespace, name).Replicas(2).Image(image)
		if name == "web-1" {
			b.Recreate()
		}
		obj = b.Obj()
	case "statefulsets":
		set := builders.MakeStatefulSet(s.namespace, name, 2)
		set.Spec.Template.Spec.Containers[0].Image = image
		if name == "db-2" {
			// It makes those that are missing at the same time.
			set.Spec.PodManagementPolicy, set.Spec.Replicas = appsv1.ParallelPodManagement, new(int32(3))
		}
		obj = set
	case "daemonsets":
		set := builders.MakeDaemonSet(s.namespace, name)
		set.Spec.Template.Spec.Containers[0].Image = image
		obj = set
	case "jobs":
		job := builders.MakeJob(s.namespace, name, 4, 2)
		job.Spec.Template.Spec.Containers[0].Image = image
		job.Spec.Suspend = new(name == "batch-1")
		if name == "batch-2" {
			// It fails, as there is no time for all that it is to do.
			job.Spec.Completions, job.Spec.BackoffLimit, job.Spec.ActiveDeadlineSeconds = new(int32(1000)), new(int32(0)), new(int64(20))
		}
		obj = job
	case "cronjobs":
		cron := builders.MakeCronJob(s.namespace, name, "* * * * *")
		cron.Spec.JobTemplate.Spec.Template.Spec.Containers[0].Image = image
		obj = cron
	default:
		thing := builders.MakeThing(thingGroup, s.namespace, name)
		thing.Object["spec"] = map[string]any{"config": image, "port": int64(80), "items": []any{map[string]any{"name": "first", "size": int64(1)}}}
		obj = thing
	}
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
	if err != nil {
		return nil, err
	}
	out := &unstructured.Unstructured{Object: fields}
	// Only what has requests can be resized.
	for _, template := range []string{"spec.template", "spec.jobTemplate.spec.template"} {
		path := draw.Path(template + ".spec.containers.0.resources")
		if _, ok, _ := unstructured.NestedMap(fields, path[:len(path)-3]...); ok {
			draw.Set(fields, path, map[string]any{"requests": map[string]any{"cpu": "10m"}})
		}
	}
	out.SetGroupVersionKind(kinds[resource])
	unstructured.RemoveNestedField(out.Object, "status")
	return out, nil
}

func imageOf(n int) string { return fmt.Sprintf("alice:%d", n) }

// furnish makes all that is hers, and waits until it is at work.
func (s *stage) furnish(ctx context.Context) error {
	for _, resource := range plan.Parents {
		for _, name := range s.hers(resource) {
			obj, err := s.pristine(resource, name, 0)
			if err != nil {
				return err
			}
			if err := s.people[plan.Alice].Create(ctx, obj); err != nil {
				return fmt.Errorf("%s %s: %w", resource, name, err)
			}
		}
	}
	go s.serve(ctx)
	ready := 0
	err := wait.PollUntilContextTimeout(ctx, poll, patience, true, func(ctx context.Context) (bool, error) {
		var list corev1.PodList
		if err := s.admin.List(ctx, &list, client.InNamespace(s.namespace)); err != nil {
			return false, err
		}
		ready = 0
		for i := range list.Items {
			if list.Items[i].Status.Phase == corev1.PodRunning {
				ready++
			}
		}
		return ready >= s.enough(), nil
	})
	if err != nil {
		return fmt.Errorf("%d Pods run: %w", ready, err)
	}
	return nil
}

// enough returns how many Pods her Deployments, StatefulSets and DaemonSets want.
func (s *stage) enough() int {
	if s.family != "" {
		return 0 // It is her object that counts, whatever it is.
	}
	return 15
}

// hers returns the names of what alice has.
func (s *stage) hers(resource string) []string {
	return slices.DeleteFunc(slices.Clone(hers[resource]), func(name string) bool { return s.family != "" && name != s.family })
}

// serve is the controller of Things, until the context ends.
func (s *stage) serve(ctx context.Context) {
	wait.UntilWithContext(ctx, func(ctx context.Context) {
		list := listOf("things")
		if err := s.admin.List(ctx, list, client.InNamespace(s.namespace)); err != nil {
			return // It tries again.
		}
		for i := range list.Items {
			if list.Items[i].GetDeletionTimestamp() == nil {
				s.serveOne(ctx, &list.Items[i])
			}
		}
	}, 500*time.Millisecond)
}

// serveOne writes what a Thing says into its ConfigMap, and says so. What is refused it tries
// again the next time.
func (s *stage) serveOne(ctx context.Context, thing *unstructured.Unstructured) {
	me := s.servants["configmaps"]
	raw, err := json.Marshal(thing.Object["spec"])
	if err != nil {
		return
	}
	data := map[string]string{"spec": string(raw)}
	config := &corev1.ConfigMap{}
	switch err := s.admin.Get(ctx, client.ObjectKey{Namespace: s.namespace, Name: thing.GetName() + part}, config); {
	case apierrors.IsNotFound(err):
		config = &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: s.namespace, Name: thing.GetName() + part,
				OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(thing, kinds["things"])},
			},
			Data: data,
		}
		if me.Create(ctx, config) != nil {
			return
		}
	case err != nil || !metav1.IsControlledBy(config, thing):
		return
	case !equality.Semantic.DeepEqual(config.Data, data):
		config.Data = data
		if me.Update(ctx, config) != nil {
			return
		}
	}
	if !s.serveBelow(ctx, thing) {
		return
	}
	seen, _, _ := unstructured.NestedInt64(thing.Object, "status", "observedGeneration")
	if seen == thing.GetGeneration() {
		return
	}
	thing.Object["status"] = map[string]any{"observedGeneration": thing.GetGeneration(), "conditions": []any{map[string]any{
		"type": "Ready", "status": "True", "reason": "Written", "message": "", "observedGeneration": thing.GetGeneration(),
		"lastTransitionTime": "2026-01-01T00:00:00Z",
	}}}
	_ = me.Status().Update(ctx, thing) // It tries again.
}

// What Things have below them are called after these: a ConfigMap, and of hers another Thing,
// which is served in two versions as they are.
const (
	part  = "-part"
	below = "-below"
)

// serveBelow has a Thing of hers have another one below it, with the same spec, and reports
// whether it has.
func (s *stage) serveBelow(ctx context.Context, thing *unstructured.Unstructured) bool {
	if !slices.Contains(hers["things"], thing.GetName()) {
		return true
	}
	me, there := s.servants["configmaps"], &unstructured.Unstructured{}
	there.SetGroupVersionKind(kinds["things"])
	switch err := s.admin.Get(ctx, client.ObjectKey{Namespace: s.namespace, Name: thing.GetName() + below}, there); {
	case apierrors.IsNotFound(err):
		made := builders.MakeThing(thingGroup, s.namespace, thing.GetName()+below)
		made.SetOwnerReferences([]metav1.OwnerReference{*metav1.NewControllerRef(thing, kinds["things"])})
		made.Object["spec"] = thing.DeepCopy().Object["spec"]
		return me.Create(ctx, made) == nil
	case err != nil || !metav1.IsControlledBy(there, thing):
		return false
	case !equality.Semantic.DeepEqual(there.Object["spec"], thing.Object["spec"]):
		there.Object["spec"] = thing.DeepCopy().Object["spec"]
		return me.Update(ctx, there) == nil
	}
	return true
}
