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

package gate_test

import (
	"testing"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/gate"
)

// TestUnclearOrphan takes no value for another one.
func TestUnclearOrphan(t *testing.T) {
	for value, want := range map[string]struct{ orphaned, unclear bool }{
		"true": {orphaned: true}, "false": {}, "True": {unclear: true}, "1": {unclear: true}, "yes": {unclear: true}, "": {unclear: true},
	} {
		annotations := map[string]string{v1alpha1.AnnotationOrphan: value}
		if got := gate.IsOrphaned(annotations); got != want.orphaned {
			t.Errorf("%q orphans: %t", value, got)
		}
		if got := gate.UnclearOrphan(annotations) != ""; got != want.unclear {
			t.Errorf("%q is unclear: %t", value, got)
		}
	}
	if gate.IsOrphaned(nil) || gate.UnclearOrphan(nil) != "" {
		t.Error("what is not there says something")
	}
}
