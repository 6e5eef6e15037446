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
	"fmt"
	"slices"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/gate"
	"kausality.io/operator/internal/policy"
	"kausality.io/operator/internal/record"
)

// planDeletion lets a deletion go on that was held back when it was admitted: with
// what is outside where that is allowed, and without it where somebody says so. It
// waits for one of the two as long as it takes (D16).
func (v view) planDeletion() plan {
	held, unclear := v.state.Held, gate.UnclearOrphan(v.obj.GetAnnotations())
	switch {
	case held == nil:
		return plan{}
	case gate.IsOrphaned(v.obj.GetAnnotations()):
		setting := v.driver.ComputeOrphan(v.obj, v.kind)
		return v.resume(held, setting, normal(eventOrphaned, "Deleted without what it stands for outside, which stays: "+v1alpha1.AnnotationOrphan+" says so."))
	case unclear != "":
		message := "The deletion by " + by(held) + " is held back: " + unclear + "."
		return plan{situation: v.situation(reasonHeld, message), event: warning(eventDeletionHeld, message)}
	case !v.driver.IsNamed(v.obj, v.state.Name):
		message := v.renamedMessage() + " What it stands for now is not deleted: put that back, or set " + v1alpha1.AnnotationOrphan + `: "` + gate.Orphaned + `" on the object.`
		return plan{situation: v.situation(reasonHeld, message), event: warning(eventDeletionHeld, message)}
	case held.Allowed || v.deletionAllowed:
		setting := v.driver.ComputeDeletion(v.obj, v.kind)
		if len(setting.Unsupported) > 0 {
			return plan{
				situation: v.situation(reasonHeld, v.cannotDeleteMessage()),
				event:     warning(eventDeletionHeld, v.cannotDeleteMessage()),
			}
		}
		return v.resume(held, setting, v.deletionEvent())
	case v.deletionUntold && v.isDeletedLately():
		// Whoever follows a hint to orphan the object loses the deletion outside.
		return plan{
			situation: v.situation(reasonHeld, "The deletion by "+by(held)+" is being looked at: what is above the object goes as well, and it is not known yet what that takes along outside."),
			next:      v.now.Add(untoldRecheck),
		}
	default:
		message := v.heldMessage(held)
		return plan{situation: v.situation(reasonHeld, message), event: warning(eventDeletionHeld, message)}
	}
}

// deletionEvent says what an allowed deletion takes along.
func (v view) deletionEvent() *notice {
	if v.driver.DeletesOutside(v.obj) {
		return normal(eventDeletionAllowed, "The deletion goes on, and what the object stands for outside is deleted too.")
	}
	return warning(eventDeletionAllowed, "The deletion goes on, and what the object stands for outside stays there, though it might be deleted as well: "+
		gate.Keeps(v.state)+". Nothing in the cluster tells of it any more.")
}

// isDeletedLately reports whether the object was deleted so short a time ago that it may not be known yet what
// becomes of what is above it.
func (v view) isDeletedLately() bool {
	at := v.obj.GetDeletionTimestamp()
	return at != nil && at.Add(record.UnseenLimit).After(v.now)
}

// planUndeleted ends the hold of an object whose deletion does not come: something
// else has refused it after it was held.
func (v view) planUndeleted() plan {
	if end := v.heldSince.Add(record.UnseenLimit); end.After(v.now) {
		return plan{next: end}
	}
	setting := v.computed(v.ledger)
	setting.State.Held = nil
	return v.resume(v.state.Held, setting, warning(eventUndeleted, v.undeletedNote()))
}

// undeletedNote says that a deletion was refused by something else, and by what as far as the object tells.
func (v view) undeletedNote() string {
	return fmt.Sprintf("The deletion by %s that was held back did not come; the object goes on. %s%s", by(v.state.Held), gate.Undeleted, v.driver.InUse(v.obj))
}

// resume ends a hold. The pause that came with it goes; one that was there before is
// somebody else's.
func (v view) resume(held *gate.Hold, setting gate.Setting, event *notice) plan {
	p := plan{setting: &setting, event: event}
	if !held.Paused {
		p.annotations = map[string]*string{v.driver.PauseAnnotation(): nil}
	}
	return p
}

// heldMessage says what waits for whom.
func (v view) heldMessage(held *gate.Hold) string {
	why := "no policy allows to delete"
	if v.initiatorsDelete() {
		why = "nothing allows that one to delete"
	}
	if v.stray {
		why = "its parent adopted it without a cause, so that what allows to delete things of the parent does not allow to delete"
	}
	message := fmt.Sprintf("The deletion by %s is held back: %s what this %s stands for outside.%s ", by(held), why, v.obj.GetKind(), v.strayNote)
	if v.initiatorsDelete() {
		message += "Once somebody who may initiate on the object deletes it as well, with kubectl delete, both go. "
	}
	return message + fmt.Sprintf("It goes on without deleting that once %s: %q is set on the object by somebody who may initiate.",
		v1alpha1.AnnotationOrphan, gate.Orphaned) + v.lostNote()
}

// by says who asked for a deletion, and who caused that.
func by(held *gate.Hold) string {
	if held.Initiator != "" && held.Initiator != held.User {
		return fmt.Sprintf("%s (caused by %s)", held.User, held.Initiator)
	}
	return held.User
}

// initiatorsDelete reports whether who may initiate on the object itself may delete what it
// stands for along with it.
func (v view) initiatorsDelete() bool {
	return slices.ContainsFunc(v.policies, func(p *policy.Policy) bool {
		return p.For.GroupKind() == v.kind.GVK.GroupKind() && len(p.Initiators()) > 0 && letsDelete(p, v.driver.Target(v.obj, v.kind))
	})
}

// cannotDeleteMessage says why an allowed deletion does not go on.
func (v view) cannotDeleteMessage() string {
	return fmt.Sprintf("The deletion is allowed, and held back all the same: the provider supports no setting of the gate that deletes and nothing else. "+
		"Delete it outside, and set %s: %q on the object.", v1alpha1.AnnotationOrphan, gate.Orphaned)
}
