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

// The values of AnnotationOrphan that say something. What comes of a deletion cannot be undone, so that any other
// one is not guessed: the deletion waits until somebody says which of the two is meant.
const (
	orphaned    = "true"
	notOrphaned = "false"
)

// IsOrphaned reports whether the annotations of an object let what it stands for stay outside when the object goes.
func IsOrphaned(annotations map[string]string) bool {
	return annotations[v1alpha1.AnnotationOrphan] == orphaned
}

// UnclearOrphan says that the annotations of an object say something of that which cannot be told. It is empty where
// they do not.
func UnclearOrphan(annotations map[string]string) string {
	switch value, says := annotations[v1alpha1.AnnotationOrphan]; {
	case !says, value == orphaned, value == notOrphaned:
		return ""
	default:
		return fmt.Sprintf("%s has another value than %q, so that what the object stands for outside would not stay for it; nor does it go: "+
			"set it to %[2]q to keep that, or take the annotation off", v1alpha1.AnnotationOrphan, orphaned)
	}
}
