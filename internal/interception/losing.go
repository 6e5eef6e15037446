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
	"k8s.io/apimachinery/pkg/util/sets"

	"kausality.io/operator/internal/policy"
)

// losesFields returns true for requests in a version that may lack fields of the object: they lose these, and neither
// the object nor the old one shows it.
func losesFields(in Input) []string {
	lossy := sets.New[string]()
	for _, p := range in.Policies {
		for _, s := range in.concerned(p) {
			for _, version := range s.Losing {
				lossy.Insert(s.Resource.Group + "/" + s.Resource.Resource + "/" + version)
			}
		}
	}
	if lossy.Len() == 0 {
		return nil
	}
	return []string{`(has(request.requestResource) && request.resource.group + "/" + request.resource.resource + "/" + request.requestResource.version in ` +
		list(sets.List(lossy)...) + ")"}
}

// concerned returns the resources that a policy is for, bounds, or opens gates of, as far as they are served.
func (in *Input) concerned(p *policy.Policy) []Served {
	var out []Served
	if in.Holder != nil {
		if holder, ok := in.Holder(p.For); ok {
			out = append(out, holder)
		}
	}
	if in.Child != nil {
		for gvr := range targets(p) {
			if child, ok := in.Child(gvr); ok {
				out = append(out, child)
			}
		}
	}
	for _, g := range in.gated(p) {
		out = append(out, g.Served)
	}
	return out
}
