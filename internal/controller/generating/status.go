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

package generating

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/eventrecorder"
	"kausality.io/operator/internal/generate"
	"kausality.io/operator/internal/listing"
)

// maxFailures is how many failures a status names, and maxKinds how many kinds.
const maxFailures, maxKinds = 16, 64

// progressAfter is how long the status of before stays while triggers are pending; then it reports progress.
const progressAfter = 10 * time.Second

// summary counts the triggers and objects of a policy by state.
type summary struct {
	triggers v1alpha1.GeneratingTriggers
	objects  v1alpha1.GeneratingObjects
	failures []v1alpha1.GeneratingFailure
	// asWanted counts the objects that are as the policy wants them.
	asWanted int32
	// leftOut says which objects are applied to another namespace than the one that they name.
	leftOut []string
	// causes has, by state, why objects are so; evaluating why triggers fail.
	causes     map[state]*cause
	evaluating cause
}

// cause is the first message of several failures, and how many have that one.
type cause struct {
	message string
	of      int32
}

// add counts a failure.
func (c *cause) add(failure *v1alpha1.GeneratingFailure) {
	if c.of == 0 {
		c.message = failure.Message
	}
	if c.message == failure.Message {
		c.of++
	}
}

// told ends a sentence about so many of which this is the cause, or the cause of some.
func (c *cause) told(all int32) string {
	switch {
	case c == nil || c.of == 0:
		return "."
	case c.of < all:
		return fmt.Sprintf("; %d of them: %s", c.of, c.message)
	default:
		return ": " + c.message
	}
}

// summaryOf counts what has become of the triggers of a policy.
func (b *book) summaryOf(e *entry) summary {
	b.mu.Lock()
	defer b.mu.Unlock()
	out := summary{causes: map[state]*cause{}}
	out.triggers.Pending = count(len(e.pending))
	var failing, waitingFor []generate.ID
	for trigger, known := range e.triggers {
		switch {
		case known.failure != nil:
			out.triggers.Failed++
			failing = append(failing, trigger)
		case known.matched:
			out.triggers.Matching++
		}
		out.objects.Waiting += count(len(known.unserved))
		if len(known.unserved) > 0 {
			waitingFor = append(waitingFor, trigger)
		}
	}
	slices.SortFunc(failing, generate.ID.Compare)
	for _, trigger := range failing {
		out.failures = append(out.failures, *e.triggers[trigger].failure)
		out.evaluating.add(e.triggers[trigger].failure)
	}
	slices.SortFunc(waitingFor, generate.ID.Compare)
	for _, trigger := range waitingFor {
		out.unserved(trigger, e.triggers[trigger].unserved)
	}
	out.addElsewhere(e)
	var lacking []generate.ID
	objects := e.objects()
	for id, object := range objects {
		if object.state == made || b.isMadeBy(e, id) {
			out.objects.Made++
		}
		switch object.state {
		case made:
			out.asWanted++
		case waiting:
			out.objects.Waiting++
		case refused:
			out.objects.Refused++
		case conflicting:
			out.objects.Conflicting++
		case failed:
			out.objects.Failed++
		}
		if object.failure != nil {
			lacking = append(lacking, id)
		}
	}
	slices.SortFunc(lacking, generate.ID.Compare)
	for _, id := range lacking {
		out.failures = append(out.failures, *objects[id].failure)
		out.blame(objects[id].state, objects[id].failure)
	}
	out.failures = out.failures[:min(len(out.failures), maxFailures)]
	return out
}

// objects returns the state of each object. One that was made for several triggers is what it is for the first
// for which it was not made, if there is one. Only what was not made is put in order: there may be very much else.
func (e *entry) objects() map[generate.ID]*objectOutcome {
	out := make(map[generate.ID]*objectOutcome, len(e.wants))
	var lacking []generate.ID
	for trigger, known := range e.triggers {
		isLacking := false
		for id, object := range known.objects {
			isLacking = isLacking || object.state != made
			out[id] = object
		}
		if isLacking {
			lacking = append(lacking, trigger)
		}
	}
	slices.SortFunc(lacking, func(a, b generate.ID) int { return b.Compare(a) })
	for _, trigger := range lacking {
		for id, object := range e.triggers[trigger].objects {
			if object.state != made {
				out[id] = object
			}
		}
	}
	return out
}

func count(n int) int32 {
	return int32(n) //nolint:gosec // There are not that many objects.
}

// report says in the status of a policy what has become of it.
func (r *Reconciler) report(ctx context.Context, p *v1alpha1.GeneratingPolicy, e *entry) error {
	what, err := r.serving.get(ctx)
	if err != nil {
		return err
	}
	s := r.book.summaryOf(e)
	unserved := unservedText(e.compiled.Unserved(what.serves))
	after := p.DeepCopy()
	if r.isUnderway(p, e, &s) {
		r.policyQueue.put(requestOf(p.Name), progressAfter)
	} else {
		after.Status.Triggers, after.Status.Objects, after.Status.Failures = s.triggers, s.objects, s.failures
		setCondition(after, v1alpha1.ConditionAccepted, true, v1alpha1.ReasonAccepted, "Nothing is missed from now on."+unserved)
		reason, message := s.standing()
		if reason == v1alpha1.ReasonEnforced {
			message += unserved + s.leftOutText()
		}
		setCondition(after, v1alpha1.ConditionEnforced, reason == v1alpha1.ReasonEnforced, reason, message)
	}
	kinds := r.book.kindsOf(e)
	if len(kinds) > maxKinds {
		return fmt.Errorf("GeneratingPolicy %s makes objects of more than %d kinds", p.Name, maxKinds)
	}
	after.Status.Kinds = nil
	for kind := range kinds {
		after.Status.Kinds = append(after.Status.Kinds, v1alpha1.GeneratedKind(kind))
	}
	slices.SortFunc(after.Status.Kinds, func(a, b v1alpha1.GeneratedKind) int {
		return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Version, b.Version))
	})
	for state, n := range map[state]int32{
		made: s.asWanted, waiting: s.objects.Waiting, refused: s.objects.Refused, conflicting: s.objects.Conflicting, failed: s.objects.Failed,
	} {
		objectStates.WithLabelValues(p.Name, string(state)).Set(float64(n))
	}
	if err := r.patchStatus(ctx, p, after); err != nil {
		return err
	}
	r.book.storedKinds(e, kinds)
	return nil
}

