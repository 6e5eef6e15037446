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
	"fmt"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"kausality.io/operator/internal/decision"
	"kausality.io/operator/internal/eventrecorder"
	"kausality.io/operator/internal/lifecycle"
)

// refusedProof refuses a status by which what is withheld would count as carried out, where
// it is not for the requester to say that.
func refusedProof(r *request, f *facts) (admission.Response, bool) {
	if r.subresource != subresourceStatus || r.operation != decision.Update {
		return admission.Response{}, false
	}
	fields := f.Unwitnessed(lifecycle.Proven(r.old, f.OwnPolicies), lifecycle.Proven(r.seen(), f.OwnPolicies))
	if len(fields) == 0 {
		return admission.Response{}, false
	}
	resp := admission.Denied(fmt.Sprintf("this status says that %s of %s is carried out, which is withheld: that is for its controller to say; approve the change, or take it back, to end that",
		strings.Join(fields, ", "), objectText(f.Child.GVK.Kind, f.Child.Name)))
	resp.AuditAnnotations = map[string]string{auditReason: "Unwitnessed", auditPolicies: strings.Join(names(f.OwnPolicies), ",")}
	return resp, true
}

// announceProof tells people of the object that a status of it was refused.
func (m *Mutator) announceProof(r *request, resp admission.Response) {
	if r.dryRun {
		return
	}
	m.Notices.Post(eventrecorder.Notice{
		Reason: eventrecorder.Denied, Action: operationText(r), About: r.target(),
		Text: r.requester.Username + " was refused: " + resp.Result.Message,
	})
}
