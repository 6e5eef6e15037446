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
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/test/builders"
	"kausality.io/operator/test/campaign/stranger/draw"
	"kausality.io/operator/test/campaign/stranger/plan"
)

// hers are the names of what alice has, by resource: she makes what is gone again.
var hers = map[string][]string{
	"deployments": {"web-0", "web-1", "web-2"}, "statefulsets": {"db-0", "db-1", "db-2"}, "daemonsets": {"agent-0"},
	"jobs": {"batch-0", "batch-1", "batch-2", "batch-3"}, "cronjobs": {"tick-0"}, "things": {"app-0", "app-1"},
	plan.Others: {"app-0"},
}

// hersElsewhere are the names of what alice has in the second namespace.
var hersElsewhere = map[string][]string{"deployments": {"web-0"}, "daemonsets": {"agent-0"}, "things": {"app-0"}}

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
		switch name {
		case "batch-2":
			// It fails, as there is no time for all that it is to do.
			job.Spec.Completions, job.Spec.BackoffLimit, job.Spec.ActiveDeadlineSeconds = new(int32(1000)), new(int32(0)), new(int64(20))
		case "batch-3":
			// It fails with its first Pod.
			job.Spec.Template.Spec.Containers[0].Image = image + endless
			job.Spec.BackoffLimit = new(int32(0))
		}
		obj = job
	case "cronjobs":
		cron := builders.MakeCronJob(s.namespace, name, "* * * * *")
		cron.Spec.JobTemplate.Spec.Template.Spec.Containers[0].Image = image
		obj = cron
	default:
		thing := builders.MakeThing(kinds[resource].Group, s.namespace, name)
		thing.Object["spec"] = map[string]any{"config": image, "port": int64(80), "items": []any{map[string]any{"name": "first", "size": int64(1)}}}
		obj = thing
	}
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
	if err != nil {
		return nil, err
	}
	out := &unstructured.Unstructured{Object: fields}
	for _, template := range []string{"spec.template", "spec.jobTemplate.spec.template"} {
		path := draw.Path(template + ".spec")
		if _, ok, _ := unstructured.NestedMap(fields, path...); ok {
			container := template + ".spec.containers.0."
			// Only what has requests can be resized, and only of several arguments there is another order.
			draw.Set(fields, draw.Path(container+"resources"), map[string]any{"requests": map[string]any{"cpu": "10m"}})
			draw.Set(fields, draw.Path(container+"args"), []any{"remove", "keep"})
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
	go s.serveOthers(ctx)
	go s.fail(ctx)
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
	if s.few {
		return 3
	}
	return 15
}

// hers returns the names of what alice has.
func (s *stage) hers(resource string) []string {
	if s.few {
		return hersElsewhere[resource]
	}
	return slices.DeleteFunc(slices.Clone(hers[resource]), func(name string) bool { return s.family != "" && name != s.family })
}

const (
	// endless is what the image of a Pod has that does not end by itself, and fails after lifespan.
	endless  = "-never-ready"
	lifespan = 5 * time.Second
)

// fail has Pods fail that do not end by themselves, as their node says, until the context ends.
func (s *stage) fail(ctx context.Context) {
	wait.UntilWithContext(ctx, func(ctx context.Context) {
		var list corev1.PodList
		if err := s.admin.List(ctx, &list, client.InNamespace(s.namespace)); err != nil {
			return // It tries again.
		}
		for i := range list.Items {
			pod := &list.Items[i]
			if pod.Status.Phase != corev1.PodRunning || time.Since(pod.CreationTimestamp.Time) < lifespan || !strings.HasSuffix(pod.Spec.Containers[0].Image, endless) {
				continue
			}
			pod.Status.Phase, pod.Status.Reason = corev1.PodFailed, "Error"
			for k := range pod.Status.ContainerStatuses {
				pod.Status.ContainerStatuses[k].State = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 1, Reason: "Error"}}
			}
			_ = s.node.Status().Update(ctx, pod) // It tries again.
		}
	}, time.Second)
}

