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

// Package discovery answers what the cluster serves: which resource a kind is, and
// which sub-resources it has. Answers are kept until a CustomResourceDefinition of
// their group changes, as policies name few groups and clusters serve many.
package discovery

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Client is the part of client-go's discovery client that is needed.
type Client interface {
	// ServerResourcesForGroupVersion returns what is served of a group version,
	// and a NotFound error if there is none.
	ServerResourcesForGroupVersion(groupVersion string) (*metav1.APIResourceList, error)
}

// Resource is a resource that is served.
type Resource struct {
	// GVR is its name in URLs and rules.
	GVR schema.GroupVersionResource
	// GVK is the kind of its objects.
	GVK schema.GroupVersionKind
	// Namespaced says whether its objects live in namespaces.
	Namespaced bool
	// Subresources are the names of its sub-resources, such as "status", sorted.
	Subresources []string
}

// Resources remembers what is served. It is safe for concurrent use.
type Resources struct {
	client Client

	mu     sync.Mutex
	served map[schema.GroupVersion]answer
}

// answer is what the API server last said of a group version.
type answer struct {
	resources []Resource
	// stale answers are asked for again, and used when that fails: an API server
	// that cannot answer for a moment must not make resources disappear.
	stale bool
}

// New returns Resources that ask client.
func New(client Client) *Resources {
	return &Resources{client: client, served: map[schema.GroupVersion]answer{}}
}

// ByKind returns the resource of a kind, and false if it is not served.
func (r *Resources) ByKind(gvk schema.GroupVersionKind) (Resource, bool, error) {
	return r.find(gvk.GroupVersion(), func(s Resource) bool { return s.GVK == gvk })
}

// ByResource returns a resource by its name, and false if it is not served.
func (r *Resources) ByResource(gvr schema.GroupVersionResource) (Resource, bool, error) {
	return r.find(gvr.GroupVersion(), func(s Resource) bool { return s.GVR == gvr })
}

// Invalidate has the group asked for again, as its definitions have changed.
func (r *Resources) Invalidate(group string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for gv, a := range r.served {
		if gv.Group == group {
			a.stale = true
			r.served[gv] = a
		}
	}
}

func (r *Resources) find(gv schema.GroupVersion, match func(Resource) bool) (Resource, bool, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	known, ok := r.served[gv]
	i := slices.IndexFunc(known.resources, match)
	if ok && !known.stale && i >= 0 {
		return known.resources[i], true, nil
	}
	// What was not there is asked for each time: it may have appeared, and only
	// rare policies name what does not exist.
	list, err := r.client.ServerResourcesForGroupVersion(gv.String())
	switch {
	case apierrors.IsNotFound(err):
		delete(r.served, gv)
		return Resource{}, false, nil
	case err != nil && i >= 0:
		return known.resources[i], true, nil
	case err != nil:
		return Resource{}, false, fmt.Errorf("asking the API server what it serves of %s: %w", gv, err)
	}
	fresh := answer{resources: parse(gv, list)}
	r.served[gv] = fresh
	if i = slices.IndexFunc(fresh.resources, match); i < 0 {
		return Resource{}, false, nil
	}
	return fresh.resources[i], true, nil
}

// parse puts sub-resources, which are listed as "resource/name", to their resource.
func parse(gv schema.GroupVersion, list *metav1.APIResourceList) []Resource {
	subresources := map[string][]string{}
	for _, a := range list.APIResources {
		if name, sub, ok := strings.Cut(a.Name, "/"); ok {
			subresources[name] = append(subresources[name], sub)
		}
	}
	var resources []Resource
	for _, a := range list.APIResources {
		if strings.Contains(a.Name, "/") {
			continue
		}
		slices.Sort(subresources[a.Name])
		resources = append(resources, Resource{
			GVR:          gv.WithResource(a.Name),
			GVK:          gv.WithKind(a.Kind),
			Namespaced:   a.Namespaced,
			Subresources: subresources[a.Name],
		})
	}
	return resources
}
