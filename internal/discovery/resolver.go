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

// Package discovery knows what the API server serves of the kinds and resources that
// policies name. Its answers come from memory, so that admission may ask; only
// Update talks to the API server, and only about what may have changed.
package discovery

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"

	"kausality.io/operator/internal/change"
)

const (
	// settling is how long after a change of a definition the API server may
	// still serve the old state: its discovery follows the definitions.
	settling = 3 * time.Second
	// appearing is the same for a group version that was just named: its
	// definition may have changed right before.
	appearing = time.Second
	// settlingInterval is the interval between requests to the API server in that time.
	settlingInterval = 500 * time.Millisecond
	// missingInterval is the interval between requests for what it does not serve.
	// Definitions announce themselves; this is for aggregated API servers.
	missingInterval = time.Minute
)

// Discovery is the part of client-go's discovery client that is needed.
type Discovery interface {
	// ServerResourcesForGroupVersionWithContext returns what is served of a
	// group version, and a NotFound error where that is nothing.
	ServerResourcesForGroupVersionWithContext(ctx context.Context, groupVersion string) (*metav1.APIResourceList, error)
	// ServerPreferredResourcesWithContext returns all that is served, each resource in
	// the version that the API server prefers. It may return some of it together with
	// an error.
	ServerPreferredResourcesWithContext(ctx context.Context) ([]*metav1.APIResourceList, error)
	// ServerGroupsWithContext returns the groups that are served, with their versions.
	ServerGroupsWithContext(ctx context.Context) (*metav1.APIGroupList, error)
}

// Definitions reads what only the CustomResourceDefinition says.
type Definitions interface {
	// Scale returns what the scale sub-resource sets, the zero value where no
	// CustomResourceDefinition defines it.
	Scale(ctx context.Context, resource schema.GroupVersionResource) (Scale, error)
	// Storage returns how the objects of a resource are stored, the zero value where no
	// CustomResourceDefinition defines it.
	Storage(ctx context.Context, resource schema.GroupResource) (Storage, error)
	// Markers returns the labels of the CustomResourceDefinition by which a system marks
	// the kinds that are its own, such as kro.run/owned; none where no
	// CustomResourceDefinition defines the resource.
	Markers(ctx context.Context, resource schema.GroupResource) ([]string, error)
}

// Scale is what a definition says about the scale sub-resource of one of its versions.
type Scale struct {
	// Path, such as spec.replicas, is what it sets.
	Path string
	// Converted says that a webhook converts objects between versions, so that a field may be
	// another one elsewhere.
	Converted bool
}

// Storage is what a definition says about how objects are stored.
type Storage struct {
	// Version in which they are.
	Version string
	// Converted says that a webhook converts objects between versions.
	Converted bool
	// Defaults of that version; nil if it has none.
	Defaults *Defaults
	// Fields are those of that version; nil where it takes any field.
	Fields *structuralschema.Structural
}

// Resource is a resource that is served.
type Resource struct {
	// GVR names the resource.
	GVR schema.GroupVersionResource
	// GVK is the kind of its objects.
	GVK schema.GroupVersionKind
	// Names are others that people have for it: its singular, and short ones.
	Names []string
	// Namespaced says whether its objects live in namespaces.
	Namespaced bool
	// Unwatchable says that its objects cannot be listed and watched, so that nothing can be known of them.
	Unwatchable bool
	// Subresources are the names of its sub-resources, such as status, sorted.
	Subresources []string
	// ReplicasPath is what the scale sub-resource sets; empty without one.
	ReplicasPath string
	// Scales are what the scale sub-resources of all served versions of a custom resource set in
	// objects of this one, by version, where other versions have one.
	Scales map[string]string
	// Versions are the other served versions of a custom resource, with the names of the sub-resources that
	// it has in them, sorted.
	Versions map[string][]string
	// Stored is the version of those in which the API server stores objects; empty where that is its own one, or
	// is not served.
	Stored string
	// Preferred is the version of a custom resource that kubectl takes where none is named; empty where there is only
	// one, or nothing tells.
	Preferred string
	// Losing is about those of the other versions in which a write may lose fields; nil where there are none.
	Losing *Losing
	// Storing is what is stored of objects that are written in other versions than that in which they are; nil where
	// that is all, or nothing tells.
	Storing *Storing
	// Categories are the groups of kinds that it says it belongs to, such as
	// Crossplane's "composite", and the markers of its definition, sorted. The name of a
	// category has no slash, and a marker has one.
	Categories []string
}

