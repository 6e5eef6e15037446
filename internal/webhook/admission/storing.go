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
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// leaveOutUnstored has the new object of a request be what the API server will store of it: what the version in which
// objects are stored does not have is no change of the object, whoever writes it, though the request shows it.
// Nothing tells of what a webhook converts. sent and written are the objects as the request has them.
func (g *Gatherer) leaveOutUnstored(r *request, requested string, sent, written *unstructured.Unstructured) {
	if r.new == nil {
		return
	}
	storing := g.Kinds.Storing(r.resource, requested)
	if storing == nil {
		return
	}
	stored, dropped := storing.Stored(r.new.Object)
	if !dropped {
		return
	}
	r.new = &unstructured.Unstructured{Object: stored}
	// The API server counts up the generation before it drops anything.
	r.countedAnyway = sent != nil && r.subresource == "" && !sameContent(sent, written)
}
