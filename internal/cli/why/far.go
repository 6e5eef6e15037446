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

// far names the cluster-scoped objects below which something waits, maybe in the namespace that was asked about:
// their records are in another namespace, and do not tell in which one a child is. Nothing is read where no policy
// for cluster-scoped objects names children that are in namespaces.
func far(ctx context.Context, c *cluster.Cluster, policies cluster.Policies) []string {
	if !slices.ContainsFunc(policies.Policies(), func(p *policy.Policy) bool {
		return !c.Namespaced(p.For.GroupKind()) && slices.ContainsFunc(p.Entries(), func(e policy.Entry) bool { return isInNamespaces(c, e) })
	}) {
		return nil
	}
	records, err := c.Records(ctx, metav1.NamespaceAll)
	if err != nil {
		return []string{fmt.Sprintf("What is refused here below cluster-scoped objects cannot be told: %v", err)}
	}
	var out []string
	for i := range records {
		rec := &records[i]
		if rec.Spec.TargetRef.Namespace != "" {
			continue
		}
		if e := waitingInNamespaces(c, policies, rec); e != nil {
			out = append(out, fmt.Sprintf("%s is cluster-scoped, and %s waits below it, maybe here: %s",
				phrase.Target(rec.Spec.TargetRef), strings.Join(e.Names, ", "), phrase.Command("why", rec.Spec.TargetRef)))
		}
	}
	return out
}

// waitingInNamespaces returns a denial that somebody may still wait for, of a child that is in some namespace; nil
// where there is none.
func waitingInNamespaces(c *cluster.Cluster, policies cluster.Policies, rec *v1alpha1.AllowanceRecord) *v1alpha1.HistoryEntry {
	for i := range rec.Status.History {
		e := &rec.Status.History[i]
		if e.Event != v1alpha1.EventDenied || !isOf(rec.Status.Blocked, *e) {
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
