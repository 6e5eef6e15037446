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

package can

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/change"
	"kausality.io/operator/internal/cli/cluster"
	"kausality.io/operator/internal/cli/generation"
	"kausality.io/operator/internal/cli/offline"
	"kausality.io/operator/internal/decision"
	"kausality.io/operator/internal/gate"
	"kausality.io/operator/internal/gate/crossplane"
	"kausality.io/operator/internal/ledger"
	"kausality.io/operator/internal/lineage"
	"kausality.io/operator/internal/policy"
	"kausality.io/operator/internal/record"
)

// question is whether a change could be made, and what would follow.
type question struct {
	// you reads, and them makes the change.
	you, them *cluster.Cluster
	said      *cluster.Warnings
	edit      edit
	stdin     io.Reader
}

// attempt is a change as it was asked for, and what the API server said.
type attempt struct {
	// before is nil where the object does not exist.
	before, asked, after *unstructured.Unstructured
	refusal              error
}

// try makes the change in a dry run. An object that changes meanwhile is read again.
func (q *question) try(ctx context.Context, args []string) (*attempt, error) {
	a := &attempt{}
	err := retry.RetryOnConflict(retry.DefaultRetry, func() error {
		var err error
		if a.before, a.asked, err = q.objects(ctx, args); err != nil {
			return err
		}
		a.after = a.asked.DeepCopy()
		q.said.Take()
		err = q.send(ctx, a.before, a.after)
		if err == nil || apierrors.IsConflict(err) {
			return err
		}
		if apierrors.IsForbidden(err) || apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) {
			a.after, a.refusal = a.asked, err
			return nil
		}
		return fmt.Errorf("asking the API server about the change of %s %s: %w", a.asked.GetKind(), a.asked.GetName(), err)
	})
	return a, err
}

// answer tells what comes of the change.
func (q *question) answer(ctx context.Context, args []string) (*Report, error) {
	a, err := q.try(ctx, args)
	if err != nil {
		return nil, err
	}
	policies, err := q.you.Policies(ctx)
	if err != nil {
		return nil, err
	}
	who, err := q.them.Whoami(ctx)
	if err != nil {
		return nil, err
	}
	f := &follower{cluster: q.you, policies: policies}
	h := holder{obj: a.before, kind: a.after.GroupVersionKind().GroupKind()}
	h.chain, f.notes = q.you.Ancestry(ctx, policies, a.after, nil)
	unenforced := q.you.UnenforcedFor(ctx, policies, a.after)
	policies = policies.Now() // What is above was read by all of them.
	f.policies = policies
	report := &Report{
		SwitchedOff: policies.Off,
		Unenforced:  unenforced,
		Object:      record.TargetOf(a.after),
		User:        who.Username,
		Paths:       paths(policies.Index, a.before, a.after),
		Warnings:    q.said.Take(),
	}
	report.Status = q.edit.ofStatus()
	if a.refusal != nil {
		report.Outcome, report.Message = refused(a.refusal), message(a.refusal)
	} else {
		if err := report.compare(a.before, a.after); err != nil {
			return nil, err
		}
		if report.Outcome == Unchanged {
			report.Dropped = paths(policies.Index, a.before, a.asked)
			report.Gated = isGated(a.before, report.Dropped)
		}
		report.Follows = f.follow(ctx, h, f.granted(h, report.Granted), false, 0)
	}
	report.Initiators = report.initiators(policies.Index, h.chain)
	if report.Outcome == Passes {
		report.Named = naming(policies.Index, h.chain, report.Paths)
	}
	report.Notes = f.notes
	if len(report.Status) > 0 && report.Outcome != Unchanged {
		report.Notes = append(report.Notes, strings.Join(report.Status, ", ")+" is left out: a change of an object leaves its status as it is.")
	}
	if report.Outcome == Initiates || report.Outcome == Waits || report.Outcome == Passes {
		steps, notes, err := generation.Would(ctx, q.you, a.after)
		if err != nil {
			return nil, err
		}
		for _, step := range steps {
			report.Generated = append(report.Generated, Generated{Policy: step.Policy, Object: v1alpha1.GeneratingReference(step.ID), Do: step.Do, Reason: step.Reason})
		}
		report.Notes = append(report.Notes, notes...)
	}
	return report, nil
}

// objects returns the object before and after the change; before is nil where it does not
// exist.
func (q *question) objects(ctx context.Context, args []string) (before, after *unstructured.Unstructured, err error) {
	if q.edit.file == "" {
		target, err := q.you.Target(args)
		if err != nil {
			return nil, nil, err
		}
		if before, err = q.you.Read(ctx, target); err != nil {
			return nil, nil, fmt.Errorf("reading %s: %w", target, err)
		}
		after = before.DeepCopy()
		return before, after, q.edit.set(after)
	}
	given, err := q.edit.object(q.stdin)
	if err != nil {
		return nil, nil, err
	}
	target, err := q.you.TargetOf(given)
	if err != nil {
		return nil, nil, err
	}
	before, err = q.you.Read(ctx, target)
	if apierrors.IsNotFound(err) {
		given.SetNamespace(target.Namespace)
		return nil, given, nil
	}
	if err != nil {
		return nil, nil, fmt.Errorf("reading %s: %w", target, err)
	}
	after = before.DeepCopy()
	replace(after, given)
	return before, after, nil
}

