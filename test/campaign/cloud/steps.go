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
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/test/campaign/cloud/plan"
	"kausality.io/operator/test/crossplane/cloud"
	"kausality.io/operator/test/crossplane/provider/apis/instance"
)

// outlasting is longer than the provider waits for the cloud.
const outlasting = 2500 * time.Millisecond

// perform does what a step is about, and returns when what it has approved is there.
func (d *database) perform(ctx context.Context, s plan.Step) error {
	act, ok := map[plan.Action]func(context.Context, plan.Step) error{
		plan.Resize:          d.resize,
		plan.Hurry:           d.hurry,
		plan.Overtake:        d.overtake,
		plan.Return:          d.comeBack,
		plan.Fail:            d.fail,
		plan.Outlast:         d.outlast,
		plan.Resync:          d.resync,
		plan.Replace:         d.replace,
		plan.Withhold:        d.withhold,
		plan.Override:        d.override,
		plan.Approve:         d.approve,
		plan.Intrude:         d.intrude,
		plan.TamperComposite: d.tamperComposite,
		plan.TamperInstance:  d.tamperInstance,
		plan.TamperGate:      d.tamperGate,
		plan.DeleteInstance:  d.deleteInstance,
		plan.Drift:           d.drift,
	}[s.Action]
	if !ok {
		return fmt.Errorf("nobody knows how to %s", s.Action)
	}
	return act(ctx, s)
}

func (d *database) resize(ctx context.Context, s plan.Step) error {
	if err := d.approved(ctx, s.Sizes[0]); err != nil {
		return err
	}
	return d.settled(ctx)
}

func (d *database) hurry(ctx context.Context, s plan.Step) error {
	if err := d.approved(ctx, s.Sizes[0]); err != nil {
		return err
	}
	return d.resizeTo(ctx, s.Sizes[1])
}

func (d *database) resizeTo(ctx context.Context, size string) error {
	if err := d.approved(ctx, size); err != nil {
		return err
	}
	return d.settled(ctx)
}

func (d *database) overtake(ctx context.Context, s plan.Step) error {
	if err := d.atWork(ctx, s.Sizes[0], s.Delay); err != nil {
		return err
	}
	return d.resizeTo(ctx, s.Sizes[1])
}

func (d *database) comeBack(ctx context.Context, s plan.Step) error {
	before := d.size
	if err := d.approved(ctx, s.Sizes[0]); err != nil {
		return err
	}
	return d.resizeTo(ctx, before)
}

// atWork has the cloud at work on an approved change. A provider that is away does not
// get it there.
func (d *database) atWork(ctx context.Context, size string, delay time.Duration) error {
	if err := d.fault(ctx, cloud.Fault{Verb: cloud.Update, Times: 1, Delay: cloud.Duration(delay)}); err != nil {
		return err
	}
	if err := d.approved(ctx, size); err != nil {
		return err
	}
	return d.until(ctx, func(ctx context.Context) error {
		if err := d.seen.Get(ctx, client.ObjectKeyFromObject(d.instance), d.instance); err != nil {
			return err
		}
		if asked, _, _ := unstructured.NestedString(d.instance.Object, "spec", "forProvider", "instanceClass"); asked != size {
			return errors.New("the change has not reached the managed resource")
		}
		return nil
	})
}

func (d *database) fail(ctx context.Context, s plan.Step) error {
	f := cloud.Fault{Verb: cloud.Update, Times: 1, Delay: cloud.Duration(s.Delay), Outcome: cloud.Refused}
	if s.Partial && waits(d.Traits) {
		f.Outcome = cloud.Partial
	}
	if err := d.fault(ctx, f); err != nil {
		return err
	}
	return d.resize(ctx, s)
}

func (d *database) outlast(ctx context.Context, s plan.Step) error {
	f := cloud.Fault{Verb: cloud.Update, Times: 1, Delay: cloud.Duration(outlasting + s.Delay)}
	if err := d.fault(ctx, f); err != nil {
		return err
	}
	return d.resize(ctx, s)
}

