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

// Package conditions reads the conditions of objects of any kind, writes those of Deployments,
// and knows whose objects keep
// conditions that are not their controller's.
package conditions

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Deployments are the kind whose controller keeps conditions that are not its
// own. An annotation on one would bump its generation, and be copied (D10). It is named here,
// and not declared in package knowledge, as its conditions are written in a way of their own,
// by the merge keys and with the times that only its schema has; of all other kinds it is found
// out by trying where they keep what Kausality shows.
var Deployments = schema.GroupKind{Group: "apps", Kind: "Deployment"}

// OfDeployment returns the status that makes a Deployment have a condition, as part of a
// strategic merge patch. Both times are as RFC 3339 writes them.
func OfDeployment(conditionType, reason, message, since, updated string) map[string]any {
	return status(map[string]any{
		"type":               conditionType,
		"status":             string(metav1.ConditionTrue),
		"reason":             reason,
		"message":            message,
		"lastTransitionTime": since,
		"lastUpdateTime":     updated,
	})
}

// RemovedOfDeployment returns the status that takes a condition away from a Deployment, as
// part of a strategic merge patch.
func RemovedOfDeployment(conditionType string) map[string]any {
	return status(map[string]any{"$patch": "delete", "type": conditionType})
}

func status(condition map[string]any) map[string]any {
	return map[string]any{"conditions": []any{condition}}
}

// Of returns the condition of a type that an object has, nil where it has
// none.
func Of(obj *unstructured.Unstructured, conditionType string) map[string]any {
	conditions, _, _ := unstructured.NestedSlice(obj.Object, "status", "conditions")
	for _, c := range conditions {
		if condition, ok := c.(map[string]any); ok && condition["type"] == conditionType {
			return condition
		}
	}
	return nil
}
