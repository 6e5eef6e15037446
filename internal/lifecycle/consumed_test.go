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

package lifecycle

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/ledger"
	"kausality.io/operator/internal/lineage"
	"kausality.io/operator/internal/policy"
)

// configured returns a policy with these conditions, where they are given.
func configured(t *testing.T, initializing, settled string) []*policy.Policy {
	t.Helper()
	p := &v1alpha1.AllowancePolicy{Spec: v1alpha1.AllowancePolicySpec{
		For: v1alpha1.ParentKind{APIGroup: "apps", APIVersion: "v1", Kind: "Deployment"},
	}}
	if initializing != "" {
		p.Spec.Initializing = &v1alpha1.InitializingSection{When: initializing}
	}
	if settled != "" {
		p.Spec.Consumption = &v1alpha1.Consumption{When: settled}
	}
	compiled, errs := policy.Compile(p, func(schema.GroupVersionResource) (schema.GroupVersionKind, bool) {
		return schema.GroupVersionKind{}, false
	})
	if len(errs) > 0 {
		t.Fatal(errs.ToAggregate())
	}
	return []*policy.Policy{compiled}
}

// someDeployment returns a Deployment at generation 4 of which some replicas are available.
func someDeployment(available int64) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apps/v1", "kind": "Deployment",
		"metadata": map[string]any{"name": "web", "generation": int64(4)},
		"spec":     map[string]any{"replicas": int64(3)},
		"status": map[string]any{
			"observedGeneration": int64(4), "replicas": int64(3), "updatedReplicas": int64(3),
			"readyReplicas": available, "availableReplicas": available,
			"conditions": []any{map[string]any{"type": "Available", "status": "True"}},
		},
	}}
}

// someCronJob returns a CronJob at generation 4 that was made at noon, with the time of its
// schedule that it last ran for.
func someCronJob(lastRun string) *unstructured.Unstructured {
	obj := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "batch/v1", "kind": "CronJob",
		"metadata": map[string]any{"name": "night", "generation": int64(4), "creationTimestamp": "2026-03-01T12:00:00Z"},
	}}
	if lastRun != "" {
		obj.Object["status"] = map[string]any{"lastScheduleTime": lastRun}
	}
	return obj
}

func TestConsumed(t *testing.T) {
	settled, midway := someDeployment(3), someDeployment(2)
	granted := func(generation int64) v1alpha1.Allowance {
		return v1alpha1.Allowance{Kind: "ReplicaSet", Mutation: "spec.replicas", Generation: generation, Initiator: "alice"}
	}
	creation := granted(4)
	creation.Trace = []v1alpha1.TraceHop{{Kind: "Deployment", Name: "web", Field: v1alpha1.FieldCreated}}
	forReaders, creationForReaders := granted(4), creation
	forReaders.Through, creationForReaders.Through = "Prometheus.monitoring.coreos.com", "Prometheus.monitoring.coreos.com"
	withheld := v1alpha1.Allowance{Relation: v1alpha1.RelationWithheld, Mutation: "spec.paused", Generation: 4}

	tests := map[string]struct {
		obj      *unstructured.Unstructured
		policies []*policy.Policy
		entry    v1alpha1.Allowance
		want     bool
	}{
		"settled": {obj: settled, entry: granted(4), want: true},
		"settled, granted for an older generation": {obj: settled, entry: granted(2), want: true},
		"settled, granted for the next generation": {obj: settled, entry: granted(5)},
		"midway":            {obj: midway, entry: granted(4)},
		"creation, settled": {obj: settled, entry: creation, want: true},
		"creation, midway":  {obj: midway, entry: creation},
		"for readers: its status says nothing of them": {obj: settled, entry: forReaders},
		"for readers, of its creation":                 {obj: settled, entry: creationForReaders},
		"for readers, of its creation, which is over": {
			obj: settled, policies: configured(t, "object.spec.replicas == 5", ""), entry: creationForReaders,
		},
		"for readers, and a policy says when": {
			obj: midway, policies: configured(t, "", "allowance.initiator == 'alice'"), entry: forReaders, want: true,
		},
		"withheld: it ends with what it tells of": {obj: settled, entry: withheld},
		"a policy says when, not yet":             {obj: settled, policies: configured(t, "", "object.spec.replicas > 5"), entry: granted(4)},
		"a policy says when, already": {
			obj: midway, policies: configured(t, "", "allowance.initiator == 'alice'"), entry: granted(4), want: true,
		},
		"a policy's condition cannot be evaluated": {
			obj: settled, policies: configured(t, "", "object.spec.missing > 5"), entry: granted(4),
		},
		"creation, while its condition holds": {
			obj: settled, policies: configured(t, "object.spec.replicas == 3", ""), entry: creation,
		},
		"creation, when its condition has become false": {
			obj: midway, policies: configured(t, "object.spec.replicas == 5", ""), entry: creation, want: true,
		},
		"creation, and its condition cannot be evaluated: the status decides": {
			obj: settled, policies: configured(t, "object.spec.missing > 5", ""), entry: creation, want: true,
		},
		"creation, of a CronJob that has not run yet":        {obj: someCronJob(""), entry: creation},
		"creation, of a CronJob that has run":                {obj: someCronJob("2026-03-01T12:30:00Z"), entry: creation, want: true},
		"creation, of a CronJob that ran before it was made": {obj: someCronJob("2025-03-01T12:30:00Z"), entry: creation},
		"creation, of a CronJob that says nonsense":          {obj: someCronJob("yesterday"), entry: creation},
		"a change of a CronJob that has run":                 {obj: someCronJob("2026-03-01T12:30:00Z"), entry: granted(4)},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if got := Consumed(t.Context(), tc.obj, tc.policies, Unknown)(ledger.NewEntry(tc.entry)); got != tc.want {
				t.Errorf("Consumed() = %t, want %t", got, tc.want)
			}
		})
	}
}

