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

// Package registry knows which kinds have gates: it asks what the API server serves for
// the pure rooms under internal/gate.
package registry

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/internal/discovery"
	"kausality.io/operator/internal/gate"
	"kausality.io/operator/internal/gate/crossplane"
	"kausality.io/operator/internal/policy"
)

// +kubebuilder:rbac:groups=pkg.crossplane.io,resources=providerrevisions,verbs=list;watch

// Drivers returns the systems that there are gates for, as far as it does not depend on
// what an admin configures.
func Drivers() gate.Drivers { return gate.Drivers{crossplane.Driver{}} }

// Served are the kinds that the API server serves. *discovery.Resolver is the one.
type Served interface {
	// ByKind returns the resource of a kind, and false where it is not served.
	ByKind(kind schema.GroupVersionKind) (discovery.Resource, bool)
	// InCategory are the resources that belong to a category.
	InCategory(name string) []discovery.Resource
}

// Registry knows the kinds whose objects have a gate.
type Registry struct {
	// Drivers are the systems that there are gates for.
	Drivers gate.Drivers
	// Served are the kinds that are served.
	Served Served
	// Definitions reads the metadata of CustomResourceDefinitions, and of the packages
	// that they are from, from a cache.
	Definitions client.Reader
	// Providers are those that an admin names, by a pattern of API groups, for kinds
	// that were not installed by a package.
	Providers map[string]string
	// Systems are patterns of the names of users that are a system behind a gate,
	// such as a provider.
	Systems []string
	// Composers are users that compose objects with a gate, and are no system behind one
	// although a pattern matches them.
	Composers []string

	mu    sync.RWMutex
	known map[schema.GroupKind]*known
}

// known is what is remembered of a kind. What tells that it has gates, and whose it is, are
// its definition and others' objects, which somebody may change while objects have closed
// gates: these do not open by that.
type known struct {
	gvk schema.GroupVersionKind
	// driver is the system behind its objects.
	driver gate.Driver
	// providers lists the providers by which policies have named the kind.
	providers []string
}

// Keep says of which kinds some object is under its gate, and under which providers, as far
// as the objects say: these have gates whatever their definitions say. It returns all kinds
// that have, so that they are followed; those that are not served any more are forgotten.
func (r *Registry) Keep(kinds map[schema.GroupVersionKind][]string) []schema.GroupVersionKind {
	r.mu.Lock()
	defer r.mu.Unlock()
	for gvk, providers := range kinds {
		if driver := r.behind(gvk); driver != nil {
			r.remember(gvk, driver, providers...)
		}
	}
	var out []schema.GroupVersionKind
	for kind, k := range r.known {
		_, kept := kinds[k.gvk]
		if _, served := r.Served.ByKind(k.gvk); !served && !kept {
			delete(r.known, kind)
			continue
		}
		out = append(out, k.gvk)
	}
	return out
}

// behind returns the system behind objects that are under a gate, nil where that cannot be
// told: where their definition has no category there is only one that it can be.
func (r *Registry) behind(gvk schema.GroupVersionKind) gate.Driver {
	resource, _ := r.Served.ByKind(gvk)
	if driver, ok := r.Drivers.For(resource.Categories); ok {
		return driver
	}
	if k := r.known[gvk.GroupKind()]; k != nil {
		return k.driver
	}
	if len(r.Drivers) == 1 {
		return r.Drivers[0]
	}
	return nil
}

func (r *Registry) remember(gvk schema.GroupVersionKind, driver gate.Driver, providers ...string) {
	k := r.known[gvk.GroupKind()]
	if k == nil {
		k = &known{}
		if r.known == nil {
			r.known = map[schema.GroupKind]*known{}
		}
		r.known[gvk.GroupKind()] = k
	}
	k.gvk, k.driver = gvk, driver
	for _, provider := range providers {
		if provider != "" && !slices.Contains(k.providers, provider) {
			k.providers = append(slices.Clone(k.providers), provider)
		}
	}
}

// past returns what is remembered of a kind.
func (r *Registry) past(kind schema.GroupKind) known {
	r.mu.RLock()
	defer r.mu.RUnlock()
	if k := r.known[kind]; k != nil {
		return *k
	}
	return known{}
}

// Gate returns the system that is behind objects of a kind, and what is known of the
// kind; false where there is none.
func (r *Registry) Gate(ctx context.Context, kind schema.GroupVersionKind) (gate.Driver, gate.Kind, bool) {
	resource, served := r.Served.ByKind(kind)
	if !served {
		return nil, gate.Kind{}, false
	}
	past := r.past(kind.GroupKind())
	driver, ok := r.Drivers.For(resource.Categories)
	if !ok {
		driver = past.driver
	}
	if driver == nil {
		return nil, gate.Kind{}, false
	}
	return driver, r.kind(ctx, resource, past), true
}

// Categories returns the categories of all kinds that have gates.
func (r *Registry) Categories() []string {
	out := make([]string, 0, len(r.Drivers))
	for _, driver := range r.Drivers {
		out = append(out, driver.Category())
	}
	return out
}

