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
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kausality.io/operator/internal/decision"
	"kausality.io/operator/internal/gate"
)

// Holds holds deletions back.
type Holds interface {
	// Hold writes annotations to the very object, before its deletion is admitted. One
	// that is not there any more needs none.
	Hold(ctx context.Context, obj *unstructured.Unstructured, annotations map[string]string) error
}

// asked returns the verdict that decides whether a DELETE is held. Anybody may delete again what is being
// deleted already. Who could have deleted it without a hold in the first place ends the hold by that: after a
// stranger's deletion nobody could get rid of what is outside otherwise.
func (f *facts) asked(ctx context.Context, verdict decision.Verdict) decision.Verdict {
	if verdict.Reason != decision.ReasonFinishing || f.Gate == nil || f.gate.state.Held == nil || f.gate.state.Held.Allowed {
		return verdict
	}
	anew := f.Input
	anew.Child.Deleting = false
	if first := decision.Decide(ctx, &anew); f.deletesOutside(first) {
		return first
	}
	return verdict
}

// byBrokenGlass returns BreakGlass for a DELETE with a reason for breaking the glass, where nothing else allows
// to delete what the object stands for. It does not matter what allows to delete the object itself, nor
// whether that deletion is held already. Other verdicts stay as they are.
func (f *facts) byBrokenGlass(ctx context.Context, verdict decision.Verdict) decision.Verdict {
	if f.Gate == nil || f.Operation != decision.Delete || f.BreakGlass == "" || !verdict.Allowed {
		return verdict
	}
	switch verdict.Reason {
	case decision.ReasonOwn, decision.ReasonPlatform:
		return verdict
	case decision.ReasonFinishing:
		if f.gate.state.Held == nil || f.gate.state.Held.Allowed {
			return verdict
		}
	default:
	}
	asked := f.asked(ctx, verdict)
	switch {
	case asked.Reason == decision.ReasonBreakGlass:
		return asked
	case f.deletesOutside(asked):
		return verdict
	default:
		return decision.Verdict{
			Allowed: true, Reason: decision.ReasonBreakGlass, Policies: f.gate.by(),
			Uncovered: []decision.Act{{Operation: decision.Delete}},
		}
	}
}

// deletesOutside reports whether a deletion may take along what the object stands for.
func (f *facts) deletesOutside(verdict decision.Verdict) bool {
	return f.ExternalDeletion(verdict, append(f.boundsOfGone(), f.Parent.Policies...))
}

// hold keeps the system behind an object's gate from seeing the object's deletion,
// before that is admitted: afterwards it is too late, as what the system does not
// delete it lets go of (D16). It is held whatever lets the request through, the
// garbage collector's included; the controller goes on with it where that is allowed.
func (v *Validator) hold(ctx context.Context, r *request, f *facts, verdict decision.Verdict) error {
	if f.Gate == nil || r.operation != decision.Delete {
		return nil
	}
	switch verdict.Reason {
	case decision.ReasonFinishing, decision.ReasonOwn:
		return nil
	default:
	}
	initiator, trace := decision.DeletionTrace(&f.Input, verdict)
	pause := f.gate.PauseAnnotation()
	held := f.gate.state.Held
	next := gate.Hold{
		User: r.requester.Username, Initiator: initiator, Trace: trace,
		Allowed: f.deletesOutside(verdict),
		Paused:  held == nil && r.old.GetAnnotations()[pause] == isTrue || held != nil && held.Paused,
	}
	if held != nil && equality.Semantic.DeepEqual(*held, next) {
		return nil
	}
	state := f.gate.state
	state.Held = &next
	annotations := state.Annotations()
	annotations[pause] = isTrue
	if err := v.Holds.Hold(ctx, r.old, annotations); err != nil {
		return fmt.Errorf("holding the deletion of %s back, so that what it stands for is not lost: %w",
			objectText(r.gvk.Kind, r.objectName()), err)
	}
	return nil
}
