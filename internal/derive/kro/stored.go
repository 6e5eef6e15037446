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

package kro

import (
	corev1 "k8s.io/api/core/v1"

	"kausality.io/operator/internal/change"
	"kausality.io/operator/internal/derive/flow"
)

// Secrets have a field that is only written: the API server stores what is in it in another one.
const (
	secretKind   = "Secret"
	writtenField = "stringData"
	storedField  = "data"
)

// stored returns the field in which the API server stores what a template has in one: no other changes.
func (n *node) stored(at change.Pattern) change.Pattern {
	if n.kind.Group != corev1.GroupName || n.kind.Kind != secretKind || len(at) == 0 || at[0] != flow.FieldSegment(writtenField) {
		return at
	}
	out := make(change.Pattern, 0, len(at))
	return append(append(out, flow.FieldSegment(storedField)), at[1:]...)
}
