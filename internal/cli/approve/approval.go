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

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/change"
	"kausality.io/operator/internal/cli/cluster"
	"kausality.io/operator/internal/cli/phrase"
	"kausality.io/operator/internal/decision"
	"kausality.io/operator/internal/ledger"
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

	// seen is the object as it was planned for.
	seen *unstructured.Unstructured
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
	return report, err
}

func (a *approval) planOnce(ctx context.Context) (*Report, error) {
	var err error
	if a.seen, err = a.cluster.Read(ctx, a.target); err != nil {
		return nil, fmt.Errorf("reading %s: %w", a.target, err)
	}
	paths := named(a.paths)
	if len(paths) == 0 {
		if paths = withheld(a.seen); len(paths) == 0 {
			return nil, fmt.Errorf("nothing of %s is withheld: name what to approve with --path, or --path '*' for every field that a policy is about; "+
				"see %s", a.target, phrase.Command("explain", record.TargetOf(a.seen)))
		}
	}
	a.planned = paths
	report, err := a.send(ctx, client.DryRunAll)
	if err != nil {
		return nil, err
	}
	report.DryRun = true
	return useful(report)
}

// carryOut approves, if that still allows what was planned.
func (a *approval) carryOut(ctx context.Context, planned *Report) (*Report, error) {
	for range attempts {
		report, err := a.send(ctx)
		if err == nil {
			return useful(report)
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
func (a *approval) send(ctx context.Context, opts ...client.PatchOption) (*Report, error) {
	prefix := ledger.AnnotationPrefix(a.seen)
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"resourceVersion": a.seen.GetResourceVersion(),
		"annotations":     map[string]string{prefix + ledger.NameApprove: change.JoinPaths(a.planned)},
	}})
	if err != nil {
		return nil, err
	}
	after := a.seen.DeepCopy()
	a.said.Take()
	if err := a.cluster.Patch(ctx, after, client.RawPatch(types.MergePatchType, patch), opts...); err != nil {
		return nil, fmt.Errorf("approving changes of %s: %w", a.target, err)
	}
	if _, left := after.GetAnnotations()[prefix+ledger.NameApprove]; left {
		return nil, fmt.Errorf("approving changes of %s has no effect: no webhook took the request; "+
			"see whether a policy is for its kind (kubectl get allowancepolicies), and whether the operator runs", a.target)
	}
	before, err := stored(a.seen)
	if err != nil {
		return nil, err
	}
	now, err := stored(after)
	if err != nil {
		return nil, err
	}
	paths := make([]string, 0, len(a.planned))
	for _, each := range a.planned {
		path, _ := decision.ParseApproval(each)
		paths = append(paths, path)
	}
	return &Report{
		Object:   record.TargetOf(a.seen),
		Paths:    paths,
		Added:    only(now, before),
		Removed:  only(before, now),
		Warnings: a.said.Take(),
	}, nil
}

// useful returns an error where the approval allows nothing and ends nothing.
func useful(r *Report) (*Report, error) {
	if len(r.Added)+len(r.Removed) > 0 {
		return r, nil
	}
	if len(r.Warnings) == 0 {
		return nil, fmt.Errorf("approving %s of %s changes nothing: it has these allowances already, or no rule is about it",
			strings.Join(r.Paths, ", "), phrase.Target(r.Object))
	}
	return nil, errors.New("nothing is approved: " + strings.Join(r.Warnings, "; "))
}

// named returns the paths of flags, one by one.
func named(flags []string) []string {
	out := make([]string, 0, len(flags))
	for _, each := range flags {
		out = append(out, change.SplitPaths(each)...)
	}
	return slices.DeleteFunc(out, func(path string) bool { return path == "" })
}

// withheld returns what approves the changes of an object that are withheld, as they are.
func withheld(obj *unstructured.Unstructured) []string {
	entries, err := stored(obj)
	if err != nil {
		return nil
	}
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
