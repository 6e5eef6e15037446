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
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/controller/controllertest"
	"kausality.io/operator/internal/decision"
	"kausality.io/operator/internal/policy"
	"kausality.io/operator/internal/upgrade"
)

func denied(count int64) v1alpha1.AllowanceRecordStatus {
	return v1alpha1.AllowanceRecordStatus{
		Denials: count,
		LastDenial: &v1alpha1.Decision{
			Time: controllertest.Before(time.Second), Result: "Denied", Operation: "Update", Kind: "ReplicaSet", Name: "web-1", Paths: []string{"spec.replicas"},
		},
	}
}

// passedLater is that what was denied was let through.
var passedLater = v1alpha1.HistoryEntry{
	Time: controllertest.Before(0), Event: v1alpha1.EventExercised, Operation: "Update", Kind: "ReplicaSet", Names: []string{"web-1"}, Paths: []string{"spec.replicas"},
}

func withHistory(status v1alpha1.AllowanceRecordStatus, e v1alpha1.HistoryEntry) v1alpha1.AllowanceRecordStatus {
	status.History = append([]v1alpha1.HistoryEntry{e}, status.History...)
	return status
}

func TestAnswer(t *testing.T) {
	someone := &policy.Policy{Name: "deployment", Generation: 1}
	// blockedBy is the status after a denial, seen with that ledger.
	blockedBy := func(allowances ...v1alpha1.Allowance) v1alpha1.AllowanceRecordStatus {
		status := denied(1)
		v := look(makeHolder().holding(allowances...).Unstructured, []*policy.Policy{someone}, controllertest.Noon)
		v.advance(t.Context(), &status)
		if status.Blocked == nil {
			t.Fatal("a denial does not block")
		}
		return status
	}
	again := func(status v1alpha1.AllowanceRecordStatus) v1alpha1.AllowanceRecordStatus {
		status.Denials++
		return status
	}
	tests := map[string]struct {
		status       v1alpha1.AllowanceRecordStatus
		holder       testHolder
		policies     []*policy.Policy
		wantBlocked  bool
		wantAnswered int64
	}{
		"nothing was denied":             {holder: makeHolder(), policies: []*policy.Policy{someone}},
		"a denial blocks":                {status: denied(1), holder: makeHolder(), policies: []*policy.Policy{someone}, wantBlocked: true},
		"further denials change nothing": {status: again(blockedBy()), holder: makeHolder(), policies: []*policy.Policy{someone}, wantBlocked: true},
		"a denial below a settled holder does not block": {
			status: denied(2), holder: makeHolder().settled(), policies: []*policy.Policy{someone}, wantAnswered: 2,
		},
		"an allowance arrives": {
			status: blockedBy(), holder: makeHolder().holding(grantOf("spec.template", 5)), policies: []*policy.Policy{someone}, wantAnswered: 1,
		},
		"another allowance arrives": {
			status: blockedBy(grantOf("spec.replicas", 4)), holder: makeHolder().holding(grantOf("spec.replicas", 4), grantOf("spec.template", 5)),
			policies: []*policy.Policy{someone}, wantAnswered: 1,
		},
		"an allowance goes": {
			status: blockedBy(grantOf("spec.replicas", 4)), holder: makeHolder(), policies: []*policy.Policy{someone}, wantBlocked: true,
		},
		"a withheld change goes": {
			status: blockedBy(withheldChange("spec.template")), holder: makeHolder(), policies: []*policy.Policy{someone}, wantAnswered: 1,
		},
		"another change is withheld": {
			status: blockedBy(withheldChange("spec.template")), holder: makeHolder().holding(withheldChange("spec.template"), withheldChange("spec.replicas")),
			policies: []*policy.Policy{someone}, wantBlocked: true,
		},
		"a policy changes": {
			status: blockedBy(), holder: makeHolder().blocked(), policies: []*policy.Policy{{Name: "deployment", Generation: 2}}, wantAnswered: 1,
		},
		"a policy comes": {
			status: blockedBy(), holder: makeHolder().blocked(), policies: []*policy.Policy{someone, {Name: "more", Generation: 1}}, wantAnswered: 1,
		},
		"a policy goes": {status: blockedBy(), holder: makeHolder().blocked(), wantAnswered: 1},
		"a policy changes before it is shown": {
			status: blockedBy(), holder: makeHolder(), policies: []*policy.Policy{{Name: "deployment", Generation: 2}}, wantBlocked: true,
		},
		"the holder settles":    {status: blockedBy(), holder: makeHolder().settled(), policies: []*policy.Policy{someone}, wantAnswered: 1},
		"the holder is deleted": {status: blockedBy(), holder: makeHolder().deleting(), policies: []*policy.Policy{someone}, wantAnswered: 1},
		"something came before the denial is known": {
			status: withHistory(denied(1), v1alpha1.HistoryEntry{Time: controllertest.Before(0), Event: v1alpha1.EventGranted, Operation: "Update"}),
			holder: makeHolder().holding(grantOf("spec.template", 5)), policies: []*policy.Policy{someone}, wantAnswered: 1,
		},
		"what was denied passes": {
			status: withHistory(blockedBy(), passedLater), holder: makeHolder(), policies: []*policy.Policy{someone}, wantAnswered: 1,
		},
		"what was denied has passed before the denial is known": {
			status: withHistory(denied(1), passedLater), holder: makeHolder(), policies: []*policy.Policy{someone}, wantAnswered: 1,
		},
		"denied again after an answer": {
			status: func() v1alpha1.AllowanceRecordStatus {
				status := denied(2)
				status.AnsweredDenials = 1
				return status
			}(),
			holder: makeHolder(), policies: []*policy.Policy{someone}, wantBlocked: true, wantAnswered: 1,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			v := look(test.holder.Unstructured, test.policies, controllertest.Noon)
			v.advance(t.Context(), &test.status)
			if blocked := test.status.Blocked != nil; blocked != test.wantBlocked {
				t.Errorf("blocked = %t, want %t", blocked, test.wantBlocked)
			}
			if test.status.AnsweredDenials != test.wantAnswered {
				t.Errorf("%d denials are answered, want %d", test.status.AnsweredDenials, test.wantAnswered)
			}
		})
	}
}

