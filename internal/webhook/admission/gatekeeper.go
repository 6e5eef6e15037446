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
	"slices"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/decision"
	"kausality.io/operator/internal/gate"
	"kausality.io/operator/internal/kubectl"
)

// endsHold returns the answer to a request by which an object would be gone without its system having seen
// that: a hold is of no use without the finalizer of the system. To take finalizers off is what people do when
// a deletion hangs, and what the object stands for would stay, with nobody to know of it.
func (v *Validator) endsHold(r *request, o *outcome) (admission.Response, bool) {
	if o.gate == nil || r.subresource != "" || r.old == nil || gate.IsOrphaned(r.old.GetAnnotations()) {
		return admission.Response{}, false
	}
	switch r.operation {
	case decision.Update:
		return o.takesKeeper(r)
	case decision.Delete:
		return v.lacksKeeper(r, o)
	default:
		return admission.Response{}, false
	}
}

// takesKeeper is about an update that ends a hold by taking finalizers off. The system knows what it
// does, and so does Kausality.
func (o *outcome) takesKeeper(r *request) (admission.Response, bool) {
	if o.gate.state.Held == nil || o.gate.bySystem || o.Operator {
		return admission.Response{}, false
	}
	gone := gate.LetsGo(o.gate.Finalizer(), r.old.GetFinalizers(), r.new.GetFinalizers())
	if len(gone) == 0 {
		return admission.Response{}, false
	}
	return o.refusedLoss(r, fmt.Sprintf("the deletion of %s is held back: without %s it would be gone, and what it stands for outside would stay there, with nobody to know of it",
		objectText(r.gvk.Kind, r.objectName()), shortList(gone))), true
}

// lacksKeeper is about a deletion that nothing can hold back, as the object has no finalizer. What its author
// does not want to go, or what is not there, is not lost by that. For some seconds after such a refusal the same
// goes for an object that has got one since.
func (v *Validator) lacksKeeper(r *request, o *outcome) (admission.Response, bool) {
	if o.Gate == nil || !o.gate.IsOutside(r.old) || !o.gate.DeletesOutside(r.old) {
		return admission.Response{}, false
	}
	switch o.verdict.Reason {
	case decision.ReasonFinishing, decision.ReasonOwn:
		return admission.Response{}, false
	default:
	}
	switch kept := gate.IsKept(r.old.GetFinalizers()); {
	case !kept:
		v.bare.note(r.old.GetUID())
	case !v.bare.has(r.old.GetUID()):
		return admission.Response{}, false
	}
	return o.refusedLoss(r, fmt.Sprintf("%s has, or had a moment ago, no finalizer of its provider, such as %s: it would be gone at once, and what it stands for outside would stay there, "+
		"with nobody to know of it; try again once its provider has put that back, which it does when it looks next",
		objectText(r.gvk.Kind, r.objectName()), o.gate.Finalizer())), true
}

// refusedLoss denies what would lose what the object stands for, and says how it can be kept, or deleted.
func (o *outcome) refusedLoss(r *request, why string) admission.Response {
	object := o.objects(r.gvk.Group, r.gvk.Kind, r.namespace, r.objectName())
	message := why + ". "
	if who := o.whoMayOrphan(); len(who) > 0 {
		message += fmt.Sprintf("%s may let it go and keep what is outside: %s. ", anyOf(who), kubectl.Annotate(object, v1alpha1.AnnotationOrphan, gate.Orphaned))
	}
	if r.operation == decision.Update {
		if who := o.whoDeletesOutside(); len(who) > 0 {
			message += fmt.Sprintf("%s may have both deleted: %s. ", anyOf(who), kubectl.Delete(object))
		}
		message += "What it waits for: " + kubectl.Kausality("explain", object)
	}
	resp := admission.Denied(strings.TrimSpace(message))
	resp.AuditAnnotations = map[string]string{auditReason: "Held", auditPolicies: strings.Join(names(o.gate.by()), ",")}
	return resp
}

// whoMayOrphan names those of whom the annotation counts, as mayOrphan has it.
func (f *facts) whoMayOrphan() []string {
	who := slices.Clone(f.initiators)
	for _, p := range f.index.Policies() {
		if f.ParentState == decision.ParentGone && f.wasAbove(p) || f.gate.lost && f.gate.state.Parent.IsAbove(p) {
			who = append(who, p.Initiators()...)
		}
	}
	slices.Sort(who)
	return slices.Compact(who)
}

// whoDeletesOutside names those by whose own deletion of the object what it stands for goes as well.
func (f *facts) whoDeletesOutside() []string {
	var who []string
	for _, p := range f.OwnPolicies {
		if deletesOutside(p) {
			who = append(who, p.Initiators()...)
		}
	}
	return slices.Compact(who)
}
