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

package admission

import "k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

// fieldMetadata is the field of objects that has their metadata.
const fieldMetadata = "metadata"

// annotation returns the value of one annotation; all of them would be copied.
func annotation(obj *unstructured.Unstructured, key string) string {
	value, _, _ := unstructured.NestedString(obj.Object, fieldMetadata, "annotations", key)
	return value
}
