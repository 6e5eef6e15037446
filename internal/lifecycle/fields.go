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
	"maps"
	"strconv"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	kstatus "sigs.k8s.io/cli-utils/pkg/kstatus/status"

	"kausality.io/operator/internal/change"
)

// The status of a busy holder is judged on each of its writes, so fields are
// read in place: the accessors of unstructured and kstatus copy or allocate.

// observedGeneration returns the generation that the status is about, and whether it says
// one, as a number or, as Argo Rollouts does, as a string.
func observedGeneration(obj *unstructured.Unstructured, at change.Path) (int64, bool) {
	value, _ := at.Value(obj.Object)
	switch value := value.(type) {
	case int64:
		return value, true
	case string:
		generation, err := strconv.ParseInt(value, 10, 64)
		return generation, err == nil
	default:
		return 0, false
	}
}

// section returns a map at the top of the object, nil where there is none.
func section(obj *unstructured.Unstructured, name string) map[string]any {
	return child(obj.Object, name)
}

// child returns a map within a map, nil where there is none.
func child(parent map[string]any, name string) map[string]any {
	fields, _ := parent[name].(map[string]any)
	return fields
}

// count returns a whole number; controllers leave out those that are 0.
func count(fields map[string]any, name string) int64 {
	n, _ := fields[name].(int64)
	return n
}

// text returns a string, empty where there is none.
func text(fields map[string]any, name string) string {
	s, _ := fields[name].(string)
	return s
}

// replicas returns spec.replicas; the API defaults it to 1.
func replicas(spec map[string]any) int64 {
	if n, ok := spec["replicas"].(int64); ok {
		return n
	}
	return 1
}

// compute returns kstatus' judgement of the object as one of a kind that it knows. A status that
// kstatus cannot read is Unknown, which no caller takes for success.
func compute(obj *unstructured.Unstructured, as schema.GroupVersionKind) kstatus.Status {
	if obj.GroupVersionKind().GroupKind() != as.GroupKind() {
		obj = &unstructured.Unstructured{Object: maps.Clone(obj.Object)}
		obj.SetGroupVersionKind(as)
	}
	result, err := kstatus.Compute(obj)
	if err != nil {
		return kstatus.UnknownStatus
	}
	return result.Status
}

// unfinished returns the answer for an object that kstatus does not call Current.
func unfinished(judgement kstatus.Status) (Progress, bool) {
	if judgement == kstatus.FailedStatus {
		return working(whyFailed)
	}
	return working(whyWorking)
}
