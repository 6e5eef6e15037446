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

package remove

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/discovery"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/gate"
	knowngates "kausality.io/operator/internal/gate/registry"
)

// kind is one whose objects are looked at.
type kind struct {
	gvk schema.GroupVersionKind
	// status says that it has one that is written apart.
	status bool
	// driver sets the gates of its objects; nil where its definition does not say that they have any.
	driver gate.Driver
}

// kindsServed returns all kinds whose objects somebody can have left something on: those that can
// be listed and patched. Events are none, as nobody keeps anything on them, and there are many.
func kindsServed(client discovery.DiscoveryInterface) ([]kind, error) {
	_, lists, err := client.ServerGroupsAndResources()
	if err != nil && !discovery.IsGroupDiscoveryFailedError(err) {
		return nil, fmt.Errorf("asking what the cluster serves: %w", err)
	}
	preferred, preferredErr := discovery.ServerPreferredResources(client)
	if preferredErr != nil && !discovery.IsGroupDiscoveryFailedError(preferredErr) {
		return nil, fmt.Errorf("asking what the cluster serves: %w", preferredErr)
	}
	withStatus := sets.Set[schema.GroupVersionResource]{}
	eachResource(lists, func(gv schema.GroupVersion, r metav1.APIResource) {
		if name, sub, _ := strings.Cut(r.Name, "/"); sub == "status" {
			withStatus.Insert(gv.WithResource(name))
		}
	})
	var kinds []kind
	drivers := knowngates.Drivers()
	eachResource(preferred, func(gv schema.GroupVersion, r metav1.APIResource) {
		if gv.Group == v1alpha1.GroupVersion.Group || r.Kind == "Event" ||
			strings.Contains(r.Name, "/") || !slices.Contains(r.Verbs, "list") || !slices.Contains(r.Verbs, "patch") {
			return
		}
		driver, _ := drivers.For(r.Categories)
		kinds = append(kinds, kind{gvk: gv.WithKind(r.Kind), status: withStatus.Has(gv.WithResource(r.Name)), driver: driver})
	})
	// Discovery has them in any order.
	slices.SortFunc(kinds, func(a, b kind) int {
		return cmp.Or(cmp.Compare(a.gvk.Group, b.gvk.Group), cmp.Compare(a.gvk.Kind, b.gvk.Kind))
	})
	return kinds, preferredErr
}

func eachResource(lists []*metav1.APIResourceList, do func(schema.GroupVersion, metav1.APIResource)) {
	for _, list := range lists {
		gv, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			continue // No API server serves one.
		}
		for _, r := range list.APIResources {
			do(gv, r)
		}
	}
}
