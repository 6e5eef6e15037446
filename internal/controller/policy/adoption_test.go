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

package policy

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/controller/controllertest"
	"kausality.io/operator/internal/ledger"
	"kausality.io/operator/internal/policy"
)

// adoptedTargets remembers which objects are adopting.
type adoptedTargets struct {
	mu    sync.Mutex
	names []string
	// judged are the names of the objects whose ledgers have a record.
	judged []string
}

func (a *adoptedTargets) Live(_ context.Context, target v1alpha1.TargetReference) (*v1alpha1.AllowanceRecord, error) {
	return &v1alpha1.AllowanceRecord{Spec: v1alpha1.AllowanceRecordSpec{TargetRef: target, LedgerKnown: slices.Contains(a.judged, target.Name)}}, nil
}

func (a *adoptedTargets) SetAdopting(_ context.Context, target v1alpha1.TargetReference, parent *types.UID) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	name := target.Name
	if parent := ptr.Deref(parent, ""); parent != "" {
		name += " of " + string(parent)
	}
	a.names = append(a.names, name)
	return nil
}

func (a *adoptedTargets) DropLedger(_ context.Context, target v1alpha1.TargetReference, _ string, entries ledger.Ledger) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(entries) > 0 {
		a.names = append(a.names, target.Name+", dropped")
	}
	return nil
}

func withLedger(obj *unstructured.Unstructured, allowance v1alpha1.Allowance) *unstructured.Unstructured {
	obj.SetAnnotations(map[string]string{
		v1alpha1.AnnotationAllowances: ledger.Ledger{ledger.NewEntry(allowance)}.Encode(),
	})
	return obj
}

func TestArriving(t *testing.T) {
	deleting := controllertest.Unsettled(controllertest.Workload("Deployment", "web"))
	deleting.SetDeletionTimestamp(new(metav1.Now()))
	deleting.SetFinalizers([]string{"example.com/wait"})
	unreadable := controllertest.Unsettled(controllertest.Workload("Deployment", "web"))
	unreadable.SetAnnotations(map[string]string{v1alpha1.AnnotationAllowances: "no ledger"})
	scaled := v1alpha1.Allowance{Kind: "ReplicaSet", Mutation: "spec.replicas", Generation: 2}
	created := v1alpha1.Allowance{Kind: "ReplicaSet", Mutation: "*", Trace: []v1alpha1.TraceHop{{Kind: "Deployment", Field: v1alpha1.FieldCreated}}}

	for name, tc := range map[string]struct {
		obj     *unstructured.Unstructured
		midway  bool
		entries int
		raw     bool
	}{
		"settled":                {obj: controllertest.Workload("Deployment", "web")},
		"not settled":            {obj: controllertest.Unsettled(controllertest.Workload("Deployment", "web")), midway: true},
		"deleting":               {obj: deleting},
		"settled, with a ledger": {obj: withLedger(controllertest.Workload("Deployment", "web"), scaled), entries: 1, raw: true},
		"midway, whatever its ledger says of its creation": {
			obj: withLedger(controllertest.Unsettled(controllertest.Workload("Deployment", "web")), created), midway: true, entries: 1, raw: true,
		},
		"unreadable ledger": {obj: unreadable, midway: true, raw: true},
	} {
		t.Run(name, func(t *testing.T) {
			got := arriving(t.Context(), tc.obj, nil, time.Now())
			if got.midway != tc.midway || len(got.entries) != tc.entries || (got.raw != "") != tc.raw {
				t.Errorf("midway %t, %d entries, raw %q; want %t, %d, any: %t", got.midway, len(got.entries), got.raw, tc.midway, tc.entries, tc.raw)
			}
		})
	}
}

