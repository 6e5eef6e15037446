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
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/approved"
	"kausality.io/operator/internal/change"
	"kausality.io/operator/internal/controller/controllertest"
	"kausality.io/operator/internal/decision"
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

func (a *adoptedTargets) DropLedger(_ context.Context, target v1alpha1.TargetReference, _ string, entries, _ ledger.Ledger) error {
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
			got := (&Adoption{Clock: clock.RealClock{}}).arriving(t.Context(), tc.obj, nil)
			if got.midway != tc.midway || len(got.entries) != tc.entries || (got.raw != "") != tc.raw {
				t.Errorf("midway %t, %d entries, raw %q; want %t, %d, any: %t", got.midway, len(got.entries), got.raw, tc.midway, tc.entries, tc.raw)
			}
		})
	}
}

// withholding returns a Deployment with so many replicas that mallory asked for, of which 1 was approved,
// as the webhook stored it, after something was done to it with no policy.
func withholding(t *testing.T, policies []*policy.Policy, do func(*unstructured.Unstructured)) *unstructured.Unstructured {
	t.Helper()
	obj := controllertest.Workload("Deployment", "web")
	obj.SetResourceVersion("7")
	before := decision.Approvable(obj, policies, nil, "key")
	after := decision.Approvable(controllertest.Unsettled(obj.DeepCopy()), policies, nil, "key")
	after.Fields["spec"] = map[string]any{"replicas": int64(9)}
	uncaused := change.Find(before.Fields, after.Fields, change.Options{})
	st := approved.Now(nil, approved.Pending{}, before).After(approved.Request{New: after, User: "mallory", Uncaused: uncaused})
	obj.Object = after.Fields
	obj.SetAnnotations(map[string]string{
		v1alpha1.AnnotationApproved:   st.State().Encode(st.Object.UID),
		v1alpha1.AnnotationAllowances: decision.Withheld(st).Merge(v1alpha1.Allowance{Kind: "ReplicaSet", Mutation: "spec.replicas", Generation: 1}).Encode(),
	})
	do(obj)
	return obj
}

// patched takes patches, of which the first ones meet a newer object.
type patched struct {
	client.Client
	conflicts int
	patches   []string
}

func (p *patched) Patch(_ context.Context, obj client.Object, patch client.Patch, _ ...client.PatchOption) error {
	p.conflicts--
	if p.conflicts >= 0 {
		return apierrors.NewConflict(schema.GroupResource{Resource: "deployments"}, obj.GetName(), errors.New("it is newer"))
	}
	data, err := patch.Data(obj)
	p.patches = append(p.patches, string(data))
	return err
}

