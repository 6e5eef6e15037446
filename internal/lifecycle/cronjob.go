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

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// cronJobKind says no generation anywhere, so that only time ends most of its
// allowances.
var cronJobKind = schema.GroupKind{Group: batchv1.GroupName, Kind: "CronJob"}

// hasRun tells whether a CronJob has come round since it was created: right after
// it has started a Job, it writes which time of its schedule that was for. Its
// creation has had its effect then, before its time is over, and it stops being
// Initializing; whether the same is so of a later change cannot be told.
func hasRun(obj *unstructured.Unstructured) bool {
	if obj.GroupVersionKind().GroupKind() != cronJobKind {
		return false
	}
	last, err := time.Parse(time.RFC3339, text(section(obj, "status"), "lastScheduleTime"))
	return err == nil && !last.Before(obj.GetCreationTimestamp().Time)
}
