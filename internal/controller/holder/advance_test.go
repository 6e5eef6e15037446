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

package holder

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/controller/controllertest"
	"kausality.io/operator/internal/ledger"
	"kausality.io/operator/internal/policy"
	"kausality.io/operator/internal/record"
)

// testHolder builds a Deployment of generation 5 with 3 replicas, in the middle
// of a rollout.
type testHolder struct{ *unstructured.Unstructured }

func makeHolder() testHolder {
	obj := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apps/v1",
		"kind":       "Deployment",
		"metadata":   map[string]any{"name": "web", "namespace": "shop", "uid": "web-uid", "generation": int64(5)},
		"spec": map[string]any{
			"replicas": int64(3),
			"strategy": map[string]any{"type": "RollingUpdate"},
		},
		"status": map[string]any{"observedGeneration": int64(4)},
	}}
	return testHolder{obj}
}

func (h testHolder) holding(allowances ...v1alpha1.Allowance) testHolder {
	h.SetAnnotations(map[string]string{v1alpha1.AnnotationAllowances: ledger.Ledger{}.Merge(allowances...).Encode()})
	return h
}

func (h testHolder) annotated(text string) testHolder {
	h.SetAnnotations(map[string]string{v1alpha1.AnnotationAllowances: text})
	return h
}

func (h testHolder) version(version string) testHolder {
	h.SetResourceVersion(version)
	return h
}

// blocked shows that a change of its children waits.
func (h testHolder) blocked() testHolder {
	h.Object["status"] = map[string]any{
		"observedGeneration": int64(4),
		"conditions":         []any{map[string]any{"type": v1alpha1.ConditionBlocked, "status": "True"}},
	}
	return h
}

// settled has the status that the deployment controller reports at the end.
func (h testHolder) settled() testHolder {
	h.Object["status"] = map[string]any{
		"observedGeneration": int64(5),
		"replicas":           int64(3), "updatedReplicas": int64(3), "readyReplicas": int64(3), "availableReplicas": int64(3),
		"conditions": []any{
			map[string]any{"type": "Available", "status": "True"},
			map[string]any{"type": "Progressing", "status": "True", "reason": "NewReplicaSetAvailable"},
		},
	}
	return h
}