// TestWithheldBefore shows what policies find of an object of which something was withheld when the last of
// them went.
func TestWithheldBefore(t *testing.T) {
	policies := controllertest.Compiled(t, controllertest.Bounding(controllertest.Initiated(controllertest.PolicyFor("Deployment")), "apps", "replicasets"))
	elsewhere := controllertest.PolicyFor("Deployment")
	elsewhere.Spec.Rules = []v1alpha1.Rule{{Trigger: "spec.paused", Policies: []v1alpha1.PolicyEntry{controllertest.ChildEntry("apps", "replicasets", "Update")}}}
	other := controllertest.Compiled(t, controllertest.Initiated(elsewhere))
	set := func(field string, value any) func(*unstructured.Unstructured) {
		return func(obj *unstructured.Unstructured) {
			spec, _ := obj.Object["spec"].(map[string]any)
			spec[field] = value
			obj.SetGeneration(obj.GetGeneration() + 1)
		}
	}
	for name, tc := range map[string]struct {
		change   func(*unstructured.Unstructured)
		policies []*policy.Policy
		// withheld are the fields that are withheld still, and approved is what is approved of the spec,
		// nil where nothing is kept of it.
		withheld []string
		approved map[string]any
		midway   bool
		// mended is true where the annotations have to be written.
		mended bool
	}{
		"as it was": {change: func(*unstructured.Unstructured) {}, withheld: []string{"spec.replicas"}, approved: map[string]any{"replicas": int64(1)}},
		"another field was changed": {
			change: set("paused", true), withheld: []string{"spec.replicas"},
			approved: map[string]any{"replicas": int64(1), "paused": true}, mended: true,
		},
		"it was changed again": {change: set("replicas", int64(8)), withheld: []string{"spec.replicas"}, approved: map[string]any{"replicas": int64(1)}, mended: true},
		"it was put back":      {change: set("replicas", int64(1)), midway: true, mended: true},
		"the marks were taken off": {
			change:   func(obj *unstructured.Unstructured) { setAnnotation(obj, v1alpha1.AnnotationAllowances, "") },
			withheld: []string{"spec.replicas"}, approved: map[string]any{"replicas": int64(1)}, mended: true,
		},
		"the approved content was taken off": {
			change: func(obj *unstructured.Unstructured) { setAnnotation(obj, v1alpha1.AnnotationApproved, "") },
			midway: true, mended: true,
		},
		"the approved content is broken": {
			change: func(obj *unstructured.Unstructured) { setAnnotation(obj, v1alpha1.AnnotationApproved, "v1:broken") },
			midway: true, mended: true,
		},
		"the policies have no rule about it": {
			change: set("paused", true), policies: other, midway: true, mended: true,
			approved: map[string]any{"replicas": int64(1), "paused": true},
		},
	} {
		t.Run(name, func(t *testing.T) {
			obj := withholding(t, policies, tc.change)
			writer := &patched{conflicts: 1}
			a := &Adoption{
				Holders: controllertest.Holders{obj}, Records: &adoptedTargets{}, Writer: writer, DigestKey: "key",
				Clock: clocktesting.NewFakePassiveClock(controllertest.Noon),
			}
			n := a.arriving(t.Context(), obj, orElse(tc.policies, policies))
			if n.midway != tc.midway || (n.outdated != nil) != tc.mended {
				t.Errorf("midway: %t, outdated: %v, want %t, any: %t", n.midway, n.outdated, tc.midway, tc.mended)
			}
			if err := a.record(t.Context(), &n); err != nil {
				t.Fatalf("record(): %v", err)
			}
			if (len(writer.patches) == 1) != tc.mended {
				t.Errorf("patches %q, want one: %t", writer.patches, tc.mended)
			}
			for _, e := range n.entries {
				if slices.Contains(tc.withheld, e.Mutation) && e.IsWithheld() && n.outdated == nil {
					t.Errorf("what tells of %s counts for nothing", e.Mutation)
				}
			}
			for key, value := range n.outdated {
				text, _ := value.(string)
				setAnnotation(obj, key, text)
			}
			if again := a.arriving(t.Context(), obj, n.policies); again.outdated != nil {
				t.Errorf("outdated when it was mended: %v", again.outdated)
			}
			var withheld []string
			told, err := ledger.Decode(obj.GetAnnotations()[v1alpha1.AnnotationAllowances])
			for _, e := range told {
				if e.IsWithheld() {
					withheld = append(withheld, e.Mutation)
				}
			}
			if diff := cmp.Diff(tc.withheld, withheld); diff != "" || err != nil {
				t.Errorf("withheld, as the ledger says, %v (-want +got):\n%s", err, diff)
			}
			state, err := approved.Decode(obj.GetAnnotations()[v1alpha1.AnnotationApproved])
			if err != nil || (state == nil) != (tc.approved == nil) {
				t.Fatalf("approved content %v, %v, want any: %t", state, err, tc.approved != nil)
			}
			if state != nil {
				if diff := cmp.Diff(tc.approved, state.Content["spec"]); diff != "" {
					t.Errorf("approved spec (-want +got):\n%s", diff)
				}
			}
		})
	}
}

func orElse(a, b []*policy.Policy) []*policy.Policy {
	if a != nil {
		return a
	}
	return b
}

func setAnnotation(obj *unstructured.Unstructured, key, value string) {
	annotations := obj.GetAnnotations()
	if annotations[key] = value; value == "" {
		delete(annotations, key)
	}
	obj.SetAnnotations(annotations)
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
