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

package lifecycle

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// compositionFields are the fields of spec that Crossplane adds to the schema of
// every composite resource and claim and that hardly any other kind has:
// "crossplane" since version 2, the others before and in claims.
var compositionFields = []string{
	"crossplane",
	"compositionRef",
	"compositionRevisionRef",
	"compositionSelector",
	"compositionUpdatePolicy",
	"compositeDeletePolicy",
}

// composed says whether obj looks like a Crossplane composite resource or claim.
// Crossplane writes Synced and Ready for these, so that one which is absent is
// still to come, and the status of the other says too little.
//
// Managed resources, and kinds that do not look like it, are judged by what
// conditions they have.
func composed(obj *unstructured.Unstructured) bool {
	spec := section(obj, "spec")
	for _, field := range compositionFields {
		if _, ok := spec[field]; ok {
			return true
		}
	}
	return false
}
