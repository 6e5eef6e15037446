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
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"kausality.io/operator/internal/change"
	"kausality.io/operator/internal/derive/draft"
	"kausality.io/operator/internal/derive/flow"
	"kausality.io/operator/internal/ledger"
)

// everything is the trigger for all content of an object, which metadata is not.
var everything = change.Pattern{change.Wildcard}

// placesOf returns the triggers for what an expression reads of an object, and what of it changes without
// triggering a rule, empty where nothing does. Of content, metadata and status do not count. What is
// below an item of a list, or a computed key, is known by the list or map alone, whose items move.
func placesOf(ref flow.Ref, content bool) (triggers []change.Pattern, observed string) {
	if ref.Root == rootRequest {
		// Each change of the trigger may come by another request.
		return []change.Pattern{everything, metadata(fieldAnnotations), metadata(fieldLabels)}, ""
	}
	if len(ref.Path) == 0 {
		if content {
			return []change.Pattern{everything}, ""
		}
		return []change.Pattern{everything, metadata(fieldAnnotations), metadata("finalizers"), metadata(fieldLabels), metadata("ownerReferences")},
			shown(flow.Ref{Root: ref.Root, Path: change.Pattern{flow.FieldSegment("status")}})
	}
	path := fixed(ref.Path)
	switch {
	case len(path) == 0:
		return placesOf(flow.Ref{Root: ref.Root}, content)
	case path[0].Field == "metadata":
		return placesOfMetadata(ref.Root, path)
	case path[0].Field == "apiVersion" || path[0].Field == "kind":
		return nil, ""
	case path[0].Field == "status":
		return nil, shown(flow.Ref{Root: ref.Root, Path: path})
	default:
		return []change.Pattern{path}, ""
	}
}

// fixed returns a path up to the first index, or key that is computed.
func fixed(path change.Pattern) change.Pattern {
	for i, s := range path {
		if s.Field == "" || s == change.Wildcard {
			return slices.Clone(path[:i])
		}
	}
	return slices.Clone(path)
}

// constant is metadata that never changes while an object is there.
var constant = map[string]bool{"name": true, "namespace": true, "uid": true, "creationTimestamp": true, "generateName": true, "selfLink": true}

func placesOfMetadata(root string, path change.Pattern) (triggers []change.Pattern, observed string) {
	if len(path) == 1 {
		return []change.Pattern{metadata(fieldAnnotations), metadata("finalizers"), metadata(fieldLabels), metadata("ownerReferences")},
			shown(flow.Ref{Root: root, Path: path})
	}
	switch name := path[1].Field; {
	case constant[name]:
		return nil, ""
	case (name == "labels" || name == "annotations") && len(path) > 2:
		if ledger.IsOurs(path[2].Field) {
			return nil, shown(flow.Ref{Root: root, Path: path})
		}
		return []change.Pattern{path[:3]}, ""
	case name == "labels" || name == "annotations" || name == "finalizers" || name == "ownerReferences":
		return []change.Pattern{path[:2]}, ""
	default:
		return nil, shown(flow.Ref{Root: root, Path: path})
	}
}

// bounds reports whether a field is one that a policy may name. Metadata counts once a policy names it,
// for everybody. All labels or annotations are bounded of what nobody else labels.
func (d *derivation) bounds(resource schema.GroupVersionResource, at change.Pattern) bool {
	if !change.Path(at).IsMetadata() || len(at) > 2 || isData(resource) {
		return true
	}
	d.unbounded(resource, at)
	return false
}

// isData reports whether the objects of a resource are data, of which a GeneratingPolicy has all.
func isData(resource schema.GroupVersionResource) bool {
	return resource.Group == "" && (resource.Resource == "configmaps" || resource.Resource == "secrets")
}

func (d *derivation) unbounded(resource schema.GroupVersionResource, at change.Pattern) {
	d.note(draft.Note{Resource: resource.Resource, Field: at.String(), Lost: true, Message: fmt.Sprintf(
		"it is not bounded: others write %s there too, and would be refused. What changes it passes", at[len(at)-1].Field)})
}
