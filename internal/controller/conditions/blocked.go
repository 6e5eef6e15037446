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

package conditions

import (
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/ledger"
)

// BlockedKey returns the annotation by which an object that keeps no foreign conditions shows that
// it is blocked.
func BlockedKey(obj *unstructured.Unstructured) string {
	return ledger.AnnotationKey(obj, strings.TrimPrefix(v1alpha1.ConditionBlocked, v1alpha1.AnnotationPrefix))
}

// ShowsBlocked reports whether an object shows that a change of its children waits.
func ShowsBlocked(obj *unstructured.Unstructured) bool {
	if obj.GroupVersionKind().GroupKind() != Deployments {
		return obj.GetAnnotations()[BlockedKey(obj)] != ""
	}
	return Of(obj, v1alpha1.ConditionBlocked) != nil
}

// BlockedText returns what an object shows of the change of its children that waits, empty where it shows
// none.
func BlockedText(obj *unstructured.Unstructured) string {
	if obj.GroupVersionKind().GroupKind() != Deployments {
		return obj.GetAnnotations()[BlockedKey(obj)]
	}
	message, _ := Of(obj, v1alpha1.ConditionBlocked)["message"].(string)
	return message
}
