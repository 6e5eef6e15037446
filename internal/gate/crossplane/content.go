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
	"cmp"
	"maps"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kausality.io/operator/internal/change"
	"kausality.io/operator/internal/gate"
)

// Content implements gate.Driver: it is the spec without the management policies,
// whose toggling is no change of what is wanted, and the name of what the object
// stands for. Empty values are as good as absent, as providers add and drop them when they
// write the object.
func (Driver) Content(obj *unstructured.Unstructured) string { return contentOf(obj.Object, obj) }

// contentOf returns the content of an object with the given fields.
func contentOf(fields map[string]any, obj *unstructured.Unstructured) string {
	content := map[string]any{ExternalNameAnnotation: obj.GetAnnotations()[ExternalNameAnnotation]}
	if spec, ok := fields[specField].(map[string]any); ok {
		content[specField] = withoutPolicies(spec)
	}
	return change.CanonicalHash(content)
}

// The fields of spec that are part of an identity, besides the external name.
var identityFields = []string{
	// Whose account it is in, and by whose credentials.
	"providerConfigRef", "providerRef",
	// Where the credentials go that come from there.
	"writeConnectionSecretToRef", "publishConnectionDetailsTo",
	// Whether it goes with the object.
	"deletionPolicy",
}

// identity are the patterns of all of it.
var identity = func() []change.Pattern {
	out := make([]change.Pattern, 0, 1+len(identityFields))
	out = append(out, change.MustParsePattern("metadata.annotations["+ExternalNameAnnotation+"]"))
	for _, field := range identityFields {
		out = append(out, change.MustParsePattern(specField+"."+field))
	}
	return out
}()

// Identity implements gate.Driver.
func (Driver) Identity() []change.Pattern { return identity }

// NameOf implements gate.Driver. No external name is the same as the object's own, which
// is what most providers make of none, whoever looks when they do.
func (Driver) NameOf(obj *unstructured.Unstructured) string {
	name := obj.GetAnnotations()[ExternalNameAnnotation]
	if name == obj.GetName() {
		name = ""
	}
	return change.CanonicalHash(map[string]any{ExternalNameAnnotation: name})
}

// SharesName implements gate.Driver.
func (Driver) SharesName(a, b *unstructured.Unstructured) bool {
	return outsideName(a) == outsideName(b)
}

func outsideName(obj *unstructured.Unstructured) string {
	return cmp.Or(obj.GetAnnotations()[ExternalNameAnnotation], obj.GetName())
}

// IsNamed implements gate.Driver.
func (d Driver) IsNamed(obj *unstructured.Unstructured, hash string) bool {
	return hash == "" || hash == d.NameOf(obj)
}

// nameAfter returns the name that what an object stands for should have after a write: that
// which it has where the write may say so. What a provider finds out, such as the name
// that the cloud has given to what it has created, follows the name that there was.
func (d Driver) nameAfter(w gate.Write, before gate.State) string {
	switch {
	case before.Name == "" && w.Old == w.New:
		return "" // nothing is written for it
	case w.Old == nil, w.Names, before.Name == "", w.BySystem && d.IsNamed(w.Old, before.Name):
		return d.NameOf(w.New)
	default:
		return before.Name
	}
}

func withoutPolicies(spec map[string]any) map[string]any {
	out := maps.Clone(spec)
	delete(out, SwitchField)
	return out
}
