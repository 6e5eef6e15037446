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

// CopiesWithheld reports whether the request makes a child of what is withheld of its parent. Who may
// initiate on the child is the cause of what they wish for, and not of what somebody else wrote into the
// parent that they copy, unseen. *Observed* where they were: an initiator of Jobs ran a CronJob by
// kubectl create job --from, and ran the image that a stranger had left there, in their own name.
//
// Only of kinds whose making is declared it can be told.
func (in *Input) CopiesWithheld() bool {
	if in.Operation != Create || in.ParentState != ParentFound || !in.Parent.isWithheld() {
		return false
	}
	m, _ := in.Parent.Known().Child(in.Child.GVK.GroupKind())
	if m.Template == nil {
		return false
	}
	approved, _ := m.Template.Value(in.Parent.Standing.Content())
	return len(in.carried(in.Parent.Standing, m, approved)) > 0
}
