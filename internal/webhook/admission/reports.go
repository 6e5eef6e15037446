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
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"

	"kausality.io/operator/internal/policy"
)

// gatherStatus fills in what the requester does through the status of the object, or reports
// there without being the one to do so. In the mutating hook that may yet be ignored.
func (f *facts) gatherStatus(r *request) {
	if !r.validating {
		return
	}
	known := policy.Known(r.gvk.GroupKind(), f.OwnPolicies)
	if !f.ReportsStatus() {
		f.Actions = known.Changes(r.old.Object, r.new.Object)
	}
	if !f.MayReport() {
		// Of built-in kinds the API server takes the status from the sub-resource alone.
		inObject := r.subresource == "" && !clientgoscheme.Scheme.Recognizes(r.gvk)
		f.Reports = known.Reports(r.old.Object, r.new.Object, inObject)
	}
}
