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

package record

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/api/equality"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	logf "sigs.k8s.io/controller-runtime/pkg/log"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/upgrade"
)

// Results of a decision.
const (
	// ResultAllowed is the result of a change that may be made.
	ResultAllowed = "Allowed"
	// ResultWarned is the result of a change that nothing covers, let through
	// with a warning.
	ResultWarned = "Warned"
	// ResultAudited is the result of a change that nothing covers, let through.
	ResultAudited = "Audited"
	// ResultBrokeGlass is the result of a change that nothing covers, made by
	// somebody who broke the glass.
	ResultBrokeGlass = "BrokeGlass"
	// ResultDenied is the result of a change that was refused.
	ResultDenied = "Denied"
)

const (
	// interval is the debounce interval: outcomes are collected that long before they are written. Each write
	// is a record as a whole: to write fewer of them is worth half a second.
	interval = 1500 * time.Millisecond
	// lastWrites is for how long a stopping operator writes what is left: an operator that is
	// told to stop while it catches up has hundreds of writes. A kubelet waits for longer.
	lastWrites = 10 * time.Second
	// writers is how many records are written at the same time.
	writers = 4
	// maxPause is the longest delay before what cannot be written is tried again.
	maxPause = 15 * time.Second
	// patience is the time after which it is given up. API servers are away for minutes when their
	// version is changed, and what is decided before and after that has to be known.
	patience = 5 * time.Minute
)

// Outcome is what a request came to, for the record of Target: a decision about a
// child of it, or something that happens to Target itself.
type Outcome struct {
	// Target is the parent of the child, or the object of the request.
	Target v1alpha1.TargetReference
	// Decision about the child. Its time is set where it is left out.
	Decision *v1alpha1.Decision
	// Causes of the decision, where there are several; what they do not name is of the first of them, which is that of
	// Decision. The history tells of each by itself.
	Causes []Cause
	// Shown is true where Target showed that it is blocked when the decision was made. Whoever
	// was denied something then is woken when that is taken away, however late it is recorded.
	Shown bool
	// OneOff is true where whoever asked does not try again what is denied. Nobody waits
	// for an answer to that.
	OneOff bool
	// History has what happens to Target itself. Times are set where they are left
	// out.
	History []v1alpha1.HistoryEntry
	// Approved identifies the content that Target has by now, where that is approved; nil
	// where nobody asked.
	Approved *v1alpha1.ApprovedContent
	// MadeBy are the versions that made children of Target while it was new, or something of
	// them since then without an upgrade; nil
	// where nobody tells.
	MadeBy *MadeBy
	// Full says why a change of Target allows nothing, where its ledger has no room
	// for what it would allow.
	Full string
}

// Cause is one of several causes of a decision.
type Cause struct {
	// Initiator began it, and Trace is the way from there, as in a Decision.
	Initiator string
	Trace     []v1alpha1.TraceHop
	// Paths are what it caused of the child.
	Paths []string
}

// MadeBy are versions that are found out when the outcome is written.
type MadeBy struct {
	// User of the controller: of several outcomes of the same user one is asked.
	User string
	// Find returns those that can be found out.
	Find func(ctx context.Context) []v1alpha1.ControllerVersion
}

// Observe takes note of an outcome. It returns at once and never fails: what is
// observed is written within two seconds, one write for each holder, or, where the API
// server is away, when it is back and the records are watched again. It is forgotten, and
// counted, where more comes than can be written, or the API server is away for more than five
// minutes.
func (s *Store) Observe(o Outcome) {
	now := metav1.NewTime(s.clock.Now())
	b := &batch{target: o.Target, since: now.Time, full: o.Full, approved: o.Approved}
	for _, e := range o.History {
		if e.Time.IsZero() {
			e.Time = now
		}
		b.history = WithHistory(b.history, e)
	}
	if o.Decision != nil {
		d := shortDecision(*o.Decision)
		if d.Time.IsZero() {
			d.Time = now
		}
		b.decide(d, o.Shown, o.OneOff, o.Causes...)
	}
	if o.MadeBy != nil {
		b.madeBy = map[string]MadeBy{o.MadeBy.User: *o.MadeBy}
	}
	outcomesDropped.Add(float64(s.outcomes.put(b)))
}

// NeedLeaderElection returns false: each replica writes what it has decided.
func (s *Store) NeedLeaderElection() bool { return false }

// Start writes what is observed until ctx ends, and then what is left. Each holder has
// an interval of its own, from when something about it begins to wait: in a common one
// what comes while others are written would wait for longer, and what comes just before
// its end would be written at once, and soon again.
func (s *Store) Start(ctx context.Context) error {
	turns := s.outcomes.start()
	var group sync.WaitGroup
	for range writers {
		group.Go(func() { s.writeInTurn(ctx, turns) })
	}
	<-ctx.Done()
	turns.ShutDown()
	group.Wait()
	s.flush(ctx)
	return nil
}

