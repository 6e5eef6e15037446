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
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/test/builders"
	"kausality.io/operator/test/campaign/stranger/checker"
	"kausality.io/operator/test/campaign/stranger/plan"
)

const (
	// still is how long nothing has changed where all is at rest: longer than what controllers
	// wait that were refused a few times.
	still = 15 * time.Second
	// restless is how long that may take.
	restless = 5 * time.Minute
)

// rest has alice park what is hers, and let it go on. Then she wishes for something new of one half of it, or
// for nothing new, approves of all that is there, and deletes the other half. Once nothing happens any more she
// scales or rolls some of it, and does nothing else. When that is done it judges, and returns the report. Then it
// takes the operator away, and has all controllers look again. What they do then had been refused,
// although somebody who may had asked for it and nothing was withheld: that is an error. The report
// is nil where something failed before.
func (s *stage) rest(ctx context.Context) (*checker.Report, error) {
	sayf("alice parks what is hers")
	if err := s.parkAll(ctx); err != nil {
		return nil, err
	}
	sayf("alice has the last word")
	if err := s.lastWord(ctx); err != nil {
		return nil, err
	}
	if _, err := s.untilStill(ctx); err != nil {
		return nil, err
	}
	if err := s.oneThingMore(ctx); err != nil {
		return nil, err
	}
	if err := s.collected(ctx); err != nil {
		return nil, err
	}
	before, err := s.wake(ctx, "asked")
	if err != nil {
		return nil, err
	}
	evidence, err := s.collect(ctx)
	if err != nil {
		return nil, err
	}
	r, err := checker.Check(evidence)
	if err != nil {
		return nil, err
	}
	if err := s.askNobody(ctx); err != nil {
		return nil, err
	}
	after, err := s.wake(ctx, "free")
	if err != nil {
		return nil, err
	}
	sayf("%d children are at rest, and %d when nobody is asked", len(before), len(after))
	return r, held(before, after)
}

// final returns an act of alice's after all others, upon an object that is hers or upon none of these, and what it
// draws from.
func (s *stage) final(resource, name string) *performance {
	act := plan.Act{N: *acts + 1, Who: plan.Alice, Resource: resource, Seed: *seed}
	for _, r := range resource + name {
		act.Seed = act.Seed*31 + uint64(r)
	}
	return &performance{stage: s, Act: act, r: act.Rand(), who: s.people[plan.Alice]}
}

// parkAll has alice park all that is hers at the same time.
func (s *stage) parkAll(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	for _, resource := range plan.Parked {
		for _, name := range s.hers(resource) {
			group.Go(func() error {
				p, obj := s.final(resource, name), &unstructured.Unstructured{}
				obj.SetGroupVersionKind(kinds[resource])
				err := s.admin.Get(ctx, client.ObjectKey{Namespace: s.namespace, Name: name}, obj)
				if err != nil {
					return client.IgnoreNotFound(err)
				}
				p.obj = obj
				sayf("%s %s parked: %s", resource, name, outcome(p.park(ctx)))
				return nil
			})
		}
	}
	return group.Wait()
}

// oneThingMore has alice scale some of what is hers, by its scale, and roll some, when nothing is withheld
// of it any more: nothing else that she does makes up for what the operator lost of that.
func (s *stage) oneThingMore(ctx context.Context) error {
	for _, resource := range []string{"deployments", "statefulsets", "daemonsets", "things"} {
		list := listOf(resource)
		if err := s.admin.List(ctx, list, client.InNamespace(s.namespace)); err != nil {
			return err
		}
		for k := range list.Items {
			obj := &list.Items[k]
			if !slices.Contains(hers[resource], obj.GetName()) || obj.GetDeletionTimestamp() != nil {
				continue
			}
			p := s.final(resource, obj.GetName())
			p.obj = obj
			var err error
			switch n := p.r.IntN(3); {
			case n == 0:
			case n == 1 && slices.Contains(plan.Scaled, resource):
				err = p.rescale(ctx, 1+int32(p.r.IntN(4)))
			default:
				var want *unstructured.Unstructured
				if want, err = s.pristine(resource, obj.GetName(), *acts+2); err != nil {
					return err
				}
				before := obj.DeepCopy()
				p.roll(want)
				err = p.who.Patch(ctx, obj, client.MergeFrom(before))
			}
			if err := unlessInvalid(err, obj); err != nil {
				return err
			}
		}
	}
	return nil
}

// unlessInvalid returns an error that ends a campaign. That an object is gone is none, nor that the API server takes no
// write of it any more, as it is: a stranger may have left that behind, which the status takes and the object does not.
func unlessInvalid(err error, obj *unstructured.Unstructured) error {
	switch {
	case client.IgnoreNotFound(err) == nil:
		return nil
	case isInvalid(err):
		sayf("%s %s stays as it is, which the API server takes no more", obj.GetKind(), obj.GetName())
		return nil
	}
	return fmt.Errorf("%s %s: %w", obj.GetKind(), obj.GetName(), err)
}

