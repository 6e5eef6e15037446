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

package why

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/change"
	"kausality.io/operator/internal/cli/cluster"
	"kausality.io/operator/internal/cli/phrase"
	"kausality.io/operator/internal/cli/stops"
	"kausality.io/operator/internal/controller/conditions"
	"kausality.io/operator/internal/decision"
	"kausality.io/operator/internal/denial"
	"kausality.io/operator/internal/ledger"
	"kausality.io/operator/internal/lifecycle"
	"kausality.io/operator/internal/record"
)

// find reads the object, the records of the namespace, and the policies.
func find(ctx context.Context, c *cluster.Cluster, args []string) (*Report, error) {
	if len(args) == 0 {
		return findOf(ctx, c, nil)
	}
	target, err := c.Target(args)
	if err != nil {
		return nil, err
	}
	return findOf(ctx, c, &target)
}

// findOf reads all of that about the subject, or, where it is nil, about a namespace, or about all of them where
// it is that.
func findOf(ctx context.Context, c *cluster.Cluster, subject *cluster.Target) (*Report, error) {
	namespace := c.Namespace
	if subject != nil {
		namespace = subject.Namespace // Cluster-scoped objects have their records in the operator's.
	}
	seen, err := look(ctx, c, subject)
	if err != nil {
		return nil, err
	}
	policies, unread := c.Policies(ctx)
	records, near, err := readRecords(ctx, c, policies, subject, &seen)
	if err != nil {
		return nil, err
	}
	with := scene{Policies: policies, look: looking(ctx, c, policies, &seen), gone: lookingFor(ctx, c), versionToName: c.VersionToName}
	with.upgrades, _ = c.Upgrades(ctx) // Who may not read them is told by the message what they have to do with a refusal.
	report := collect(near, with, subject)
	report.SwitchedOff = policies.Off
	if subject == nil {
		report.Unenforced = c.UnenforcedIn(ctx, policies, namespace)
	} else {
		report.Unenforced = c.UnenforcedFor(ctx, policies, seen.obj)
	}
	switch {
	case subject != nil:
		report.Subject = subject.String()
	case namespace == metav1.NamespaceAll:
		report.Subject, report.everywhere = fmt.Sprintf("all namespaces (there are %d)", len(records)), true
	default:
		report.Subject = fmt.Sprintf("namespace %s (there are %d)", namespace, len(records))
	}
	if seen.obj != nil {
		report.show(seen.obj, records, with)
	}
	report.addBelow(records, subject, seen.obj)
	report.Blocked = seen.blocked
	report.Notes = append(report.Notes, seen.notes...)
	if unread != nil {
		report.Notes = append(report.Notes, fmt.Sprintf("What would have allowed it cannot be told: %v", unread))
	}
	if unread == nil && subject == nil && namespace != metav1.NamespaceAll {
		report.Notes = append(report.Notes, far(ctx, c, policies, namespace)...)
	}
	report.Notes = append(report.Notes, unfollowed(seen.obj)...)
	report.Notes = append(report.Notes, unrecorded(seen.obj, events(ctx, c, seen.obj))...)
	if unread == nil && seen.obj != nil {
		report.Notes = append(report.Notes, waitingGates(ctx, c.Children, policies, seen.obj)...)
		report.Notes = append(report.Notes, stops.On(ctx, c, policies, seen.obj)...)
	}
	generating, err := c.GeneratingPolicies(ctx)
	if err != nil {
		report.Notes = append(report.Notes, fmt.Sprintf("What GeneratingPolicies want and do not get cannot be told: %v", err))
	}
	report.addGenerating(generating, about{namespace: namespace, target: subject})
	if seen.obj != nil && unread == nil && policies.Off == nil && report.isEmpty() && len(policies.InEffect(with.of(recordAbout(seen.obj)).chain)) > 0 {
		report.Unasked = unasked(ctx, c, seen.obj)
	}
	if seen.missing != nil && report.isEmpty() {
		return nil, seen.missing
	}
	return report, nil
}

// unfollowed says that Crossplane has stopped following an object for a while: what would be let through by now has
// not been tried again yet.
func unfollowed(obj *unstructured.Unstructured) []string {
	if obj == nil {
		return nil
	}
	text := lifecycle.Unresponsive(obj)
	if text == "" {
		return nil
	}
	return []string{fmt.Sprintf("%s waits: %s.", phrase.Target(record.TargetOf(obj)), text)}
}

