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

package approve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/change"
	"kausality.io/operator/internal/cli/cluster"
	"kausality.io/operator/internal/cli/exit"
	"kausality.io/operator/internal/cli/phrase"
	"kausality.io/operator/internal/decision"
	"kausality.io/operator/internal/ledger"
	"kausality.io/operator/internal/lineage"
	"kausality.io/operator/internal/record"
)

// attempts is how often an object may change between the look at it and the
// approval.
const attempts = 5

// approval approves changes of one object.
type approval struct {
	cluster *cluster.Cluster
	target  cluster.Target
	// said collects what the API server warns of.
	said *cluster.Warnings
	// paths that the user named, each of which may be several.
	paths []string

	// seen is the object as it was planned for, and had what its ledger had, with what only its record tells.
	seen *unstructured.Unstructured
	had  ledger.Ledger
	// strays are its owners that adopted it without a cause, and untold why nobody can tell.
	strays []v1alpha1.TargetReference
	untold error
	// after is the object of the last answer.
	after *unstructured.Unstructured
	// planned is what is approved of it, with the digests of what was seen.
	planned []string
}

// plan finds out by a dry run what the approval does. A controller may write the object
// between the look and the dry run.
func (a *approval) plan(ctx context.Context) (report *Report, err error) {
	for range attempts {
		if report, err = a.planOnce(ctx); !apierrors.IsConflict(err) {
			break
		}
	}
	return a.beside(ctx, report, err)
}

// beside says of a plan, or of why there is none, which policies about the object are not enforced.
func (a *approval) beside(ctx context.Context, report *Report, err error) (*Report, error) {
	policies, unread := a.cluster.Policies(ctx)
	if unread != nil || a.seen == nil {
		return report, err // What an approval does is told by the operator all the same.
	}
	unenforced := a.cluster.UnenforcedFor(ctx, policies, a.seen)
	if err == nil {
		report.Unenforced = unenforced
		return report, nil
	}
	for _, u := range unenforced {
		err = fmt.Errorf("%w\n%s", err, u.Text(time.Now()))
	}
	return nil, err
}

func (a *approval) planOnce(ctx context.Context) (*Report, error) {
	paths, err := named(a.paths)
	if err != nil {
		return nil, err
	}
	if off := a.cluster.Off(ctx); off != nil {
		return nil, fmt.Errorf("nothing can be approved, and nothing waits for it: %s", off.Text(time.Now()))
	}
	if a.seen, err = a.cluster.Read(ctx, a.target); err != nil {
		return nil, fmt.Errorf("reading %s: %w", a.target, err)
	}
	if a.had, err = a.effective(ctx, a.seen); err != nil {
		return nil, err
	}
	a.strays, a.untold = a.strayOf(ctx)
	if len(paths) == 0 {
		paths = withheld(a.had)
		if len(a.strays) > 0 {
			paths = append(paths, lineage.OwnersPath)
		}
		if len(paths) == 0 {
			return nil, fmt.Errorf("nothing of %s is withheld: name what to approve with --path, or --path '*' for every field that a policy is about; "+
				"see %s", a.target, phrase.Command("explain", record.TargetOf(a.seen)))
		}
	}
	a.planned = paths
	report, now, err := a.send(ctx, client.DryRunAll)
	if err != nil {
		return nil, err
	}
	if i := slices.IndexFunc(report.Warnings, func(text string) bool { return strings.HasSuffix(text, decision.NothingThere) }); i >= 0 {
		// It may be a slip of the pen, and what is meant may be another of the fields.
		return nil, errors.New("nothing is approved: " + report.Warnings[i])
	}
	report.DryRun = true
	a.noteStrays(report)
	if len(report.Added) == 0 && len(report.Warnings) == 0 && len(a.stillWithheld(now)) == 0 && len(report.Removed) > 0 {
		// That is how it looks as well where the ledger was taken out of the answer.
		taken, err := a.isTaken(ctx)
		if err != nil {
			return nil, err
		}
		if !taken {
			return nil, a.ineffective(report.Paths)
		}
	}
	return a.useful(report, now)
}

