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
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/test/campaign/audit"
	"kausality.io/operator/test/campaign/stranger/draw"
	"kausality.io/operator/test/campaign/stranger/plan"
)

// crossOver takes a Thing out of the policies by its label, or has it come back, often with something of its content in the same
// request, and where it is alice with an approval of all that is there.
func (p *performance) crossOver() {
	labels := p.obj.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	if _, ok := labels[free]; ok {
		delete(labels, free)
	} else {
		labels[free] = "yes"
	}
	p.obj.SetLabels(labels)
	n := p.r.IntN(3)
	if n > 0 {
		draw.Set(p.obj.Object, draw.Path("spec.config"), p.text())
	}
	if n > 1 && p.Who == plan.Alice {
		annotate(p.obj, ownKey(p.obj, "approve"), "*")
	}
}

// reachDown has bob change his field of a Thing of alice's, and then, by what that allows, something that is not his of the
// Thing below it.
func (p *performance) reachDown(ctx context.Context) (string, error) {
	list := listOf(p.Resource)
	if err := p.admin.List(ctx, list, client.InNamespace(p.namespace)); err != nil {
		return "", err
	}
	lower := slices.DeleteFunc(list.Items, func(o unstructured.Unstructured) bool { return !strings.HasSuffix(o.GetName(), below) })
	if len(lower) == 0 {
		return "", errNothing
	}
	p.obj = &lower[p.r.IntN(len(lower))]
	p.obj.SetGroupVersionKind(kinds[p.Resource])
	upper := &unstructured.Unstructured{}
	upper.SetGroupVersionKind(kinds[p.Resource])
	if err := p.admin.Get(ctx, client.ObjectKey{Namespace: p.namespace, Name: strings.TrimSuffix(p.obj.GetName(), below)}, upper); err != nil {
		return p.obj.GetName(), err
	}
	before := upper.DeepCopy()
	options := draw.Path("spec.items.0.options")
	force, _ := asMap(audit.ValueAt(upper.Object, options...))["force"].(bool)
	if !draw.Set(upper.Object, options, map[string]any{"force": !force}) {
		return p.obj.GetName(), errNothing
	}
	if err := p.who.Patch(ctx, upper, client.MergeFrom(before)); err != nil {
		return p.obj.GetName(), err
	}
	before = p.obj.DeepCopy()
	draw.Set(p.obj.Object, draw.Path("spec.config"), p.text())
	return p.obj.GetName() + " spec.config", p.who.Patch(ctx, p.obj, client.MergeFrom(before))
}
