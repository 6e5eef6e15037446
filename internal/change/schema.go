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

package change

// Schema is what the API server declares about the fields of a kind. Find goes by
// it first, and then by what Kubernetes' own kinds have in common: a kind may have
// no schema, and a schema may leave parts of an object open.
type Schema interface {
	// ListKeys are the merge keys of the items of the list at path, nil where none
	// are declared. It must not keep the path.
	ListKeys(path Path) []string
	// IsQuantity reports whether the field at path is declared to hold a quantity. It
	// must not keep the path.
	IsQuantity(path Path) bool
}

// noSchema declares nothing.
type noSchema struct{}

func (noSchema) ListKeys(Path) []string { return nil }
func (noSchema) IsQuantity(Path) bool   { return false }
