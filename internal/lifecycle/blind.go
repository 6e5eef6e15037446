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
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kausality.io/operator/internal/policy"
)

// firstStatus is for how long after its creation an object without a status may be one that
// its controller has yet to look at.
const firstStatus = time.Minute

// Blind reports whether nothing tells whether an object is still new: its status never
// does, and no policy in effect for it, the oldest first, says what does. Only time ends its
// initialization then, and what it lets people do is theirs for no reason (D9).
func Blind(obj *unstructured.Unstructured, policies []*policy.Policy, now time.Time) bool {
	initializing, settled := Conditions(policies)
	known := knownOf(obj, policies)
	if initializing != nil || settled != nil || known.Settled.Created != nil {
		return false
	}
	progress, _ := assess(obj, known)
	if !progress.Timed {
		return false
	}
	awaited := len(section(obj, "status")) == 0 && obj.GetGeneration() != 0
	return !awaited || !now.Before(obj.GetCreationTimestamp().Add(firstStatus))
}