// timed makes it a kind whose status tells nothing.
func (h testHolder) timed() testHolder {
	h.SetGroupVersionKind(schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"})
	h.SetGeneration(0)
	delete(h.Object, "status")
	return h
}

func (h testHolder) deleting() testHolder {
	now := metav1.NewTime(controllertest.Noon)
	h.SetDeletionTimestamp(&now)
	return h
}

func grantOf(mutation string, generation int64) v1alpha1.Allowance {
	return v1alpha1.Allowance{
		Kind: "ReplicaSet", Mutation: mutation, Generation: generation, Initiator: "alice",
		Trace: []v1alpha1.TraceHop{{Kind: "Deployment", Name: "web", Generation: generation, Field: mutation}},
	}
}

func creationGrant() v1alpha1.Allowance {
	a := grantOf("*", 1)
	a.Trace[0].Field = v1alpha1.FieldCreated
	return a
}

func withheldChange(path string) v1alpha1.Allowance {
	return v1alpha1.Allowance{Relation: v1alpha1.RelationWithheld, Mutation: path, Generation: 5, Initiator: "mallory"}
}

func scaleGrant(value int64, at metav1.Time) v1alpha1.PendingGrant {
	p := record.NewPending(&record.Content{Path: "spec.replicas", Value: value}, nil, []v1alpha1.Allowance{grantOf("spec.replicas", 0)}, nil)
	p.Time = at
	return p
}

// foundAt returns a pending grant of a request that found the holder in a version.
func foundAt(version string, p v1alpha1.PendingGrant) v1alpha1.PendingGrant {
	p.After = version
	return p
}

func idOf(a v1alpha1.Allowance) string { return ledger.NewEntry(a).ID() }

func consumedIn(allowances ...v1alpha1.Allowance) []v1alpha1.ConsumedAllowance {
	var out []v1alpha1.ConsumedAllowance
	for _, e := range (ledger.Ledger{}).Merge(allowances...) {
		out = append(out, v1alpha1.ConsumedAllowance{ID: e.ID(), Generation: e.Generation})
	}
	return out
}

// policyWhen compiles a policy for Deployments with its two conditions.
func policyWhen(t *testing.T, initializing, consumption string) *policy.Policy {
	t.Helper()
	source := &v1alpha1.AllowancePolicy{Spec: v1alpha1.AllowancePolicySpec{
		For: v1alpha1.ParentKind{APIGroup: "apps", APIVersion: "v1", Kind: "Deployment"},
	}}
	if initializing != "" {
		source.Spec.Initializing = &v1alpha1.InitializingSection{When: initializing}
	}
	if consumption != "" {
		source.Spec.Consumption = &v1alpha1.Consumption{When: consumption}
	}
	compiled, errs := policy.Compile(source, func(schema.GroupVersionResource) (schema.GroupVersionKind, bool) {
		return schema.GroupVersionKind{}, false
	})
	if len(errs) > 0 {
		t.Fatalf("the policy does not compile: %v", errs)
	}
	return compiled
}

func TestAdvance(t *testing.T) {
	template, replicas := grantOf("spec.template", 5), grantOf("spec.replicas", 4)
	const never = time.Duration(0)
	tests := map[string]struct {
		holder   testHolder
		uncached bool
		policies []*policy.Policy
		status   v1alpha1.AllowanceRecordStatus
		// want is the status; the times of first sight are compared apart.
		want        v1alpha1.AllowanceRecordStatus
		wantRewrite bool
		// wantIn is how long until the next look, that for what is open apart.
		wantIn time.Duration
	}{
		"allowances are active until the holder settles": {
			holder: makeHolder().holding(template, replicas),
			want: v1alpha1.AllowanceRecordStatus{
				Phase: v1alpha1.PhaseSteady, Active: []v1alpha1.Allowance{replicas, template}, ActiveCount: 2, Initiator: "alice",
			},
		},
		"settled: consumed, and the webhook is asked to prune": {
			holder: makeHolder().holding(template, replicas).settled(),
			want: v1alpha1.AllowanceRecordStatus{
				Phase: v1alpha1.PhaseSteady, Consumed: consumedIn(replicas, template),
			},
			wantRewrite: true,
		},
		"settled, with an allowance for the next generation": {
			holder: makeHolder().holding(replicas, grantOf("spec.template", 6)).settled(),
			want: v1alpha1.AllowanceRecordStatus{
				Phase: v1alpha1.PhaseSteady, Consumed: consumedIn(replicas),
				Active: []v1alpha1.Allowance{grantOf("spec.template", 6)}, ActiveCount: 1, Initiator: "alice",
			},
			wantRewrite: true,
			wantIn:      policy.DefaultTTL, // where there is no next generation
		},
		"settled, with an allowance for a next generation that does not come": {
			holder: makeHolder().holding(grantOf("spec.template", 6)).settled(),
			status: v1alpha1.AllowanceRecordStatus{
				FirstSeen: []v1alpha1.SeenAllowance{{ID: idOf(grantOf("spec.template", 6)), Time: controllertest.Before(policy.DefaultTTL)}},
			},
			want: v1alpha1.AllowanceRecordStatus{
				Phase: v1alpha1.PhaseSteady, Consumed: consumedIn(grantOf("spec.template", 6)),
			},
			wantRewrite: true,
		},
		"pruned: nothing is left": {
			holder: makeHolder().settled(),
			status: v1alpha1.AllowanceRecordStatus{
				Initiator: "alice", Active: []v1alpha1.Allowance{template}, ActiveCount: 1, Consumed: consumedIn(template),
			},
			want: v1alpha1.AllowanceRecordStatus{Phase: v1alpha1.PhaseSteady, Initiator: "alice"},
		},
		"consumed for good: unsettled again, and the entry is still there": {
			holder: makeHolder().holding(template),
			status: v1alpha1.AllowanceRecordStatus{Consumed: consumedIn(template)},
			want:   v1alpha1.AllowanceRecordStatus{Phase: v1alpha1.PhaseSteady, Consumed: consumedIn(template)},
			// What the record has noted, the webhook takes from it.
			wantRewrite: true,
		},
		"initializing until it first settles": {
			holder: makeHolder().holding(creationGrant()),
			want: v1alpha1.AllowanceRecordStatus{
				Phase: v1alpha1.PhaseInitializing, Active: []v1alpha1.Allowance{creationGrant()}, ActiveCount: 1, Initiator: "alice",
			},
		},
		"initializing while its condition is true, though settled": {
			holder:   makeHolder().holding(creationGrant()).settled(),
			policies: []*policy.Policy{policyWhen(t, "object.status.replicas < 5", "")},
			want: v1alpha1.AllowanceRecordStatus{
				Phase: v1alpha1.PhaseInitializing, Active: []v1alpha1.Allowance{creationGrant()}, ActiveCount: 1, Initiator: "alice",
			},
		},
		"initialized as soon as its condition is false, and noted before the webhook is asked": {
			holder:   makeHolder().holding(creationGrant()),
			policies: []*policy.Policy{policyWhen(t, "object.status.observedGeneration > 4", "")},
			want:     v1alpha1.AllowanceRecordStatus{Phase: v1alpha1.PhaseSteady, Consumed: consumedIn(creationGrant())},
		},
		"a policy says when allowances are consumed": {
			holder:   makeHolder().holding(template, replicas),
			policies: []*policy.Policy{policyWhen(t, "", "allowance.generation <= object.status.observedGeneration")},
			want: v1alpha1.AllowanceRecordStatus{
				Phase: v1alpha1.PhaseSteady, Consumed: consumedIn(replicas),
				Active: []v1alpha1.Allowance{template}, ActiveCount: 1, Initiator: "alice",
			},
		},
		"a condition that fails consumes nothing": {
			holder:   makeHolder().holding(template).settled(),
			policies: []*policy.Policy{policyWhen(t, "", "object.status.absent > 1")},
			want: v1alpha1.AllowanceRecordStatus{
				Phase: v1alpha1.PhaseSteady, Active: []v1alpha1.Allowance{template}, ActiveCount: 1, Initiator: "alice",
			},
		},
		"where only time can tell, the time of an allowance begins at its first sight": {
			holder: makeHolder().timed().holding(grantOf("data", 0)),
			want: v1alpha1.AllowanceRecordStatus{
				Phase: v1alpha1.PhaseSteady, Active: []v1alpha1.Allowance{grantOf("data", 0)}, ActiveCount: 1, Initiator: "alice",
			},
			wantIn: policy.DefaultTTL,
		},
		"and ends": {
			holder: makeHolder().timed().holding(grantOf("data", 0)),
			status: v1alpha1.AllowanceRecordStatus{
				FirstSeen: []v1alpha1.SeenAllowance{{ID: idOf(grantOf("data", 0)), Time: controllertest.Before(policy.DefaultTTL)}},
			},
			want: v1alpha1.AllowanceRecordStatus{Phase: v1alpha1.PhaseSteady, Consumed: consumedIn(grantOf("data", 0))},
		},
		"open for too long": {
			holder: makeHolder().holding(template, replicas),
			status: v1alpha1.AllowanceRecordStatus{
				FirstSeen: []v1alpha1.SeenAllowance{
					{ID: idOf(template), Time: controllertest.Before(policy.DefaultMaxOpen)}, {ID: idOf(replicas), Time: controllertest.Before(time.Hour)},
				},
			},
			want: v1alpha1.AllowanceRecordStatus{
				Phase: v1alpha1.PhaseSteady, Active: []v1alpha1.Allowance{replicas, template}, ActiveCount: 2, Initiator: "alice",
				Conditions: []metav1.Condition{{
					Type: v1alpha1.ConditionOverdue, Status: metav1.ConditionTrue, ObservedGeneration: 5, LastTransitionTime: controllertest.Before(0),
					Reason: v1alpha1.ReasonMaxOpen,
					Message: "Open for longer than 24h0m0s, and still usable: spec.template of ReplicaSet (generation 5, by alice). " +
						"They end when Deployment web settles: see what keeps it.",
				}},
			},
			wantIn: policy.DefaultMaxOpen - time.Hour,
		},
		"a ledger again": {
			holder: makeHolder().settled(),
			status: v1alpha1.AllowanceRecordStatus{
				RawLedger:  "a secret",
				Conditions: []metav1.Condition{{Type: v1alpha1.ConditionLedgerUnreadable, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonNoLedger}},
			},
			want: v1alpha1.AllowanceRecordStatus{Phase: v1alpha1.PhaseSteady, RawLedger: "a secret", Conditions: []metav1.Condition{}},
		},
		"settled after all": {
			holder: makeHolder().settled(),
			status: v1alpha1.AllowanceRecordStatus{
				Conditions: []metav1.Condition{{Type: v1alpha1.ConditionOverdue, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonMaxOpen}},
			},
			want: v1alpha1.AllowanceRecordStatus{Phase: v1alpha1.PhaseSteady, Conditions: []metav1.Condition{}},
		},
		"a pending grant whose content is there counts, keeps its generation, and is to be folded in": {
			holder: makeHolder(),
			status: v1alpha1.AllowanceRecordStatus{PendingGrants: []v1alpha1.PendingGrant{scaleGrant(3, controllertest.Before(0))}},
			want: v1alpha1.AllowanceRecordStatus{
				Phase: v1alpha1.PhaseSteady, Active: []v1alpha1.Allowance{grantOf("spec.replicas", 5)}, ActiveCount: 1, Initiator: "alice",
				PendingGrants: []v1alpha1.PendingGrant{func() v1alpha1.PendingGrant {
					p := scaleGrant(3, controllertest.Before(0))
					p.Seen, p.Allowances = true, []v1alpha1.Allowance{grantOf("spec.replicas", 5)}
					return p
				}()},
			},
			wantRewrite: true,
		},
		"a pending grant that was folded in goes": {
			holder: makeHolder().holding(grantOf("spec.replicas", 5)),
			status: v1alpha1.AllowanceRecordStatus{PendingGrants: []v1alpha1.PendingGrant{scaleGrant(3, controllertest.Before(0))}},
			want: v1alpha1.AllowanceRecordStatus{
				Phase: v1alpha1.PhaseSteady, Active: []v1alpha1.Allowance{grantOf("spec.replicas", 5)}, ActiveCount: 1, Initiator: "alice",
			},
		},
		"a pending grant that was folded in stays until the cache has that": {
			holder:   makeHolder().holding(grantOf("spec.replicas", 5)),
			uncached: true,
			status:   v1alpha1.AllowanceRecordStatus{PendingGrants: []v1alpha1.PendingGrant{scaleGrant(3, controllertest.Before(0))}},
			want: v1alpha1.AllowanceRecordStatus{
				Phase: v1alpha1.PhaseSteady, Active: []v1alpha1.Allowance{grantOf("spec.replicas", 5)}, ActiveCount: 1, Initiator: "alice",
				PendingGrants: []v1alpha1.PendingGrant{scaleGrant(3, controllertest.Before(0))},
			},
		},
		"a pending grant goes when the holder settles": {
			holder: makeHolder().settled(),
			status: v1alpha1.AllowanceRecordStatus{PendingGrants: []v1alpha1.PendingGrant{scaleGrant(3, controllertest.Before(0))}},
			want:   v1alpha1.AllowanceRecordStatus{Phase: v1alpha1.PhaseSteady},
		},
		"a pending grant waits a minute for its content": {
			holder: makeHolder().settled(),
			status: v1alpha1.AllowanceRecordStatus{PendingGrants: []v1alpha1.PendingGrant{scaleGrant(7, controllertest.Before(20*time.Second))}},
			want: v1alpha1.AllowanceRecordStatus{
				Phase: v1alpha1.PhaseSteady, PendingGrants: []v1alpha1.PendingGrant{scaleGrant(7, controllertest.Before(20*time.Second))},
			},
			wantIn: 40 * time.Second,
		},
		"and no longer": {
			holder: makeHolder(),
			status: v1alpha1.AllowanceRecordStatus{PendingGrants: []v1alpha1.PendingGrant{scaleGrant(7, controllertest.Before(time.Minute))}},
			want:   v1alpha1.AllowanceRecordStatus{Phase: v1alpha1.PhaseSteady},
		},
		"a pending grant goes when its content has gone": {
			holder: makeHolder(),
			status: v1alpha1.AllowanceRecordStatus{PendingGrants: []v1alpha1.PendingGrant{func() v1alpha1.PendingGrant {
				p := scaleGrant(7, controllertest.Before(0))
				p.Seen = true
				return p
			}()}},
			want: v1alpha1.AllowanceRecordStatus{Phase: v1alpha1.PhaseSteady},
		},
		"what the holder was before the request of a pending grant tells nothing": {
			holder: makeHolder().holding(grantOf("spec.replicas", 5)).version("7"),
			status: v1alpha1.AllowanceRecordStatus{PendingGrants: []v1alpha1.PendingGrant{
				foundAt("7", scaleGrant(3, controllertest.Before(20*time.Second))), foundAt("6", scaleGrant(3, controllertest.Before(0))),
			}},
			want: v1alpha1.AllowanceRecordStatus{
				Phase: v1alpha1.PhaseSteady, Active: []v1alpha1.Allowance{grantOf("spec.replicas", 5)}, ActiveCount: 1, Initiator: "alice",
				PendingGrants: []v1alpha1.PendingGrant{foundAt("7", scaleGrant(3, controllertest.Before(20*time.Second)))},
			},
			wantIn: 40 * time.Second,
		},
		"a pending grant whose content the holder does not have, or no more, after its request": {
			holder: makeHolder().version("8"),
			status: v1alpha1.AllowanceRecordStatus{PendingGrants: []v1alpha1.PendingGrant{foundAt("7", scaleGrant(7, controllertest.Before(0)))}},
			want:   v1alpha1.AllowanceRecordStatus{Phase: v1alpha1.PhaseSteady},
		},
		"a pending grant that a later one ends is not folded in": {
			holder: makeHolder(),
			status: v1alpha1.AllowanceRecordStatus{PendingGrants: []v1alpha1.PendingGrant{
				record.NewPending(nil, makeHolder().Unstructured, []v1alpha1.Allowance{withheldChange("spec.template")}, nil),
				record.NewPending(nil, makeHolder().Unstructured, nil, []string{"spec.template"}),
			}},
			want: v1alpha1.AllowanceRecordStatus{Phase: v1alpha1.PhaseSteady},
		},
		"nor does a pending grant wait longer than a minute for what came of it": {
			holder: makeHolder().version("7"),
			status: v1alpha1.AllowanceRecordStatus{PendingGrants: []v1alpha1.PendingGrant{foundAt("7", scaleGrant(3, controllertest.Before(time.Minute)))}},
			want:   v1alpha1.AllowanceRecordStatus{Phase: v1alpha1.PhaseSteady},
		},
		"a withheld change is shown, and no allowance": {
			holder: makeHolder().holding(withheldChange("spec.template")),
			want:   v1alpha1.AllowanceRecordStatus{Phase: v1alpha1.PhaseSteady, WithheldCount: 1, Active: []v1alpha1.Allowance{withheldChange("spec.template")}},
		},
		"a withheld change that has reached all children is to be dropped": {
			holder:      makeHolder().holding(withheldChange("spec.template")).settled(),
			want:        v1alpha1.AllowanceRecordStatus{Phase: v1alpha1.PhaseSteady, WithheldCount: 1, Active: []v1alpha1.Allowance{withheldChange("spec.template")}},
			wantRewrite: true,
		},
		"adopting until settled": {
			holder:   makeHolder(),
			policies: []*policy.Policy{policyWhen(t, "", "")},
			status:   v1alpha1.AllowanceRecordStatus{Adopting: true, AdoptingSince: &metav1.Time{Time: controllertest.Noon}},
			want:     v1alpha1.AllowanceRecordStatus{Phase: v1alpha1.PhaseSteady, Adopting: true, AdoptingSince: &metav1.Time{Time: controllertest.Noon}},
		},
		"adopted": {
			holder:   makeHolder().settled(),
			policies: []*policy.Policy{policyWhen(t, "", "")},
			status:   v1alpha1.AllowanceRecordStatus{Adopting: true, AdoptingSince: &metav1.Time{Time: controllertest.Noon}},
			want:     v1alpha1.AllowanceRecordStatus{Phase: v1alpha1.PhaseSteady},
		},
		"adopted for a policy that is not in effect yet, and has its own idea of settled": {
			holder: makeHolder().settled(),
			status: v1alpha1.AllowanceRecordStatus{Adopting: true, AdoptingSince: &metav1.Time{Time: controllertest.Noon}},
			want:   v1alpha1.AllowanceRecordStatus{Phase: v1alpha1.PhaseSteady, Adopting: true, AdoptingSince: &metav1.Time{Time: controllertest.Noon}},
		},
		"not adopting while something is withheld": {
			holder:   makeHolder().holding(withheldChange("spec.template")),
			policies: []*policy.Policy{policyWhen(t, "", "")},
			status:   v1alpha1.AllowanceRecordStatus{Adopting: true, AdoptingSince: &metav1.Time{Time: controllertest.Noon}},
			want:     v1alpha1.AllowanceRecordStatus{Phase: v1alpha1.PhaseSteady, WithheldCount: 1, Active: []v1alpha1.Allowance{withheldChange("spec.template")}},
		},
		"adopting for a while where only time can tell": {
			holder:   makeHolder().timed(),
			policies: []*policy.Policy{policyWhen(t, "", "")},
			status:   v1alpha1.AllowanceRecordStatus{Adopting: true, AdoptingSince: &metav1.Time{Time: controllertest.Noon.Add(-time.Minute)}},
			want:     v1alpha1.AllowanceRecordStatus{Phase: v1alpha1.PhaseSteady, Adopting: true, AdoptingSince: &metav1.Time{Time: controllertest.Noon.Add(-time.Minute)}},
			wantIn:   policy.DefaultTTL - time.Minute,
		},
		"a ledger that is none is kept, and counts for nothing": {
			holder: makeHolder().annotated("a secret"),
			want: v1alpha1.AllowanceRecordStatus{
				Phase: v1alpha1.PhaseSteady, RawLedger: "a secret",
				Conditions: []metav1.Condition{{
					Type: v1alpha1.ConditionLedgerUnreadable, Status: metav1.ConditionTrue, ObservedGeneration: 5, LastTransitionTime: controllertest.Before(0),
					Reason: v1alpha1.ReasonNoLedger,
					Message: "The annotation kausality.io/allowances of Deployment web is not a ledger, and counts as empty: nothing is allowed by it. " +
						"The next change of Deployment web that allows something replaces it; status.rawLedger keeps its text.",
				}},
			},
		},
		"deleting: nothing is rewritten": {
			holder: makeHolder().holding(template).deleting(),
			want: v1alpha1.AllowanceRecordStatus{
				Phase: v1alpha1.PhaseDeleting, Active: []v1alpha1.Allowance{template}, ActiveCount: 1, Initiator: "alice",
			},
		},
		"deleted, so they say, and still there after a while: somebody else refused": {
			holder: makeHolder(),
			status: v1alpha1.AllowanceRecordStatus{Deletion: &v1alpha1.Deletion{Time: controllertest.Before(record.UnseenLimit), User: "mallory"}},
			want:   v1alpha1.AllowanceRecordStatus{Phase: v1alpha1.PhaseSteady},
		},
		"deleted a moment ago, and still there": {
			holder: makeHolder(),
			status: v1alpha1.AllowanceRecordStatus{Deletion: &v1alpha1.Deletion{Time: controllertest.Before(record.UnseenLimit - time.Second), User: "bob"}},
			want: v1alpha1.AllowanceRecordStatus{
				Phase: v1alpha1.PhaseSteady, Deletion: &v1alpha1.Deletion{Time: controllertest.Before(record.UnseenLimit - time.Second), User: "bob"},
			},
			wantIn: time.Second,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			v := look(test.holder.Unstructured, test.policies, controllertest.Noon)
			v.uncached = test.uncached
			got := test.status.DeepCopy()
			p := v.advance(t.Context(), got)
			if diff := cmp.Diff(&test.want, got, cmpopts.EquateEmpty(), cmpopts.IgnoreFields(v1alpha1.AllowanceRecordStatus{}, "FirstSeen", "History")); diff != "" {
				t.Errorf("status (-want +got):\n%s", diff)
			}
			if len(got.FirstSeen) != int(got.ActiveCount) {
				t.Errorf("%d first sights for %d active allowances", len(got.FirstSeen), got.ActiveCount)
			}
			if p.rewrite != test.wantRewrite {
				t.Errorf("rewrite = %t, want %t", p.rewrite, test.wantRewrite)
			}
			in := never
			if !p.next.IsZero() {
				in = p.next.Sub(controllertest.Noon)
			}
			wantIn := test.wantIn
			if wantIn == 0 && test.want.ActiveCount > 0 {
				wantIn = policy.DefaultMaxOpen // what is open is looked at when it has been for too long
			}
			if in != wantIn {
				t.Errorf("next look in %s, want %s", in, wantIn)
			}
			if _, changed := v.mirror(t.Context(), got); changed {
				t.Error("to advance again changes something")
			}
		})
	}
}

