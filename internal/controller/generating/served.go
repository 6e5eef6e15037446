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
	"k8s.io/utils/clock"
)

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
	// partly is true where some of it is not known.
	partly bool
}

// serving asks the API server what it serves, when somebody wants to know.
type serving struct {
	discovery discovery.DiscoveryInterfaceWithContext
	clock     clock.PassiveClock

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
	_, lists, err := s.discovery.ServerGroupsAndResourcesWithContext(ctx)
	if err != nil && !discovery.IsGroupDiscoveryFailedError(err) {
		return nil, fmt.Errorf("asking the API server what it serves: %w", err)
	}
	s.known, s.asked = newServed(lists, err != nil), asked
	return s.known, nil
}

func newServed(lists []*metav1.APIResourceList, partly bool) *served {
	out := &served{byGVR: map[schema.GroupVersionResource]resource{}, byGVK: map[schema.GroupVersionKind]resource{}, partly: partly}
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
	more = s.partly
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

func names(of []string, name string) bool {
	return slices.Contains(of, name) || slices.Contains(of, "*")
}