// blame counts why an object is in a state.
func (s *summary) blame(is state, failure *v1alpha1.GeneratingFailure) {
	if s.causes[is] == nil {
		s.causes[is] = &cause{}
	}
	s.causes[is].add(failure)
}

// unserved tells of kinds that are wanted for a trigger, and that are not served: no object can be named.
func (s *summary) unserved(trigger generate.ID, kinds []schema.GroupVersionKind) {
	for _, kind := range kinds {
		failure := v1alpha1.GeneratingFailure{
			Trigger: referenceTo(&trigger), Reason: reasonWaiting,
			Message: fmt.Sprintf("the API server does not serve kind %s in %s: correct it in the policy, or install its definition", kind.Kind, kind.GroupVersion()),
		}
		s.failures = append(s.failures, failure)
		s.blame(waiting, &failure)
	}
}

// addElsewhere adds what is applied to another namespace than the one that it names, in order. Nobody wants that object,
// and nothing fails: only the author of the policy can tell whether that is a mistake.
func (s *summary) addElsewhere(e *entry) {
	for _, trigger := range slices.SortedFunc(maps.Keys(e.triggers), generate.ID.Compare) {
		for _, object := range e.triggers[trigger].elsewhere {
			s.leftOut = append(s.leftOut, object.String())
		}
	}
}

// leftOutText ends what is said of a policy that leaves objects out; it is empty where there are none.
func (s *summary) leftOutText() string {
	if len(s.leftOut) == 0 {
		return ""
	}
	return fmt.Sprintf(" %d objects are left out: %s. Give ApplyAll the namespace that an object names, or name none in the object.",
		len(s.leftOut), strings.TrimSuffix(listing.Join(s.leftOut, ", "), "."))
}

// unservedText ends what is said of a policy that names triggers which nobody serves; it is empty where there are none.
func unservedText(triggers []generate.UnservedTrigger) string {
	if len(triggers) == 0 {
		return ""
	}
	named := make([]string, 0, len(triggers))
	for _, trigger := range triggers {
		named = append(named, trigger.String())
	}
	return fmt.Sprintf(" Nothing is a trigger of what the API server does not serve: %s. Correct spec.matchConstraints.resourceRules, or install the definition.",
		strings.TrimSuffix(listing.Join(named, ", "), "."))
}

// isUnderway reports whether what the status says of a policy may well be true still, as after a restart:
// then nothing is written until each trigger was looked at, or that takes long.
func (r *Reconciler) isUnderway(p *v1alpha1.GeneratingPolicy, e *entry, s *summary) bool {
	said := conditionOf(p, v1alpha1.ConditionEnforced)
	return s.triggers.Pending > 0 && said != nil && said.ObservedGeneration == p.Generation && r.Clock.Since(e.begun) < progressAfter
}

// standing says whether there is all that the policy wants.
func (s *summary) standing() (reason, message string) {
	switch {
	case s.triggers.Pending > 0:
		return v1alpha1.ReasonPending, fmt.Sprintf("%d triggers are still to be looked at.", s.triggers.Pending)
	case s.objects.Refused > 0:
		return v1alpha1.ReasonForbidden, eventrecorder.Shortened(fmt.Sprintf("%d objects are refused%s", s.objects.Refused, s.causes[refused].told(s.objects.Refused)))
	case s.objects.Conflicting > 0:
		return v1alpha1.ReasonConflicted, eventrecorder.Shortened(fmt.Sprintf("%d objects are somebody else's%s", s.objects.Conflicting, s.causes[conflicting].told(s.objects.Conflicting)))
	case s.triggers.Failed > 0 || s.objects.Failed > 0:
		why := &s.evaluating
		if why.of == 0 {
			why = s.causes[failed]
		}
		return v1alpha1.ReasonGeneratingFailed, eventrecorder.Shortened(fmt.Sprintf("%d triggers and %d objects fail%s",
			s.triggers.Failed, s.objects.Failed, why.told(s.triggers.Failed+s.objects.Failed)))
	case s.objects.Waiting > 0:
		return v1alpha1.ReasonWaiting, eventrecorder.Shortened(fmt.Sprintf("%d objects wait for something%s", s.objects.Waiting, s.causes[waiting].told(s.objects.Waiting)))
	default:
		return v1alpha1.ReasonEnforced, fmt.Sprintf("There is all that it wants: %d objects for %d triggers.", s.objects.Made, s.triggers.Matching)
	}
}

func conditionOf(p *v1alpha1.GeneratingPolicy, kind string) *metav1.Condition {
	return apimeta.FindStatusCondition(p.Status.Conditions, kind)
}

func setCondition(p *v1alpha1.GeneratingPolicy, kind string, is bool, reason, message string) {
	status := metav1.ConditionFalse
	if is {
		status = metav1.ConditionTrue
	}
	apimeta.SetStatusCondition(&p.Status.Conditions, metav1.Condition{
		Type: kind, Status: status, Reason: reason, Message: message, ObservedGeneration: p.Generation,
	})
}
