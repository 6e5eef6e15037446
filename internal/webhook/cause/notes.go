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

package cause

import (
	"strings"

	"gomodules.xyz/jsonpatch/v2"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/generate"
)

// notes are the annotations of an object that the hook writes, empty where it is to have none.
type notes struct{ changedBy, requests, signature string }

// notesOn returns the notes on an object, none where there is no object.
func notesOn(object *unstructured.Unstructured) notes {
	if object == nil {
		return notes{}
	}
	annotations := object.GetAnnotations()
	return notes{
		changedBy: annotations[v1alpha1.AnnotationChangedBy], requests: annotations[v1alpha1.AnnotationRequests],
		signature: annotations[v1alpha1.AnnotationNoted],
	}
}

// signed returns the notes as they are worth something on an object. A request that is only tried gets no
// signature, which whoever tries it could put onto the object later.
func (h *Hook) signed(req *admission.Request, object *unstructured.Unstructured, n notes) notes {
	if (n.changedBy != "" || n.requests != "") && (req.DryRun == nil || !*req.DryRun) {
		n.signature = h.Notary.Sign(generate.IDOf(object.Object), object, n.changedBy, n.requests, h.Clock.Now())
	}
	return n
}

// patch returns what gives an object with some annotations the notes, and takes off what it says itself.
func (n notes) patch(have map[string]string) []jsonpatch.Operation {
	const path = "/metadata/annotations"
	var out []jsonpatch.Operation
	for _, note := range []struct{ key, want string }{
		{v1alpha1.AnnotationChangedBy, n.changedBy}, {v1alpha1.AnnotationRequests, n.requests}, {v1alpha1.AnnotationNoted, n.signature},
	} {
		at := path + "/" + strings.ReplaceAll(note.key, "/", "~1")
		switch said, noted := have[note.key]; {
		case said == note.want && noted == (note.want != ""):
		case note.want == "":
			out = append(out, jsonpatch.NewOperation("remove", at, nil))
		default:
			if have == nil {
				have = map[string]string{}
				out = append(out, jsonpatch.NewOperation("add", path, map[string]string{}))
			}
			out = append(out, jsonpatch.NewOperation("add", at, note.want))
		}
	}
	return out
}
