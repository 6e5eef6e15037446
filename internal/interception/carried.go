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

package interception

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/sets"
)

// showsParent returns true for a change of any annotation of an object whose parents may show
// anything there that they say: also what is withheld of them. Labels are compared anyway.
func showsParent(in Input) []string {
	resources := sets.New[string]()
	for _, p := range in.Policies {
		if p.Known().TemplateMetadata {
			continue
		}
		for _, e := range p.Entries() {
			if !e.IsExternal() {
				resources.Insert(e.Resource.Group + "/" + e.Resource.Resource)
			}
		}
	}
	if resources.Len() == 0 {
		return nil
	}
	return []string{fmt.Sprintf(`(request.resource.group + "/" + request.resource.resource in %s && %s != %s)`,
		list(sets.List(resources)...), annotations("object"), annotations("oldObject"))}
}
