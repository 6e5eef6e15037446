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

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/apimachinery/pkg/util/sets"
)

// isApartFrom reports whether no namespace can be selected by both policies, so that neither has a bearing on what is
// bounded by the other.
func (p *Policy) isApartFrom(other *Policy) bool {
	mine, some := requirements(p.namespaceSelector)
	others, found := requirements(other.namespaceSelector)
	if !some || !found {
		return true
	}
	return slices.ContainsFunc(mine, func(a labels.Requirement) bool {
		return slices.ContainsFunc(others, func(b labels.Requirement) bool {
			return a.Key() == b.Key() && (excludes(&a, &b) || excludes(&b, &a))
		})
	})
}

// requirements returns what a selector asks of a namespace, and false where it selects none. One that asks for nothing
// leaves out kube-system.
func requirements(s labels.Selector) (labels.Requirements, bool) {
	if !s.Empty() {
		return s.Requirements()
	}
	isOther, err := labels.NewRequirement(corev1.LabelMetadataName, selection.NotIn, []string{metav1.NamespaceSystem})
	if err != nil {
		return nil, true
	}
	return labels.Requirements{*isOther}, true
}

// excludes reports whether what meets a requirement, of the value of a label, does not meet another one of the same label.
func excludes(a, b *labels.Requirement) bool {
	values := sets.New(a.ValuesUnsorted()...)
	switch a.Operator() {
	case selection.In, selection.Equals, selection.DoubleEquals:
		has := sets.New(b.ValuesUnsorted()...)
		switch b.Operator() {
		case selection.In, selection.Equals, selection.DoubleEquals:
			return !values.HasAny(b.ValuesUnsorted()...)
		case selection.NotIn, selection.NotEquals:
			return has.IsSuperset(values)
		default:
			return b.Operator() == selection.DoesNotExist
		}
	case selection.Exists:
		return b.Operator() == selection.DoesNotExist
	default:
		return false
	}
}