func TestBlockedMessage(t *testing.T) {
	v := look(makeHolder().Unstructured, nil, controllertest.Noon)
	tests := map[string]struct {
		decision v1alpha1.Decision
		withheld []string
		strays   []v1alpha1.StrayChild
		want     string
	}{
		"not covered": {
			decision: v1alpha1.Decision{Operation: "Update", Kind: "ReplicaSet", Name: "web-1", Paths: []string{"spec.replicas", "spec.paused"}},
			want:     "Update of ReplicaSet web-1 was denied: no allowance covers it: spec.replicas, spec.paused.",
		},
		"a child without a name": {
			decision: v1alpha1.Decision{Operation: "Create", Kind: "Pod"},
			want:     "Create of Pod was denied: no allowance covers it.",
		},
		"withheld": {
			decision: v1alpha1.Decision{Operation: "Create", Kind: "ReplicaSet", Name: "web-1"},
			withheld: []string{"spec.template"},
			want:     "Create of ReplicaSet web-1 was denied: a change that is withheld has to be approved or taken back first: spec.template.",
		},
		"a stray is in the way": {
			decision: v1alpha1.Decision{Operation: "Delete", Kind: "Pod", Name: "web-1-a", Paths: []string{"delete"}},
			strays:   []v1alpha1.StrayChild{{Kind: "Pod", Name: "debug"}, {Kind: "Other", Name: "other"}, {Kind: "Pod", Name: "more"}},
			want:     "Delete of Pod web-1-a was denied: what was adopted without a cause has to be deleted or approved first: Pod debug, more.",
		},
		"a stray itself": {
			decision: v1alpha1.Decision{Operation: "Update", Kind: "ReplicaSet", Name: "mine", Paths: []string{"spec.replicas"}},
			strays:   []v1alpha1.StrayChild{{Kind: "ReplicaSet", Name: "mine"}, {Kind: "ReplicaSet", Name: "more"}},
			want:     "Update of ReplicaSet mine was denied: it was adopted without a cause, and has to be deleted or approved first.",
		},
		"a stray that is in nobody's way": {
			decision: v1alpha1.Decision{Operation: "Create", Kind: "Pod", Paths: []string{"create"}},
			strays:   []v1alpha1.StrayChild{{Kind: "Pod", Name: "debug"}},
			want:     "Create of Pod was denied: no allowance covers it: create.",
		},
		"many paths": {
			decision: v1alpha1.Decision{Operation: "Update", Kind: "X", Name: "x", Paths: []string{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j"}},
			want:     "Update of X x was denied: no allowance covers it: a, b, c, d, e, f, g, h and 2 more.",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, v.blockedMessage(test.decision, test.withheld, test.strays)); diff != "" {
				t.Errorf("message (-want +got):\n%s", diff)
			}
		})
	}
}