func (d *database) resync(ctx context.Context, s plan.Step) error {
	text := fmt.Sprintf(`{"metadata":{"annotations":{"example.org/seen":%q}}}`, s.Sizes[0])
	for _, object := range []*unstructured.Unstructured{d.root, d.composite, d.instance} {
		if err := d.patch(ctx, d.alice, object, text); err != nil {
			return err
		}
	}
	return nil
}

// trespass has a stranger ask for a size, and returns when Crossplane has been refused
// it, and a while has passed.
func (d *database) trespass(ctx context.Context, size string, while time.Duration) error {
	if err := d.ask(ctx, d.mallory, size); err != nil {
		return err
	}
	err := d.until(ctx, func(ctx context.Context) error {
		if err := d.seen.Get(ctx, client.ObjectKeyFromObject(d.root), d.root); err != nil {
			return err
		}
		if d.root.GetAnnotations()[v1alpha1.ConditionBlocked] == "" {
			return errors.New("nobody has been refused what a stranger asked for")
		}
		return nil
	})
	if err != nil {
		return err
	}
	return pause(ctx, while)
}

// end has what a stranger asked for taken back, or approved with -approve.
func (d *database) end(ctx context.Context, size string) error {
	if *approve {
		return d.approvedOf(ctx, size)
	}
	return d.ask(ctx, d.mallory, d.size)
}

// approvedOf has an initiator approve of what a stranger asked for, and returns when
// that is there.
func (d *database) approvedOf(ctx context.Context, size string) error {
	text := fmt.Sprintf(`{"metadata":{"annotations":{%q:"spec.size"}}}`, v1alpha1.AnnotationApprove)
	if err := d.patch(ctx, d.alice, d.root, text); err != nil {
		return err
	}
	d.size = size
	return d.settled(ctx)
}

func (d *database) withhold(ctx context.Context, s plan.Step) error {
	if err := d.trespass(ctx, s.Sizes[0], s.Delay); err != nil {
		return err
	}
	return d.end(ctx, s.Sizes[0])
}

func (d *database) override(ctx context.Context, s plan.Step) error {
	if err := d.trespass(ctx, s.Sizes[0], s.Delay); err != nil {
		return err
	}
	if *approve {
		if err := d.approvedOf(ctx, s.Sizes[0]); err != nil {
			return err
		}
	}
	return d.resizeTo(ctx, s.Sizes[1])
}

func (d *database) approve(ctx context.Context, s plan.Step) error {
	if err := d.trespass(ctx, s.Sizes[0], s.Delay); err != nil {
		return err
	}
	return d.approvedOf(ctx, s.Sizes[0])
}

func (d *database) intrude(ctx context.Context, s plan.Step) error {
	if err := d.atWork(ctx, s.Sizes[0], s.Delay); err != nil {
		return err
	}
	if err := d.trespass(ctx, s.Sizes[1], s.Delay); err != nil {
		return err
	}
	if err := d.end(ctx, s.Sizes[1]); err != nil {
		return err
	}
	return d.settled(ctx)
}

func (d *database) tamperComposite(ctx context.Context, s plan.Step) error {
	if !d.Claim {
		return d.withhold(ctx, s)
	}
	return d.try(ctx, d.composite, fmt.Sprintf(`{"spec":{"size":%q}}`, s.Sizes[0]))
}

// try has a stranger change what is none of the stranger's business.
func (d *database) try(ctx context.Context, object *unstructured.Unstructured, text string) error {
	return refused(d.patch(ctx, d.mallory, object, text))
}

func (d *database) tamperInstance(ctx context.Context, s plan.Step) error {
	return d.try(ctx, d.instance, fmt.Sprintf(`{"spec":{"forProvider":{"instanceClass":%q}}}`, s.Sizes[0]))
}