// Resolver remembers what is served of the group versions that policies name. It
// is safe for concurrent use, by one caller of Update.
type Resolver struct {
	discovery   Discovery
	definitions Definitions
	documents   Documents
	clock       clock.PassiveClock

	// served is replaced as a whole.
	served atomic.Pointer[snapshot]

	mu       sync.Mutex
	groups   map[schema.GroupVersion]*knowledge
	category category
}

// knowledge is what the API server said about a group version, and when.
type knowledge struct {
	resources []Resource
	declared  *declarations
	// answered says that there was an answer, if only that nothing is served.
	answered bool
	asked    time.Time
	// unsettledUntil is when it can be relied on to have settled.
	unsettledUntil time.Time
}

// snapshot is a view of all group versions.
type snapshot struct {
	byKind     map[schema.GroupVersionKind]Resource
	byResource map[schema.GroupVersionResource]Resource
	// versions are the kinds of resources, in all served versions of a custom resource of which one is named.
	versions map[schema.GroupVersionResource]schema.GroupKind
	schemas  map[schema.GroupVersionKind]*Schema
	// named are the versions that commands have to name, by kind: see Resource.VersionToName.
	named map[schema.GroupKind]string
	// categories are the same in all versions of a kind.
	categories map[schema.GroupKind][]string
}

// New returns a Resolver that knows nothing until its first Update.
func New(discovery Discovery, definitions Definitions, documents Documents, clock clock.PassiveClock) *Resolver {
	r := &Resolver{
		discovery:   discovery,
		definitions: definitions,
		documents:   documents,
		clock:       clock,
		groups:      map[schema.GroupVersion]*knowledge{},
	}
	r.served.Store(&snapshot{})
	return r
}

// ByKind returns the resource of a kind, and false where it is not served.
func (r *Resolver) ByKind(gvk schema.GroupVersionKind) (Resource, bool) {
	resource, ok := r.served.Load().byKind[gvk]
	return resource, ok
}

// ByResource returns a resource by its name, and false where it is not served.
func (r *Resolver) ByResource(gvr schema.GroupVersionResource) (Resource, bool) {
	resource, ok := r.served.Load().byResource[gvr]
	return resource, ok
}

// KindFor returns the kind of a resource, and false where it is not served. It
// is the policy.KindResolver of the operator.
func (r *Resolver) KindFor(gvr schema.GroupVersionResource) (schema.GroupVersionKind, bool) {
	resource, ok := r.ByResource(gvr)
	return resource.GVK, ok
}

// GroupKindFor returns the kind of a resource, in whichever version policies name it, and false where it is
// not served.
func (r *Resolver) GroupKindFor(gvr schema.GroupVersionResource) (schema.GroupKind, bool) {
	kind, ok := r.served.Load().versions[gvr]
	return kind, ok
}

// ResourceFor returns the resource of a kind, and false where it is not served.
func (r *Resolver) ResourceFor(gvk schema.GroupVersionKind) (schema.GroupVersionResource, bool) {
	found, ok := r.ByKind(gvk)
	return found.GVR, ok
}

// Namespaced reports whether the objects of a kind live in namespaces.
func (r *Resolver) Namespaced(gvk schema.GroupVersionKind) bool {
	resource, _ := r.ByKind(gvk)
	return resource.Namespaced
}

// ReplicasPath returns the path in objects of a resource that its scale sub-resource sets when it
// is requested in a version, or, where none is given, in its own or else any other one. It is "" where
// it has none.
func (r *Resolver) ReplicasPath(gvr schema.GroupVersionResource, requested string) string {
	resource, _ := r.ByResource(gvr)
	if path, ok := resource.Scales[requested]; ok {
		return path
	}
	if only := resource.scaledElsewhere(); len(only) > 0 && requested == "" && !resource.hasScale() {
		return resource.Scales[only[0]]
	}
	return resource.ReplicasPath
}

// Categories returns the categories that the kind says it belongs to, none where nothing is known
// of it.
func (r *Resolver) Categories(kind schema.GroupKind) []string {
	return r.served.Load().categories[kind]
}

// Schema returns what is declared about the fields of a kind, nil where nothing is
// known of it.
func (r *Resolver) Schema(gvk schema.GroupVersionKind) change.Schema {
	if declared, ok := r.served.Load().schemas[gvk]; ok {
		return declared
	}
	return nil
}

// Undeclared says why no object of a kind has anything that the pattern names, and
// nothing where one may, or nothing is known of the kind.
func (r *Resolver) Undeclared(gvk schema.GroupVersionKind, pattern change.Pattern) string {
	return r.served.Load().schemas[gvk].Undeclared(pattern)
}

