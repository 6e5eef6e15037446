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

package admission

import (
	"slices"

	"kausality.io/operator/internal/policy"
)

// gatherCommand fills in the command that the request gives the controller of the object, or
// takes off it. A status carries none.
func (f *facts) gatherCommand(r *request) {
	if r.subresource != "" || !slices.ContainsFunc(f.OwnPolicies, func(p *policy.Policy) bool { _, ok := p.Command(); return ok }) {
		return
	}
	command, _ := policy.CommandOf(r.gvk.GroupKind())
	before, after := textAt(command.Annotation, r.old), textAt(command.Annotation, r.new)
	switch {
	case after != "" && after != before:
		f.Command = &command
	case after == "" && before != "":
		f.Obeys = &command
	}
}