// Whom no approval helps, as the policies name others, is told who is to be named, and advised none.
func TestBlockedMessageOfWhoIsNotNamed(t *testing.T) {
	p := &v1alpha1.AllowancePolicy{}
	if err := yaml.UnmarshalStrict([]byte(`
metadata: {name: deployment}
spec:
  for: {apiGroup: apps, apiVersion: v1, kind: Deployment}
  subjects:
  - {kind: Group, name: platform-team, mayInitiate: true}
  - {kind: ServiceAccount, namespace: kube-system, name: deployment-contoller}
`), p); err != nil {
		t.Fatal(err)
	}
	compiled, errs := policy.Compile(p, func(gvr schema.GroupVersionResource) (schema.GroupVersionKind, bool) {
		return gvr.GroupVersion().WithKind("ReplicaSet"), true
	})
	if len(errs) > 0 {
		t.Fatal(errs.ToAggregate())
	}
	v := look(makeHolder().Unstructured, []*policy.Policy{compiled}, controllertest.Noon)
	for user, want := range map[string]string{
		"system:serviceaccount:kube-system:deployment-controller": "Update of ReplicaSet web-1 was denied: system:serviceaccount:kube-system:deployment-controller may not use the allowances " +
			"of this Deployment: they are for Group platform-team, ServiceAccount kube-system/deployment-contoller. " +
			"ServiceAccount kube-system/deployment-controller makes the children of a Deployment: add it to spec.subjects of AllowancePolicy deployment, or of one that is in effect for the children.",
		"system:serviceaccount:shop:robot": "Update of ReplicaSet web-1 was denied: system:serviceaccount:shop:robot may not use the allowances " +
			"of this Deployment: they are for Group platform-team, ServiceAccount kube-system/deployment-contoller. Who may initiate: Group platform-team.",
	} {
		got := v.blockedMessage(v1alpha1.Decision{
			Operation: "Update", Kind: "ReplicaSet", Name: "web-1", Paths: []string{"spec.replicas"}, User: user, Policies: []string{"deployment"},
			Message: "whose allowances " + user + " " + decision.MayNotUse + "ServiceAccount kube-system/deployment-contoller.",
		}, nil, nil)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("message (-want +got):\n%s", diff)
		}
	}
}