// readRecords reads the records of the namespace, or of what may be above and below the subject. near are those
// of its namespace and of its parent, which may tell of refused changes of the subject. The others may not: a
// cluster-scoped object may have a child of the same name in another namespace.
func readRecords(
	ctx context.Context, c *cluster.Cluster, policies cluster.Policies, subject *cluster.Target, seen *seen,
) (all, near []v1alpha1.AllowanceRecord, err error) {
	if subject == nil {
		all, err = c.Records(ctx, c.Namespace)
		return all, all, err
	}
	around, err := c.Around(ctx, policies, *subject, seen.obj)
	if apierrors.IsForbidden(err) && seen.obj != nil {
		seen.notes = append(seen.notes, fmt.Sprintf("What was refused, but for what the object itself shows, cannot be told: %v", err))
		seen.blocked = conditions.BlockedText(seen.obj)
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	if around.Elsewhere != nil {
		seen.notes = append(seen.notes, fmt.Sprintf(
			"What waits below it, and is cluster-scoped or in another namespace, cannot be told: %v", around.Elsewhere))
	}
	isFar := func(rec v1alpha1.AllowanceRecord) bool {
		return subject.Namespace != "" && rec.Namespace != subject.Namespace
	}
	if seen.obj == nil || !slices.ContainsFunc(around.Records, isFar) {
		return around.Records, slices.DeleteFunc(slices.Clone(around.Records), isFar), nil
	}
	parent := c.ParentUID(ctx, policies, seen.obj)
	return around.Records, slices.DeleteFunc(slices.Clone(around.Records), func(rec v1alpha1.AllowanceRecord) bool {
		return isFar(rec) && (parent == "" || rec.Spec.TargetRef.UID != parent)
	}), nil
}

// seen is what there is of what was asked about, apart from what the records tell.
type seen struct {
	// obj is the object, nil where it cannot be read, or none was asked about.
	obj *unstructured.Unstructured
	// missing says that it does not exist, or that the namespace does not. It may have been
	// refused its creation, or be deleted since: that is for the records to say.
	missing error
	// blocked is what it shows of a refusal, where no record can be read.
	blocked string
	// notes say what else is in the way.
	notes []string
}

// look reads the object that was asked about, or the namespace.
func look(ctx context.Context, c *cluster.Cluster, subject *cluster.Target) (seen, error) {
	if subject == nil && c.Namespace == metav1.NamespaceAll {
		return seen{}, nil
	}
	if subject == nil {
		err := c.HasNamespace(ctx)
		if err != nil && !apierrors.IsNotFound(err) {
			return seen{}, err
		}
		return seen{missing: err}, nil
	}
	of := *subject
	obj, err := c.Read(ctx, of)
	switch {
	case apierrors.IsNotFound(err):
		ref := v1alpha1.TargetReference{Group: of.GVK.Group, Kind: of.GVK.Kind, Namespace: of.Namespace, Name: of.Name}
		return seen{missing: fmt.Errorf("reading %s: %w. It waits for nothing; what was: %s", of, err, phrase.Command("trace", ref))}, nil
	case apierrors.IsForbidden(err):
		return seen{notes: []string{fmt.Sprintf("What is withheld of it is told by its AllowanceRecord, which is written up to two seconds later: reading it: %v", err)}}, nil
	case err != nil:
		return seen{}, fmt.Errorf("reading %s: %w", of, err)
	}
	return seen{obj: obj}, nil
}

// show has the report say what is withheld of the object as it is now: its record follows up to
// two seconds later.
func (r *Report) show(obj *unstructured.Unstructured, records []v1alpha1.AllowanceRecord, with scene) {
	stored, err := ledger.Decode(obj.GetAnnotations()[ledger.AnnotationKey(obj, ledger.NameAllowances)])
	if err != nil {
		r.Notes = append(r.Notes, fmt.Sprintf("What is withheld of it is told by its AllowanceRecord: its ledger cannot be read: %v", err))
		return
	}
	ref := record.TargetOf(obj)
	rec := &v1alpha1.AllowanceRecord{Spec: v1alpha1.AllowanceRecordSpec{TargetRef: ref}}
	for i := range records {
		if records[i].Spec.TargetRef.UID == ref.UID {
			rec = records[i].DeepCopy()
		}
	}
	rec.Spec.TargetRef, rec.Status.Active = ref, nil
	// Where no policy is for its kind any more, what is left in its ledger says nothing.
	if with.Index == nil || len(with.For(obj.GroupVersionKind().GroupKind())) > 0 {
		rec.Status.Active = record.Effective(rec, obj, stored).Allowances()
	}
	r.Withheld = append([]Withheld{}, withheld(rec, with)...)
}

// isEmpty reports whether the report tells of nothing.
func (r *Report) isEmpty() bool {
	return r.Blocked == "" && len(r.Refusals)+len(r.Spared)+len(r.Withheld)+len(r.CarriedOut)+len(r.Below)+len(r.Generating) == 0
}

// collect finds what the records tell about the subject, or about everything.
func collect(records []v1alpha1.AllowanceRecord, with scene, subject *cluster.Target) *Report {
	report := &Report{Refusals: []Refusal{}, Withheld: []Withheld{}}
	for i := range records {
		rec := &records[i]
		isTarget := subject == nil || subject.Is(rec.Spec.TargetRef)
		for _, e := range rec.Status.History {
			switch {
			case e.Event == v1alpha1.EventRefused && (isTarget || isChild(*subject, rec.Spec.TargetRef, e) || wouldAdopt(*subject, e)):
				refused := refusedItself(rec, with, e)
				refused.Attaching = !isTarget && wouldAdopt(*subject, e)
				report.Refusals = append(report.Refusals, refused)
			case isSpared(e) && isTarget:
				report.Spared = append(report.Spared, refusedItself(rec, with, e))
			}
		}
		report.Refusals = append(report.Refusals, deniedChildren(rec, with, func(e v1alpha1.HistoryEntry) bool { return isTarget || isChild(*subject, rec.Spec.TargetRef, e) })...)
		if isTarget {
			report.Withheld = append(report.Withheld, withheld(rec, with)...)
			report.CarriedOut = append(report.CarriedOut, carriedOut(rec)...)
		}
	}
	for _, list := range [][]Refusal{report.Refusals, report.Spared} {
		slices.SortStableFunc(list, func(a, b Refusal) int { return b.Time.Compare(a.Time.Time) })
	}
	return report
}

// deniedChildren returns the changes of children of a record's target that were denied, of those that is picks.
func deniedChildren(rec *v1alpha1.AllowanceRecord, with scene, is func(v1alpha1.HistoryEntry) bool) []Refusal {
	var out []Refusal
	blocked, held := rec.Status.Blocked, withheldSince(rec, with)
	for _, e := range rec.Status.History {
		if e.Event != v1alpha1.EventDenied {
			continue
		}
		waiting := isOf(blocked, e)
		if is(e) {
			denied := deniedChild(rec, with, e)
			denied.becomes(rec, waiting, held)
			if denied.Waiting || denied.MayWait {
				denied.Overwritten = overwritten(rec.Status.History, e)
			}
			out = append(out, denied)
		}
		if waiting {
			blocked = nil // It is the latest one.
		}
	}
	return out
}

// becomes says what has become of a refused change of a child of a record's target, by which a controller waits, or not.
// held is since when something of the target is withheld, nil where nothing is: what has passed does not wait for that.
func (r *Refusal) becomes(rec *v1alpha1.AllowanceRecord, waiting bool, held *metav1.Time) {
	e := r.HistoryEntry
	r.Passed = !waiting && hasPassed(rec.Status.History, e)
	if !waiting && !r.Passed {
		r.PassedFor = passedFor(rec.Status.History, e)
	}
	if r.ParentGone {
		return
	}
	// What is there already nobody waits to create, nor to delete what is gone: a field may be wanted otherwise.
	isOver := r.Passed || r.PassedFor != "" && e.Operation != operationUpdate
	r.Waiting = waiting
	r.MayWait = !waiting && !isOver && mayWait(&rec.Status, e)
	if r.MayWait {
		r.PassedFor = ""
	}
	if r.Passed || r.PassedFor != "" || e.Reason == v1alpha1.ReasonNoRoom {
		return
	}
	r.Held = held != nil && (r.Waiting || r.MayWait || !held.After(e.Time.Time))
	if !r.Waiting && !r.MayWait && !r.Held && r.CarriedOut == nil {
		r.Ended = endedSince(rec, e)
	}
}

const operationUpdate = "Update"

// withheldSince returns when the first of what is withheld of a record's target was, as far as the record still knows; nil
// where nothing is. What was refused before, and nobody waits for, has another reason.
func withheldSince(rec *v1alpha1.AllowanceRecord, with scene) *metav1.Time {
	var first *metav1.Time
	if !slices.ContainsFunc(rec.Status.Active, isWithheld) {
		return nil
	}
	object := with.of(rec)
	for _, a := range rec.Status.Active {
		if !isWithheld(a) || with.waitsForRule(object, a.Mutation) {
			continue
		}
		at := since(rec, a.Mutation)
		if at == nil {
			return &metav1.Time{} // It may have been there all the time.
		}
		if first == nil || at.Before(first) {
			first = at
		}
	}
	return first
}

// waitsForRule reports whether no rule of the policies in effect for an object that deny is about a change of it. Of an
// object that cannot be read nobody can tell.
func (s scene) waitsForRule(at live, path string) bool {
	p, err := change.ParsePath(path)
	return err == nil && at.obj != nil && s.Index != nil && !decision.Concerns(s.InEffect(at.chain))(p)
}

// isOf reports whether a denial is what blocks an object, as far as the record tells whose that was.
// blocked is nil where nothing does.
func isOf(blocked *v1alpha1.Blocked, e v1alpha1.HistoryEntry) bool {
	return blocked != nil && (blocked.User == "" || blocked.User == e.User)
}

// mayWait reports whether somebody may still wait for a denial that is not the latest one. It was denied to
// whoever waits, since the object is blocked, and that user was not let through with it later. Which of
// several denials are tried again is not recorded.
func mayWait(status *v1alpha1.AllowanceRecordStatus, e v1alpha1.HistoryEntry) bool {
	b := status.Blocked
	if b == nil || !isOf(b, e) || e.Time.Time.Before(b.Since.Add(-denial.Together)) {
		return false
	}
	return !slices.ContainsFunc(status.History, func(passed v1alpha1.HistoryEntry) bool {
		return (passed.Event == v1alpha1.EventAllowed || passed.Event == v1alpha1.EventExercised || passed.Event == v1alpha1.EventBreakGlass) &&
			passed.User == e.User && passed.Operation == e.Operation && passed.Kind == e.Kind && passed.Namespace == e.Namespace && passed.Time.After(e.Time.Time) &&
			slices.ContainsFunc(e.Names, func(name string) bool { return slices.Contains(passed.Names, name) })
	})
}

// hasPassed reports whether whoever was denied something was let through with all of it later.
func hasPassed(history []v1alpha1.HistoryEntry, e v1alpha1.HistoryEntry) bool {
	return len(e.Names) > 0 && !slices.ContainsFunc(e.Names, func(name string) bool {
		return !denial.Passed(history, aboutOne(e, name))
	})
}

// aboutOne returns what an entry tells of one of its children.
func aboutOne(e v1alpha1.HistoryEntry, name string) *v1alpha1.Decision {
	return &v1alpha1.Decision{
		Time: e.Time, User: e.User, Operation: e.Operation, Kind: e.Kind, Name: name, Namespace: e.Namespace, Paths: e.Paths,
	}
}

// passedFor returns who else was let through later with all of what somebody was denied; empty where nobody was.
func passedFor(history []v1alpha1.HistoryEntry, e v1alpha1.HistoryEntry) string {
	user := ""
	for _, name := range e.Names {
		user = denial.PassedFor(history, aboutOne(e, name))
		if user == "" {
			return ""
		}
	}
	return user
}

// deniedChild returns a change of a child of a record's target that was denied. Where the target is gone nothing
// bounds the child any more, and no change of the target helps.
func deniedChild(rec *v1alpha1.AllowanceRecord, with scene, e v1alpha1.HistoryEntry) Refusal {
	parent := with.of(rec)
	out := Refusal{
		HistoryEntry: e, Parent: rec.Spec.TargetRef, Record: rec.Name, ParentGone: parent.gone, Stray: isStray(rec, e) && !parent.gone,
		Remedies: []Remedy{},
	}
	if parent.gone || e.Reason == v1alpha1.ReasonNoRoom {
		return out // No approval, and no rule, makes room.
	}
	if out.CarriedOut = carriedOutSince(rec, e); out.CarriedOut != nil {
		return out
	}
	if out.Strays = straysOf(rec, with, e); !out.Stray && adopts(e) {
		out.Adopting, out.Initiators = true, with.initiators(parent, rec.Spec.TargetRef)
		return out // Neither a rule nor a new version lets it through.
	}
	out.Upgrade = upgradeOf(rec, e)
	var isController bool
	if out.NotNamed, isController = notNamed(with, rec.Spec.TargetRef, e); !out.Stray && !isController {
		out.Remedies = remedies(with.Named(e.Policies...), with.beyondPolicies(rec, parent), e)
	}
	return out
}

// adopts reports whether a request was refused as the parent would have adopted the child by it without a cause.
func adopts(e v1alpha1.HistoryEntry) bool { return strings.Contains(e.Message, decision.WouldAdopt) }

// isStray reports whether all of the children that a refusal is about were adopted without a cause.
func isStray(rec *v1alpha1.AllowanceRecord, e v1alpha1.HistoryEntry) bool {
	isOne := func(name string) bool {
		return slices.ContainsFunc(rec.Status.Strays, func(s v1alpha1.StrayChild) bool {
			return s.Kind == e.Kind && s.Name == name && mayBeIn(rec.Spec.TargetRef, e, s.Namespace)
		})
	}
	return len(e.Names) > 0 && !slices.ContainsFunc(e.Names, func(name string) bool { return !isOne(name) })
}

// refusedItself returns a change of a record's target that its own policies refused, or one of what would have scaled
// the target. Of a target that is gone nobody can make it.
func refusedItself(rec *v1alpha1.AllowanceRecord, with scene, e v1alpha1.HistoryEntry) Refusal {
	at := with.of(rec)
	out := Refusal{HistoryEntry: e, Parent: rec.Spec.TargetRef, Record: rec.Name, ParentGone: at.gone, Remedies: []Remedy{}}
	if !at.gone && len(e.Paths) > 0 && e.Reason != v1alpha1.ReasonNoRoom {
		out.Initiators = with.approvers(at, rec.Spec.TargetRef, e.Paths...)
		out.Conditions = with.conditions(at, e.Paths...)
	}
	return out
}

// wouldAdopt reports whether an object was refused the subject as its parent, for which the subject waits then. It is in
// the record of that object, which is no child of the subject.
func wouldAdopt(t cluster.Target, e v1alpha1.HistoryEntry) bool {
	return decision.WouldGiveParent(e.Message, t.GVK.Kind+" "+t.Name)
}

// isChild reports whether a refusal in the record of a parent is about the subject, whose kind it names without
// the group.
func isChild(t cluster.Target, parent v1alpha1.TargetReference, e v1alpha1.HistoryEntry) bool {
	return e.Kind == t.GVK.Kind && slices.Contains(e.Names, t.Name) && mayBeIn(parent, e, t.Namespace)
}

// mayBeIn reports whether what an entry of a parent's history is about may be in a namespace. Of children of
// cluster-scoped objects older entries do not tell.
func mayBeIn(parent v1alpha1.TargetReference, e v1alpha1.HistoryEntry, namespace string) bool {
	in := cmp.Or(e.Namespace, parent.Namespace)
	return in == "" || in == namespace
}

// withheld returns the changes of a record's target from which nothing follows. Items of one
// list that one person changed are one change for who reads of them.
func withheld(rec *v1alpha1.AllowanceRecord, with scene) []Withheld {
	type together struct {
		list, user string
		waits      bool
	}
	var out []Withheld
	if !slices.ContainsFunc(rec.Status.Active, isWithheld) {
		return nil
	}
	object := with.of(rec)
	if object.gone {
		return nil
	}
	at := map[together]int{}
	for _, a := range rec.Status.Active {
		if !isWithheld(a) {
			continue
		}
		key := together{listOf(a.Mutation), a.Initiator, with.waitsForRule(object, a.Mutation)}
		i, ok := at[key]
		if !ok {
			i = len(out)
			at[key] = i
			out = append(out, Withheld{
				Object: rec.Spec.TargetRef, User: a.Initiator, Since: since(rec, a.Mutation),
				Untold: with.Index == nil, WaitsForRule: key.waits, Unowned: isUnowned(object),
			})
		}
		out[i].Paths = append(out[i].Paths, a.Mutation)
		out[i].Approvals = append(out[i].Approvals, decision.Approvals([]v1alpha1.Allowance{a})...)
	}
	for i := range out {
		if out[i].WaitsForRule {
			out[i].Initiators, out[i].Approvals = with.initiators(object, rec.Spec.TargetRef), nil
			continue
		}
		out[i].Initiators = with.approvers(object, rec.Spec.TargetRef, out[i].Paths...)
		out[i].NotMet = with.notMet(object, out[i].Paths...)
	}
	return out
}

// isUnowned reports whether an object has no owner, and nothing else is above it.
func isUnowned(at live) bool {
	return at.obj != nil && len(at.chain) <= 1 && len(at.obj.GetOwnerReferences()) == 0
}

func isWithheld(a v1alpha1.Allowance) bool { return a.Relation == v1alpha1.RelationWithheld }

// since returns when a change was withheld, where the record still knows.
func since(rec *v1alpha1.AllowanceRecord, path string) *metav1.Time {
	i := slices.IndexFunc(rec.Status.History, func(e v1alpha1.HistoryEntry) bool {
		return e.Event == v1alpha1.EventWithheld && slices.Contains(e.Paths, path)
	})
	if i < 0 {
		return nil
	}
	return &rec.Status.History[i].Time
}

// listOf returns a path with the first item of each list in the place of any other.
func listOf(text string) string {
	path, err := change.ParsePath(text)
	if err != nil {
		return text
	}
	for i := range path {
		path[i].Index = 0
	}
	return path.String()
}