// serve is the controller of Things, until the context ends.
func (s *stage) serve(ctx context.Context) {
	refused := map[types.UID]attempt{}
	wait.UntilWithContext(ctx, func(ctx context.Context) {
		list := listOf("things")
		if err := s.admin.List(ctx, list, client.InNamespace(s.namespace)); err != nil {
			return // It tries again.
		}
		for i := range list.Items {
			if thing := &list.Items[i]; thing.GetDeletionTimestamp() == nil {
				s.serveOne(ctx, thing, refused)
			}
		}
	}, 500*time.Millisecond)
}

const (
	// hasty is the Thing that is reported to be as it should be before it is.
	hasty = "app-1"
	// backOff is for how long its controller waits after a refusal, unless somebody changes it: longer than the
	// operator believes what it reports.
	backOff = 10 * time.Second
	// look is the annotation by which everything gets a reason to be looked at.
	look = thingGroup + "/look"
)

// attempt is what the hasty Thing was when its controller was refused, and when it tries again.
type attempt struct {
	generation int64
	look       string
	again      time.Time
}

// serveOne carries out what a Thing says, and then says so; with the hasty one it is the other way around. What is
// refused it tries again.
func (s *stage) serveOne(ctx context.Context, thing *unstructured.Unstructured, refused map[types.UID]attempt) {
	if thing.GetName() != hasty {
		if s.carryOut(ctx, thing) {
			s.reportReady(ctx, s.thingController, thing)
		}
		return
	}
	s.reportReady(ctx, s.thingController, thing)
	now := attempt{generation: thing.GetGeneration(), look: thing.GetAnnotations()[look]}
	if last, ok := refused[thing.GetUID()]; ok && last.generation == now.generation && last.look == now.look && time.Now().Before(last.again) {
		return
	}
	delete(refused, thing.GetUID())
	if !s.carryOut(ctx, thing) {
		now.again = time.Now().Add(backOff)
		refused[thing.GetUID()] = now
	}
}

// serveOthers is the controller of the other kind of the name, until the context ends.
func (s *stage) serveOthers(ctx context.Context) {
	wait.UntilWithContext(ctx, func(ctx context.Context) {
		list := listOf(plan.Others)
		if err := s.admin.List(ctx, list, client.InNamespace(s.namespace)); err != nil {
			return // It tries again.
		}
		for i := range list.Items {
			if other := &list.Items[i]; other.GetDeletionTimestamp() == nil && s.write(ctx, s.otherController, other, other.GetName()+"-other") {
				s.reportReady(ctx, s.otherController, other)
			}
		}
	}, 500*time.Millisecond)
}

// carryOut has what is below a Thing be as it says, and reports whether it is.
func (s *stage) carryOut(ctx context.Context, thing *unstructured.Unstructured) bool {
	return s.write(ctx, s.thingController, thing, thing.GetName()+part) && s.serveBelow(ctx, thing)
}

// write has a controller write what an object says into a ConfigMap below it, and reports whether it is there.
func (s *stage) write(ctx context.Context, me client.Client, of *unstructured.Unstructured, name string) bool {
	raw, err := json.Marshal(of.Object["spec"])
	if err != nil {
		return false
	}
	if label := of.GetLabels()[tier]; label != "" {
		raw = append(raw, label...)
	}
	data := map[string]string{"spec": string(raw)}
	config := &corev1.ConfigMap{}
	switch err := s.admin.Get(ctx, client.ObjectKey{Namespace: s.namespace, Name: name}, config); {
	case apierrors.IsNotFound(err):
		config = &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: s.namespace, Name: name,
				OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(of, of.GroupVersionKind())},
			},
			Data: data,
		}
		if me.Create(ctx, config) != nil {
			return false
		}
	case err != nil || !metav1.IsControlledBy(config, of):
		return false
	case config.Data["spec"] == "":
		return false // Its policy lets nothing be added.
	case !equality.Semantic.DeepEqual(config.Data, data):
		config.Data = data
		if me.Update(ctx, config) != nil {
			return false
		}
	}
	return true
}

// reportReady has a controller say that an object is as it should be, where that has not been said of its generation.
func (s *stage) reportReady(ctx context.Context, me client.Client, thing *unstructured.Unstructured) {
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
	me, there := s.thingController, &unstructured.Unstructured{}
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
