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

	"k8s.io/apimachinery/pkg/runtime/schema"

	"kausality.io/operator/internal/change"
)

// categoryComposite is that of Crossplane's composite resources.
const categoryComposite = "composite"

// composedName says which resource of its composition an object is. Crossplane composes
// another one in the place of an object that is called otherwise, and deletes it.
var composedName = change.Pattern(annotationPath("crossplane.io/composition-resource-name"))

// marksOf returns the patterns of the marks of children of a kind, whatever entries say: the
// metadata by which the controller of their parent tells what each of them is, such as the
// revision that a Pod was made of. A change of it has the controller replace the child, or
// take it for another one, so it counts like a change of the content. Controllers write it
// as they create the child, and never again. What they select their children by counts for
// another reason, as it says whose they are.
func (p *Policy) marksOf(child schema.GroupKind) []change.Pattern {
	known := p.Known()
	var out []change.Pattern
	if of, ok := known.Child(child); ok {
		out = append(out, of.AllMarks()...)
	}
	if slices.ContainsFunc(p.implied, func(e Entry) bool { return e.Kind == child }) {
		out = append(out, p.historyLabels()...)
	}
	if p.HasCategory(p.For.GroupKind(), categoryComposite) {
		out = append(out, composedName)
	}
	return out
}
