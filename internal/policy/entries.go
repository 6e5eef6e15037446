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
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kausality.io/operator/api/v1alpha1"
)

// CompileEntries compiles entries that are no policy's, and reports what is wrong in them.
// Those are left out, as are those about readers: what these may do depends on a rule.
func CompileEntries(entries []v1alpha1.PolicyEntry, path *field.Path, kinds KindResolver) ([]Entry, field.ErrorList) {
	c := compiler{kinds: kinds, versions: map[schema.GroupKind]string{}}
	compiled := c.entries(entries, path)
	return compiled, told(c.errs)
}

// CompileSelector compiles a label selector that is no policy's; an omitted one selects
// everything, and one that is wrong nothing.
func CompileSelector(s *metav1.LabelSelector, path *field.Path) (labels.Selector, field.ErrorList) {
	c := compiler{}
	compiled := c.selector(s, path)
	return compiled, told(c.errs)
}