// carryOut approves, if that still allows what was planned.
func (a *approval) carryOut(ctx context.Context, planned *Report) (*Report, error) {
	for range attempts {
		report, _, err := a.send(ctx)
		if err == nil {
			// What was not stored as it should be is told by the record, which is written before the answer.
			now, err := a.effective(ctx, a.after)
			if err == nil {
				err = a.proveStrays(ctx, report)
			}
			if err != nil {
				return nil, err
			}
			return a.useful(report, now)
		}
		if !apierrors.IsConflict(err) {
			return nil, err
		}
		again, err := a.plan(ctx)
		if err != nil {
			return nil, err
		}
		if !equality.Semantic.DeepEqual(again.unversioned(), planned.unversioned()) {
			break
		}
	}
	return nil, fmt.Errorf("nothing was approved: %s has changed since it was looked at. Run the command again to see what it would allow now", a.target)
}

// send makes the request. It is about the very object that was seen.
// It returns what the ledger has in the answer as well.
func (a *approval) send(ctx context.Context, opts ...client.PatchOption) (*Report, ledger.Ledger, error) {
	after, err := a.patch(ctx, change.JoinPaths(a.planned), opts...)
	if err != nil {
		return nil, nil, err
	}
	if _, left := after.GetAnnotations()[ledger.AnnotationPrefix(a.seen)+ledger.NameApprove]; left {
		return nil, nil, fmt.Errorf("approving changes of %s has no effect: no webhook took the request; "+
			"see whether a policy is for its kind or bounds it (kubectl get allowancepolicies), and whether the operator runs", a.target)
	}
	now, err := stored(after)
	if err != nil {
		return nil, nil, err
	}
	before, err := stored(a.seen)
	if err != nil {
		return nil, nil, err
	}
	a.after = after
	paths := make([]string, 0, len(a.planned))
	for _, each := range a.planned {
		path, _ := decision.ParseApproval(each)
		paths = append(paths, path)
	}
	return &Report{
		Object:   record.TargetOf(a.seen),
		Paths:    paths,
		Added:    only(now, append(before, a.had...)), // What was used up may be in the ledger for a moment still.
		Removed:  only(a.had, now),
		Warnings: a.told(),
	}, now, nil
}

// patch sets the annotation that approves to a text, and returns the object of the answer.
func (a *approval) patch(ctx context.Context, text string, opts ...client.PatchOption) (*unstructured.Unstructured, error) {
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"resourceVersion": a.seen.GetResourceVersion(),
		"annotations":     map[string]string{ledger.AnnotationPrefix(a.seen) + ledger.NameApprove: text},
	}})
	if err != nil {
		return nil, err
	}
	after := a.seen.DeepCopy()
	a.said.Take()
	if err := a.cluster.Patch(ctx, after, client.RawPatch(types.MergePatchType, patch), opts...); err != nil {
		return nil, fmt.Errorf("approving changes of %s: %w", a.target, err)
	}
	return after, nil
}

// told returns what the API server warned of the approval. That something stays withheld it tells of any write, also
// of one that it does not know for an approval.
func (a *approval) told() []string {
	return slices.DeleteFunc(a.said.Take(), func(text string) bool { return strings.HasPrefix(text, decision.StaysWithheld) })
}

// noPath is an approval that Kausality answers with a warning, whoever asks.
const noPath = ".."

// isTaken reports whether an approval of the object gets to Kausality, or is taken out of the request
// before: what cannot be approved has to be answered.
func (a *approval) isTaken(ctx context.Context) (bool, error) {
	if _, err := a.patch(ctx, noPath, client.DryRunAll); err != nil {
		return false, err
	}
	return len(a.told()) > 0, nil
}

// effective returns the ledger of the object with what only its record tells: what is withheld of an object
// that cannot carry its ledger. Where no record can be read, the object says all.
func (a *approval) effective(ctx context.Context, obj *unstructured.Unstructured) (ledger.Ledger, error) {
	has, err := stored(obj)
	if err != nil {
		return nil, err
	}
	records, err := a.cluster.RecordsOf(ctx, a.target)
	if err != nil {
		return has, nil //nolint:nilerr // Who may approve may not be allowed to read records.
	}
	for i := range records {
		if records[i].Spec.TargetRef.UID == obj.GetUID() {
			return record.Effective(&records[i], obj, has), nil
		}
	}
	return has, nil
}

// stillWithheld returns what was to be approved and is withheld by the ledger all the same.
func (a *approval) stillWithheld(now ledger.Ledger) []string {
	var out []string
	for _, e := range now {
		path, err := change.ParsePath(e.Mutation)
		if !e.IsWithheld() || err != nil {
			continue
		}
		if slices.ContainsFunc(a.planned, func(each string) bool {
			text, _ := decision.ParseApproval(each)
			pattern, err := change.ParsePattern(text)
			return text == v1alpha1.Any || err == nil && pattern.Overlaps(change.Pattern(path))
		}) {
			out = append(out, e.Mutation)
		}
	}
	return out
}

