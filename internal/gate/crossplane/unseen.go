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

package crossplane

import (
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"

	"kausality.io/operator/internal/change"
	"kausality.io/operator/internal/gate"
)

// unseenAfter are, after a write, the changed fields that the status does not show yet
// as they should be. When it shows them later, the provider has looked since: until
// then it may show the cloud of before, as does a provider that works in the background
// on an older value and does not look meanwhile. A field stays as it was when it was
// changed, until it is changed again.
func unseenAfter(w gate.Write, before gate.State) []string {
	if w.Old == nil {
		return nil
	}
	// The status is nothing that a write of the object sets.
	s := signalsOf(w.Old)
	was := s.forProvider
	s.forProvider = section(section(w.New.Object, specField), "forProvider")
	var unseen []string
	for _, path := range gate.ChangeOf(w.Ledger, before).Paths {
		if !isMirrored(path) || slices.Contains(unseen, path.String()) {
			continue
		}
		isUnseen := slices.Contains(before.Unseen, path.String())
		if stays := isUnseen && sameValue(path, was, s.forProvider); w.Brings && !stays {
			isUnseen = s.observed(path) != equal
		}
		if isUnseen {
			unseen = append(unseen, path.String())
		}
	}
	slices.Sort(unseen)
	return unseen
}

// sameValue reports whether two versions of what the status mirrors have the same in a
// field.
func sameValue(path change.Path, was, is map[string]any) bool {
	a, hadA := path[mirrored:].Value(was)
	b, hadB := path[mirrored:].Value(is)
	return hadA == hadB && equality.Semantic.DeepEqual(a, b)
}
