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

package admission

import (
	"fmt"
	"slices"

	"kausality.io/operator/internal/ledger"
)

// misplaced returns what somebody is told who approves, or breaks the glass, by an annotation
// whose key is that of other objects, and so has no effect: what has an owner has the keys
// of its kind. An approval by way of the status has none either. Controllers, which copy annotations of the owner,
// ask for nothing.
func (r *request) misplaced(f *facts) []string {
	if r.new == nil || f.Operator || f.KeepsBooks() {
		return nil
	}
	if r.subresource == subresourceStatus {
		return r.misplacedInStatus()
	}
	if r.subresource != "" {
		return nil
	}
	var out []string
	for wrong, value := range r.new.GetAnnotations() {
		name, ok := ledger.NameOf(wrong)
		if !ok || name != ledger.NameApprove && name != ledger.NameBreakGlass || value == "" || r.stored(wrong) != "" {
			continue
		}
		if key := ledger.AnnotationKey(r.new, name); wrong != key {
			out = append(out, fmt.Sprintf("kausality: %s has no effect on %s; the key is %s there",
				wrong, objectText(r.gvk.Kind, r.objectName()), key))
		}
	}
	slices.Sort(out)
	return out
}

// leftover returns what somebody is told who writes an object on which an approval was left, as nobody was asked when it
// was set: it approves nothing any more, and is taken off, so that the same one can be set again.
func (r *request) leftover(f *facts) []string {
	if r.old == nil || r.subresource != "" || f.Operator || f.Requester.IsController() {
		return nil
	}
	key := ledger.AnnotationKey(r.new, ledger.NameApprove)
	if r.stored(key) == "" {
		return nil
	}
	return []string{fmt.Sprintf("kausality: %s was left on %s, approves nothing, and is taken off it; set it again to approve",
		key, objectText(r.gvk.Kind, r.objectName()))}
}

// misplacedInStatus returns what somebody is told who approves in a write of the status.
func (r *request) misplacedInStatus() []string {
	key := ledger.AnnotationKey(r.new, ledger.NameApprove)
	if value := annotation(r.new, key); value == "" || r.stored(key) != "" {
		return nil
	}
	return []string{fmt.Sprintf("kausality: %s has no effect in a write of the status of %s; set it on the object itself",
		key, objectText(r.gvk.Kind, r.objectName()))}
}
