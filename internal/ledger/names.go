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

package ledger

import (
	"slices"
	"strings"

	"kausality.io/operator/api/v1alpha1"
)

// NameDropped is the name of the annotation by which what protects annotations inside the API server has the webhook
// tell of keys that it has taken away and that mean nothing: it cannot answer anybody itself. The webhook takes it off
// again in the same request, and it permits nothing.
const NameDropped = "dropped"

// Commands returns the names of the annotations that people set to ask for something.
func Commands() []string {
	return []string{NameApprove, NameBreakGlass, nameOf(v1alpha1.AnnotationOrphan), nameOf(v1alpha1.AnnotationReleaseGate)}
}

// written are the names of the annotations that Kausality writes itself, or reads on other kinds: who applies an old
// manifest, or copies an object, brings them along.
var written = []string{
	NameAllowances, NameApproved, NameDropped,
	nameOf(v1alpha1.ConditionBlocked), nameOf(v1alpha1.ConditionAffected), nameOf(v1alpha1.ConditionGate),
	nameOf(v1alpha1.AnnotationChangedBy), nameOf(v1alpha1.AnnotationRequests), nameOf(v1alpha1.AnnotationNoted), nameOf(v1alpha1.AnnotationChangedSpec),
	nameOf(v1alpha1.AnnotationGeneratedFrom), nameOf(v1alpha1.AnnotationDerivedFrom), nameOf(v1alpha1.AnnotationManaged),
	nameOf(v1alpha1.AnnotationInitiators), nameOf(v1alpha1.AnnotationValidationActions), nameOf(v1alpha1.AnnotationRecreate),
	nameOf(v1alpha1.AnnotationGateContent), nameOf(v1alpha1.AnnotationGateProvider), nameOf(v1alpha1.AnnotationGateParent),
	nameOf(v1alpha1.AnnotationGateCeiling), nameOf(v1alpha1.AnnotationGateUnseen), nameOf(v1alpha1.AnnotationGateRequested),
	nameOf(v1alpha1.AnnotationGateHeld),
}

// Known returns the names of all annotations that mean something to Kausality, on some object.
func Known() []string { return slices.Concat(Commands(), written) }

func nameOf(key string) string { return strings.TrimPrefix(key, v1alpha1.AnnotationPrefix) }

// Meant returns the name of the command that somebody may mean with a name that is none: it is written in another way,
// or differs by a letter or two. It is empty where none is near.
func Meant(name string) string {
	const near = 2
	found, least := "", near+1
	for _, command := range Commands() {
		if n := distance(letters(name), letters(command)); n < least {
			found, least = command, n
		}
	}
	return found
}

// letters returns a name without what people write in different ways.
func letters(name string) string {
	return strings.NewReplacer("-", "", "_", "", ".", "").Replace(strings.ToLower(name))
}

// distance is how many characters have to be added, taken out or replaced to make one text the other.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replaced := diagonal
			if a[i] != b[j] {
				replaced++
			}
			diagonal = row[j+1]
			row[j+1] = min(replaced, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