// TypeOf returns what kind of value objects of a kind have at a pattern, empty where that is not
// declared.
func (r *Resolver) TypeOf(gvk schema.GroupVersionKind, pattern change.Pattern) change.ValueType {
	return r.served.Load().schemas[gvk].TypeOf(pattern)
}

// Schemas returns what is declared about the fields of kinds. It reads what is not
// known yet, each time anew, as a policy that names those kinds may not come to be;
// what cannot be read is left out.
func (r *Resolver) Schemas(ctx context.Context, gvks ...schema.GroupVersionKind) (map[schema.GroupVersionKind]*Schema, error) {
	known := r.served.Load().schemas
	found := map[schema.GroupVersionKind]*Schema{}
	read := map[schema.GroupVersion]*declarations{}
	var errs []error
	for _, gvk := range gvks {
		if s, ok := known[gvk]; ok {
			found[gvk] = s
			continue
		}
		gv := gvk.GroupVersion()
		if _, done := read[gv]; !done {
			d, err := declared(ctx, r.documents, gv, nil)
			errs, read[gv] = append(errs, err), d
		}
		if d := read[gv]; d != nil && d.byKind[gvk] != nil {
			found[gvk] = d.byKind[gvk]
		}
	}
	return found, errors.Join(errs...)
}

// Known reports whether the API server has answered about each group version that
// the last Update named. Until then, what ByKind and ByResource do not find may be
// served all the same.
func (r *Resolver) Known() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, k := range r.groups {
		if !k.answered {
			return false
		}
	}
	return len(r.category.names) == 0 || r.category.answered
}

// Invalidate says that a definition in group has changed. It reports whether that
// matters, so that an Update is due.
func (r *Resolver) Invalidate(group string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	matters := false
	for gv, k := range r.groups {
		if gv.Group == group {
			k.asked = time.Time{}
			k.unsettledUntil = r.clock.Now().Add(settling)
			matters = true
		}
	}
	if len(r.category.names) > 0 {
		r.category.asked = time.Time{}
		r.category.unsettledUntil = r.clock.Now().Add(settling)
		matters = true
	}
	return matters
}

// Update makes the Resolver know exactly the named group versions, and those of the
// categories that it follows, and reports whether anything it says has changed. What cannot be asked stays as it was and
// is named in the error: an API server that is away for a moment must not make
// kinds disappear.
func (r *Resolver) Update(ctx context.Context, named []schema.GroupVersion) (bool, error) {
	found, err := r.search(ctx)
	errs := []error{err}
	due := r.due(slices.Concat(named, found))
	versions, err := r.versions(ctx, due)
	if err != nil {
		return r.publish(), errors.Join(append(errs, err)...)
	}
	for _, gv := range due {
		asked := r.clock.Now()
		resources, err := r.ask(ctx, gv, versions[gv.Group])
		if err != nil {
			errs = append(errs, err)
			continue
		}
		r.learn(gv, resources, asked)
		errs = append(errs, r.learnSchemas(ctx, gv))
	}
	return r.publish(), errors.Join(errs...)
}

// NextUpdate returns how long it may take until the next Update, and false where
// only Invalidate makes one necessary.
func (r *Resolver) NextUpdate() (time.Duration, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var next time.Duration
	found := false
	consider := func(asked time.Time, interval time.Duration, ok bool) {
		if wait := max(0, asked.Add(interval).Sub(r.clock.Now())); ok && (!found || wait < next) {
			next, found = wait, true
		}
	}
	for _, k := range r.groups {
		interval, ok := k.interval()
		consider(k.asked, interval, ok)
	}
	if len(r.category.names) > 0 {
		interval, ok := r.category.interval()
		consider(r.category.asked, interval, ok)
	}
	return next, found
}

// interval returns for how long an answer may be relied on, and false where it is for
// good.
func (k *knowledge) interval() (time.Duration, bool) {
	switch {
	case k.asked.Before(k.unsettledUntil) || k.asked.IsZero():
		return settlingInterval, true
	case len(k.resources) == 0:
		return missingInterval, true
	default:
		return 0, false
	}
}

// due forgets what is not named any more, and returns what to ask about.
func (r *Resolver) due(named []schema.GroupVersion) []schema.GroupVersion {
	r.mu.Lock()
	defer r.mu.Unlock()
	maps.DeleteFunc(r.groups, func(gv schema.GroupVersion, _ *knowledge) bool { return !slices.Contains(named, gv) })
	var due []schema.GroupVersion
	for _, gv := range named {
		k, ok := r.groups[gv]
		if !ok {
			k = &knowledge{unsettledUntil: r.clock.Now().Add(appearing)}
			r.groups[gv] = k
		}
		interval, ok := k.interval()
		if ok && r.clock.Since(k.asked) >= interval && !slices.Contains(due, gv) {
			due = append(due, gv)
		}
	}
	return due
}

