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

package decision

import (
	"kausality.io/operator/internal/change"
	"kausality.io/operator/internal/policy"
)

// Unwitnessed returns the withheld fields of the object that a status would prove to be carried
// out, where it comes from somebody whose word does not count for that: whether children are
// as the object has them is for those to say who make them so (D2, D8). Else anybody could
// have a change of theirs count as approved, by reporting that it is done. proven are the
// fields that the status proves, and before those that the one from before does.
func (in *Input) Unwitnessed(before, proven []change.Pattern) []string {
	if len(proven) == 0 || len(before) > 0 || in.Child.Standing == nil || in.reports() {
		return nil
	}
	var out []string
	for _, d := range in.Child.Standing.Withheld() {
		if change.AnyCovers(proven, d.Path) {
			out = append(out, d.Path.String())
		}
	}
	return out
}

// reports returns true where the requester may say what became of the children of the object:
// who may use its allowances, initiators among them.
func (in *Input) reports() bool {
	return in.Operator || in.Requester.Username == controllerManager || platform(in) ||
		policy.MayExercise(in.Requester, in.OwnPolicies, nil)
}