// isInvalid reports whether the API server itself says that an object is invalid, and no webhook.
func isInvalid(err error) bool {
	return apierrors.IsInvalid(err) && !strings.Contains(err.Error(), "admission webhook")
}

// lastWord is what alice says in the end.
func (s *stage) lastWord(ctx context.Context) error {
	if err := s.admin.DeleteAllOf(ctx, &autoscalingv2.HorizontalPodAutoscaler{}, client.InNamespace(s.namespace)); err != nil {
		return err
	}
	alice := s.people[plan.Alice]
	for i, resource := range plan.Parents {
		list := listOf(resource)
		if err := s.admin.List(ctx, list, client.InNamespace(s.namespace)); err != nil {
			return err
		}
		for k := range list.Items {
			obj := &list.Items[k]
			at := slices.Index(hers[resource], obj.GetName())
			if at < 0 {
				continue
			}
			if (at+i)%2 == 1 || ended(obj) {
				if err := client.IgnoreNotFound(alice.Delete(ctx, obj, client.PropagationPolicy("Background"))); err != nil {
					return fmt.Errorf("%s %s: %w", resource, obj.GetName(), err)
				}
				continue
			}
			if err := s.wishOrDelete(ctx, resource, obj); err != nil {
				return fmt.Errorf("%s %s: %w", resource, obj.GetName(), err)
			}
		}
	}
	return nil
}

// collected waits until the garbage collector knows the kind of the Things. It looks for new kinds every
// half minute, and until then does not delete the children of a Thing that is gone.
func (s *stage) collected(ctx context.Context) error {
	thing := builders.MakeThing(thingGroup, metav1.NamespaceDefault, "collected")
	if err := s.admin.Create(ctx, thing); err != nil {
		return err
	}
	below := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
		Namespace: thing.GetNamespace(), Name: thing.GetName(),
		OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(thing, thing.GroupVersionKind())},
	}}
	if err := s.admin.Create(ctx, below); err != nil {
		return err
	}
	if err := s.admin.Delete(ctx, thing, client.PropagationPolicy(metav1.DeletePropagationBackground)); err != nil {
		return err
	}
	err := wait.PollUntilContextTimeout(ctx, time.Second, restless, true, func(ctx context.Context) (bool, error) {
		err := s.admin.Get(ctx, client.ObjectKeyFromObject(below), below)
		return apierrors.IsNotFound(err), client.IgnoreNotFound(err)
	})
	if err != nil {
		return fmt.Errorf("the garbage collector leaves ConfigMap %s/%s, of which the owner is gone: %w", below.Namespace, below.Name, err)
	}
	return nil
}

// wishOrDelete has alice wish for something new of an object, or delete it, where the API server takes no approval of it.
func (s *stage) wishOrDelete(ctx context.Context, resource string, obj *unstructured.Unstructured) error {
	err := s.wish(ctx, resource, obj.DeepCopy())
	if !isInvalid(err) {
		return err
	}
	sayf("%s %s goes, as the API server takes no approval of it", resource, obj.GetName())
	return client.IgnoreNotFound(s.people[plan.Alice].Delete(ctx, obj, client.PropagationPolicy("Background")))
}

// wish has alice wish for something new of an object, or leave it as it is, and approve of all the rest.
func (s *stage) wish(ctx context.Context, resource string, obj *unstructured.Unstructured) error {
	want, err := s.pristine(resource, obj.GetName(), *acts+1)
	if err != nil {
		return err
	}
	before := obj.DeepCopy()
	p := s.final(resource, obj.GetName())
	p.obj = obj
	spec := obj.DeepCopy().Object["spec"]
	p.restore(want)
	keeps := obj.GetName() == hasty || slices.Contains([]string{"deployments", "statefulsets", "daemonsets"}, resource)
	if keeps && p.r.IntN(2) == 0 {
		// What a stranger wrote into a Thing below hers, only a change of hers lets be put back.
		obj.Object["spec"] = spec
	}
	switch resource {
	case "jobs":
		maps.Copy(asMap(obj.Object["spec"]), map[string]any{"suspend": false, "parallelism": int64(2)})
	case "cronjobs":
		asMap(obj.Object["spec"])["suspend"] = true
	}
	annotate(obj, ownKey(obj, "approve"), "*")
	return client.IgnoreNotFound(s.people[plan.Alice].Patch(ctx, obj, client.MergeFrom(before)))
}

