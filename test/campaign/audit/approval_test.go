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

package audit

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Keys in brackets may have dots in them, and the place of an item stands for any.
func TestApprovedPath(t *testing.T) {
	for text, want := range map[string][]string{
		"spec":                                  {"spec"},
		"spec.replicas":                         {"spec", "replicas"},
		"spec.containers[0].env":                {"spec", "containers", "*", "env"},
		"spec.items[0]":                         {"spec", "items", "*"},
		"metadata.labels[app.example.org/name]": {"metadata", "labels", "app.example.org/name"},
		`spec["odd key"].value`:                 {"spec", "odd key", "value"},
		"spec.list[1][2]":                       {"spec", "list", "*", "*"},
	} {
		if diff := cmp.Diff(want, approvedPath(text)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", text, diff)
		}
	}
}