// TestConsumedQuiet shows for whom the status of a composite resource is not enough.
func TestConsumedQuiet(t *testing.T) {
	const status = `{conditions: [{type: Synced, status: "True", observedGeneration: 4}, {type: Ready, status: "True", observedGeneration: 4}]}`
	obj := parse(t, customObject(`{crossplane: {}}`, status))
	categorized := func(category string) []*policy.Policy {
		policies := configured(t, "", "")
		policies[0].Categorize(func(schema.GroupKind) []string { return nil })
		policies[0].Categories[obj.GroupVersionKind().GroupKind()] = []string{category}
		return policies
	}
	granted := ledger.NewEntry(v1alpha1.Allowance{Kind: "Bucket", Mutation: "spec.size", Generation: 4, Initiator: "alice"})
	for name, tc := range map[string]struct {
		category string
		quiet    Quiet
		want     bool
	}{
		"a composite resource, not quiet": {lineage.CategoryComposite, Unknown, false},
		"a composite resource, quiet":     {lineage.CategoryComposite, always, true},
		"a claim":                         {lineage.CategoryClaim, Unknown, true},
		"a managed resource":              {"managed", Unknown, true},
	} {
		t.Run(name, func(t *testing.T) {
			consumed := Consumed(t.Context(), obj, categorized(tc.category), tc.quiet)
			if got := consumed(granted); got != tc.want {
				t.Errorf("granted: Consumed() = %t", got)
			}
		})
	}
}

func TestMidway(t *testing.T) {
	created := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	config := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "c"},
	}}
	config.SetCreationTimestamp(metav1.NewTime(created))
	deleting := someDeployment(2)
	deleting.SetDeletionTimestamp(new(metav1.NewTime(created)))

	tests := map[string]struct {
		obj      *unstructured.Unstructured
		policies []*policy.Policy
		later    time.Duration
		want     bool
	}{
		"settled":                                {obj: someDeployment(3)},
		"not settled":                            {obj: someDeployment(2), want: true},
		"being deleted":                          {obj: deleting},
		"a status that never tells, just made":   {obj: config, later: time.Minute, want: true},
		"a status that never tells, made before": {obj: config, later: policy.DefaultTTL},
		"a policy says that it has settled":      {obj: someDeployment(2), policies: configured(t, "", "true")},
		"a policy says that it has not":          {obj: someDeployment(3), policies: configured(t, "", "object.spec.replicas > 5"), want: true},
		"a policy's condition is about an allowance": {
			obj: someDeployment(3), policies: configured(t, "", "object.status.observedGeneration >= allowance.generation"),
		},
		"a policy's condition about an allowance does not hold": {
			obj: someDeployment(3), policies: configured(t, "", "object.status.observedGeneration > allowance.generation"), want: true,
		},
		"a policy's condition cannot be evaluated": {
			obj: someDeployment(3), policies: configured(t, "", "object.spec.missing > 5"), want: true,
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if got := Midway(t.Context(), tc.obj, tc.policies, created.Add(tc.later)); got != tc.want {
				t.Errorf("Midway() = %t, want %t", got, tc.want)
			}
		})
	}
}

// TestAdopting shows when what was under way at the first look of a policy is over.
func TestAdopting(t *testing.T) {
	since := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	timed := func() *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "c"}}}
	}
	end := since.Add(policy.DefaultTTL)
	for name, tc := range map[string]struct {
		obj      *unstructured.Unstructured
		policies []*policy.Policy
		later    time.Duration
		goes     bool
		end      time.Time
	}{
		"of what has settled":                         {obj: someDeployment(3)},
		"of what has not":                             {obj: someDeployment(2), goes: true, later: 2 * policy.DefaultTTL},
		"of what never tells":                         {obj: timed(), goes: true, end: end},
		"of what never tells, at its end":             {obj: timed(), end: end, later: policy.DefaultTTL},
		"of what a policy tells of has settled":       {obj: timed(), policies: configured(t, "", "true")},
		"of what a policy tells of and has not":       {obj: timed(), policies: configured(t, "", "false"), goes: true, later: 2 * policy.DefaultTTL},
		"of what tells, and a policy says it has not": {obj: someDeployment(3), policies: configured(t, "", "false"), goes: true},
	} {
		t.Run(name, func(t *testing.T) {
			goes, end := Adopting(t.Context(), tc.obj, tc.policies, since, since.Add(tc.later))
			if goes != tc.goes || !end.Equal(tc.end) {
				t.Errorf("Adopting() = %t until %v, want %t until %v", goes, end, tc.goes, tc.end)
			}
		})
	}
}
