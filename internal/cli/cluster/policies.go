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

package cluster

import (
	"context"
	"fmt"
	"slices"
	"strings"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/discovery"
	"kausality.io/operator/internal/knowledge"
	"kausality.io/operator/internal/policy"
)

// Policies are the AllowancePolicies of the cluster.
type Policies struct {
	*policy.Index

	// Objects are the policies as they are stored, by name.
	Objects map[string]*v1alpha1.AllowancePolicy
	// Idle are the policies by which the operator judges nothing. The index leaves them out.
	Idle []Idle
	// Off is there while everything is switched off; the index has the policies that count otherwise.
	Off *Off
}

// Policies reads and compiles the AllowancePolicies. As in the operator, what is
// wrong in one of them is left out. So is all of a policy that clashes with others, that is for a kind which is
// not served, or by which the operator judges nothing, as its status says.
func (c *Cluster) Policies(ctx context.Context) (Policies, error) {
	var list v1alpha1.AllowancePolicyList
	if err := c.List(ctx, &list); err != nil {
		return Policies{}, fmt.Errorf("reading the AllowancePolicies: %w", err)
	}
	out := Policies{Objects: map[string]*v1alpha1.AllowancePolicy{}}
	compiled := make([]*policy.Policy, 0, len(list.Items))
	ranks := map[*policy.Policy]policy.Rank{}
	for i := range list.Items {
		p, _ := policy.Compile(&list.Items[i], c.KindOf)
		p.Categorize(c.Categories)
		compiled = append(compiled, p)
		ranks[p] = policy.RankOf(&list.Items[i], list.Items[i].Status.AdoptedGeneration)
		out.Objects[p.Name] = &list.Items[i]
	}
	usable := slices.DeleteFunc(slices.Clone(compiled), func(p *policy.Policy) bool {
		stored := out.Objects[p.Name]
		why := withheldBy(stored)
		if c.isUnserved(p, stored) {
			why = unservedText(p)
		}
		if why != "" {
			out.Idle = append(out.Idle, Idle{Policy: p, Why: why})
		}
		return why != ""
	})
	// Those that cannot work whatever they name stand in nobody's way.
	clashes := policy.Clashes(usable, func(p *policy.Policy) policy.Rank { return ranks[p] })
	for _, p := range usable {
		if len(clashes[p]) > 0 {
			out.Idle = append(out.Idle, Idle{Policy: p, Why: strings.TrimSuffix(policy.ClashMessage(clashes[p]), ".")})
		}
	}
	out.Off = offBy(list.Items)
	out.Index = policy.NewIndex(policy.WithoutClashing(usable, clashes))
	return out, nil
}

// Named returns the compiled policies of these names, as far as they still exist.
func (p Policies) Named(names ...string) []*policy.Policy {
	var out []*policy.Policy
	for _, name := range names {
		for _, compiled := range p.Policies() {
			if compiled.Name == name {
				out = append(out, compiled)
			}
		}
	}
	return out
}

// KindOf is the policy.KindResolver of the cluster.
func (c *Cluster) KindOf(gvr schema.GroupVersionResource) (schema.GroupVersionKind, bool) {
	gvk, err := c.mapper.KindFor(gvr)
	return gvk, err == nil && gvk.GroupVersion() == gvr.GroupVersion()
}

// Categories returns those that a kind says it belongs to, none where that cannot be told.
func (c *Cluster) Categories(kind schema.GroupKind) []string {
	mapping, err := c.mapper.RESTMapping(kind)
	if err != nil {
		return nil
	}
	list, err := c.discovery.ServerResourcesForGroupVersion(mapping.GroupVersionKind.GroupVersion().String())
	if err != nil {
		return nil
	}
	for _, r := range list.APIResources {
		if r.Name == mapping.Resource.Resource {
			return slices.Concat(r.Categories, c.markers(mapping.Resource.GroupResource()))
		}
	}
	return nil
}

// markers returns the labels by which a system whose children name their parents by labels marks
// the definition of a resource as its own. They are read once; what cannot be read says none.
func (c *Cluster) markers(resource schema.GroupResource) []string {
	if c.marked != nil {
		return c.marked[resource.String()]
	}
	c.marked = map[string][]string{}
	for _, naming := range knowledge.Namings() {
		list := &metav1.PartialObjectMetadataList{}
		gvk := discovery.Definition().GetObjectKind().GroupVersionKind()
		list.SetGroupVersionKind(gvk.GroupVersion().WithKind(gvk.Kind + "List"))
		if err := c.List(context.Background(), list, client.MatchingLabels{naming.Category: "true"}); err != nil {
			continue
		}
		for i := range list.Items {
			c.marked[list.Items[i].Name] = append(c.marked[list.Items[i].Name], naming.Category)
		}
	}
	return c.marked[resource.String()]
}

// Namespaced reports whether the objects of a kind live in namespaces, as far as that
// can be told.
func (c *Cluster) Namespaced(kind schema.GroupKind) bool {
	mapping, err := c.mapper.RESTMapping(kind)
	return err != nil || mapping.Scope.Name() == apimeta.RESTScopeNameNamespace
}
