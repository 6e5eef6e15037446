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
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// controllerOwner knows the owner reference with controller: true, which all
// controllers of Kubernetes itself set.
type controllerOwner struct{}

func (controllerOwner) Parents(_ Kinds, obj *unstructured.Unstructured) []Ref {
	return owners(obj, true)
}

// otherOwners returns the references that do not claim to control the object.
type otherOwners struct{}

func (otherOwners) Parents(_ Kinds, obj *unstructured.Unstructured) []Ref {
	return owners(obj, false)
}

// owners returns the references that control the object, or those that do not. The API server lets
// an object have one controller.
func owners(obj *unstructured.Unstructured, controlling bool) []Ref {
	var refs []Ref
	for i, o := range obj.GetOwnerReferences() {
		if controls := o.Controller != nil && *o.Controller; controls != controlling {
			continue
		}
		if ref, ok := ownerRef(obj, i, o); ok {
			refs = append(refs, ref)
		}
	}
	return refs
}

func ownerRef(obj *unstructured.Unstructured, index int, o metav1.OwnerReference) (Ref, bool) {
	gv, err := schema.ParseGroupVersion(o.APIVersion)
	if err != nil {
		return Ref{}, false
	}
	return Ref{
		GVK:        gv.WithKind(o.Kind),
		Namespace:  obj.GetNamespace(),
		Name:       o.Name,
		UID:        o.UID,
		Path:       OwnersPath + "[" + strconv.Itoa(index) + "]",
		Controller: o.Controller != nil && *o.Controller,
	}, true
}