func TestLedgerRequest(t *testing.T) {
	tests := map[string]struct {
		gvk  schema.GroupVersionKind
		want request
	}{
		"a workload": {
			gvk:  schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"},
			want: request{status: true},
		},
		"a kind of Kubernetes without status": {
			gvk: schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"},
		},
		"a custom resource under a domain of Kubernetes": {
			gvk:  schema.GroupVersionKind{Group: "gateway.networking.k8s.io", Version: "v1", Kind: "Gateway"},
			want: request{costly: true},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := ledgerRequest(test.gvk); got != test.want {
				t.Errorf("ledgerRequest() = %+v, want %+v", got, test.want)
			}
		})
	}
}

// What is written a moment later mirrors the holder, and leaves alone what the record
// alone knows.
func TestMirrorOnly(t *testing.T) {
	v := look(makeHolder().holding(grantOf("spec.replicas", 5)).Unstructured, nil, controllertest.Noon)
	status := &v1alpha1.AllowanceRecordStatus{
		PendingGrants: []v1alpha1.PendingGrant{{ID: "late", Time: controllertest.Before(time.Hour)}},
		Consumed:      []v1alpha1.ConsumedAllowance{{ID: "gone"}},
		Deletion:      &v1alpha1.Deletion{Time: controllertest.Before(time.Hour), User: "mallory"},
		Adopting:      true,
	}
	kept := status.DeepCopy()
	if !v.mirrorOnly(t.Context(), status) || status.ActiveCount != 1 || status.Initiator != "alice" {
		t.Errorf("got %d active allowances by %q, want one by alice", status.ActiveCount, status.Initiator)
	}
	if !sameCanonical(kept, status) {
		t.Errorf("what only the record knows has changed (-before +after):\n%s", cmp.Diff(kept, status))
	}
	if v.mirrorOnly(t.Context(), status) {
		t.Error("the same look changes it again")
	}
	if _, changed := v.mirror(t.Context(), status); !changed || sameCanonical(kept, status) {
		t.Error("a full look changes nothing that only the record knows")
	}
}