// writeInTurn writes what is due, until the turns are shut down.
func (s *Store) writeInTurn(ctx context.Context, turns workqueue.TypedInterface[types.UID]) {
	for {
		uid, isShutDown := turns.Get()
		if isShutDown {
			return
		}
		switch b := s.outcomes.take(uid); {
		case b == nil:
		case s.Behind() && s.clock.Since(b.began) < patience:
			// The API server may have gone back in time, and the outcome with it. Whether it has is
			// known when the watch is there again.
			s.outcomes.putBack(b)
		default:
			s.write(ctx, b)
		}
		turns.Done(uid)
	}
}

// flush writes what is left when ctx has ended.
func (s *Store) flush(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastWrites)
	defer cancel()
	var group errgroup.Group
	group.SetLimit(writers)
	for _, b := range s.outcomes.takeAll() {
		group.Go(func() error {
			s.write(ctx, b)
			return nil
		})
	}
	_ = group.Wait() // write deals with its own errors
}

func (s *Store) write(ctx context.Context, b *batch) {
	err := s.writeBatch(ctx, b)
	if err == nil {
		return
	}
	log := logf.FromContext(ctx).WithName("record").WithValues("kind", b.target.Kind, "target", Key(b.target))
	if s.clock.Since(b.began) < patience {
		if b.attempts == 1 {
			log.Info("Cannot record decisions yet", "reason", err.Error())
		}
		s.outcomes.putBack(b)
		return
	}
	log.Error(err, "Cannot record decisions", "attempts", b.attempts)
	outcomesDropped.Inc()
}

// writeBatch writes a batch into the record of its target.
func (s *Store) writeBatch(ctx context.Context, b *batch) error {
	b.attempts++
	var parent types.UID
	if b.mirror != nil {
		parent = b.mirror.Parent
	}
	versions := b.versions(ctx)
	err := s.update(ctx, b.target, parent, b.deserves(), func(status *v1alpha1.AllowanceRecordStatus) bool {
		changed := b.outcome(status)
		for _, v := range versions {
			before := status.Versions
			status.Versions = upgrade.RememberFirst(before, v)
			changed = changed || !equality.Semantic.DeepEqual(before, status.Versions)
		}
		if changed {
			status.BrokenGlass = s.counting(status.BrokenGlass)
		}
		if b.mirror != nil {
			changed = b.mirror.Advance(ctx, status) || changed
		}
		return changed
	})
	if err == nil && !b.since.IsZero() {
		recordLag.Observe(s.clock.Since(b.since).Seconds())
	}
	return err
}

// versions finds out which made children of the holder.
func (b *batch) versions(ctx context.Context) []v1alpha1.ControllerVersion {
	out := make([]v1alpha1.ControllerVersion, 0, len(b.madeBy))
	for _, user := range slices.Sorted(maps.Keys(b.madeBy)) {
		out = append(out, b.madeBy[user].Find(ctx)...)
	}
	return out
}

// approves writes down what content is approved, and reports whether that is another one
// than the record has.
func (b *batch) approves(status *v1alpha1.AllowanceRecordStatus) bool {
	was := status.Approved
	if b.approved == nil || was != nil && (was.Generation > b.approved.Generation || equality.Semantic.DeepEqual(was, b.approved)) {
		return false
	}
	status.Approved = b.approved.DeepCopy()
	return true
}

// outcome writes what was observed into a status, and reports whether there was
// anything.
func (b *batch) outcome(status *v1alpha1.AllowanceRecordStatus) bool {
	if b.last != nil {
		status.LastDecision = b.last.DeepCopy()
	}
	if waits := status.Denials > status.AnsweredDenials; b.lastDenial != nil && (!waits || b.lastWaits) {
		status.LastDenial = b.lastDenial.DeepCopy()
	}
	status.Denials += b.denials
	status.AnsweredDenials += b.oneOff
	if status.Blocked == nil {
		// What was shown to them is taken away, or about to be.
		status.AnsweredDenials += b.shown
	}
	for _, e := range oldestFirst(b.history) {
		// What was granted may have ended before anybody looked at the holder.
		if e.Event == v1alpha1.EventGranted && e.Initiator != "" {
			status.Initiator = e.Initiator
		}
	}
	switch {
	case b.full != "":
		apimeta.SetStatusCondition(&status.Conditions, metav1.Condition{
			Type:               v1alpha1.ConditionLedgerFull,
			Status:             metav1.ConditionTrue,
			LastTransitionTime: metav1.NewTime(b.since),
			Reason:             v1alpha1.ReasonTooLarge,
			Message:            b.full,
		})
	case b.grants():
		apimeta.RemoveStatusCondition(&status.Conditions, v1alpha1.ConditionLedgerFull)
	}
	status.History = WithHistory(status.History, oldestFirst(b.history)...)
	return b.approves(status) || len(b.history) > 0 || b.full != ""
}