// A condition of a policy is named that keeps everybody from approving what is withheld.
func TestBlockedMessageOfACondition(t *testing.T) {
	p := &v1alpha1.AllowancePolicy{}
	if err := yaml.UnmarshalStrict([]byte(`
metadata: {name: deployment}
spec:
  for: {apiGroup: apps, apiVersion: v1, kind: Deployment}
  subjects: [{kind: User, name: alice, mayInitiate: true}]
  rules:
  - trigger: spec.template
    conditions: ["has(object.metadata.annotations['ticket'])"]
    policies: [{target: {apiGroup: apps, apiVersion: v1, resource: replicasets}, relation: ControllerChild, verbs: [Create]}]
`), p); err != nil {
		t.Fatal(err)
	}
	compiled, errs := policy.Compile(p, func(gvr schema.GroupVersionResource) (schema.GroupVersionKind, bool) {
		return gvr.GroupVersion().WithKind("ReplicaSet"), true
	})
	if len(errs) > 0 {
		t.Fatal(errs.ToAggregate())
	}
	v := look(makeHolder().Unstructured, nil, controllertest.Noon)
	v.policies = []*policy.Policy{compiled}
	const denied = "Create of ReplicaSet web-1 was denied: a change that is withheld has to be approved or taken back first: spec.template."
	for name, tc := range map[string]struct {
		annotations map[string]string
		want        string
	}{
		"that does not hold": {nil, denied + " Nobody can approve it before this holds of the object: " +
			"has(object.metadata.annotations['ticket']) (AllowancePolicy deployment). Who may initiate: User alice."},
		"that holds": {map[string]string{"ticket": "OPS-1"}, denied + " Who may initiate: User alice."},
	} {
		t.Run(name, func(t *testing.T) {
			v.obj.SetAnnotations(tc.annotations)
			got := v.blockedMessage(v1alpha1.Decision{Operation: "Create", Kind: "ReplicaSet", Name: "web-1"}, []string{"spec.template"}, nil)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("message (-want +got):\n%s", diff)
			}
		})
	}

	v.obj.SetAnnotations(nil)
	got := v.blockedMessage(v1alpha1.Decision{Operation: "Update", Kind: "ReplicaSet", Name: "web-1", Paths: []string{"spec.replicas"}}, nil, nil)
	for _, want := range []string{"Who may initiate: User alice.", "To have children made as Deployment says, where rules allow it: kubectl annotate", "kausality.io/approve='*'"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q does not say %q", got, want)
		}
	}
}

func TestBlockedPatch(t *testing.T) {
	blocked := &v1alpha1.Blocked{Since: metav1.NewTime(controllertest.Noon), Message: "waiting"}
	shown := makeHolder()
	shown.Object["status"] = map[string]any{"conditions": []any{map[string]any{"type": v1alpha1.ConditionBlocked}}}
	replicaSet := func() testHolder {
		h := makeHolder()
		h.SetGroupVersionKind(schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "ReplicaSet"})
		isController := true
		h.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "Deployment", Name: "web", UID: "u", Controller: &isController}})
		return h
	}
	annotated := replicaSet()
	annotated.SetAnnotations(map[string]string{v1alpha1.ReplicaSetAnnotationPrefix + "Blocked": "waiting"})

	tests := map[string]struct {
		holder  testHolder
		blocked *v1alpha1.Blocked
		want    string
	}{
		"a Deployment gets a condition": {
			holder: makeHolder(), blocked: blocked,
			want: `{"status":{"conditions":[{"lastTransitionTime":"2026-01-01T12:00:00Z","lastUpdateTime":"2026-01-01T12:00:00Z","message":"waiting","reason":"Denied","status":"True","type":"kausality.io/Blocked"}]}}`,
		},
		"and loses it": {
			holder: shown,
			want:   `{"status":{"conditions":[{"$patch":"delete","type":"kausality.io/Blocked"}]}}`,
		},
		"a ReplicaSet of a Deployment gets an annotation of its own": {
			holder: replicaSet(), blocked: blocked,
			want: `{"metadata":{"annotations":{"replicaset.kausality.io/Blocked":"waiting"}}}`,
		},
		"and loses that": {
			holder: annotated,
			want:   `{"metadata":{"annotations":{"replicaset.kausality.io/Blocked":null}}}`,
		},
		"shown already":     {holder: shown, blocked: blocked},
		"annotated already": {holder: annotated, blocked: blocked},
		"nothing to show":   {holder: makeHolder()},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := blockedPatch(test.holder.Unstructured, test.blocked)
			if got != nil && !json.Valid(got) {
				t.Fatalf("no JSON: %s", got)
			}
			if diff := cmp.Diff(test.want, string(got)); diff != "" {
				t.Errorf("patch (-want +got):\n%s", diff)
			}
		})
	}
}

func TestSituation(t *testing.T) {
	v := look(makeHolder().holding(grantOf("spec.replicas", 5), withheldChange("spec.template")).Unstructured, nil, controllertest.Noon)
	s := v.situation(v.stored)
	want := situation{allowances: []string{idOf(grantOf("spec.replicas", 5))}, withheld: []string{"spec.template"}, policies: []string{}}
	if diff := cmp.Diff(want, s, cmp.AllowUnexported(situation{})); diff != "" {
		t.Errorf("situation (-want +got):\n%s", diff)
	}
}

