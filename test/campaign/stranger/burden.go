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
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/test/campaign/stranger/plan"
)

// burden plays a story about one thing that hinges on another: a number, a second parent, or a finalizer.
func (p *performance) burden(ctx context.Context) error {
	if p.r.IntN(4) > 0 {
		// What waited before hides what comes of it.
		if err := p.clear(ctx, p.obj); err != nil {
			return err
		}
	}
	switch p.What {
	case plan.Exceed:
		return p.exceed(ctx)
	case plan.Lean:
		return p.lean(ctx)
	case plan.Waver:
		return p.waver(ctx)
	case plan.Share:
		return p.share(ctx)
	default:
		return p.linger(ctx)
	}
}

// clear has alice approve of all that waits of an object.
func (p *performance) clear(ctx context.Context, obj *unstructured.Unstructured) error {
	if withheld, _ := ledgerOf(obj); len(withheld) > 0 {
		return p.setApprove(ctx, obj.DeepCopy(), ownKey(obj, "approve"), "*")
	}
	return nil
}

// calm waits until nothing is allowed of an object for some seconds at most, and reports whether that is so.
func (p *performance) calm(ctx context.Context) bool {
	const tries = 24
	for range tries {
		if p.admin.Get(ctx, client.ObjectKeyFromObject(p.obj), p.obj) != nil {
			return false
		}
		if withheld, allowed := ledgerOf(p.obj); len(withheld)+len(allowed) == 0 {
			return true
		}
		pause(ctx, poll)
	}
	return false
}

// counted is the field by which an object has a number of children.
func (p *performance) counted() string {
	if p.Resource == "jobs" {
		return "parallelism"
	}
	return "replicas"
}

// number is how many children the object wants.
func (p *performance) number() int64 {
	n, found, _ := unstructured.NestedInt64(p.obj.Object, "spec", p.counted())
	if !found {
		return 1
	}
	return n
}

// wish has mallory want another number of children.
func (p *performance) wish(ctx context.Context, n int64) error {
	return p.people[plan.Mallory].Patch(ctx, p.obj.DeepCopy(), merge(fmt.Sprintf(`{"spec":{%q:%d}}`, p.counted(), n)))
}

// exceed has mallory wish for more than there are to be, has one of them go, and has the controller, gone wrong, make in its place
// what only more of them have. A Job is suspended before.
func (p *performance) exceed(ctx context.Context) error {
	if ended(p.obj) || p.Resource == "statefulsets" && !p.calm(ctx) {
		return errNothing
	}
	approved := p.number()
	if p.Resource == "jobs" || p.Resource == "cronjobs" {
		if err := p.set(ctx, "spec.suspend", true); err != nil {
			return err
		}
		p.dawdle(ctx, time.Second)
	}
	if p.Resource == "cronjobs" {
		return p.resume(ctx)
	}
	if err := p.wish(ctx, approved+1+int64(p.r.IntN(2))); err != nil {
		return err
	}
	p.dawdle(ctx, poll)
	name := p.text()
	if p.Resource == "statefulsets" {
		name = fmt.Sprintf("%s-%d", p.obj.GetName(), approved+int64(p.r.IntN(2)))
		children := p.childrenOf(ctx, p.obj)
		if len(children) == 0 {
			return errNothing
		}
		if err := p.people[plan.Alice].Delete(ctx, &children[p.r.IntN(len(children))]); err != nil {
			return err
		}
	}
	return p.fromTemplate(ctx, name)
}

// resume has mallory let something go on, or change when it is to go on, and has its controller, gone wrong, make a run of it at once.
func (p *performance) resume(ctx context.Context) error {
	what := `{"spec":{"suspend":false}}`
	if p.r.IntN(3) == 0 {
		what = `{"spec":{"startingDeadlineSeconds":17}}`
	}
	if err := p.people[plan.Mallory].Patch(ctx, p.obj.DeepCopy(), merge(what)); err != nil {
		return err
	}
	p.dawdle(ctx, time.Second)
	return p.fromTemplate(ctx, p.text())
}

