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

package ledger

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kausality.io/operator/api/v1alpha1"
)

// AnnotationPrefix is the prefix under which an object keeps its annotations of
// Kausality. It is kausality.io/ but for a ReplicaSet that a Deployment
// controls: the Deployment controller copies every annotation of a Deployment
// onto its ReplicaSets and would overwrite theirs on each sync (D10).
func AnnotationPrefix(kind schema.GroupKind, owners []metav1.OwnerReference) string {
	if !PrefixVaries(kind) {
		return v1alpha1.AnnotationPrefix
	}
	for _, o := range owners {
		if o.Controller == nil || !*o.Controller || o.Kind != "Deployment" {
			continue
		}
		if gv, err := schema.ParseGroupVersion(o.APIVersion); err == nil && gv.Group == "apps" {
			return v1alpha1.ReplicaSetAnnotationPrefix
		}
	}
	return v1alpha1.AnnotationPrefix
}

// PrefixVaries tells whether objects of the kind differ in their prefix.
func PrefixVaries(kind schema.GroupKind) bool {
	return kind == schema.GroupKind{Group: "apps", Kind: "ReplicaSet"}
}

// AnnotationKey is the key of the annotation that holds an object's ledger.
func AnnotationKey(kind schema.GroupKind, owners []metav1.OwnerReference) string {
	return AnnotationPrefix(kind, owners) + "allowances"
}