// ineffective says that something between the command and Kausality took the approval out of the request.
func (a *approval) ineffective(paths []string) error {
	return fmt.Errorf("nothing is approved: %s of %s is still withheld. The API server took the request and Kausality did not see the approval in it, "+
		"or its answer was not stored: something else takes its annotations away, such as a MutatingAdmissionPolicy or a webhook "+
		"(kubectl get mutatingadmissionpolicies,mutatingwebhookconfigurations). Have it leave annotations of kausality.io alone, and approve again",
		strings.Join(paths, ", "), a.target)
}

// useful returns an error where the approval allows nothing and ends nothing, or what it is about is withheld
// afterwards. now is what the ledger has then.
func (a *approval) useful(r *Report, now ledger.Ledger) (*Report, error) {
	held := a.stillWithheld(now)
	if len(held) > 0 && len(r.Warnings) > 0 && !r.permits(now) {
		return nil, a.refused(r, now)
	}
	isGone := slices.ContainsFunc(r.Removed, func(gone v1alpha1.Allowance) bool {
		return gone.Relation == v1alpha1.RelationWithheld && slices.Contains(held, gone.Mutation)
	})
	if len(held) > 0 && len(r.Added) == 0 && (isGone || len(r.Removed)+len(r.Warnings) == 0) {
		return nil, a.ineffective(held)
	}
	if len(r.Added)+len(r.Removed)+len(r.Strays) > 0 {
		if len(held) > 0 && len(r.Warnings) == 0 {
			r.Warnings = []string{strings.Join(held, ", ") + " is still withheld"}
		}
		return r, nil
	}
	if len(r.Warnings) == 0 && a.untold != nil && a.approvesAdoption() {
		r.Warnings = []string{fmt.Sprintf("whether it was a stray, and ceases to be one, cannot be told: %v", a.untold)}
		return r, nil
	}
	if len(r.Warnings) == 0 {
		return nil, fmt.Errorf("approving %s of %s changes nothing: it has these allowances already, or no rule is about it",
			strings.Join(r.Paths, ", "), phrase.Target(r.Object))
	}
	return nil, errors.New("nothing is approved: " + strings.Join(r.Warnings, "; "))
}

// refused says that nothing of what was to be approved is, and how what is withheld is called now: another version of the
// kind may have it at another path than the ledger that was looked at.
func (a *approval) refused(r *Report, now ledger.Ledger) error {
	message := "nothing is approved: " + strings.Join(r.Warnings, "; ")
	if next := withheld(now); len(next) > 0 && !slices.Equal(next, a.planned) {
		message += ". What is withheld now: " + phrase.Command("approve", r.Object, next...)
	}
	return errors.New(message)
}

// named returns the paths of flags, one by one. An empty one is an error: it may be a shell variable that is not set,
// and without paths all that is withheld is approved.
func named(flags []string) ([]string, error) {
	out := make([]string, 0, len(flags))
	for _, each := range flags {
		out = append(out, change.SplitPaths(each)...)
	}
	if slices.Contains(out, "") {
		return nil, exit.With(exit.Usage, errors.New("nothing is approved: --path names no field in one place. Name the fields, or leave --path out to approve all that is withheld"))
	}
	return out, nil
}

// withheld returns what approves the changes of an object that are withheld, as they are.
func withheld(entries ledger.Ledger) []string {
	return decision.Approvals(entries.Without(func(e ledger.Entry) bool { return !e.IsWithheld() }).Allowances())
}

func stored(obj *unstructured.Unstructured) (ledger.Ledger, error) {
	key := ledger.AnnotationKey(obj, ledger.NameAllowances)
	entries, err := ledger.Decode(obj.GetAnnotations()[key])
	if err != nil {
		return nil, fmt.Errorf("reading the ledger of %s: %w", phrase.Object(obj.GetKind(), obj.GetName()), err)
	}
	return entries, nil
}

// only returns the allowances of a ledger that another one does not have.
func only(of, other ledger.Ledger) []v1alpha1.Allowance {
	return of.Without(func(e ledger.Entry) bool {
		return slices.ContainsFunc(other, func(o ledger.Entry) bool { return o.ID() == e.ID() })
	}).Allowances()
}
