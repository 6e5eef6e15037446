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

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/validation"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/decision"
	"kausality.io/operator/internal/eventrecorder"
	"kausality.io/operator/internal/ledger"
	"kausality.io/operator/internal/record"
)

// spareRoom is how many bytes the ledger of a child may need more than that of the object that it is made for.
const spareRoom = 1024

// noteSizes are how many bytes annotations have.
type noteSizes struct {
	// all of them, and those of Kausality.
	all, ours int
	// largest is the key of the largest of the others, which has so many bytes.
	largest string
	bytes   int
}

func sizesOf(annotations map[string]string) noteSizes {
	var out noteSizes
	for key, value := range annotations {
		size := len(key) + len(value)
		out.all += size
		switch {
		case ledger.IsOurs(key):
			out.ours += size
		case size > out.bytes || size == out.bytes && key < out.largest:
			out.largest, out.bytes = key, size
		}
	}
	return out
}

// noRoom says why the API server refuses a write for the size of the annotations, as its own answer says no more than
// that they are too long; empty where it does not, or would without what Kausality keeps there. What a controller has
// copied from another object is of that, too: it says nothing here, and is left all the same, as a controller that
// copies writes what is taken out again without an end (D10).
func (r *request) noRoom(f *facts, want map[string]string) string {
	size := sizesOf(want)
	if size.all <= validation.TotalAnnotationSizeLimitB || size.all-size.ours > validation.TotalAnnotationSizeLimitB {
		return ""
	}
	text := fmt.Sprintf("the annotations of %s have no room for what is kept there: %d bytes with the %d of Kausality, of %d that the API server takes; remove or shorten others, of which the largest is %s, with %d bytes",
		objectText(r.gvk.Kind, r.objectName()), size.all, size.ours, validation.TotalAnnotationSizeLimitB, size.largest, size.bytes)
	if f.ParentState == decision.ParentFound && f.parentObject != nil && annotation(f.parentObject, size.largest) == want[size.largest] {
		text += fmt.Sprintf(": it is copied from %s; shorten it there, and then where a copy is left", objectText(f.parent.Kind, f.parent.Name))
	}
	return text
}

// littleRoom says that what is made for an object may have no room where the object itself still has: controllers such
// as that of Deployments copy all annotations onto it, and its own ledger comes on top. Empty where there is enough.
func (r *request) littleRoom(o *outcome, want map[string]string) string {
	if len(o.grant.Allowances) == 0 || o.Requester.IsController() {
		return ""
	}
	size := sizesOf(want)
	copied := size.all
	if applied, has := want[corev1.LastAppliedConfigAnnotation]; has {
		copied -= len(corev1.LastAppliedConfigAnnotation) + len(applied) // Nobody copies it.
	}
	if size.all > validation.TotalAnnotationSizeLimitB || copied+size.ours+spareRoom <= validation.TotalAnnotationSizeLimitB {
		return ""
	}
	return fmt.Sprintf("the annotations of %s have %d bytes, of %d that the API server takes: a controller that copies them onto what it makes, as that of Deployments does, is refused there, as what Kausality keeps has no room; remove or shorten some, of which the largest is %s, with %d bytes",
		objectText(r.gvk.Kind, r.objectName()), size.all, validation.TotalAnnotationSizeLimitB, size.largest, size.bytes)
}

// roomWarnings returns what the requester is told of the size of the annotations that the object gets, and tells others.
func (m *Mutator) roomWarnings(r *request, ru *ruling, want map[string]string) []string {
	if why := r.noRoom(ru.facts, want); why != "" {
		m.tellNoRoom(r, ru, why)
		return []string{"kausality: " + why}
	}
	if why := r.littleRoom(ru.outcome, want); why != "" {
		return []string{"kausality: " + why}
	}
	return nil
}

// tellNoRoom tells people, and the record of the parent, that a child is refused for the size of its annotations: its
// controller hears no more than that they are too long, and nobody else anything. The validating hook is not asked. Of
// an object without a parent, the object itself is told of.
func (m *Mutator) tellNoRoom(r *request, ru *ruling, why string) {
	f := ru.facts
	if r.dryRun || ru.again || f.Operator {
		return
	}
	n := eventrecorder.Notice{
		Reason: eventrecorder.NoRoom, Action: operationText(r), Text: r.requester.Username + " is refused by the API server: " + why,
	}
	if f.ParentState != decision.ParentFound {
		if r.old == nil {
			return // There is nothing to tell of it, and whoever creates it is warned.
		}
		n.About = r.target()
		m.Notices.Post(n)
		m.rememberOwn(r, f, []v1alpha1.HistoryEntry{{
			Event: v1alpha1.EventRefused, User: r.requester.Username, Operation: operationText(r), Reason: v1alpha1.ReasonNoRoom,
			Policies: names(f.OwnPolicies), Message: why,
		}})
		return
	}
	n.About = f.parent
	tellChild(r, &n)
	m.Notices.Post(n)
	d := describe(r, f, ru.verdict)
	d.Result, d.Reason, d.Message, d.Policies = record.ResultDenied, v1alpha1.ReasonNoRoom, why, names(f.Parent.Policies)
	d.Initiator, d.Trace = "", nil
	// Nothing that anybody approves would help, so that nobody waits for that.
	m.Records.Observe(record.Outcome{Target: f.parent, Decision: &d, OneOff: true})
}