func (d *database) tamperGate(ctx context.Context, _ plan.Step) error {
	for _, text := range []string{
		`{"spec":{"managementPolicies":["*"]}}`,
		`{"spec":{"managementPolicies":[]}}`,
		`{"spec":{"managementPolicies":null}}`,
		`{"metadata":{"annotations":{"kausality.io/allowances":"[{\"relation\":\"External\",\"mutations\":[\"*\"],\"initiator\":\"alice\"}]"}}}`,
		`{"metadata":{"annotations":{"kausality.io/gate-content":null,"kausality.io/gate-ceiling":"[\"*\"]"}}}`,
	} {
		if err := d.try(ctx, d.instance, text); err != nil {
			return err
		}
	}
	return nil
}

func (d *database) deleteInstance(ctx context.Context, _ plan.Step) error {
	return refused(persist(ctx, func(ctx context.Context) error { return d.mallory.Delete(ctx, d.instance.DeepCopy()) }))
}

func (d *database) drift(ctx context.Context, s plan.Step) error {
	err := d.cloud.Drift(ctx, d.instance.GetName(), cloud.Parameters{"instanceClass": s.Sizes[0]})
	if errors.Is(err, cloud.ErrNotFound) {
		return nil
	}
	return err
}

// replace deletes the database and creates another one in its place.
func (d *database) replace(ctx context.Context, s plan.Step) error {
	how := metav1.DeletePropagationBackground
	if s.Foreground {
		how = metav1.DeletePropagationForeground
	}
	err := persist(ctx, func(ctx context.Context) error {
		return client.IgnoreNotFound(d.alice.Delete(ctx, d.root.DeepCopy(), client.PropagationPolicy(how)))
	})
	if err != nil {
		return fmt.Errorf("deleting %s: %w", d.root.GetName(), err)
	}
	// Whatever becomes of it, what comes after happens to another one.
	return errors.Join(d.vanish(ctx), d.create(ctx, s.Sizes[0]))
}

// vanish returns when the database is gone with all that it consists of.
func (d *database) vanish(ctx context.Context) error {
	if !d.Goes {
		if err := d.letGo(ctx); err != nil {
			return err
		}
	}
	for _, object := range []*unstructured.Unstructured{d.instance, d.composite, d.root} {
		if err := d.until(ctx, gone(d.seen, object)); err != nil {
			return err
		}
	}
	return nil
}

// letGo waits until the deletion of the instance is held back, and ends that.
func (d *database) letGo(ctx context.Context) error {
	err := d.until(ctx, func(ctx context.Context) error {
		if err := d.seen.Get(ctx, client.ObjectKeyFromObject(d.instance), d.instance); err != nil {
			return err
		}
		if d.instance.GetDeletionTimestamp() == nil || d.instance.GetAnnotations()[v1alpha1.AnnotationGateHeld] == "" {
			return errors.New("its deletion is not held back")
		}
		return nil
	})
	if err != nil {
		return err
	}
	text := fmt.Sprintf(`{"metadata":{"annotations":{%q:"true"}}}`, v1alpha1.AnnotationOrphan)
	return persist(ctx, func(ctx context.Context) error {
		return client.IgnoreNotFound(d.alice.Patch(ctx, d.instance.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(text))))
	})
}

// gone returns nil when an object is gone.
func gone(c client.Reader, object *unstructured.Unstructured) func(context.Context) error {
	return func(ctx context.Context) error {
		err := c.Get(ctx, client.ObjectKeyFromObject(object), object.DeepCopy())
		if err == nil {
			return fmt.Errorf("%s %s is there", object.GetKind(), object.GetName())
		}
		if apierrors.IsNotFound(err) {
			return nil
		}
		return err
	}
}

// pause lets a while pass, in which others act.
func pause(ctx context.Context, while time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(while):
		return nil
	}
}

// waits reports whether a provider waits for the cloud. One that does not reports for
// ever that its last operation has failed where half of it was enough.
func waits(traits []instance.Trait) bool {
	return !slices.ContainsFunc(traits, func(t instance.Trait) bool {
		return t == instance.Async || t == instance.AsyncLate || t == instance.AsyncSilent
	})
}
