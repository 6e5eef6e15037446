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
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// listSuffix is what the kinds of lists end with.
const listSuffix = "List"

// Nearest returns the resource that somebody may mean with the name of a kind or resource that is not served:
// one that is called so in another case, in the singular or plural, by a short name, as a list, or in
// another group or version. One of the same group is nearer than others, and else the first is the nearest, as
// API servers name first what most people mean.
func Nearest(served []Resource, gv schema.GroupVersion, name string) (Resource, bool) {
	var found *Resource
	for i := range served {
		r := &served[i]
		if !r.isCalled(name) {
			continue
		}
		if r.GVR.Group == gv.Group {
			return *r, true
		}
		if found == nil {
			found = r
		}
	}
	if found == nil {
		return Resource{}, false
	}
	return *found, true
}

// isCalled reports whether people may call the resource so.
func (r *Resource) isCalled(name string) bool {
	return slices.ContainsFunc(slices.Concat([]string{r.GVK.Kind, r.GVK.Kind + listSuffix, r.GVR.Resource}, r.Names), func(called string) bool {
		return strings.EqualFold(called, name)
	})
}
