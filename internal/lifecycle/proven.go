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

package lifecycle

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kausality.io/operator/internal/change"
	"kausality.io/operator/internal/policy"
)

// Proven returns the fields of which the status of obj proves that all children are as the
// object has them. A change of them that is withheld is over then: there is nothing left
// to hold back (D2). What a status proves is declared for each kind, or it proves nothing:
// observed, a Certificate says that it is Ready at its new generation without having looked
// at the field that changed.
func Proven(obj *unstructured.Unstructured, policies []*policy.Policy) []change.Pattern {
	known := knownOf(obj, policies)
	if len(known.Proves) == 0 {
		return nil
	}
	if _, reached := assess(obj, known); !reached {
		return nil
	}
	return known.Proves
}

// IsOver reports whether obj has finished for good, so that nothing follows from it any more, as a Job that is
// Complete or Failed. Nothing of it is held back then, which Proven says as well. But it does not prove that its
// children ever were as it has them now.
func IsOver(obj *unstructured.Unstructured, policies []*policy.Policy) bool {
	return Of(obj, policies).Why == whyFinished
}
