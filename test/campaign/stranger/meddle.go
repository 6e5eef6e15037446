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
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/test/campaign/stranger/draw"
	"kausality.io/operator/test/campaign/stranger/plan"
)

// carriers are the controllers of what parents have below them, by the kind of the parent.
var carriers = map[string]string{
	"Deployment": "deployment-controller", "ReplicaSet": "replicaset-controller", "StatefulSet": "statefulset-controller",
	"DaemonSet": "daemon-set-controller", "Job": "job-controller", "CronJob": "cronjob-controller", "Thing": "thing-controller",
}

// pose has a controller gone wrong be that of the parent of what the act is done to, or an account of its name.
func (p *performance) pose() {
	if p.Who != plan.Gone || p.r.IntN(4) == 0 {
		return
	}
	owners := p.obj.GetOwnerReferences()
	i := slices.IndexFunc(owners, func(o metav1.OwnerReference) bool { return o.Controller != nil && *o.Controller })
	if i < 0 || carriers[owners[i].Kind] == "" {
		return
	}
	accounts := p.carrying
	if p.Impostor {
		accounts = p.posing
	}
	if who := accounts[carriers[owners[i].Kind]]; who != nil {
		p.who = who
		if p.Dry {
			p.who = client.NewDryRunClient(who)
		}
	}
}

// childrenOf lists what parents make.
var childrenOf = map[string]string{
	"deployments": "replicasets", "statefulsets": "pods", "daemonsets": "pods", "jobs": "pods", "cronjobs": "jobs",
}

// childrenOf returns what an object controls.
func (p *performance) childrenOf(ctx context.Context, obj *unstructured.Unstructured) []unstructured.Unstructured {
	list := listOf(childrenOf[p.Resource])
	if childrenOf[p.Resource] == "" || p.admin.List(ctx, list, client.InNamespace(p.namespace)) != nil {
		return nil
	}
	return slices.DeleteFunc(list.Items, func(o unstructured.Unstructured) bool {
		return !slices.ContainsFunc(o.GetOwnerReferences(), func(owner metav1.OwnerReference) bool { return owner.UID == obj.GetUID() })
	})
}

// meddle has the controller of an object, gone wrong, take a child of it out, or make one more than it has. What that is called by is no
// stranger's value.
func (p *performance) meddle(ctx context.Context) error {
	children := p.childrenOf(ctx, p.obj)
	if p.r.IntN(3) == 0 {
		return nil
	}
	if len(children) == 0 {
		return p.fromTemplate(ctx, p.text()) // As where it is suspended.
	}
	child := &children[p.r.IntN(len(children))]
	child.SetGroupVersionKind(kinds[childrenOf[p.Resource]])
	wrong := &performance{stage: p.stage, Act: plan.Act{N: p.N, Who: plan.Alice, Resource: childrenOf[p.Resource]}, r: p.r, obj: child}
	wrong.who = p.carrying[carriers[p.obj.GetKind()]]
	if p.r.IntN(2) == 0 {
		if err := p.people[plan.Alice].Delete(ctx, child); err != nil {
			return err
		}
	}
	return wrong.another(ctx, wrong.who)
}

// another has somebody make one more like an object, below the same parent. What has a number gets the next ones, too.
func (p *performance) another(ctx context.Context, who client.Client) error {
	name := p.text()
	if set, _, numbered := cutLast(p.obj.GetName(), "-"); numbered && len(p.obj.GetOwnerReferences()) > 0 && p.obj.GetOwnerReferences()[0].Kind == "StatefulSet" {
		name = fmt.Sprintf("%s-%d", set, p.r.IntN(6))
	}
	return who.Create(ctx, p.anotherOf(name))
}

// anotherOf returns one more like an object, of a name.
func (p *performance) anotherOf(name string) *unstructured.Unstructured {
	another := &unstructured.Unstructured{Object: map[string]any{}}
	for key, value := range p.obj.Object {
		if key != "status" && key != "metadata" {
			another.Object[key] = runtime.DeepCopyJSONValue(value)
		}
	}
	another.SetGroupVersionKind(kinds[p.Resource])
	another.SetNamespace(p.namespace)
	another.SetName(name)
	another.SetLabels(p.obj.GetLabels())
	another.SetOwnerReferences(p.obj.GetOwnerReferences())
	unstructured.RemoveNestedField(another.Object, "spec", "nodeName")
	if p.Resource == "jobs" {
		unstructured.RemoveNestedField(another.Object, "spec", "selector")
		unstructured.RemoveNestedField(another.Object, "spec", "template", "metadata", "labels")
	}
	return another
}

// sprout has mallory make something below what was just made, or what that finds, as it is new.
func (p *performance) sprout(ctx context.Context) error {
	list := listOf("pods")
	if childrenOf[p.Resource] == "replicasets" {
		list = listOf("replicasets")
	}
	if p.r.IntN(3) == 0 {
		return nil
	}
	err := p.admin.List(ctx, list, client.InNamespace(p.namespace), client.MatchingLabels{"app": p.obj.GetName()})
	if err != nil || len(list.Items) == 0 {
		return client.IgnoreNotFound(err)
	}
	p.dawdle(ctx, 2*time.Second) // Times are in seconds.
	stray := p.stranger()
	stray.Resource, stray.obj = childrenOf[p.Resource], &list.Items[p.r.IntN(len(list.Items))]
	stray.obj.SetOwnerReferences(nil)
	return stray.another(ctx, stray.who)
}

