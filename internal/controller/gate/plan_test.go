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

package gate

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/gate"
	"kausality.io/operator/internal/gate/crossplane"
	"kausality.io/operator/internal/ledger"
)

var present = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// bucket is a managed resource at generation 4, whose gate is as its ledger says: it
// is under its gate, the cloud has size 10, and its provider has succeeded.
type bucket struct {
	obj *unstructured.Unstructured
}

func newBucket() bucket {
	obj := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "s3.example.com/v1", "kind": "Bucket",
		"metadata": map[string]any{"name": "b", "uid": "uid-b", "generation": int64(4)},
		"spec":     map[string]any{"forProvider": map[string]any{"size": int64(20)}, "managementPolicies": []any{"*"}},
		"status": map[string]any{"atProvider": map[string]any{"size": int64(10)}, "conditions": []any{map[string]any{
			"type": "Synced", "status": "True", "reason": "ReconcileSuccess", "observedGeneration": int64(4),
		}}},
	}}
	return bucket{obj}
}

var bucketKind = gate.Kind{GVK: schema.GroupVersionKind{Group: "s3.example.com", Version: "v1", Kind: "Bucket"}, Resource: "buckets"}

// opener returns an entry that opens the gate for an update.
func opener(field string) v1alpha1.Allowance {
	return v1alpha1.Allowance{
		Relation: v1alpha1.RelationExternal, Mutations: []string{"Update"}, Generation: 4, Initiator: "alice",
		Trace: []v1alpha1.TraceHop{{Kind: "Bucket", Name: "b", Generation: 4, Field: field}},
	}
}

// gated puts the bucket under its gate, with a ledger, as admission does.
func (b bucket) gated(allowances ...v1alpha1.Allowance) bucket {
	l := ledger.Ledger(nil).Merge(allowances...)
	setting := crossplane.Driver{}.Compute(gate.Write{Old: b.obj, New: b.obj, Kind: bucketKind, Ledger: l, Brings: true})
	setting.State.Ceiling = nil
	crossplane.Driver{}.Set(b.obj, setting)
	return b.annotated(v1alpha1.AnnotationAllowances, l.Encode())
}

func (b bucket) annotated(key, value string) bucket {
	annotations := b.obj.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[key] = value
	if value == "" {
		delete(annotations, key)
	}
	b.obj.SetAnnotations(annotations)
	return b
}

// updated returns the bucket once its cloud has the size that it wants.
func (b bucket) updated() bucket {
	_ = unstructured.SetNestedField(b.obj.Object, int64(20), "status", "atProvider", "size")
	return b
}

// uncreated returns the bucket as it is where its cloud never had it.
func (b bucket) uncreated() bucket {
	unstructured.RemoveNestedField(b.obj.Object, "status", "atProvider")
	return b
}

func (b bucket) wants(size int64) bucket {
	_ = unstructured.SetNestedField(b.obj.Object, size, "spec", "forProvider", "size")
	return b
}

func (b bucket) switched(policies ...string) bucket {
	_ = unstructured.SetNestedStringSlice(b.obj.Object, policies, "spec", "managementPolicies")
	return b
}

func (b bucket) says(status, reason string) bucket {
	_ = unstructured.SetNestedSlice(b.obj.Object, []any{map[string]any{
		"type": "Synced", "status": status, "reason": reason, "observedGeneration": int64(4),
	}}, "status", "conditions")
	return b
}

func (b bucket) held(text string) bucket {
	now := metav1.NewTime(present)
	b.obj.SetDeletionTimestamp(&now)
	b.annotated(v1alpha1.AnnotationGateHeld, text)
	return b.annotated(crossplane.PausedAnnotation, "true")
}

// outcome is what a test sees of a plan.
type outcome struct {
	// Switch is what the switch is changed to; nil where it stays.
	Switch []string
	// Set and Gone are the annotations that are written and removed, by key.
	Set, Gone []string
	// Reason of the condition, empty for none.
	Reason string
	// Event is the reason of the event.
	Event string
	// Later is after how long the object is looked at again though nothing happens; zero for
	// never.
	Later time.Duration
	// Asks is true where the webhook looks whether anything lets be created what is outside.
	Asks bool
}

func outcomeOf(v view, p plan) outcome {
	after := p.apply(v)
	var o outcome
	before := v.obj.GetAnnotations()
	for key, value := range after.GetAnnotations() {
		if before[key] != value {
			o.Set = append(o.Set, key)
		}
	}
	for key := range before {
		if _, kept := after.GetAnnotations()[key]; !kept {
			o.Gone = append(o.Gone, key)
		}
	}
	slices.Sort(o.Set)
	slices.Sort(o.Gone)
	was, _, _ := unstructured.NestedStringSlice(v.obj.Object, "spec", "managementPolicies")
	is, _, _ := unstructured.NestedStringSlice(after.Object, "spec", "managementPolicies")
	if !slices.Equal(was, is) {
		o.Switch = is
	}
	if p.situation != nil {
		o.Reason = p.situation.reason
	}
	if p.event != nil {
		o.Event = p.event.reason
	}
	o.Asks = p.ask
	if !p.next.IsZero() {
		o.Later = p.next.Sub(present)
	}
	return o
}

