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

package explain

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kausality.io/operator/internal/policy"
)

// ownOf returns the policies in effect for children of a kind: those of the kind that leave out the namespace of the
// holder, or what is labeled as its children are, have no say in who may use what is allowed.
func (h *holder) ownOf(kind schema.GroupKind) []*policy.Policy {
	child := policy.Holder{Kind: kind}
	if len(h.chain) > 0 {
		child.NamespaceLabels = h.chain[0].NamespaceLabels
	}
	if h.obj != nil {
		// Of other kinds the labels of children are not known; most have none.
		child.Labels, _, _ = unstructured.NestedStringMap(h.obj.Object, "spec", "template", "metadata", "labels")
	}
	return h.compiled.InEffect(append([]policy.Holder{child}, h.chain...))
}
