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

package generating

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"kausality.io/operator/internal/generate"
)

// +kubebuilder:rbac:urls=/readyz,verbs=get

// discoveryInterval is how long what is served is believed.
const discoveryInterval = 15 * time.Second

// maxResources is how many resources the triggers of one policy may be of.
const maxResources = 64

// resource is a resource that is served.
type resource struct {
	gvr        schema.GroupVersionResource
	gvk        schema.GroupVersionKind
	namespaced bool
	// watchable is true where its objects can be listed and watched.
	watchable bool
}

// served lists what the API server serves.
type served struct {
	// resources are in the order of preference of their versions.
	resources []resource
	byGVR     map[schema.GroupVersionResource]resource
	byGVK     map[schema.GroupVersionKind]resource
	// unknown has the group versions of which nobody knows what is served in them, as where an APIService
	// does not answer.
	unknown map[schema.GroupVersion]error
}

// serving asks the API server what it serves, when somebody wants to know.
type serving struct {
	discovery interface {
		ServerGroupsAndResourcesWithContext(ctx context.Context) ([]*metav1.APIGroup, []*metav1.APIResourceList, error)
	}
	// ready returns nil once the API server is, and an error where it starts or cannot be asked.
	ready func(ctx context.Context) error
	clock clock.PassiveClock

	mu    sync.Mutex
	known *served
	asked time.Time
}

// get returns what is served. It is at most as old as discoveryInterval.
func (s *serving) get(ctx context.Context) (*served, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.known != nil && s.clock.Since(s.asked) < discoveryInterval {
		return s.known, nil
	}
	asked := s.clock.Now()
	what, err := s.ask(ctx)
	if err == nil && what.lacks(s.known) {
		// An API server that starts lists what is built in before it lists what CustomResourceDefinitions
		// define. Whoever believes it reads nothing where there is something.
		if err := s.ready(ctx); err != nil {
			return nil, fmt.Errorf("asking the API server whether what it serves is complete: %w", err)
		}
		what, err = s.ask(ctx)
	}
	if err != nil {
		return nil, err
	}
	s.known, s.asked = what, asked
	return s.known, nil
}

func (s *serving) ask(ctx context.Context) (*served, error) {
	_, lists, err := s.discovery.ServerGroupsAndResourcesWithContext(ctx)
	unknown, isPartly := discovery.GroupDiscoveryFailedErrorGroups(err)
	if err != nil && !isPartly {
		return nil, fmt.Errorf("asking the API server what it serves: %w", err)
	}
	return newServed(lists, unknown), nil
}

// readiness returns what asks the API server whether it has started.
func readiness(client rest.Interface) func(context.Context) error {
	return func(ctx context.Context) error { return client.Get().AbsPath("/readyz").Do(ctx).Error() }
}

func newServed(lists []*metav1.APIResourceList, unknown map[schema.GroupVersion]error) *served {
	out := &served{byGVR: map[schema.GroupVersionResource]resource{}, byGVK: map[schema.GroupVersionKind]resource{}, unknown: unknown}
	for _, list := range lists {
		gv, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			continue
		}
		for _, r := range list.APIResources {
			if strings.Contains(r.Name, "/") {
				continue
			}
			is := resource{
				gvr: gv.WithResource(r.Name), gvk: gv.WithKind(r.Kind), namespaced: r.Namespaced,
				watchable: slices.Contains(r.Verbs, "list") && slices.Contains(r.Verbs, "watch"),
			}
			out.resources = append(out.resources, is)
			out.byGVR[is.gvr], out.byGVK[is.gvk] = is, is
		}
	}
	return out
}

// lacks reports whether it is less than what was served before, or nobody knows what was.
func (s *served) lacks(before *served) bool {
	if before == nil {
		return true
	}
	for gvr := range before.byGVR {
		if _, ok := s.byGVR[gvr]; !ok {
			return true
		}
	}
	return false
}

// ofKind returns the resource of a kind, and whether it is served. An error says that nobody can tell.
func (s *served) ofKind(kind schema.GroupVersionKind) (resource, bool, error) {
	r, ok := s.byGVK[kind]
	return r, ok, s.known(kind.GroupVersion(), ok)
}

// ofResource returns a resource, and whether it is served. An error says that nobody can tell.
func (s *served) ofResource(of schema.GroupVersionResource) (resource, bool, error) {
	r, ok := s.byGVR[of]
	return r, ok, s.known(of.GroupVersion(), ok)
}

// known returns an error where something was not found in a group version, and might be there.
func (s *served) known(in schema.GroupVersion, found bool) error {
	if err := s.unknown[in]; err != nil && !found {
		return &generate.Error{Reason: generate.ReasonRead, Detail: fmt.Sprintf("nobody knows what is served in %s", in), Err: err}
	}
	return nil
}

// equivalent returns the other resources by which the objects of one are served.
func (s *served) equivalent(of resource) []schema.GroupVersionResource {
	var out []schema.GroupVersionResource
	for _, r := range s.resources {
		if r.gvr != of.gvr && r.gvk.GroupKind() == of.gvk.GroupKind() {
			out = append(out, r.gvr)
		}
	}
	return out
}

// matching returns the resources that rules name, each kind in one version, and whether there may be
// more: some are not served, or not known.
func (s *served) matching(rules []admissionregistrationv1.NamedRuleWithOperations) (out []resource, more bool) {
	more = len(s.unknown) > 0
	for _, rule := range rules {
		found := false
		for _, r := range s.resources {
			if !r.watchable || !names(rule.APIGroups, r.gvr.Group) || !names(rule.APIVersions, r.gvr.Version) || !names(rule.Resources, r.gvr.Resource) {
				continue
			}
			found = true
			if !slices.ContainsFunc(out, func(o resource) bool { return o.gvk.GroupKind() == r.gvk.GroupKind() }) {
				out = append(out, r)
			}
		}
		more = more || !found
	}
	return out, more
}

// serves is the generate.Serves of what is served.
func (s *served) serves(group, version, name string) (is, known bool) {
	in := func(gv schema.GroupVersion) bool {
		return names([]string{group}, gv.Group) && names([]string{version}, gv.Version)
	}
	for gv := range s.unknown {
		if in(gv) {
			return false, false
		}
	}
	return slices.ContainsFunc(s.resources, func(r resource) bool { return in(r.gvr.GroupVersion()) && r.gvr.Resource == name }), true
}

func names(of []string, name string) bool {
	return slices.Contains(of, name) || slices.Contains(of, "*")
}