func TestGatePlan(t *testing.T) {
	const size = "spec.forProvider.size"
	const pass = "crossplane.io/reconcile-requested-at"
	closedSet := []string{"Observe", "LateInitialize"}
	onlyLedger := []string{v1alpha1.AnnotationAllowances}
	openedBy := []string{v1alpha1.AnnotationAllowances, v1alpha1.AnnotationGateUnseen}

	tests := map[string]struct {
		bucket bucket
		look   func(*view)
		want   outcome
	}{
		"closed, and at rest": {
			bucket: newBucket().gated(),
			want:   outcome{Reason: reasonClosed},
		},
		"closed, and never created": {
			bucket: newBucket().uncreated().gated(), look: func(v *view) { v.uncreated = true },
			want: outcome{Reason: reasonClosed, Event: eventUncreated, Later: uncreatedRecheck},
		},
		"closed, and never created, which something above may allow by now": {
			bucket: newBucket().uncreated().gated(), look: func(v *view) { v.uncreated, v.mayCreate = true, true },
			want: outcome{Reason: reasonClosed, Event: eventUncreated, Later: uncreatedRecheck, Asks: true},
		},
		"open for a change of what was never created": {
			bucket: newBucket().uncreated().gated(opener(size)).says("False", "ReconcileError"), look: func(v *view) { v.uncreated, v.mayCreate = true, true },
			want: outcome{Reason: reasonStuck, Later: time.Second, Asks: true},
		},
		"open, and the provider has not looked yet": {
			bucket: newBucket().gated(opener(size)).says("Unknown", ""),
			want:   outcome{Reason: reasonOpen, Later: time.Second},
		},
		"open, and the cloud does not show it": {
			bucket: newBucket().gated(opener(size)),
			want:   outcome{Set: []string{pass}, Reason: reasonSettling, Later: time.Second},
		},
		"open, asked for a pass, and the cloud does not show it": {
			bucket: newBucket().gated(opener(size)).annotated(pass, "kausality-4"),
			want:   outcome{Reason: reasonOpen, Later: time.Second},
		},
		"open, and asked for a pass at an older generation": {
			bucket: newBucket().gated(opener(size)).annotated(pass, "kausality-3"),
			want:   outcome{Set: []string{pass}, Reason: reasonSettling, Later: time.Second},
		},
		"done": {
			bucket: newBucket().gated(opener(size)).updated(),
			want:   outcome{Switch: closedSet, Gone: openedBy, Reason: reasonClosed, Event: eventClosed},
		},
		"done, as far as was known before": {
			bucket: newBucket().updated().gated(opener(size)),
			want:   outcome{Set: []string{pass}, Reason: reasonSettling, Later: time.Second},
		},
		"done, with allowances for others in the ledger": {
			bucket: newBucket().gated(opener(size), v1alpha1.Allowance{Kind: "Pod", Mutation: "create", Initiator: "alice"}).updated(),
			want:   outcome{Switch: closedSet, Set: onlyLedger, Gone: []string{v1alpha1.AnnotationGateUnseen}, Reason: reasonClosed, Event: eventClosed},
		},
		"settling": {
			bucket: newBucket().gated(opener("spec.providerConfigRef")).annotated(pass, "kausality-4"),
			look:   func(v *view) { v.done = present.Add(-time.Second) },
			want:   outcome{Reason: reasonSettling, Later: time.Second},
		},
		"settled by time": {
			bucket: newBucket().gated(opener("spec.providerConfigRef")).annotated(pass, "kausality-4"),
			look:   func(v *view) { v.done = present.Add(-time.Minute) },
			want:   outcome{Switch: closedSet, Gone: onlyLedger, Reason: reasonClosed, Event: eventClosed},
		},
		"failing": {
			bucket: newBucket().gated(opener(size)).updated().says("False", "ReconcileError"),
			want:   outcome{Reason: reasonStuck, Later: time.Second},
		},
		"paused by somebody": {
			bucket: newBucket().gated(opener(size)).updated().annotated(crossplane.PausedAnnotation, "true"),
			want:   outcome{Reason: reasonStuck, Later: time.Second},
		},
		"open for some time": {
			bucket: newBucket().gated(opener(size)).says("Unknown", ""),
			look:   func(v *view) { v.since = present.Add(-time.Hour) },
			want:   outcome{Reason: reasonOpen, Later: 23 * time.Hour},
		},
		"open for longer than it should, and still not closed": {
			bucket: newBucket().gated(opener(size)).says("Unknown", ""),
			look:   func(v *view) { v.since = present.Add(-25 * time.Hour) },
			want:   outcome{Reason: reasonStuck, Event: eventStuck},
		},
		"changed by somebody since, who opened it too": {
			bucket: newBucket().gated(opener(size)).wants(30).switched("Observe", "Update", "LateInitialize"),
			want:   outcome{Switch: closedSet, Event: eventReclosed},
		},
		"changed by somebody since, and closed": {
			bucket: newBucket().gated(opener(size)).wants(30).switched(closedSet...),
			want:   outcome{Reason: reasonClosed},
		},
		"put back, and not opened": {
			bucket: newBucket().gated(opener(size)).switched(closedSet...),
			want:   outcome{Switch: []string{"Observe", "Update", "LateInitialize"}},
		},
		"opened by somebody": {
			bucket: newBucket().gated().switched("*"),
			want:   outcome{Switch: closedSet, Event: eventReclosed},
		},
		"an unreadable ledger opens nothing": {
			bucket: newBucket().gated(opener(size)).annotated(v1alpha1.AnnotationAllowances, "{"),
			want:   outcome{Switch: closedSet, Gone: []string{v1alpha1.AnnotationGateUnseen}, Event: eventReclosed},
		},

		"from before the policy, and at rest": {
			bucket: newBucket(),
			want: outcome{
				Switch: closedSet, Set: []string{v1alpha1.AnnotationGateContent}, Reason: reasonClosed, Event: eventAdopted,
			},
		},
		"from before the policy, with management policies of its own": {
			bucket: newBucket().switched("Observe", "Update"),
			want: outcome{
				Switch: []string{"Observe"}, Set: []string{v1alpha1.AnnotationGateCeiling, v1alpha1.AnnotationGateContent},
				Reason: reasonClosed, Event: eventAdopted,
			},
		},
		"from before the policy, and in the middle of something": {
			bucket: newBucket().says("Unknown", ""),
			want:   outcome{Reason: reasonAdopting},
		},
		"from before the policy, which cannot be read": {
			bucket: newBucket(), look: func(v *view) { v.belonging = unsure },
			want: outcome{},
		},
		"gated, and the policy cannot be read": {
			bucket: newBucket().gated(), look: func(v *view) { v.belonging = unsure },
			want: outcome{Reason: reasonClosed},
		},

		"not gated any more": {
			bucket: newBucket().gated(opener(size)), look: func(v *view) { v.belonging = free },
			want: outcome{
				Switch: []string{"*"}, Gone: []string{v1alpha1.AnnotationAllowances, v1alpha1.AnnotationGateContent, v1alpha1.AnnotationGateUnseen}, Event: eventReleased,
			},
		},
		"not gated any more, with a ceiling": {
			bucket: newBucket().gated().annotated(v1alpha1.AnnotationGateCeiling, `["Observe","Update"]`),
			look:   func(v *view) { v.belonging = free },
			want: outcome{
				Switch: []string{"Observe", "Update"},
				Gone:   []string{v1alpha1.AnnotationGateCeiling, v1alpha1.AnnotationGateContent}, Event: eventReleased,
			},
		},
		"never gated": {
			bucket: newBucket(), look: func(v *view) { v.belonging = free },
			want: outcome{},
		},

		"a deletion that is held back": {
			bucket: newBucket().gated().held(`{"user":"bob"}`),
			want:   outcome{Reason: reasonHeld, Event: eventDeletionHeld},
		},
		"a deletion that is held back while nobody has said yet who deleted what is above": {
			bucket: newBucket().gated().held(`{"user":"bob"}`), look: func(v *view) { v.deletionUntold = true },
			want: outcome{Reason: reasonHeld, Later: untoldRecheck},
		},
		"a deletion that is held back, and nobody has said for long": {
			bucket: newBucket().gated().held(`{"user":"bob"}`), look: func(v *view) { v.deletionUntold, v.now = true, v.now.Add(time.Hour) },
			want: outcome{Reason: reasonHeld, Event: eventDeletionHeld},
		},
		"a deletion that is held back for something that is not gated any more": {
			bucket: newBucket().gated().held(`{"user":"bob"}`), look: func(v *view) { v.belonging = free },
			want: outcome{Reason: reasonHeld, Event: eventDeletionHeld},
		},
		"a deletion that is allowed": {
			bucket: newBucket().gated().held(`{"user":"bob","allowed":true}`),
			want: outcome{
				Switch: []string{"Observe", "Delete"},
				Gone:   []string{crossplane.PausedAnnotation, v1alpha1.AnnotationGateHeld}, Event: eventDeletionAllowed,
			},
		},
		"a deletion that is allowed since": {
			bucket: newBucket().gated().held(`{"user":"bob"}`), look: func(v *view) { v.deletionAllowed = true },
			want: outcome{
				Switch: []string{"Observe", "Delete"},
				Gone:   []string{crossplane.PausedAnnotation, v1alpha1.AnnotationGateHeld}, Event: eventDeletionAllowed,
			},
		},
		"a deletion that is allowed, of what its author keeps": {
			bucket: newBucket().gated().annotated(v1alpha1.AnnotationGateCeiling, `["Observe","Update"]`).held(`{"user":"bob","allowed":true}`),
			want: outcome{
				Switch: []string{"Observe"},
				Gone:   []string{crossplane.PausedAnnotation, v1alpha1.AnnotationGateHeld}, Event: eventDeletionAllowed,
			},
		},
		"a deletion that is allowed, of what somebody has paused": {
			bucket: newBucket().gated().held(`{"user":"bob","allowed":true,"paused":true}`),
			want: outcome{
				Switch: []string{"Observe", "Delete"}, Gone: []string{v1alpha1.AnnotationGateHeld}, Event: eventDeletionAllowed,
			},
		},
		"a deletion that is allowed, of which nobody can tell whether what is outside stays": {
			bucket: newBucket().gated().annotated(v1alpha1.AnnotationOrphan, "True").held(`{"user":"bob","allowed":true}`),
			want:   outcome{Reason: reasonHeld, Event: eventDeletionHeld},
		},
		"a deletion that leaves what is outside": {
			bucket: newBucket().gated().annotated(v1alpha1.AnnotationOrphan, "true").held(`{"user":"bob"}`),
			want: outcome{
				Switch: []string{"Observe"},
				Gone:   []string{crossplane.PausedAnnotation, v1alpha1.AnnotationGateHeld}, Event: eventOrphaned,
			},
		},
		"held, and not being deleted yet": {
			bucket: newBucket().gated().annotated(v1alpha1.AnnotationGateHeld, `{"user":"bob"}`).annotated(crossplane.PausedAnnotation, "true"),
			look:   func(v *view) { v.heldSince = present.Add(-time.Second) },
			want:   outcome{Later: 59 * time.Second},
		},
		"held, and never deleted": {
			bucket: newBucket().gated().annotated(v1alpha1.AnnotationGateHeld, `{"user":"bob"}`).annotated(crossplane.PausedAnnotation, "true"),
			look:   func(v *view) { v.heldSince = present.Add(-time.Hour) },
			want:   outcome{Gone: []string{crossplane.PausedAnnotation, v1alpha1.AnnotationGateHeld}, Event: eventUndeleted},
		},
		"a deletion that nobody holds": {
			bucket: newBucket().gated().held(""),
			want:   outcome{},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			before := test.bucket.obj.DeepCopy()
			v := look(test.bucket.obj, crossplane.Driver{}, bucketKind, present)
			v.limits.settle, v.belonging = DefaultSettle, gated
			if test.look != nil {
				test.look(&v)
			}
			p := v.plan()
			if diff := cmp.Diff(test.want, outcomeOf(v, p)); diff != "" {
				t.Errorf("plan() (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(before.Object, test.bucket.obj.Object); diff != "" {
				t.Errorf("the object that was looked at has changed (-was +is):\n%s", diff)
			}
			if p.situation != nil && strings.Contains(p.situation.message, "20") {
				t.Errorf("the message tells the value of a field: %s", p.situation.message)
			}
		})
	}
}

// What a plan has written is left alone by the next one.
func TestGatePlanComesToRest(t *testing.T) {
	for name, b := range map[string]bucket{
		"done":            newBucket().gated(opener("spec.forProvider.size")).updated(),
		"opened":          newBucket().gated().switched("*"),
		"from before":     newBucket().switched("Observe", "Update"),
		"not shown":       newBucket().gated(opener("spec.forProvider.size")),
		"deleted":         newBucket().gated().held(`{"user":"bob","allowed":true}`),
		"deleted, paused": newBucket().gated().held(`{"user":"bob","allowed":true,"paused":true}`),
	} {
		t.Run(name, func(t *testing.T) {
			v := look(b.obj, crossplane.Driver{}, bucketKind, present)
			v.belonging = gated
			after := v.plan().apply(v)
			if cmp.Equal(after.Object, b.obj.Object) {
				t.Fatal("the plan writes nothing")
			}
			v = look(after, crossplane.Driver{}, bucketKind, present)
			v.belonging = gated
			if diff := cmp.Diff(after.Object, v.plan().apply(v).Object); diff != "" {
				t.Errorf("the next plan writes again (-before +after):\n%s", diff)
			}
		})
	}
}
