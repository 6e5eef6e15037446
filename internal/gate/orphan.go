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

package gate

import (
	"fmt"

	"kausality.io/operator/api/v1alpha1"
)

// Orphaned is the value of AnnotationOrphan that lets what is outside stay behind. "false" is as good as none.
// What comes of a deletion cannot be undone, so that nothing is guessed of any other value: the deletion waits
// until somebody says which of the two is meant.
const Orphaned = "true"

// IsOrphaned reports whether the annotations of an object let what it stands for stay outside when the object goes.
func IsOrphaned(annotations map[string]string) bool {
	return annotations[v1alpha1.AnnotationOrphan] == Orphaned
}

// UnclearOrphan says that the annotation of an object has a value that says neither. It is empty where there is
// none such.
func UnclearOrphan(annotations map[string]string) string {
	switch value, says := annotations[v1alpha1.AnnotationOrphan]; {
	case !says, value == Orphaned, value == "false":
		return ""
	default:
		return fmt.Sprintf("%s has another value than %q, so that nobody knows whether what the object stands for outside is to stay: "+
			"set it to %[2]q to keep that, or take the annotation off to let it go", v1alpha1.AnnotationOrphan, Orphaned)
	}
}