func (r *Resolver) learn(gv schema.GroupVersion, resources []Resource, asked time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	k := r.groups[gv]
	k.resources, k.answered = resources, true
	if k.unsettledUntil.After(asked.Add(settling)) {
		return // it has changed since it was asked
	}
	k.asked = asked
}

// learnSchemas takes over what is declared of the kinds of a group version. Where
// that cannot be read, what was known stays, and the next Update asks again.
func (r *Resolver) learnSchemas(ctx context.Context, gv schema.GroupVersion) error {
	r.mu.Lock()
	known := *r.groups[gv]
	r.mu.Unlock()
	if len(known.resources) == 0 {
		return nil
	}
	found, err := declared(ctx, r.documents, gv, known.declared)
	r.mu.Lock()
	defer r.mu.Unlock()
	if err != nil {
		r.groups[gv].asked = time.Time{}
		return err
	}
	r.groups[gv].declared = found
	return nil
}

func (r *Resolver) publish() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	next := &snapshot{
		byKind:     map[schema.GroupVersionKind]Resource{},
		byResource: map[schema.GroupVersionResource]Resource{},
		versions:   map[schema.GroupVersionResource]schema.GroupKind{},
		schemas:    map[schema.GroupVersionKind]*Schema{},
		categories: map[schema.GroupKind][]string{},
		named:      map[schema.GroupKind]string{},
	}
	for _, k := range r.groups {
		if k.declared != nil {
			maps.Copy(next.schemas, k.declared.byKind)
		}
		for _, resource := range k.resources {
			next.byKind[resource.GVK] = resource
			next.byResource[resource.GVR] = resource
			resource.noteVersions(next.versions)
			next.categories[resource.GVK.GroupKind()] = resource.Categories
			if version := resource.VersionToName(); version != "" {
				next.named[resource.GVK.GroupKind()] = version
			}
		}
	}
	before := r.served.Load()
	changed := !equality.Semantic.DeepEqual(before.byResource, next.byResource) || !maps.Equal(before.schemas, next.schemas)
	r.served.Store(next)
	return changed
}

func (r *Resolver) ask(ctx context.Context, gv schema.GroupVersion, versions []string) ([]Resource, error) {
	list, err := r.discovery.ServerResourcesForGroupVersionWithContext(ctx, gv.String())
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("asking the API server what it serves of %s: %w", gv, err)
	}
	resources := parse(gv, list)
	elsewhere, err := r.elsewhere(ctx, gv, versions)
	if err != nil {
		return nil, err
	}
	for i := range resources {
		markers, err := r.definitions.Markers(ctx, resources[i].GVR.GroupResource())
		if err != nil {
			return nil, fmt.Errorf("asking whose kind %s is: %w", resources[i].GVR.GroupResource(), err)
		}
		resources[i].Categories = slices.Sorted(slices.Values(slices.Concat(resources[i].Categories, markers)))
		resources[i].Versions = elsewhere[resources[i].GVR.Resource]
		if err := r.learnStored(ctx, &resources[i], versions); err != nil {
			return nil, fmt.Errorf("asking in which version %s are stored: %w", resources[i].GVR.GroupResource(), err)
		}
		if err := r.learnScales(ctx, &resources[i]); err != nil {
			return nil, fmt.Errorf("asking what the scale sub-resource of %s sets: %w", resources[i].GVR.GroupResource(), err)
		}
	}
	return resources, nil
}

// parse reads a discovery document, in which sub-resources stand beside their
// resource as "resource/name".
func parse(gv schema.GroupVersion, list *metav1.APIResourceList) []Resource {
	subresources := map[string][]string{}
	for _, served := range list.APIResources {
		if name, subresource, ok := strings.Cut(served.Name, "/"); ok {
			subresources[name] = append(subresources[name], subresource)
		}
	}
	var resources []Resource
	for _, served := range list.APIResources {
		if strings.Contains(served.Name, "/") {
			continue
		}
		slices.Sort(subresources[served.Name])
		resources = append(resources, Resource{
			GVR:          gv.WithResource(served.Name),
			GVK:          gv.WithKind(served.Kind),
			Names:        namesOf(&served),
			Namespaced:   served.Namespaced,
			Unwatchable:  isUnwatchable(&served),
			Subresources: subresources[served.Name],
			Categories:   slices.Sorted(slices.Values(served.Categories)),
		})
	}
	return resources
}
