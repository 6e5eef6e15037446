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

	"kausality.io/operator/internal/change"
)

// hasRun reports whether the status has a time, at a path, that is not before the creation
// of an object: its creation has had its effect then, before its time is over, and it stops
// being Initializing. Whether the same is so of a later change cannot be told. CronJobs
// have come round then: right after one has started a Job, it writes which time of its
// schedule that was for.
func hasRun(obj *unstructured.Unstructured, at change.Path) bool {
	if at == nil {
		return false
	}
	value, _ := at.Value(obj.Object)
	text, _ := value.(string)
	last, err := time.Parse(time.RFC3339, text)
	return err == nil && !last.Before(obj.GetCreationTimestamp().Time)
}
