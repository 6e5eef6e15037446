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
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/cli/cluster"
	"kausality.io/operator/internal/cli/phrase"
	"kausality.io/operator/internal/policy"
)

// far names the objects elsewhere below which something waits in the namespace that was asked about: cluster-scoped
// ones, and those of kinds that name their children by labels. Older entries of the records of cluster-scoped objects do
// not tell in which namespace a child is. Nothing is read where no policy is for such objects with children that are in namespaces.
func far(ctx context.Context, c *cluster.Cluster, policies cluster.Policies, namespace string) []string {
	if !slices.ContainsFunc(policies.Policies(), func(p *policy.Policy) bool {
		kind := p.For.GroupKind()
		return (!c.Namespaced(kind) || policies.Naming(kind) != nil) && slices.ContainsFunc(p.Entries(), func(e policy.Entry) bool { return isInNamespaces(c, e) })
	}) {
		return nil
	}
	records, err := c.Records(ctx, metav1.NamespaceAll)
	if err != nil {
		return []string{fmt.Sprintf("What is refused here below objects that are not in this namespace cannot be told: %v", err)}
	}
	var out []string
	for i := range records {
		rec := &records[i]
		ref := rec.Spec.TargetRef
		if ref.Namespace == namespace {
			continue
		}
		e := waitingInNamespaces(c, policies, rec, namespace)
		if e == nil {
			continue
		}
		is, here := "is cluster-scoped", "here"
		if ref.Namespace != "" {
			is = "is in namespace " + ref.Namespace
		}
		if e.Namespace == "" {
			here = "maybe here"
		}
		out = append(out, fmt.Sprintf("%s %s, and %s waits below it, %s: %s", phrase.Target(ref), is, strings.Join(e.Names, ", "), here, phrase.Command("why", ref)))
	}
	return out
}

// waitingInNamespaces returns a denial that somebody may still wait for, of a child that is, or may be, in a namespace;
// nil where there is none.
func waitingInNamespaces(c *cluster.Cluster, policies cluster.Policies, rec *v1alpha1.AllowanceRecord, namespace string) *v1alpha1.HistoryEntry {
	for i := range rec.Status.History {
		e := &rec.Status.History[i]
		if e.Event != v1alpha1.EventDenied || !isOf(rec.Status.Blocked, *e) || !mayBeIn(rec.Spec.TargetRef, *e, namespace) {
			continue
		}
		if slices.ContainsFunc(policies.Named(e.Policies...), func(p *policy.Policy) bool {
			return slices.ContainsFunc(p.Entries(), func(entry policy.Entry) bool { return entry.Kind.Kind == e.Kind && isInNamespaces(c, entry) })
		}) {
			return e
		}
	}
	return nil
}

func isInNamespaces(c *cluster.Cluster, e policy.Entry) bool {
	return !e.Kind.Empty() && c.Namespaced(e.Kind)
}
