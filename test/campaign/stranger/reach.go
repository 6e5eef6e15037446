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

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/test/campaign/audit"
	"kausality.io/operator/test/campaign/stranger/draw"
	"kausality.io/operator/test/campaign/stranger/plan"
)

// reach has alice delete what is below hers, or change it.
func (p *performance) reach(ctx context.Context) error {
	switch n := p.r.IntN(8); {
	case n < 2:
		return p.another(ctx, p.who)
	case n == 2:
		// What its parent selects no more it lets go of.
		return p.who.Patch(ctx, p.obj, merge(fmt.Sprintf(`{"metadata":{"labels":{"app":%q}}}`, p.text())))
	case n > 3:
		err := p.who.Delete(ctx, p.obj)
		if err == nil && p.r.IntN(4) == 0 {
			err = p.another(ctx, p.who) // In the place of what she has taken out.
		}
		return err
	}
	before := p.obj.DeepCopy()
	if !p.steer() {
		return errNothing
	}
	return p.who.Patch(ctx, p.obj, client.MergeFrom(before))
}

// siblings are fields side by side of which mallory changes two.
var siblings = map[string][]string{
	"template": {"image", "command", "workingDir", "terminationMessagePath"},
	"spec":     {"replicas", "minReadySeconds"},
}

// pick has mallory change two fields of an object that are side by side, and alice approve of one that is withheld then.
func (p *performance) pick(ctx context.Context) error {
	found := p.obj.DeepCopy()
	if err := p.stranger().changeTwo(ctx); err != nil {
		return err
	}
	p.dawdle(ctx, poll)
	if err := p.admin.Get(ctx, client.ObjectKeyFromObject(p.obj), p.obj); err != nil {
		return err
	}
	withheld, _ := ledgerOf(p.obj)
	if len(withheld) == 0 {
		return errNothing
	}
	one := withheld[p.r.IntN(len(withheld))]
	if p.r.IntN(3) == 0 {
		return p.putBack(ctx, found, one.Mutation)
	}
	if len(withheld) > 1 && p.r.IntN(3) == 0 {
		return p.setApprove(ctx, p.obj, ownKey(p.obj, "approve"), withheld[0].Mutation+","+withheld[1].Mutation)
	}
	field := one.Mutation
	if p.r.IntN(3) == 0 {
		field = above(field)
	}
	err := p.setApprove(ctx, p.obj, ownKey(p.obj, "approve"), field)
	if p.r.IntN(2) == 0 {
		err = errors.Join(err, p.rollOn(ctx))
	}
	return err
}

// putBack has mallory put one of the fields back that she has changed, to what an earlier version has there.
func (p *performance) putBack(ctx context.Context, found *unstructured.Unstructured, field string) error {
	before, path := p.obj.DeepCopy(), draw.Path(strings.NewReplacer("[", ".", "]", "").Replace(field))
	was := audit.ValueAt(found.Object, path...)
	if was == nil && !draw.Drop(p.obj.Object, path) || was != nil && !draw.Set(p.obj.Object, path, was) {
		return errNothing
	}
	return p.people[plan.Mallory].Patch(ctx, p.obj, client.MergeFrom(before))
}

// changeTwo changes two fields side by side, mostly of a container.
func (p *performance) changeTwo(ctx context.Context) error {
	before, text := p.obj.DeepCopy(), p.text()
	if p.Resource != "daemonsets" && p.r.IntN(4) == 0 {
		for _, field := range siblings["spec"] {
			draw.Set(p.obj.Object, draw.Path("spec."+field), int64(1+p.r.IntN(3)))
		}
		return p.who.Patch(ctx, p.obj, client.MergeFrom(before))
	}
	values := map[string]any{"image": text + ":1", "command": []any{text}, "workingDir": "/" + text, "terminationMessagePath": "/" + text}
	all := siblings["template"]
	for _, i := range p.r.Perm(len(all))[:2] {
		if !draw.Set(p.obj.Object, draw.Path("spec.template.spec.containers.0."+all[i]), values[all[i]]) {
			return errNothing
		}
	}
	return p.who.Patch(ctx, p.obj, client.MergeFrom(before))
}

// thin has a controller gone wrong delete a child, or add to it, while the ledger of its parent lets others be made, and none end;
// where none does for some time, while it allows anything, and otherwise it makes nothing of it.
func (p *performance) thin(ctx context.Context) (string, error) {
	const tries = 24
	for n := range tries {
		if err := p.find(ctx); err != nil {
			return "", err
		}
		if p.isBusy(ctx, n > tries/2 || p.Resource == "configmaps") {
			return p.obj.GetName(), p.abuse(ctx)
		}
		pause(ctx, poll)
	}
	return "", errNothing
}

// abuse deletes a child, or adds something to it which may only be changed.
func (p *performance) abuse(ctx context.Context) error {
	if p.Resource == "configmaps" && p.r.IntN(4) > 0 {
		text := p.text()
		return p.who.Patch(ctx, p.obj, merge(fmt.Sprintf(`{"data":{%q:%q}}`, text, text)))
	}
	return p.who.Delete(ctx, p.obj)
}

// isBusy reports whether what controls the object has allowances to make others, or any, and the object is to stay.
func (p *performance) isBusy(ctx context.Context, anyOfThem bool) bool {
	replicas, scaled, _ := unstructured.NestedInt64(p.obj.Object, "spec", "replicas")
	if p.obj.GetDeletionTimestamp() != nil || scaled && replicas == 0 {
		return false
	}
	for _, owner := range p.obj.GetOwnerReferences() {
		parent := &unstructured.Unstructured{}
		parent.SetAPIVersion(owner.APIVersion)
		parent.SetKind(owner.Kind)
		if owner.Controller == nil || !*owner.Controller || p.admin.Get(ctx, client.ObjectKey{Namespace: p.namespace, Name: owner.Name}, parent) != nil {
			continue
		}
		withheld, allowed := ledgerOf(parent)
		allows := func(mutation string) bool {
			return slices.ContainsFunc(allowed, func(a v1alpha1.Allowance) bool { return a.Mutation == mutation })
		}
		if len(withheld) == 0 && allows(v1alpha1.MutationCreateObject) && !allows(v1alpha1.MutationDeleteObject) || anyOfThem && len(allowed) > 0 {
			return true
		}
	}
	return false
}