// send makes the change, or the object, in a dry run.
func (q *question) send(ctx context.Context, before, after *unstructured.Unstructured) error {
	if before == nil {
		return q.them.Create(ctx, after, client.DryRunAll)
	}
	return q.them.Update(ctx, after, client.DryRunAll)
}

// refused returns what a refusal is: of the requester by RBAC, a webhook or an admission policy, or of what is
// written, which nobody could write.
func refused(err error) Outcome {
	if apierrors.IsForbidden(err) || strings.Contains(err.Error(), "denied the request") || strings.Contains(err.Error(), "denied request") {
		return Refused
	}
	return Invalid
}

// isGated reports whether paths are all of the switch of an object's gate.
func isGated(obj *unstructured.Unstructured, dropped []string) bool {
	return obj != nil && len(dropped) > 0 && gate.ReadState(obj.GetAnnotations()).Adopted() &&
		!slices.ContainsFunc(dropped, func(path string) bool { return !strings.HasPrefix(path, "spec."+crossplane.SwitchField) })
}

// message returns what is said, without which webhook says it.
func message(err error) string {
	_, text, found := strings.Cut(err.Error(), "denied the request: ")
	if !found {
		return err.Error()
	}
	return text
}

// paths returns the paths of what changes.
func paths(kinds lineage.Kinds, before, after *unstructured.Unstructured) []string {
	if before == nil {
		return []string{v1alpha1.FieldCreated}
	}
	anyMetadata := []change.Pattern{}
	for _, text := range []string{lineage.LabelsPath, "metadata.annotations", lineage.OwnersPath} {
		if pattern, err := change.ParsePattern(text); err == nil {
			anyMetadata = append(anyMetadata, pattern)
		}
	}
	// It leaves out what is in the domain of Kausality.
	found := change.Find(before.Object, after.Object, change.Options{Metadata: anyMetadata})
	out := []string{}
	for _, c := range append(found, lineage.Changes(kinds, before, after, lineage.Counting{})...) {
		if path := c.Path.String(); !slices.Contains(out, path) {
			out = append(out, path)
		}
	}
	return out
}

// compare finds out what became of the ledger.
func (r *Report) compare(before, after *unstructured.Unstructured) error {
	had, err := offline.LedgerOf(before)
	if err != nil {
		return err
	}
	has, err := offline.LedgerOf(after)
	if err != nil {
		return err
	}
	var again []v1alpha1.Allowance
	for _, e := range has {
		isNew := !slices.ContainsFunc(had, func(o ledger.Entry) bool { return o.ID() == e.ID() })
		switch {
		case e.IsWithheld() && isNew:
			r.Withheld = append(r.Withheld, e.Mutation)
		case e.IsWithheld():
			r.Held = append(r.Held, e.Allowance)
		case isNew:
			r.Granted = append(r.Granted, e.Allowance)
		case e.Generation == 0 && e.Initiator == r.User && r.isBecauseOf(e):
			again = append(again, e.Allowance)
		}
	}
	if len(r.Granted)+len(r.Withheld) == 0 {
		// Of a kind that counts no generations an allowance is the same that the change before has given.
		r.Granted = again
	}
	switch {
	case len(r.Withheld) > 0:
		r.Outcome = Withheld
	case len(r.Granted) > 0 && len(r.Held) > 0:
		r.Outcome = Waits
	case len(r.Granted) > 0:
		r.Outcome = Initiates
	case len(r.Paths) == 0:
		r.Outcome = Unchanged
	default:
		r.Outcome = Passes
	}
	return nil
}

// isBecauseOf reports whether an entry is there because of a change of one of the fields.
func (r *Report) isBecauseOf(e ledger.Entry) bool {
	hop, ok := e.LastHop()
	field, err := change.ParsePath(hop.Field)
	return ok && err == nil && slices.ContainsFunc(r.Paths, func(text string) bool {
		path, err := change.ParsePath(text)
		return err == nil && path.Overlaps(field)
	})
}

// naming returns the policies in effect that have a trigger for one of the paths.
func naming(index *policy.Index, chain []policy.Holder, paths []string) []string {
	var out []string
	for _, p := range index.InEffect(chain) {
		if p.IsAbout(paths...) {
			out = append(out, p.Name)
		}
	}
	return out
}

// initiators returns who may initiate the change: of what is withheld of it, or of all of it;
// where none of these is anybody's to change, who may initiate on the object at all.
func (r *Report) initiators(index *policy.Index, chain []policy.Holder) []string {
	changed := r.Withheld
	if len(changed) == 0 {
		changed = r.Paths
	}
	who := decision.Approvers(index.InEffect(chain), index.InitiatorsAbove(chain), changed...)
	if len(who) == 0 {
		who = index.InitiatorsOf(chain)
	}
	return slices.Compact(slices.Sorted(slices.Values(who)))
}
