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

import (
	"maps"

	"k8s.io/apimachinery/pkg/util/sets"
)

const metadataField = "metadata"

// uncounted are the top-level fields that never count, or, as metadata, only
// where a policy names them (D7).
var uncounted = sets.New("apiVersion", "kind", metadataField, "status")

// Counted returns obj without the top-level fields that do not count. It shares values with
// obj.
func Counted(obj map[string]any) map[string]any { return counted(obj) }

// counted returns obj without the top-level fields that do not count.
func counted(obj map[string]any) map[string]any {
	c := maps.Clone(obj)
	maps.DeleteFunc(c, func(name string, _ any) bool { return uncounted.Has(name) })
	return c
}
