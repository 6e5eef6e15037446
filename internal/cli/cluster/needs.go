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

	"k8s.io/apimachinery/pkg/runtime/schema"
	clientdiscovery "k8s.io/client-go/discovery"
	"k8s.io/client-go/openapi"
	"k8s.io/utils/clock"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/access"
	"kausality.io/operator/internal/discovery"
	"kausality.io/operator/internal/gate/registry"
	"kausality.io/operator/internal/policy"
)

// undefined reads no definitions: which rights the operator needs follows from what is served, and who asks may not be
// allowed to read them.
type undefined struct{}

// Markers implements discovery.Definitions.
func (undefined) Markers(context.Context, schema.GroupResource) ([]string, error) { return nil, nil }

// Scale implements discovery.Definitions.
func (undefined) Scale(context.Context, schema.GroupVersionResource) (discovery.Scale, error) {
	return discovery.Scale{}, nil
}

// Storage implements discovery.Definitions.
func (undefined) Storage(context.Context, schema.GroupResource) (discovery.Storage, error) {
	return discovery.Storage{}, nil
}

// Needs returns the rights that the operator needs for policies, and the kinds that they are for
// and that are not served. providers is the operator's mapping of groups to Crossplane's providers.
func (c *Cluster) Needs(ctx context.Context, policies []v1alpha1.AllowancePolicy, providers string) ([]access.Need, []string, error) {
	mapping, err := registry.ParseMapping(providers)
	if err != nil {
		return nil, nil, fmt.Errorf("--crossplane-providers: %w", err)
	}
	asked, ok := c.discovery.(discovery.Discovery)
	if !ok {
		asked = clientdiscovery.NewDiscoveryClient(c.discovery.RESTClient())
	}
	served := discovery.New(asked, undefined{}, openapi.NewClientWithContext(c.discovery.RESTClient()), clock.RealClock{})
	gates := &registry.Registry{Drivers: registry.Drivers(), Served: served, Definitions: c, Providers: mapping}
	served.FollowCategories(gates.Categories()...)

	compiled := make([]*policy.Policy, 0, len(policies))
	var named []schema.GroupVersion
	for i := range policies {
		p, _ := policy.Compile(&policies[i], c.KindOf)
		compiled = append(compiled, p)
		named = append(named, p.For.GroupVersion())
		for _, e := range p.Entries() {
			if !e.IsExternal() {
				named = append(named, e.Resource.GroupVersion())
			}
		}
	}
	if _, err := served.Update(ctx, named); err != nil {
		return nil, nil, fmt.Errorf("asking what the cluster serves: %w", err)
	}
	var needs []access.Need
	var unserved []string
	for _, p := range compiled {
		if _, ok := served.ByKind(p.For); !ok {
			unserved = append(unserved, p.For.GroupKind().String())
		}
		needs = append(needs, access.Of(p, served, gates.Behind(ctx, p))...)
	}
	return needs, unserved, nil
}
