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

package gate

import (
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/sets"

	"kausality.io/operator/internal/controller/requeue"
	"kausality.io/operator/internal/gate"
	"kausality.io/operator/internal/ledger"
	"kausality.io/operator/internal/listing"
)

// plan is what is to be done about an object. The zero value is nothing.
type plan struct {
	// setting is what the gate is set to, nil where it stays as it is.
	setting *gate.Setting
	// consume takes the entries that open the gate out of the ledger.
	consume bool
	// annotations are others that are written; nil removes one.
	annotations map[string]*string
	// situation is what the condition says then; nil where the object has none.
	situation *situation
	// event is what people are told of once it is written; nil where there is
	// nothing.
	event *notice
	// ask is true where the webhook is to be asked whether what the object stands for may be created by now.
	ask bool
	// closed says that the entries have done what they were for.
	closed bool
	// seemsDone says that only time or another pass can show whether all is done.
	seemsDone bool
	// next is when to look again though nothing has happened; zero is never.
	next time.Time
}

// notice is what people are told.
type notice struct {
	kind, reason, note string
}

// about returns the reason, empty for no event.
func (e *notice) about() string {
	if e == nil {
		return ""
	}
	return e.reason
}

func normal(reason, note string) *notice {
	return &notice{kind: corev1.EventTypeNormal, reason: reason, note: note}
}

func warning(reason, note string) *notice {
	return &notice{kind: corev1.EventTypeWarning, reason: reason, note: note}
}

// plan decides what is to be done.
func (v view) plan() plan {
	switch {
	case v.obj.GetDeletionTimestamp() != nil:
		return v.planDeletion()
	case v.state.Held != nil:
		return v.planUndeleted()
	case v.belonging == free:
		return v.planRelease()
	case !v.state.Adopted() && v.belonging == unsure:
		return plan{}
	case !v.state.Adopted():
		return v.planAdoption()
	}
	want := v.computed(v.ledger)
	if !v.isSet(want) {
		return v.planCorrection(want)
	}
	if len(v.driver.Lets(v.obj)) == 0 {
		return v.planCreation(v.planClosed(want))
	}
	return v.planCreation(v.planOpen(want))
}

// planClosed leaves a closed gate as it is. Where nothing allowed to create what the object stands for, it
// has an Event recorded: the system itself reports that all is well.
func (v view) planClosed(want gate.Setting) plan {
	p := plan{situation: v.closedSituation(want)}
	if v.uncreated {
		p.event = warning(eventUncreated, p.situation.message)
	}
	return p
}

// planCorrection puts a switch right that the rule would have otherwise: while the
// webhook was down, somebody could open it, and a content could come back.
func (v view) planCorrection(want gate.Setting) plan {
	p := plan{setting: &want}
	wider := sets.New(v.driver.Lets(v.obj)...)
	after := v.obj.DeepCopy()
	v.driver.Set(after, want)
	if extra := sets.List(wider.Difference(sets.New(v.driver.Lets(after)...))); len(extra) > 0 {
		p.event = warning(eventReclosed, "Closed again for "+listing.Join(extra, " and ")+": no allowance opens it for what the object says now.")
	}
	return p
}

// planOpen follows an open gate until the system is done with what was allowed.
func (v view) planOpen(want gate.Setting) plan {
	c := v.change()
	progress := v.driver.Progress(v.obj, c)
	overdue := !v.since.IsZero() && !v.since.Add(v.maxOpen()).After(v.now)
	p := plan{situation: v.openSituation(progress, overdue), seemsDone: progress.SeemsDone()}
	switch progress.Stage {
	case gate.Applied:
		closed := v.computed(v.ledger.Without(ledger.Entry.IsGate))
		return plan{
			setting: &closed, consume: true, closed: true,
			situation: v.closedSituation(closed),
			event:     normal(eventClosed, v.closedNote(progress)),
		}
	case gate.Confirm:
		p.annotations = v.ask(c)
	case gate.Settling:
		if !v.done.IsZero() {
			p.next = v.done.Add(v.limits.settle)
		} else {
			p.next = v.now.Add(v.limits.settle)
		}
	case gate.Working, gate.Failing, gate.Vanished, gate.Paused:
	}
	if len(want.Unsupported) > 0 {
		p.situation = v.unsupportedSituation(want)
	}
	switch {
	case overdue:
		p.event = warning(eventStuck, p.situation.message)
	case v.since.IsZero():
		// The record is written a moment later than the object, and wakes nobody.
		p.next = earlier(p.next, v.now.Add(requeue.WhenGone))
	default:
		p.next = earlier(p.next, v.since.Add(v.maxOpen()))
	}
	return p
}

// planAdoption brings an object from before its policy under its gate, once its
// system is at rest: what it is in the middle of, it finishes (D16).
func (v view) planAdoption() plan {
	progress := v.driver.Progress(v.obj, gate.Change{})
	if !progress.SeemsDone() {
		return plan{situation: v.adoptingSituation(progress)}
	}
	setting := v.driver.Compute(gate.Write{New: v.obj, Kind: v.kind, Provider: v.kind.Provider, Parent: v.gatedBy, Ledger: v.ledger})
	return plan{
		setting:   &setting,
		situation: v.closedSituation(setting),
		event:     normal(eventAdopted, "From now on the outside is changed only while an allowance says so: "+v.policyNames()+"."),
	}
}

// planRelease gives an object back that is not gated any more: its switch becomes
// what its author wants, or the default (D16).
func (v view) planRelease() plan {
	if !v.state.Adopted() {
		return plan{}
	}
	setting := v.driver.ComputeRelease(v.obj)
	return plan{
		setting: &setting,
		consume: true,
		event:   normal(eventReleased, "No policy that says Deny names it any more: its system does again what its own author lets it do."),
	}
}

// apply returns the object as the plan has it.
func (p plan) apply(v view) *unstructured.Unstructured {
	after := v.obj.DeepCopy()
	if p.setting != nil {
		v.driver.Set(after, *p.setting)
	}
	annotations := maps.Clone(after.GetAnnotations())
	if annotations == nil {
		annotations = map[string]string{}
	}
	for key, value := range p.annotations {
		if value == nil {
			delete(annotations, key)
		} else {
			annotations[key] = *value
		}
	}
	if p.consume {
		if text := v.ledger.Without(ledger.Entry.IsGate).Encode(); text != "" {
			annotations[v.ledgerKey] = text
		} else {
			delete(annotations, v.ledgerKey)
		}
	}
	if p.setting != nil || p.consume || len(p.annotations) > 0 {
		after.SetAnnotations(annotations)
	}
	return after
}

// isSet reports whether the gate of an object is as a setting has it.
func (v view) isSet(want gate.Setting) bool {
	after := v.obj.DeepCopy()
	v.driver.Set(after, want)
	return equality.Semantic.DeepEqual(after.Object, v.obj.Object)
}

// earlier returns the first of two times, of which the zero time is none.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}
