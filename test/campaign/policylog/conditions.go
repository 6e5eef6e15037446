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

package policylog

import (
	"regexp"

	"kausality.io/operator/test/campaign/audit"
)

// annotated is the one form of a condition that is read: that an object has an annotation.
var annotated = regexp.MustCompile(`^has\(object\.metadata\.annotations\['([^']+)'\]\)$`)

// Holds reports whether all conditions of the rule hold for an object. One of a form that is not read is
// taken to hold.
func (r *Rule) Holds(o *audit.Object) bool {
	for _, condition := range r.Conditions {
		if named := annotated.FindStringSubmatch(condition); named != nil {
			if _, there := o.Annotations[named[1]]; !there {
				return false
			}
		}
	}
	return true
}
