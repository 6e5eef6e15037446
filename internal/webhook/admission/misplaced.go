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

	"kausality.io/operator/api/v1alpha1"
)

// misplaced are what somebody is told who approves, or breaks the glass, by an annotation
// whose key is that of other objects, and so has no effect: a ReplicaSet of a Deployment has
// a key of its own, as the Deployment controller copies the Deployment's annotations onto it.
// That controller, and others like it, ask for nothing.
func (r *request) misplaced(f *facts) []string {
	if r.new == nil || r.subresource != "" || f.Operator || f.KeepsBooks() {
		return nil
	}
	var out []string
	for _, name := range []string{approveName, breakGlassName} {
		key := annotationKey(r.new, name)
		for _, prefix := range []string{v1alpha1.AnnotationPrefix, v1alpha1.ReplicaSetAnnotationPrefix} {
			wrong := prefix + name
			value := annotation(r.new, wrong)
			if wrong == key || value == "" || r.old != nil && annotation(r.old, wrong) == value {
				continue
			}
			out = append(out, fmt.Sprintf("kausality: %s has no effect on %s; the key is %s there",
				wrong, objectText(r.gvk.Kind, r.objectName()), key))
		}
	}
	return out
}
