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
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/change"
)

// known says what of that which a policy tells of the parents' kind cannot be so.
func (m *misjudged) known(parent schema.GroupVersionKind, k *v1alpha1.Knowledge, path *field.Path) {
	if k == nil {
		return
	}
	var told []schema.GroupKind
	for i, c := range k.Children {
		at, kind := path.Child("children").Index(i), schema.GroupKind{Group: c.APIGroup, Kind: c.Kind}
		if slices.Contains(told, kind) {
			m.add(at, fmt.Sprintf("%s is there twice, and only one of the two counts", kind))
		}
		told = append(told, kind)
		pattern, err := change.ParsePattern(c.Template)
		if err != nil || c.Template == "" {
			continue
		}
		if is := m.declared.TypeOf(parent, pattern); is != "" && is != change.ValueMap {
			m.add(at.Child("template"), fmt.Sprintf("in kind %s, %s is %s: a template has a metadata and a spec", parent.Kind, c.Template, is))
		}
	}
	for i, key := range k.OwnAnnotations {
		domain, _, _ := strings.Cut(key, "/")
		if domain == v1alpha1.GroupVersion.Group || strings.HasSuffix(domain, "."+v1alpha1.GroupVersion.Group) {
			m.add(path.Child("ownAnnotations").Index(i), key+" is Kausality's own, and no controller's")
		}
	}
}

// beforeCreation says that a condition asks what was there of an object before it is created, where an entry lets nothing
// be done but that.
func (m *misjudged) beforeCreation(e *v1alpha1.MaintainingEntry, path *field.Path) {
	if len(e.Mutations) > 0 || len(e.Verbs) == 0 || slices.ContainsFunc(e.Verbs, func(verb string) bool { return verb != verbCreate }) {
		return
	}
	for i, source := range e.Conditions {
		guarded := slices.ContainsFunc([]string{varOldObject + " ==", varOldObject + " !=", "has(" + varOldObject, varOldObject + ".?"}, func(guard string) bool {
			return strings.Contains(source, guard)
		})
		if strings.Contains(source, varOldObject+".") && !guarded {
			m.add(path.Child("conditions").Index(i), "what is created was not there before, and has no "+varOldObject+": it is never true, and the entry lets nothing through")
		}
	}
}