func cutLast(text, by string) (before, after string, found bool) {
	i := strings.LastIndex(text, by)
	if i < 0 {
		return text, "", false
	}
	return text[:i], text[i+len(by):], true
}

// above returns the field that one is in, at most as far up as the spec.
func above(field string) string {
	end := strings.LastIndexAny(field, ".[")
	if end <= 0 || !strings.Contains(field, ".") {
		return field
	}
	return field[:end]
}

// stranger returns mallory, who acts upon the same object within the same act.
func (p *performance) stranger() *performance {
	return &performance{stage: p.stage, Act: plan.Act{N: p.N, Who: plan.Mallory, What: plan.Merge, Resource: p.Resource}, r: p.r, who: p.people[plan.Mallory], obj: p.obj.DeepCopy()}
}

// glance has mallory change a field, and change it again once alice has looked: she approves of it as it was.
func (p *performance) glance(ctx context.Context) error {
	if err := p.stranger().changeTwo(ctx); err != nil {
		return err
	}
	p.dawdle(ctx, time.Second)
	if err := p.admin.Get(ctx, client.ObjectKeyFromObject(p.obj), p.obj); err != nil {
		return err
	}
	withheld, _ := ledgerOf(p.obj)
	withheld = slices.DeleteFunc(withheld, func(a v1alpha1.Allowance) bool { return a.Content == "" })
	if len(withheld) == 0 {
		return errNothing
	}
	one := withheld[p.r.IntN(len(withheld))]
	if err := p.stranger().changeAgain(ctx, one.Mutation); err != nil && !errors.Is(err, errNothing) {
		return err
	}
	p.dawdle(ctx, time.Second)
	return p.setApprove(ctx, p.obj, ownKey(p.obj, "approve"), one.Mutation+"@"+one.Content)
}

// changeAgain changes a field that holds a text, a list of texts or a number.
func (p *performance) changeAgain(ctx context.Context, field string) error {
	before, path := p.obj.DeepCopy(), draw.Path(strings.NewReplacer("[", ".", "]", "").Replace(field))
	var value any = p.text() + ":2"
	switch path[len(path)-1] {
	case "command", "args":
		value = []any{p.text(), "again"}
	case "replicas", "minReadySeconds":
		value = int64(4)
	case "workingDir", "terminationMessagePath":
		value = "/" + p.text() + "/again"
	case "image":
	default:
		return errNothing
	}
	if !draw.Set(p.obj.Object, path, value) {
		return errNothing
	}
	return p.who.Patch(ctx, p.obj, client.MergeFrom(before))
}

// plant has alice roll an object, or not, and mallory make something at once that its controller adopts. Then the
// controller, gone wrong, has it grow.
func (p *performance) plant(ctx context.Context) error {
	if p.r.IntN(4) > 0 {
		if err := p.rollOn(ctx); err != nil {
			return err
		}
	}
	children := p.childrenOf(ctx, p.obj)
	if len(children) == 0 {
		return errNothing
	}
	stray := p.stranger()
	stray.Resource, stray.obj = childrenOf[p.Resource], &children[p.r.IntN(len(children))]
	stray.obj.SetOwnerReferences(nil)
	if err := stray.another(ctx, stray.who); err != nil {
		return err
	}
	p.dawdle(ctx, 3*time.Second)
	adopted := &unstructured.Unstructured{}
	adopted.SetGroupVersionKind(kinds[stray.Resource])
	if err := p.admin.Get(ctx, client.ObjectKey{Namespace: p.namespace, Name: stray.text()}, adopted); err != nil {
		return err
	}
	switch n := p.r.IntN(3); {
	case n == 0:
		return p.setApprove(ctx, adopted, ownKey(adopted, "approve"), []string{"spec", "spec.template", "spec.containers"}[p.r.IntN(3)])
	case stray.Resource == "replicasets":
		return p.carrying[carriers["Deployment"]].Patch(ctx, adopted, merge(fmt.Sprintf(`{"spec":{"replicas":%d}}`, 1+p.r.IntN(5))))
	default:
		return nil
	}
}

// replace has alice take an object away and leave what is below it, and make another one of the name at once.
func (p *performance) replace(ctx context.Context) error {
	if err := p.who.Delete(ctx, p.obj, client.PropagationPolicy("Orphan")); err != nil {
		return err
	}
	for range 40 {
		want, err := p.pristine(p.Resource, p.obj.GetName(), p.N)
		if err != nil {
			return err
		}
		if err = p.who.Create(ctx, want); err == nil {
			return p.sprout(ctx)
		}
		pause(ctx, poll)
	}
	return errNothing
}
