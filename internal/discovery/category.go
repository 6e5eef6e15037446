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

package discovery

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// category is a search for the kinds that say that they belong to one of some
// categories, whatever group they are in: no policy names these groups.
type category struct {
	names []string
	found []schema.GroupVersion
	// answered says that there was an answer.
	answered bool
	asked    time.Time
	// unsettledUntil is when the answer can be relied on.
	unsettledUntil time.Time
}

// FollowCategories makes the Resolver know all kinds that say that they belong to one
// of the categories, from its next Update on, each in the version that the API server
// prefers. Without categories there are none to look for.
func (r *Resolver) FollowCategories(names ...string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if slices.Equal(r.category.names, names) {
		return
	}
	r.category = category{names: names, unsettledUntil: r.clock.Now().Add(appearing)}
}

// InCategory returns the resources that are known to belong to a category, sorted by
// group and name.
func (r *Resolver) InCategory(name string) []Resource {
	var out []Resource
	for _, resource := range r.served.Load().byResource {
		if slices.Contains(resource.Categories, name) {
			out = append(out, resource)
		}
	}
	slices.SortFunc(out, func(a, b Resource) int {
		return cmp.Or(cmp.Compare(a.GVR.Group, b.GVR.Group), cmp.Compare(a.GVR.Resource, b.GVR.Resource), cmp.Compare(a.GVR.Version, b.GVR.Version))
	})
	return out
}

// search returns the group versions with kinds of the followed categories. Where the
// API server cannot be asked, what was known stays.
func (r *Resolver) search(ctx context.Context) ([]schema.GroupVersion, error) {
	r.mu.Lock()
	c := r.category
	r.mu.Unlock()
	if len(c.names) == 0 {
		return nil, nil
	}
	if interval, due := c.interval(); !due || r.clock.Since(c.asked) < interval {
		return c.found, nil
	}
	asked := r.clock.Now()
	lists, err := r.discovery.ServerPreferredResourcesWithContext(ctx)
	if err != nil && len(lists) == 0 {
		return c.found, fmt.Errorf("asking the API server for kinds of the categories %q: %w", c.names, err)
	}
	// Of groups whose API server is away nothing is listed, and what was known stays.
	found := belonging(lists, c.names)
	if err != nil {
		for _, gv := range c.found {
			if !slices.Contains(found, gv) {
				found = append(found, gv)
			}
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if !slices.Equal(r.category.names, c.names) {
		return found, nil
	}
	r.category.found, r.category.answered = found, true
	if !r.category.unsettledUntil.After(asked.Add(settling)) {
		r.category.asked = asked
	}
	return found, nil
}

// interval returns for how long the answer may be relied on, and false where it is for good.
func (c *category) interval() (time.Duration, bool) {
	if !c.answered || c.asked.IsZero() || c.asked.Before(c.unsettledUntil) {
		return settlingInterval, true
	}
	return 0, false
}

func belonging(lists []*metav1.APIResourceList, categories []string) []schema.GroupVersion {
	var out []schema.GroupVersion
	for _, list := range lists {
		gv, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			continue
		}
		if slices.ContainsFunc(list.APIResources, func(served metav1.APIResource) bool {
			return slices.ContainsFunc(served.Categories, func(c string) bool { return slices.Contains(categories, c) })
		}) {
			out = append(out, gv)
		}
	}
	return out
}