// Behind returns the resources that External entries of the policies may be about, whose
// gates may have to be set.
func (r *Registry) Behind(ctx context.Context, policies ...*policy.Policy) []discovery.Resource {
	var out []discovery.Resource
	for _, resource := range r.candidates() {
		driver, kind, ok := r.Gate(ctx, resource.GVK)
		if !ok {
			continue
		}
		named := false
		for _, p := range policies {
			provider, ok := kind.NamedBy(driver, p)
			if !ok {
				continue
			}
			named = true
			r.mu.Lock()
			r.remember(resource.GVK, driver, provider)
			r.mu.Unlock()
		}
		if named {
			out = append(out, resource)
		}
	}
	return out
}

// candidates returns the resources that are known to have gates.
func (r *Registry) candidates() []discovery.Resource {
	var out []discovery.Resource
	for _, driver := range r.Drivers {
		out = append(out, r.Served.InCategory(driver.Category())...)
	}
	r.mu.RLock()
	defer r.mu.RUnlock()
	for _, k := range r.known {
		if resource, served := r.Served.ByKind(k.gvk); served &&
			!slices.ContainsFunc(out, func(other discovery.Resource) bool { return other.GVR.GroupResource() == resource.GVR.GroupResource() }) {
			out = append(out, resource)
		}
	}
	slices.SortStableFunc(out, func(a, b discovery.Resource) int {
		return cmp.Or(cmp.Compare(a.GVR.Group, b.GVR.Group), cmp.Compare(a.GVR.Resource, b.GVR.Resource), cmp.Compare(a.GVR.Version, b.GVR.Version))
	})
	return out
}

// IsSystem reports whether the requester is a system behind a gate.
func (r *Registry) IsSystem(requester policy.Requester) bool {
	return requester.IsServiceAccount() && !r.IsComposer(requester) &&
		slices.ContainsFunc(r.Systems, func(pattern string) bool {
			matched, err := path.Match(pattern, requester.Username)
			return err == nil && matched
		})
}

// IsComposer reports whether the requester composes objects with a gate: what it applies is
// what their authors want.
func (r *Registry) IsComposer(requester policy.Requester) bool {
	return slices.Contains(r.Composers, requester.Username)
}

func (r *Registry) kind(ctx context.Context, resource discovery.Resource, past known) gate.Kind {
	return gate.Kind{
		GVK: resource.GVK, Resource: resource.GVR.Resource,
		Provider: r.provider(ctx, resource.GVR.GroupResource()), Former: past.providers,
	}
}

// provider returns the name of the Provider that a kind was installed with, or of the one
// that an admin maps its group to.
func (r *Registry) provider(ctx context.Context, resource schema.GroupResource) string {
	definition := &metav1.PartialObjectMetadata{}
	definition.SetGroupVersionKind(discovery.Definition().GetObjectKind().GroupVersionKind())
	if err := r.Definitions.Get(ctx, types.NamespacedName{Name: resource.String()}, definition); err == nil {
		if name := r.packageOf(ctx, definition.GetOwnerReferences()); name != "" {
			return name
		}
	}
	if name, ok := r.Providers[resource.Group]; ok {
		return name
	}
	for _, pattern := range slices.Sorted(maps.Keys(r.Providers)) {
		if matched, err := path.Match(pattern, resource.Group); err == nil && matched {
			return r.Providers[pattern]
		}
	}
	return ""
}

const (
	// packageGroup is the API group of Crossplane's packages.
	packageGroup = "pkg.crossplane.io"
	// packageLabel is, on a revision of a package, the package's name.
	packageLabel = "pkg.crossplane.io/package"
)

// packageOf returns the Provider among the owners of a definition, or that of whose revision
// is among them: Crossplane names both.
func (r *Registry) packageOf(ctx context.Context, owners []metav1.OwnerReference) string {
	name := ""
	for _, o := range owners {
		gv, err := schema.ParseGroupVersion(o.APIVersion)
		switch {
		case err != nil || gv.Group != packageGroup:
		case o.Kind == "Provider":
			return o.Name
		case o.Kind == "ProviderRevision":
			revision := &metav1.PartialObjectMetadata{}
			revision.SetGroupVersionKind(gv.WithKind(o.Kind))
			if err := r.Definitions.Get(ctx, types.NamespacedName{Name: o.Name}, revision); err == nil {
				name = revision.GetLabels()[packageLabel]
			}
		}
	}
	return name
}

// ParseMapping reads a comma-separated list of key=value pairs, as flags have it.
func ParseMapping(text string) (map[string]string, error) {
	out := map[string]string{}
	for pair := range strings.SplitSeq(text, ",") {
		if pair = strings.TrimSpace(pair); pair == "" {
			continue
		}
		key, value, ok := strings.Cut(pair, "=")
		if !ok || key == "" || value == "" {
			return nil, fmt.Errorf("%q is no pair such as key=value", pair)
		}
		if _, err := path.Match(key, ""); err != nil {
			return nil, fmt.Errorf("%q is no pattern: %w", key, err)
		}
		out[key] = value
	}
	return out, nil
}