// wake waits until nothing happens, gives every controller a reason to look again, as some wait
// ever longer after each refusal, and returns what is there at rest.
func (s *stage) wake(ctx context.Context, word string) (children, error) {
	if _, err := s.untilStill(ctx); err != nil {
		return nil, err
	}
	for _, resource := range append(slices.Clone(plan.Parents), "replicasets") {
		list := listOf(resource)
		if err := s.admin.List(ctx, list, client.InNamespace(s.namespace)); err != nil {
			return nil, err
		}
		for i := range list.Items {
			patch := merge(`{"metadata":{"annotations":{"` + look + `":"` + word + `"}}}`)
			if err := unlessInvalid(s.admin.Patch(ctx, &list.Items[i], patch), &list.Items[i]); err != nil {
				return nil, err
			}
		}
	}
	return s.untilStill(ctx)
}

// askNobody ends the operator and all that has the API server ask it.
func (s *stage) askNobody(ctx context.Context) error {
	if err := s.operator.Stop(); err != nil {
		return err
	}
	// There are no others.
	return errors.Join(
		s.admin.DeleteAllOf(ctx, &admissionregistrationv1.ValidatingWebhookConfiguration{}),
		s.admin.DeleteAllOf(ctx, &admissionregistrationv1.MutatingWebhookConfiguration{}),
	)
}

// children are what children look like, by UID.
type children map[string]child

type child struct {
	name, content string
	// parent is what controls it, by kind and name, and owner is the UID of that.
	parent, owner string
}

// untilStill waits until nothing changes, and returns what is there.
func (s *stage) untilStill(ctx context.Context) (children, error) {
	var last children
	var since time.Time
	err := wait.PollUntilContextTimeout(ctx, time.Second, restless, true, func(ctx context.Context) (bool, error) {
		now, err := s.children(ctx)
		if err != nil {
			return false, err
		}
		if !maps.Equal(last, now) {
			last, since = now, time.Now()
		}
		return time.Since(since) > still, nil
	})
	if err != nil {
		return nil, fmt.Errorf("it does not come to rest: %w", err)
	}
	return last, nil
}

// children returns what is there, and takes finalizers of strangers from what goes.
func (s *stage) children(ctx context.Context) (children, error) {
	out := children{}
	below := append(slices.Clone(plan.Children), "things")
	all := slices.Concat(plan.Parents, below)
	slices.Sort(all)
	for _, resource := range slices.Compact(all) {
		list := listOf(resource)
		if err := s.admin.List(ctx, list, client.InNamespace(s.namespace)); err != nil {
			return nil, err
		}
		for i := range list.Items {
			obj := &list.Items[i]
			s.letGo(ctx, obj)
			if !slices.Contains(below, resource) {
				continue // What goes would have things withheld for as long as a stranger keeps it.
			}
			made, err := childOf(resource, obj)
			if err != nil {
				return nil, err
			}
			out[string(obj.GetUID())] = made
		}
	}
	return out, nil
}

func childOf(resource string, obj *unstructured.Unstructured) (child, error) {
	parent, owner := "", ""
	for _, o := range obj.GetOwnerReferences() {
		if o.Controller != nil && *o.Controller {
			parent, owner = o.Kind+" "+o.Name, string(o.UID)
		}
	}
	content, err := json.Marshal([]any{
		obj.Object["spec"], obj.Object["data"], obj.Object["revision"], obj.GetLabels(), obj.GetOwnerReferences(), obj.GetDeletionTimestamp() != nil,
	})
	return child{name: resource + " " + obj.GetName(), content: string(content), parent: parent, owner: owner}, err
}

// isOrphan reports whether the object with a UID is a Thing whose parent Thing is gone. Nobody changes it any
// more, and the garbage collector leaves it if a stranger has added an owner that cannot be found.
func (all children) isOrphan(uid string) bool {
	c, there := all[uid]
	if !there || !strings.HasPrefix(c.parent, "Thing ") {
		return false
	}
	_, there = all[c.owner]
	return !there
}

// held returns an error where something had been refused.
func held(before, after children) error {
	var all []string
	note := func(what string, c child) {
		if c.parent != "" && !strings.Contains(c.parent, " zq") && !before.isOrphan(c.owner) {
			all = append(all, fmt.Sprintf("%s %s, below %s", c.name, what, c.parent))
		}
	}
	for uid, c := range before {
		switch now, there := after[uid]; {
		case !there:
			note("went", c)
		case now != c:
			note("changed", c)
		}
	}
	for uid, c := range after {
		if _, there := before[uid]; !there {
			note("came", c)
		}
	}
	if len(all) == 0 {
		return nil
	}
	slices.Sort(all)
	return fmt.Errorf("%d children were held back, although alice had asked for them and nothing was withheld:\n  %s", len(all), strings.Join(all, "\n  "))
}
