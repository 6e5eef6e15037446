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

package upgrade

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/cli/cluster"
	"kausality.io/operator/internal/cli/phrase"
	"kausality.io/operator/internal/record"
	"kausality.io/operator/internal/upgrade"
)

func find(ctx context.Context, c *cluster.Cluster, name string) (*Report, error) {
	u := &v1alpha1.UpgradeAllowance{}
	if err := c.Get(ctx, types.NamespacedName{Name: name}, u); err != nil {
		return nil, fmt.Errorf("reading UpgradeAllowance %s: %w", name, err)
	}
	records, err := c.Records(ctx, "")
	if err != nil {
		return nil, err
	}
	a, _ := upgrade.Compile(u, c.KindOf)
	report := collect(u, a, records, time.Now())
	report.selected(ctx, c, u, a)
	return report, nil
}

// collect finds what the records tell of an upgrade.
func collect(u *v1alpha1.UpgradeAllowance, a *upgrade.Allowance, records []v1alpha1.AllowanceRecord, now time.Time) *Report {
	report := &Report{
		Name: u.Name, ChangedBy: u.Annotations[v1alpha1.AnnotationChangedBy], ServiceAccount: u.Spec.ServiceAccount,
		Triggers: triggersOf(u), Conditions: u.Status.Conditions, Parents: []Parent{},
	}
	for i := range records {
		if p, ok := parentOf(u, a, &records[i], now); ok {
			report.Parents = append(report.Parents, p)
		}
	}
	order := []State{Blocked, Moving, Waits, Moved}
	slices.SortStableFunc(report.Parents, func(x, y Parent) int {
		return cmp.Or(cmp.Compare(slices.Index(order, x.State), slices.Index(order, y.State)), cmp.Compare(x.Object.Kind, y.Object.Kind),
			cmp.Compare(x.Object.Namespace, y.Object.Namespace), cmp.Compare(x.Object.Name, y.Object.Name))
	})
	return report
}

func triggersOf(u *v1alpha1.UpgradeAllowance) []string {
	out := make([]string, 0, len(u.Spec.Triggers))
	for _, t := range u.Spec.Triggers {
		out = append(out, string(t))
	}
	return out
}

// parentOf returns what a record tells of a parent, and false where the upgrade is not about it.
func parentOf(u *v1alpha1.UpgradeAllowance, a *upgrade.Allowance, rec *v1alpha1.AllowanceRecord, now time.Time) (Parent, bool) {
	if rec.Status.EndedAt != nil {
		return Parent{}, false
	}
	p := Parent{Object: rec.Spec.TargetRef, Versions: []string{}}
	var mine []*v1alpha1.ControllerVersion
	for i := range rec.Status.Versions {
		known := &rec.Status.Versions[i]
		if !slices.Contains(u.Spec.Triggers, known.Trigger) || !isOf(known, u.Spec.ServiceAccount) {
			continue
		}
		mine = append(mine, known)
		if text := upgrade.Text(known); text != "" {
			p.Versions = append(p.Versions, text)
		}
	}
	byIt := func(known *v1alpha1.ControllerVersion) bool { return known.UpgradeAllowanceUID == u.UID && u.UID != "" }
	isMoving := func(known *v1alpha1.ControllerVersion) bool { return byIt(known) && upgrade.IsMoving(known) }
	switch {
	case a.IsBlocked(&rec.Status, now):
		d := rec.Status.LastDenial
		p.State, p.Since = Blocked, d.Time
		p.On = fmt.Sprintf("%s of %s: %s", strings.ToLower(d.Operation), phrase.Object(d.Kind, d.Name), strings.Join(d.Paths, ", "))
		if waits := withheldOf(rec); waits != "" {
			p.On += "; " + waits
		}
	case slices.ContainsFunc(mine, isMoving):
		i := slices.IndexFunc(mine, isMoving)
		p.State, p.Since, p.On = Moving, mine[i].Since, "until it has settled and nothing more is written"
	case slices.ContainsFunc(mine, byIt):
		i := slices.IndexFunc(mine, byIt)
		p.State, p.Since = Moved, *cmp.Or(mine[i].MovedAt, &mine[i].Since)
	case isThere(u, a, mine), isElsewhere(u, mine):
		return Parent{}, false
	case len(mine) > 0 && u.Status.AcceptedAt != nil && mine[0].Since.Before(u.Status.AcceptedAt):
		p.State, p.Since = Waits, mine[0].Since
		p.On = cmp.Or(withheldOf(rec), "no change of its children was asked for")
	default:
		return Parent{}, false
	}
	return p, true
}

