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

package record

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kausality.io/operator/internal/watchstate"
)

// Moment is when the API server made a write: by its own clock, in whole seconds, and within a
// second by the resourceVersion, which orders the writes of all resources in one etcd. The zero
// Moment is before all others.
type Moment struct {
	at      time.Time
	version string
}

// WriteOf returns the Moment of the write that made an object what it is, its status included.
func WriteOf(obj metav1.Object) Moment {
	last := newest(obj.GetManagedFields(), func(metav1.ManagedFieldsEntry) bool { return true })
	return Moment{at: last, version: obj.GetResourceVersion()}
}

// ChangeOf returns the Moment of the last change of an object as LastChange knows it. Within its
// second it may be taken for later, never for earlier: the status of the object may be newer.
func ChangeOf(obj metav1.Object) Moment {
	return Moment{at: LastChange(obj), version: obj.GetResourceVersion()}
}

// Before reports whether m is certainly before o.
func (m Moment) Before(o Moment) bool {
	return m.at.Before(o.at) || m.at.Equal(o.at) && watchstate.IsBefore(m.version, o.version)
}

// Within reports whether m may be before o, or no longer than a time after it. Moments are in whole
// seconds.
func (m Moment) Within(d time.Duration, o Moment) bool {
	return m.Before(o) || !m.at.After(o.at.Add(d))
}

// Later returns the later one of the two.
func (m Moment) Later(o Moment) Moment {
	if m.Before(o) {
		return o
	}
	return m
}