// fromTemplate has the controller of an object, gone wrong, make a child of its template.
func (p *performance) fromTemplate(ctx context.Context, name string) error {
	path, made := []string{"spec", "template"}, childrenOf[p.Resource]
	if made == "jobs" {
		path[1] = "jobTemplate"
	}
	template, found, _ := unstructured.NestedMap(p.obj.Object, path...)
	who := p.carrying[carriers[p.obj.GetKind()]]
	if !found || who == nil || made != "pods" && made != "jobs" {
		return errNothing
	}
	pod := &unstructured.Unstructured{Object: runtime.DeepCopyJSON(template)}
	pod.SetGroupVersionKind(kinds[made])
	pod.SetNamespace(p.namespace)
	pod.SetName(name)
	pod.SetOwnerReferences([]metav1.OwnerReference{*metav1.NewControllerRef(p.obj, kinds[p.Resource])})
	return who.Create(ctx, pod)
}

// lean has alice make an autoscaler for what is hers, and mallory change its number before or after that.
func (p *performance) lean(ctx context.Context) error {
	scaler := *p
	scaler.What = plan.Autoscale
	before := p.r.IntN(2) == 0
	var errs []error
	if before {
		errs = append(errs, p.wish(ctx, p.number()+2))
		p.dawdle(ctx, 5*time.Second)
	}
	errs = append(errs, scaler.autoscalerOf(ctx, p.obj))
	if !before {
		p.dawdle(ctx, 4*time.Second)
		errs = append(errs, p.wish(ctx, p.number()+2))
	}
	return errors.Join(errs...)
}

// waver has mallory wish for more, and then for something else: for less than there are to be, for less of what waits, or for the same.
func (p *performance) waver(ctx context.Context) error {
	approved := p.number()
	if err := p.wish(ctx, approved+3); err != nil {
		return err
	}
	p.dawdle(ctx, 2*time.Second)
	return p.wish(ctx, max(0, approved-1+int64(p.r.IntN(3))))
}

// share has alice make a child below two of hers, mostly of the same kind, and mallory change something of either that waits:
// the controller of both, gone wrong, deletes it.
func (p *performance) share(ctx context.Context) error {
	children, resource := p.childrenOf(ctx, p.obj), p.Resource
	if p.r.IntN(4) == 0 {
		resource = plan.Sharing[p.r.IntN(len(plan.Sharing))]
	}
	names := p.hers(resource)
	if len(children) == 0 || len(names) == 0 {
		return errNothing
	}
	second := &unstructured.Unstructured{}
	second.SetGroupVersionKind(kinds[resource])
	if err := p.admin.Get(ctx, client.ObjectKey{Namespace: p.namespace, Name: names[p.r.IntN(len(names))]}, second); err != nil {
		return err
	}
	if err := p.clear(ctx, second); err != nil {
		return err
	}
	one := *p
	one.Resource, one.obj = childrenOf[p.Resource], &children[p.r.IntN(len(children))]
	ref := metav1.OwnerReference{APIVersion: kinds[resource].GroupVersion().String(), Kind: kinds[resource].Kind, Name: second.GetName(), UID: second.GetUID()}
	one.obj.SetOwnerReferences(append(one.obj.GetOwnerReferences(), ref))
	child := one.anotherOf(p.text())
	if err := p.who.Create(ctx, child); err != nil {
		return err
	}
	waits := []*unstructured.Unstructured{p.obj, second, second}[p.r.IntN(3)]
	err := p.people[plan.Mallory].Patch(ctx, waits.DeepCopy(), merge(fmt.Sprintf(`{"spec":{"minReadySeconds":%d}}`, 1+p.r.IntN(2))))
	pause(ctx, 2*time.Second+poll)
	kind := []string{second.GetKind(), p.obj.GetKind()}[p.r.IntN(2)]
	if who := p.carrying[carriers[kind]]; who != nil {
		err = errors.Join(err, who.Delete(ctx, child))
	}
	return err
}

// linger has mallory keep an object from its end, and alice delete it.
func (p *performance) linger(ctx context.Context) error {
	before := p.obj.DeepCopy()
	kept := before.DeepCopy()
	kept.SetFinalizers(append(kept.GetFinalizers(), "stranger.example.org/"+p.stranger().text()))
	if err := p.people[plan.Mallory].Patch(ctx, kept, client.MergeFrom(before)); err != nil {
		return err
	}
	if p.r.IntN(2) == 0 {
		return p.people[plan.Alice].Delete(ctx, kept, client.PropagationPolicy("Orphan"))
	}
	return p.people[plan.Alice].Delete(ctx, kept)
}