// TestAnswerToUpgrades has what waits woken by an UpgradeAllowance that comes, once.
func TestAnswerToUpgrades(t *testing.T) {
	someone := &policy.Policy{Name: "deployment", Generation: 1}
	const crossplane = "system:serviceaccount:crossplane-system:crossplane"
	agreed := func(name string, generation int64, user, kind string) *upgrade.Allowance {
		return &upgrade.Allowance{Name: name, Generation: generation, UID: "one", User: user, Entries: []policy.Entry{{Kind: schema.GroupKind{Kind: kind}}}}
	}
	helpful := agreed("upgrade", 2, crossplane, "ReplicaSet")
	was := func(kind string, since time.Duration) []v1alpha1.HistoryEntry {
		return []v1alpha1.HistoryEntry{{Event: v1alpha1.EventDenied, User: crossplane, Kind: kind, Time: controllertest.Before(since)}}
	}
	service := agreed("upgrade", 2, crossplane, "Service")
	tests := map[string]struct {
		history  []v1alpha1.HistoryEntry
		asked    []string
		upgrades []*upgrade.Allowance
		// last is who was denied something since, if that is somebody else.
		last   string
		hidden bool
		want   bool // whether it still waits
	}{
		"none":                                {want: true},
		"one that comes":                      {upgrades: []*upgrade.Allowance{helpful}},
		"one that was asked":                  {asked: []string{"upgrade/2/one"}, upgrades: []*upgrade.Allowance{helpful}, want: true},
		"one that has changed":                {asked: []string{"upgrade/1/one"}, upgrades: []*upgrade.Allowance{helpful}},
		"one that was made again":             {asked: []string{"upgrade/2/another"}, upgrades: []*upgrade.Allowance{helpful}},
		"one for somebody else":               {upgrades: []*upgrade.Allowance{agreed("upgrade", 2, "other", "ReplicaSet")}, want: true},
		"one about something else":            {upgrades: []*upgrade.Allowance{agreed("upgrade", 2, crossplane, "Service")}, want: true},
		"one about what was denied before it": {history: was("Service", 30*time.Second), upgrades: []*upgrade.Allowance{service}},
		"one about what was denied long ago":  {history: was("Service", time.Hour), upgrades: []*upgrade.Allowance{service}, want: true},
		"one that comes second":               {asked: []string{"upgrade/2/one"}, upgrades: []*upgrade.Allowance{helpful, agreed("more", 1, crossplane, "ReplicaSet")}},
		"one, and a stranger since":           {upgrades: []*upgrade.Allowance{helpful}, last: "mallory"},
		"one before it is shown":              {upgrades: []*upgrade.Allowance{helpful}, hidden: true, want: true},
		"one that goes":                       {asked: []string{"upgrade/2/one"}, want: true},
		"a stranger, and one of his":          {upgrades: []*upgrade.Allowance{agreed("upgrade", 2, "mallory", "ReplicaSet")}, last: "mallory"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			status := denied(1)
			status.LastDenial.User, status.LastDenial.Upgrades, status.History = crossplane, tt.asked, tt.history
			h := makeHolder()
			v := look(h.Unstructured, []*policy.Policy{someone}, controllertest.Noon)
			v.advance(t.Context(), &status)
			if status.Blocked == nil {
				t.Fatal("a denial does not block")
			}
			if !tt.hidden {
				if blockedPatch(h.Unstructured, status.Blocked) == nil {
					t.Fatal("it is not shown")
				}
				v = look(makeHolder().blocked().Unstructured, []*policy.Policy{someone}, controllertest.Noon)
			}
			if tt.last != "" {
				status.LastDenial = &v1alpha1.Decision{User: tt.last, Kind: "ReplicaSet"}
			}
			v.upgrades = tt.upgrades
			v.advance(t.Context(), &status)
			if (status.Blocked != nil) != tt.want {
				t.Errorf("waits: %t", status.Blocked != nil)
			}
			if !tt.want && status.AnsweredDenials != status.Denials {
				t.Errorf("%d of %d denials are answered", status.AnsweredDenials, status.Denials)
			}
		})
	}
}
