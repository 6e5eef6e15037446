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
	"context"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/change"
	"kausality.io/operator/internal/cli/cluster"
	"kausality.io/operator/internal/decision"
)

// find reads the records of the namespace, and the policies.
func find(ctx context.Context, c *cluster.Cluster, args []string) (*Report, error) {
	var subject *cluster.Target
	namespace := c.Namespace
	if len(args) > 0 {
		target, err := c.Target(args)
		if err != nil {
			return nil, err
		}
		// Cluster-scoped objects have their records in the operator's namespace.
		subject, namespace = &target, target.Namespace
	}
	records, err := c.Records(ctx, namespace)
	if err != nil {
		return nil, err
	}
	policies, err := c.Policies(ctx)
	report := collect(records, policies, subject)
	report.Subject = "namespace " + namespace
	if subject != nil {
		report.Subject = subject.String()
	}
	if err != nil {
		report.Notes = append(report.Notes, fmt.Sprintf("What would have allowed it cannot be told: %v", err))
	}
	generating, err := c.GeneratingPolicies(ctx)
	if err != nil {
		report.Notes = append(report.Notes, fmt.Sprintf("What GeneratingPolicies want and do not get cannot be told: %v", err))
	}
	report.addGenerating(generating, about{namespace: namespace, target: subject})
	return report, nil
}

// collect finds what the records tell about the subject, or about everything.
func collect(records []v1alpha1.AllowanceRecord, policies cluster.Policies, subject *cluster.Target) *Report {
	report := &Report{Refusals: []Refusal{}, Withheld: []Withheld{}}
	for i := range records {
		rec := &records[i]
		ref := rec.Spec.TargetRef
		isTarget := subject == nil || subject.Is(ref)
		latest, held := true, slices.ContainsFunc(rec.Status.Active, isWithheld)
		for _, e := range rec.Status.History {
			if e.Event == v1alpha1.EventRefused && isTarget {
				report.Refusals = append(report.Refusals, refusedItself(rec, policies, e))
			}
			if e.Event != v1alpha1.EventDenied {
				continue
			}
			if isTarget || isChild(*subject, ref, e) {
				report.Refusals = append(report.Refusals, Refusal{
					HistoryEntry: e,
					Parent:       ref,
					Record:       rec.Name,
					Waiting:      latest && rec.Status.Blocked != nil,
					Held:         held,
					Remedies:     remedies(policies.Named(e.Policies...), e),
					Upgrade:      upgradeOf(rec, e),
				})
			}
			latest = false
		}
		if isTarget {
			report.Withheld = append(report.Withheld, withheld(rec, policies)...)
		}
	}
	slices.SortStableFunc(report.Refusals, func(a, b Refusal) int { return b.Time.Compare(a.Time.Time) })
	return report
}

// refusedItself returns a change of a record's target that its own policies refused.
func refusedItself(rec *v1alpha1.AllowanceRecord, policies cluster.Policies, e v1alpha1.HistoryEntry) Refusal {
	ref := rec.Spec.TargetRef
	out := Refusal{HistoryEntry: e, Parent: ref, Record: rec.Name, Remedies: []Remedy{}}
	for _, path := range e.Paths {
		out.Initiators = append(out.Initiators, initiatorsOf(policies, ref, path)...)
	}
	slices.Sort(out.Initiators)
	out.Initiators = slices.Compact(out.Initiators)
	return out
}

// isChild reports whether a refusal is about the subject, whose kind it names without
// the group.
func isChild(t cluster.Target, parent v1alpha1.TargetReference, e v1alpha1.HistoryEntry) bool {
	return e.Kind == t.GVK.Kind && slices.Contains(e.Names, t.Name) && (parent.Namespace == "" || parent.Namespace == t.Namespace)
}

// withheld returns the changes of a record's target from which nothing follows. Items of one
// list that one person changed are one change for who reads of them.
func withheld(rec *v1alpha1.AllowanceRecord, policies cluster.Policies) []Withheld {
	type together struct{ list, user string }
	var out []Withheld
	at := map[together]int{}
	for _, a := range rec.Status.Active {
		if !isWithheld(a) {
			continue
		}
		key := together{listOf(a.Mutation), a.Initiator}
		i, ok := at[key]
		if !ok {
			i = len(out)
			at[key] = i
			out = append(out, Withheld{
				Object: rec.Spec.TargetRef, User: a.Initiator, Since: since(rec, a.Mutation),
				Initiators: initiatorsOf(policies, rec.Spec.TargetRef, a.Mutation),
			})
		}
		out[i].Paths = append(out[i].Paths, a.Mutation)
		out[i].Approvals = append(out[i].Approvals, decision.Approvals([]v1alpha1.Allowance{a})...)
	}
	return out
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
