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
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/test/campaign/stranger/plan"
)

// autoscale makes an autoscaler, or changes one that is there, by either version.
func (p *performance) autoscale(ctx context.Context) error {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(schema.GroupVersionKind{Group: "autoscaling", Version: p.scalerVersion(), Kind: "HorizontalPodAutoscalerList"})
	if err := p.admin.List(ctx, list, client.InNamespace(p.namespace)); err != nil {
		return err
	}
	if len(list.Items) == 0 || p.r.IntN(2) == 0 {
		hpa := p.scaler()
		p.aim(hpa)
		return p.who.Create(ctx, hpa)
	}
	hpa := &list.Items[p.r.IntN(len(list.Items))]
	before := hpa.DeepCopy()
	switch n := p.r.IntN(4); {
	case n == 0 && p.Who == plan.Alice, n == 0 && strings.HasPrefix(hpa.GetName(), "zq"):
		return p.who.Delete(ctx, hpa)
	case n < 2:
		p.aim(hpa)
	default:
		spec := asMap(hpa.Object["spec"])
		spec["minReplicas"] = int64(1 + p.r.IntN(4))
		spec["maxReplicas"] = int64(4 + p.r.IntN(3))
	}
	return p.who.Patch(ctx, hpa, client.MergeFrom(before))
}

// scaler returns an autoscaler of whoever acts, which scales nothing yet.
func (p *performance) scaler() *unstructured.Unstructured {
	hpa := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"minReplicas": int64(1 + p.r.IntN(4)), "maxReplicas": int64(6)}}}
	hpa.SetGroupVersionKind(schema.GroupVersionKind{Group: "autoscaling", Version: p.scalerVersion(), Kind: "HorizontalPodAutoscaler"})
	hpa.SetNamespace(p.namespace)
	hpa.SetName(p.mark().Text())
	if p.Who == plan.Alice {
		hpa.SetName(fmt.Sprintf("alice-%d", p.N))
	}
	return hpa
}

// autoscalerOf makes an autoscaler for an object.
func (p *performance) autoscalerOf(ctx context.Context, obj *unstructured.Unstructured) error {
	hpa := p.scaler()
	asMap(hpa.Object["spec"])["scaleTargetRef"] = map[string]any{"apiVersion": "apps/v1", "kind": obj.GetKind(), "name": obj.GetName()}
	return p.who.Create(ctx, hpa)
}

func (p *performance) scalerVersion() string { return []string{"v1", "v2"}[p.r.IntN(2)] }

// aim has an autoscaler scale what is of the act's resource. The kind may be in lower case, as
// autoscalers go, and what it names may not be there.
func (p *performance) aim(hpa *unstructured.Unstructured) {
	resource := p.Resource
	if !slices.Contains(plan.Scaled, resource) {
		resource = plan.Scaled[0]
	}
	kind, names := kinds[resource].Kind, slices.Clone(hers[resource])
	if p.r.IntN(3) == 0 {
		kind = strings.ToLower(kind)
	}
	if p.Who != plan.Alice {
		names = append(names, "later")
	}
	asMap(hpa.Object["spec"])["scaleTargetRef"] = map[string]any{"apiVersion": "apps/v1", "kind": kind, "name": names[p.r.IntN(len(names))]}
}
