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

package plan

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/generate"
)

// MaxCauses is how many causes an object names.
const MaxCauses = 8

// Cause is who changed an object that another one was made from. Its JSON is part of the annotation of
// generated objects.
type Cause struct {
	// Object that was changed.
	Object generate.ID `json:"object"`
	// User who changed it last when the other one was written.
	User string `json:"user"`
	// Time of the change, as far as the object says.
	Time *metav1.Time `json:"time,omitempty"`
}

// CausesOf returns who changed an object, as its annotation says. Where a policy made the object, the
// service account of a policy, one of accounts, is replaced by the causes that the object names itself.
// There are none where admission has not noted the change.
func CausesOf(notary generate.Notary, id generate.ID, object metav1.Object, accounts ...string) []Cause {
	var out []Cause
	annotations := object.GetAnnotations()
	user, made := annotations[v1alpha1.AnnotationChangedBy], writtenIn(id, annotations)
	byPolicy := made.Policy.Name != "" && slices.Contains(accounts, user)
	if user != "" && !byPolicy && notary.Signed(id, object) {
		out = append(out, Cause{Object: id, User: user, Time: lastWrite(object)})
	}
	return append(out, made.Causes...)
}

// CausesOn returns whose changes an object says that it goes back to, the latest first.
func CausesOn(id generate.ID, content map[string]any) []Cause { return writtenOn(id, content).Causes }

// Causes returns causes in the order in which they count: the latest change is the one that led to what
// was written. Of each object there is one.
func Causes(of ...[]Cause) []Cause {
	out := slices.Concat(of...)
	slices.SortStableFunc(out, func(a, b Cause) int { return timeOf(b).Compare(timeOf(a).Time) })
	seen := map[generate.ID]bool{}
	out = slices.DeleteFunc(out, func(c Cause) bool {
		was := seen[c.Object]
		seen[c.Object] = true
		return was
	})
	return out[:min(len(out), MaxCauses)]
}

func timeOf(c Cause) metav1.Time {
	if c.Time == nil {
		return metav1.Time{}
	}
	return *c.Time
}

// lastWrite returns when an object was last written, a sub-resource such as its status apart.
func lastWrite(object metav1.Object) *metav1.Time {
	var last *metav1.Time
	managers := object.GetManagedFields()
	for i := range managers {
		if m := &managers[i]; m.Subresource == "" && m.Time != nil && (last == nil || last.Before(m.Time)) {
			last = m.Time
		}
	}
	return last
}
