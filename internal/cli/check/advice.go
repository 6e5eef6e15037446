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

package check

import (
	"fmt"
	"strings"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/policy"
)

// advice says what a policy leaves to anybody, perhaps without its author wanting it. It is
// allowed, and may be meant: an empty section says so, and so does a rule without policies.
// The API server says nothing of it to who applies the policy.
func advice(p *v1alpha1.AllowancePolicy, compiled *policy.Policy) []string {
	var out []string
	if fields := compiled.Unruled(); len(fields) > 0 {
		out = append(out, fmt.Sprintf(
			"spec.rules: no rule is about %s of a %s: anybody may change that, and what follows passes by what others were allowed",
			strings.Join(fields, ", "), compiled.For.Kind))
	}
	if !compiled.AboutChildren() || compiled.IsAboutReaders() {
		return out
	}
	if p.Spec.Initializing == nil {
		out = append(out, fmt.Sprintf(
			"spec.initializing: it is left out: until a %s has settled for the first time, anybody may do anything to its children, and start what it was created to wait for",
			compiled.For.Kind))
	}
	if p.Spec.Deleting == nil {
		out = append(out, fmt.Sprintf(
			"spec.deleting: it is left out: while a %s is being deleted, anybody may do anything to its children",
			compiled.For.Kind))
	}
	return out
}