// isThere reports whether a parent was made by, or upgraded to, versions that are all among those that an
// UpgradeAllowance names: another one was there before it, such as one that it took the place of.
func isThere(u *v1alpha1.UpgradeAllowance, a *upgrade.Allowance, remembered []*v1alpha1.ControllerVersion) bool {
	return len(u.Spec.Versions) > 0 && !slices.ContainsFunc(remembered, func(known *v1alpha1.ControllerVersion) bool {
		return upgrade.IsMoving(known) || !a.Names(cmp.Or(known.Image, known.Revision))
	})
}

// isElsewhere reports whether a parent is made from revisions of other things than those whose revisions an
// UpgradeAllowance names: none of these is ever an upgrade of it. Crossplane and kro name revisions
// after what they are of, with a dash and something that tells them apart.
func isElsewhere(u *v1alpha1.UpgradeAllowance, remembered []*v1alpha1.ControllerVersion) bool {
	return len(u.Spec.Versions) > 0 && !slices.ContainsFunc(remembered, func(known *v1alpha1.ControllerVersion) bool {
		dash := strings.LastIndex(known.Revision, "-")
		return dash < 0 || slices.ContainsFunc(u.Spec.Versions, func(pattern string) bool {
			begins, _, _ := strings.Cut(pattern, "*")
			of := known.Revision[:dash+1]
			return strings.HasPrefix(of, begins) || strings.HasPrefix(begins, of)
		})
	})
}

// isOf reports whether a version is about what a service account does. Somebody else may have had
// a parent made from another revision.
func isOf(known *v1alpha1.ControllerVersion, account string) bool {
	return known.User == account || known.Trigger != v1alpha1.UpgradeOfController
}

// withheldOf returns what is withheld of a parent, which no upgrade carries out.
func withheldOf(rec *v1alpha1.AllowanceRecord) string {
	for _, a := range rec.Status.Active {
		if a.Relation == v1alpha1.RelationWithheld {
			return fmt.Sprintf("%s by %s is withheld: %s", a.Mutation, phrase.Author(a.Initiator), phrase.Command("why", rec.Spec.TargetRef))
		}
	}
	return ""
}

// selected removes the parents that the upgrade does not select. Those that cannot be read stay.
func (r *Report) selected(ctx context.Context, c client.Reader, u *v1alpha1.UpgradeAllowance, a *upgrade.Allowance) {
	if u.Spec.NamespaceSelector == nil && u.Spec.ObjectSelector == nil {
		return
	}
	r.Parents = slices.DeleteFunc(r.Parents, func(p Parent) bool {
		labels, namespace, err := labelsOf(ctx, c, p.Object)
		if err != nil {
			r.Note = fmt.Sprintf("Whether it selects all of them cannot be told: %v", err)
			return false
		}
		return !a.Selects(labels, namespace)
	})
}

// labelsOf returns the labels of an object and those of its namespace, which are nil where it has none.
func labelsOf(ctx context.Context, c client.Reader, ref v1alpha1.TargetReference) (object, namespace map[string]string, err error) {
	read := func(gvk schema.GroupVersionKind, key types.NamespacedName) (map[string]string, error) {
		obj := &metav1.PartialObjectMetadata{}
		obj.SetGroupVersionKind(gvk)
		if err := c.Get(ctx, key, obj); err != nil {
			return nil, fmt.Errorf("reading %s %s: %w", gvk.Kind, key, err)
		}
		if obj.Labels == nil {
			return map[string]string{}, nil
		}
		return obj.Labels, nil
	}
	if object, err = read(record.GVK(ref), record.Key(ref)); err != nil || ref.Namespace == "" {
		return object, nil, err
	}
	namespace, err = read(schema.GroupVersionKind{Version: "v1", Kind: "Namespace"}, types.NamespacedName{Name: ref.Namespace})
	return object, namespace, err
}
