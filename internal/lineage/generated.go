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

package lineage

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/change"
	"kausality.io/operator/internal/generate"
	"kausality.io/operator/internal/generate/plan"
	"kausality.io/operator/internal/knowledge"
)

// GeneratingPolicy is the kind of the policies that make objects.
var GeneratingPolicy = schema.GroupKind{Group: v1alpha1.GroupVersion.Group, Kind: v1alpha1.KindGeneratingPolicy}

// generated knows the parents of what a GeneratingPolicy made, as its annotation names them: the
// triggers, the policy, and the source of a clone. The operator knows these by their names, and so
// does the object: one that is made anew takes the place of the one before.
type generated struct{}

// Parents implements System. A copy is nobody's: the annotation says which object it is about.
func (generated) Parents(_ Kinds, obj *unstructured.Unstructured) []Ref {
	marks := marksOf(obj)
	if marks == nil {
		return nil
	}
	refs := make([]Ref, 0, len(marks.Triggers)+2)
	add := func(of generate.ID) {
		ref := Ref{
			GVK: of.GroupKind().WithVersion(""), Namespace: of.Namespace, Name: of.Name,
			Path: generatedFrom.String(), Generator: marks.Policy.Name,
		}
		if !slices.ContainsFunc(refs, ref.SameParent) {
			refs = append(refs, ref)
		}
	}
	for _, trigger := range marks.Triggers {
		add(trigger)
	}
	add(generate.ID{Group: GeneratingPolicy.Group, Kind: GeneratingPolicy.Kind, Name: marks.Policy.Name})
	if marks.Source != nil {
		add(*marks.Source)
	}
	return refs
}

func marksOf(obj *unstructured.Unstructured) *plan.Marks {
	if obj == nil {
		return nil
	}
	if _, says := generatedFrom.Value(obj.Object); !says {
		return nil
	}
	marks, _ := plan.MarksOf(generate.IDOf(obj.Object), obj.Object)
	return marks
}

// Generator returns the name of the GeneratingPolicy that made an object, by what it says itself,
// empty where none did.
func Generator(obj *unstructured.Unstructured) string {
	if marks := marksOf(obj); marks != nil {
		return marks.Policy.Name
	}
	return ""
}

// generatedFrom and generatedBy are the paths of what an object says of how it came to be, and of
// the label by which the operator finds it.
var (
	generatedFrom = change.Path{}.Field("metadata").Field("annotations").Field(v1alpha1.AnnotationGeneratedFrom)
	generatedBy   = knowledge.Label(v1alpha1.LabelGeneratedBy)
	markTexts     = []string{generatedFrom.String(), generatedBy.String()}
)

// IsMark reports whether a path is one of these.
func IsMark(path change.Path) bool { return slices.Contains(markTexts, path.String()) }

// Marked returns the changes of the marks of an object that a GeneratingPolicy made, or that claims so
// now. They count for everybody but the policy's account: else whoever changes them would free the
// object of its bounds, or give it others.
func Marked(old, updated *unstructured.Unstructured) []change.Change {
	if marksOf(old) == nil && marksOf(updated) == nil {
		return nil
	}
	var changes []change.Change
	for _, path := range []change.Path{generatedFrom, generatedBy} {
		if verb, ok := changeAt(path, old, updated); ok {
			changes = append(changes, change.Change{Path: path, Verb: verb})
		}
	}
	return changes
}
