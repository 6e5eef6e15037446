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
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/test/campaign/stranger/draw"
	"kausality.io/operator/test/campaign/stranger/plan"
)

// parking is a way to have nothing left to do for an object, whatever else is changed of it.
type parking struct {
	path   string
	parked any
}

// parkings are those of each resource.
var parkings = map[string][]parking{
	"deployments":  {{"spec.replicas", int64(0)}, {"spec.replicas", int64(0)}, {"spec.paused", true}},
	"statefulsets": {{"spec.replicas", int64(0)}, {"spec.updateStrategy", map[string]any{"type": "RollingUpdate", "rollingUpdate": map[string]any{"partition": int64(10)}}}},
	"daemonsets":   {{"spec.updateStrategy", map[string]any{"type": "OnDelete"}}, {"spec.template.spec.nodeSelector", map[string]any{"parked": "true"}}},
	"jobs":         {{"spec.suspend", true}},
	"cronjobs":     {{"spec.suspend", true}},
}

// running is what lets an object go on, by the field.
func (p *performance) running(path string) any {
	switch path {
	case "spec.replicas":
		return int64(1 + p.r.IntN(3))
	case "spec.updateStrategy":
		return map[string]any{"type": "RollingUpdate"}
	case "spec.template.spec.nodeSelector":
		return nil
	default:
		return false
	}
}

// park has alice park an object, has mallory change it while there is nothing to do, or just before, and lets it
// go on, or also roll. Of what mallory did she approves nothing.
func (p *performance) park(ctx context.Context) error {
	if p.Resource == "daemonsets" && p.r.IntN(3) == 0 {
		return p.surge(ctx)
	}
	ways := parkings[p.Resource]
	way := ways[p.r.IntN(len(ways))]
	before := p.r.IntN(3) == 0
	var errs []error
	if before {
		errs = append(errs, p.disturb(ctx, 1))
	}
	if err := p.set(ctx, way.path, runtime.DeepCopyJSONValue(way.parked)); err != nil {
		return err
	}
	p.dawdle(ctx, 2*time.Second)
	if !before || p.r.IntN(2) == 0 {
		errs = append(errs, p.disturb(ctx, 1+p.r.IntN(2)), p.meddle(ctx))
	}
	if p.r.IntN(3) == 0 {
		// What she wishes for waits until she lets it go on.
		errs = append(errs, p.rollOn(ctx))
		p.dawdle(ctx, 8*time.Second)
	}
	errs = append(errs, p.set(ctx, way.path, p.running(way.path)))
	if p.r.IntN(2) == 0 {
		errs = append(errs, p.rollOn(ctx))
	}
	return errors.Join(errs...)
}

// rollOn has alice write an image of hers into the object as it is there.
func (p *performance) rollOn(ctx context.Context) error {
	want, err := p.pristine(p.Resource, p.obj.GetName(), p.N)
	if err != nil {
		return err
	}
	if err := p.admin.Get(ctx, client.ObjectKeyFromObject(p.obj), p.obj); err != nil {
		return err
	}
	before := p.obj.DeepCopy()
	if p.Resource == "jobs" || !p.roll(want) {
		return nil // It has no other image.
	}
	return p.who.Patch(ctx, p.obj, client.MergeFrom(before))
}

// surging has Pods of a DaemonSet made beside those in whose place they are to come.
const surging = `{"spec":{"updateStrategy":{"type":"RollingUpdate","rollingUpdate":{"maxSurge":1,"maxUnavailable":0}}}}`

// surge has mallory want Pods beside those in whose place they come, and alice roll.
func (p *performance) surge(ctx context.Context) error {
	if err := p.people[plan.Mallory].Patch(ctx, p.obj.DeepCopy(), merge(surging)); err != nil {
		return err
	}
	p.dawdle(ctx, 3*time.Second)
	return p.rollOn(ctx)
}

// disturb has mallory change the object some times.
func (p *performance) disturb(ctx context.Context, times int) error {
	var errs []error
	for range times {
		what := []plan.What{plan.Steer, plan.Steer, plan.Merge, plan.Status}[p.r.IntN(4)]
		if p.Resource == "deployments" && p.r.IntN(2) == 0 {
			what = plan.Undo
		}
		stranger := &performance{stage: p.stage, Act: plan.Act{N: p.N, Who: plan.Mallory, What: what, Resource: p.Resource}, r: p.r, who: p.people[plan.Mallory], obj: p.obj.DeepCopy()}
		if err := p.admin.Get(ctx, client.ObjectKeyFromObject(p.obj), stranger.obj); err != nil {
			return err
		}
		if _, err := stranger.write(ctx); err != nil {
			errs = append(errs, err)
		}
		p.dawdle(ctx, 3*time.Second) // Long enough for a report of it.
	}
	return errors.Join(errs...)
}

// dawdle waits for some time up to a limit.
func (p *performance) dawdle(ctx context.Context, limit time.Duration) {
	pause(ctx, time.Duration(p.r.Int64N(int64(limit))))
}

// set writes one field of the object as it is there; a number of replicas also as its scale.
func (p *performance) set(ctx context.Context, path string, value any) error {
	if n, ok := value.(int64); ok && path == "spec.replicas" && p.r.IntN(2) == 0 {
		return p.rescale(ctx, int32(n))
	}
	if err := p.admin.Get(ctx, client.ObjectKeyFromObject(p.obj), p.obj); err != nil {
		return err
	}
	before := p.obj.DeepCopy()
	if !draw.Set(p.obj.Object, draw.Path(path), value) {
		return errNothing
	}
	return p.who.Patch(ctx, p.obj, client.MergeFrom(before))
}

// approve approves of all of an object, of its owners, or of one thing that is withheld of it, as it was
// looked at or whatever it is now.
func (p *performance) approve(ctx context.Context, obj *unstructured.Unstructured) error {
	text, key := "*", ownKey(obj, "approve")
	withheld, _ := ledgerOf(obj)
	switch n := p.r.IntN(6); {
	case n > 4 && len(withheld) > 1:
		// Of several there are two of which she approves at once.
		i := p.r.IntN(len(withheld) - 1)
		text = withheld[i].Mutation + "," + withheld[i+1].Mutation
	case n > 2 && len(withheld) > 0:
		one := withheld[p.r.IntN(len(withheld))]
		if text = one.Mutation; n == 3 && one.Content != "" {
			text += "@" + one.Content
		}
	case n == 1:
		text = []string{"spec", "spec.template", "spec.replicas"}[p.r.IntN(3)]
	case n == 2 && len(obj.GetOwnerReferences()) > 0:
		text = "metadata.ownerReferences"
	}
	return p.setApprove(ctx, obj, key, text)
}

func (p *performance) setApprove(ctx context.Context, obj *unstructured.Unstructured, key, text string) error {
	return p.who.Patch(ctx, obj, merge(fmt.Sprintf(`{"metadata":{"annotations":{%s:%s}}}`, strconv.Quote(key), strconv.Quote(text))))
}

// ledgerOf returns what the ledger of an object withholds, and what it allows.
func ledgerOf(obj *unstructured.Unstructured) (withheld, allowed []v1alpha1.Allowance) {
	var entries []v1alpha1.Allowance
	if json.Unmarshal([]byte(obj.GetAnnotations()[ownKey(obj, "allowances")]), &entries) != nil {
		return nil, nil
	}
	for i := range entries {
		if entries[i].Relation == v1alpha1.RelationWithheld {
			withheld = append(withheld, entries[i])
		} else {
			allowed = append(allowed, entries[i])
		}
	}
	return withheld, allowed
}
