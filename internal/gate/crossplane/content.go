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

package crossplane

import (
	"maps"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kausality.io/operator/internal/change"
)

// Content implements gate.Driver: it is the spec without the management policies,
// whose toggling is no change of what is wanted, and the name of what the object
// stands for. Empty values are as good as absent, as providers add and drop them when they
// write the object.
func (Driver) Content(obj *unstructured.Unstructured) string {
	content := map[string]any{ExternalNameAnnotation: obj.GetAnnotations()[ExternalNameAnnotation]}
	if spec, ok := obj.Object[specField].(map[string]any); ok {
		content[specField] = withoutPolicies(spec)
	}
	return change.CanonicalHash(content)
}

func withoutPolicies(spec map[string]any) map[string]any {
	out := maps.Clone(spec)
	delete(out, SwitchField)
	return out
}
