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

package policy

import (
	"slices"

	"kausality.io/operator/internal/change"
)

// kindField is the field of an object, and of what a policy says, that has a kind.
const kindField = "kind"

// changeableMetadata are the fields of metadata that people and controllers set;
// all others are fixed at creation, or kept by the API server.
var changeableMetadata = []string{"annotations", "finalizers", "labels", "ownerReferences"}

// uncounted says why no change of what the trigger matches ever counts (D7), or
// nothing where it may; actions are what people do through the status. A rule that can never be triggered is a mistake of which
// nothing else would ever tell.
func uncounted(trigger change.Pattern, actions []change.Pattern) string {
	switch first := trigger[0].Field; first {
	case "status":
		if isAction(trigger, actions) {
			return ""
		}
		return "status is what controllers report: its changes cause nothing and trigger no rule, but for what people do through it (spec.knowledge.actions)"
	case "apiVersion", kindField:
		return "an object never changes its " + first
	case "metadata":
	default:
		return ""
	}
	switch {
	case len(trigger) == 1:
		return "name the field of metadata, such as metadata.labels or metadata.annotations[key]: metadata as a whole changes with each write"
	case slices.Contains(changeableMetadata, trigger[1].Field):
		return ""
	default:
		return "of metadata only annotations, finalizers, labels and ownerReferences are changed by requests, and can trigger a rule"
	}
}
