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

package lineage

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

const appsGroup = "apps"

var (
	replicaSetKind         = schema.GroupKind{Group: appsGroup, Kind: "ReplicaSet"}
	controllerRevisionKind = schema.GroupKind{Group: appsGroup, Kind: "ControllerRevision"}
)

// Bookkeeping tells whether all that an operation on a child does is its
// system's own bookkeeping, which no change of the parent causes: Deployments
// trim ReplicaSets that have no Pods left, and workloads keep their history in
// ControllerRevisions. A refused clean-up would end their controller's sync, and
// so would a refused revision: a set of which a change is withheld would not even
// heal.
//
// child is as it was before the operation, or, where that creates it, as it will
// be.
func Bookkeeping(operation string, child *unstructured.Unstructured) bool {
	switch child.GroupVersionKind().GroupKind() {
	case replicaSetKind:
		return operation == "DELETE" && replicas(child, "spec") == 0 && replicas(child, "status") == 0
	case controllerRevisionKind:
		return true
	default:
		return false
	}
}

func replicas(obj *unstructured.Unstructured, section string) int64 {
	n, found, err := unstructured.NestedInt64(obj.Object, section, "replicas")
	if err != nil {
		return -1
	}
	if !found && section == "spec" {
		return 1 // The API's default.
	}
	return n
}