func TestRelated(t *testing.T) {
	policies := controllertest.Compiled(t,
		controllertest.Bounding(controllertest.PolicyFor("Deployment"), "apps", "replicasets"),
		controllertest.Bounding(controllertest.PolicyFor("ReplicaSet"), "", "pods"),
		controllertest.PolicyFor("StatefulSet"),
	)
	for kind, want := range map[string][]string{
		"Deployment":  {"Deployment", "ReplicaSet"},
		"ReplicaSet":  {"ReplicaSet", "Deployment"},
		"StatefulSet": {"StatefulSet"},
		"DaemonSet":   nil,
	} {
		t.Run(kind, func(t *testing.T) {
			var got []string
			for _, r := range related(policy.NewIndex(policies), schema.GroupKind{Group: "apps", Kind: kind}) {
				got = append(got, r.Kind)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("related() (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAdopt(t *testing.T) {
	deployments := controllertest.Bounding(controllertest.Initiated(controllertest.PolicyFor("Deployment")), "apps", "replicasets")
	replicaSets := controllertest.Bounding(controllertest.PolicyFor("ReplicaSet"), "", "pods")
	prod := deployments.DeepCopy()
	prod.Spec.ObjectSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"env": "prod"}}
	wider := deployments.DeepCopy()
	wider.Generation = 2

	web := controllertest.Unsettled(controllertest.Workload("Deployment", "web"))
	webSet := controllertest.Unsettled(controllertest.OwnedBy(controllertest.Workload("ReplicaSet", "web-1"), web))
	shop := controllertest.Unsettled(controllertest.Workload("Deployment", "shop"))
	shop.SetLabels(map[string]string{"env": "prod"})
	done := controllertest.Workload("Deployment", "done")
	forged := withLedger(controllertest.Workload("Deployment", "forged"), v1alpha1.Allowance{Kind: "ReplicaSet", Mutation: "*", Generation: 1})
	alone := controllertest.Unsettled(controllertest.Workload("ReplicaSet", "alone"))
	cached := controllertest.Holders{web, webSet, shop, done, alone, forged}

	for name, tc := range map[string]struct {
		before, after []*v1alpha1.AllowancePolicy
		changed       *v1alpha1.AllowancePolicy
		want          []string
	}{
		"the first policy":               {nil, []*v1alpha1.AllowancePolicy{deployments}, deployments, []string{"forged, dropped", "shop", "web"}},
		"a policy that nobody can start": {nil, []*v1alpha1.AllowancePolicy{replicaSets}, replicaSets, nil},
		"one that brings another into effect": {
			[]*v1alpha1.AllowancePolicy{replicaSets}, []*v1alpha1.AllowancePolicy{replicaSets, deployments}, deployments,
			[]string{"forged, dropped", "shop", "web", "web-1 of uid-web"},
		},
		"one that continues what is there": {
			[]*v1alpha1.AllowancePolicy{deployments}, []*v1alpha1.AllowancePolicy{deployments, replicaSets}, replicaSets,
			[]string{"web-1 of uid-web"},
		},
		"selects more than before": {[]*v1alpha1.AllowancePolicy{prod}, []*v1alpha1.AllowancePolicy{wider}, wider, []string{"forged, dropped", "web"}},
		"selects the same":         {[]*v1alpha1.AllowancePolicy{deployments}, []*v1alpha1.AllowancePolicy{wider}, wider, nil},
		"selects less":             {[]*v1alpha1.AllowancePolicy{deployments}, []*v1alpha1.AllowancePolicy{prod}, prod, nil},
	} {
		t.Run(name, func(t *testing.T) {
			records := &adoptedTargets{}
			adoption := Adoption{Holders: cached, Namespaces: controllertest.NoNamespaceLabels{}, Records: records, Clock: clock.RealClock{}}
			_, err := adoption.adopt(t.Context(), policy.NewIndex(controllertest.Compiled(t, tc.before...)), policy.NewIndex(controllertest.Compiled(t, tc.after...)),
				controllertest.Compiled(t, tc.changed)[0])
			if err != nil {
				t.Fatalf("adopt(): %v", err)
			}
			slices.Sort(records.names)
			if diff := cmp.Diff(tc.want, records.names); diff != "" {
				t.Errorf("adopting (-want +got):\n%s", diff)
			}
		})
	}
}

// restless begins something new each time that something is recorded.
type restless struct {
	adoptedTargets
	begin []*unstructured.Unstructured
}

func (r *restless) SetAdopting(ctx context.Context, target v1alpha1.TargetReference, parent *types.UID) error {
	if len(r.begin) > 0 {
		controllertest.Unsettled(r.begin[0])
		r.begin = r.begin[1:]
	}
	return r.adoptedTargets.SetAdopting(ctx, target, parent)
}

// TestAdoptAgain shows that what begins while others are being recorded is recorded too,
// each once, and that this comes to an end.
func TestAdoptAgain(t *testing.T) {
	deployments := controllertest.Bounding(controllertest.Initiated(controllertest.PolicyFor("Deployment")), "apps", "replicasets")
	index := policy.NewIndex(controllertest.Compiled(t, deployments))
	var all controllertest.Holders
	for i := range adoptionLooks + 3 {
		obj := controllertest.Workload("Deployment", fmt.Sprint("web-", i))
		obj.SetUID(types.UID(obj.GetName()))
		all = append(all, obj)
	}
	for name, tc := range map[string]struct {
		busy int
		want []string
	}{
		"nothing begins":          {0, []string{"web-0"}},
		"something begins":        {2, []string{"web-0", "web-1", "web-2"}},
		"something always begins": {len(all) - 1, []string{"web-0", "web-1", "web-2", "web-3", "web-4"}},
	} {
		t.Run(name, func(t *testing.T) {
			holders := make(controllertest.Holders, 0, len(all))
			for _, obj := range all {
				holders = append(holders, obj.DeepCopy())
			}
			controllertest.Unsettled(holders[0])
			records := &restless{begin: holders[1 : 1+tc.busy]}
			adoption := Adoption{Holders: holders, Namespaces: controllertest.NoNamespaceLabels{}, Records: records, Clock: clock.RealClock{}}
			if _, err := adoption.adopt(t.Context(), policy.NewIndex(nil), index, index.Policies()[0]); err != nil {
				t.Fatalf("adopt(): %v", err)
			}
			if diff := cmp.Diff(tc.want, records.names); diff != "" {
				t.Errorf("adopting (-want +got):\n%s", diff)
			}
		})
	}
}
