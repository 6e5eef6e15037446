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

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/baseline"
	"kausality.io/operator/internal/change"
	"kausality.io/operator/internal/controller/controllertest"
	"kausality.io/operator/internal/controller/requeue"
	"kausality.io/operator/internal/policy"
)

func contentAt(generation int64, digests ...string) *v1alpha1.ApprovedContent {
	c := &v1alpha1.ApprovedContent{Generation: generation}
	for i := 0; i < len(digests); i += 2 {
		c.Digests = append(c.Digests, v1alpha1.ContentDigest{Path: digests[i], Digest: digests[i+1]})
	}
	return c
}

// about makes a policy that withholds changes of fields.
func about(t *testing.T, came time.Time, triggers ...string) *policy.Policy {
	t.Helper()
	p := &policy.Policy{Action: v1alpha1.ActionDeny, Created: metav1.NewTime(came)}
	for _, text := range triggers {
		trigger, err := change.ParsePattern(text)
		if err != nil {
			t.Fatal(err)
		}
		p.Rules = append(p.Rules, policy.Rule{Trigger: trigger})
	}
	return p
}

// TestExplained shows what is taken for a change that nobody has seen.
func TestExplained(t *testing.T) {
	const ours, theirs = "a", "b"
	tests := map[string]struct {
		holder testHolder
		came   time.Time
		record *v1alpha1.AllowanceRecord
		// remembered is until when policies were created that it was looked at by, without a record.
		remembered time.Time
		status     v1alpha1.AllowanceRecordStatus
		now        *v1alpha1.ApprovedContent
		want       bool
	}{
		"another content at another generation": {
			holder: makeHolder(), status: v1alpha1.AllowanceRecordStatus{Approved: contentAt(4, "spec.template", ours)},
			now: contentAt(5, "spec.template", theirs),
		},
		"the same content": {
			holder: makeHolder(), status: v1alpha1.AllowanceRecordStatus{Approved: contentAt(4, "spec.template", ours)},
			now: contentAt(5, "spec.template", ours), want: true,
		},
		"new defaults, without a generation": {
			holder: makeHolder(), status: v1alpha1.AllowanceRecordStatus{Approved: contentAt(5, "spec.template", ours)},
			now: contentAt(5, "spec.template", theirs), want: true,
		},
		"a field that no rule was about before": {
			holder: makeHolder(), status: v1alpha1.AllowanceRecordStatus{Approved: contentAt(4, "spec.replicas", ours)},
			now: contentAt(5, "spec.replicas", ours, "spec.template", theirs), want: true,
		},
		"a field that no rule is about any more": {
			holder: makeHolder(), status: v1alpha1.AllowanceRecordStatus{Approved: contentAt(4, "spec.replicas", ours, "metadata.labels.app", ours)},
			now: contentAt(5, "spec.replicas", ours), want: true,
		},
		"a field that is gone": {
			holder: makeHolder(), status: v1alpha1.AllowanceRecordStatus{Approved: contentAt(4, "spec.replicas", ours, "spec.paused", ours)},
			now: contentAt(5, "spec.replicas", ours),
		},
		"granted": {
			holder: makeHolder().holding(grantOf("spec.template", 5)),
			status: v1alpha1.AllowanceRecordStatus{Approved: contentAt(4, "spec.template", ours)},
			now:    contentAt(5, "spec.template", theirs), want: true,
		},
		"granted, and changed again": {
			holder: makeHolder().holding(grantOf("spec.template", 4)),
			status: v1alpha1.AllowanceRecordStatus{Approved: contentAt(4, "spec.template", ours)},
			now:    contentAt(5, "spec.template", theirs),
		},
		"granted, and the record does not know of it yet": {
			holder: makeHolder().holding(grantOf("spec.template", 4)),
			status: v1alpha1.AllowanceRecordStatus{Approved: contentAt(3, "spec.template", ours)},
			now:    contentAt(5, "spec.template", theirs), want: true,
		},
		"withheld already": {
			holder: makeHolder().holding(withheldChange("spec.template")),
			status: v1alpha1.AllowanceRecordStatus{Approved: contentAt(4, "spec.template", ours)},
			now:    contentAt(5, "spec.template", theirs), want: true,
		},
		"withheld until now": {
			holder: makeHolder(), status: v1alpha1.AllowanceRecordStatus{Approved: contentAt(4, "spec.template", ours), WithheldCount: 1},
			now: contentAt(5, "spec.template", theirs), want: true,
		},
		"adopting": {
			holder: makeHolder(), status: v1alpha1.AllowanceRecordStatus{Approved: contentAt(4, "spec.template", ours), Adopting: true},
			now: contentAt(5, "spec.template", theirs), want: true,
		},
		"by a policy that came meanwhile": {
			holder: makeHolder(), came: controllertest.Noon.Add(time.Minute), status: v1alpha1.AllowanceRecordStatus{Approved: contentAt(4, "spec.template", ours)},
			now: contentAt(5, "spec.template", theirs), want: true,
		},
		"by a policy that is older than the record, after a sign of life that got lost": {
			holder: makeHolder(), came: controllertest.Noon.Add(time.Minute), status: v1alpha1.AllowanceRecordStatus{Approved: contentAt(4, "spec.template", ours)},
			record: &v1alpha1.AllowanceRecord{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: metav1.NewTime(controllertest.Noon.Add(time.Minute))}},
			now:    contentAt(5, "spec.template", theirs),
		},
		"by a policy that was looked at, of what has no record, after a sign of life that got lost": {
			holder: makeHolder(), came: controllertest.Noon.Add(time.Minute), status: v1alpha1.AllowanceRecordStatus{Approved: contentAt(4, "spec.template", ours)},
			remembered: controllertest.Noon.Add(time.Minute), now: contentAt(5, "spec.template", theirs),
		},
		"by a policy that came after the last one that was looked at": {
			holder: makeHolder(), came: controllertest.Noon.Add(2 * time.Minute), status: v1alpha1.AllowanceRecordStatus{Approved: contentAt(4, "spec.template", ours)},
			remembered: controllertest.Noon.Add(time.Minute), now: contentAt(5, "spec.template", theirs), want: true,
		},
		"another content of what counts no generations": {
			holder: makeHolder(), status: v1alpha1.AllowanceRecordStatus{Approved: contentAt(0, "spec.template", ours)},
			now: contentAt(0, "spec.template", theirs),
		},
		"a label, which no generation counts": {
			holder: makeHolder(), status: v1alpha1.AllowanceRecordStatus{Approved: contentAt(5, "metadata.labels.team", ours)},
			now: contentAt(5, "metadata.labels.team", theirs),
		},
		"nothing known": {holder: makeHolder(), now: contentAt(5, "spec.template", theirs), want: true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			v := look(tc.holder.Unstructured, []*policy.Policy{about(t, tc.came, "spec.replicas", "spec.template", "spec.paused", "metadata.labels.team")}, controllertest.Noon)
			v.content = tc.now
			if got := len(v.unexplained(&tc.status, known(tc.record, tc.remembered, controllertest.Noon))) == 0; got != tc.want {
				t.Errorf("explained: %t, want %t", got, tc.want)
			}
		})
	}
}

// TestWithholdUnseen shows that what nobody has seen is withheld once, and only when
// another replica had the time to tell of it.
func TestWithholdUnseen(t *testing.T) {
	approved, now := contentAt(4, "spec.template", "a"), contentAt(5, "spec.template", "b")
	v := look(makeHolder().Unstructured, nil, controllertest.Noon)
	v.content, v.unseen = now, unseen{fields: approved.Digests, until: controllertest.Noon.Add(time.Second)}
	status := &v1alpha1.AllowanceRecordStatus{Approved: approved}
	var next requeue.Soonest
	v.approve(status, &next)
	if len(status.PendingGrants) > 0 || !next.Time.Equal(controllertest.Noon.Add(time.Second)) || !cmp.Equal(status.Approved, approved) {
		t.Fatalf("withheld early: %+v, next look at %s", status, next.Time)
	}
	v.unseen.until = time.Time{}
	for range 2 {
		v.approve(status, &next)
	}
	want := []v1alpha1.PendingGrant{{
		Time: metav1.NewTime(controllertest.Noon), Allowances: []v1alpha1.Allowance{{
			Relation: v1alpha1.RelationWithheld, Mutation: "spec.template", Generation: v.obj.GetGeneration(), Replaced: "a",
		}},
	}}
	want[0].Allowances[0].Content = status.PendingGrants[0].ContentHash[:12]
	if diff := cmp.Diff(want, status.PendingGrants, cmpopts.IgnoreFields(v1alpha1.PendingGrant{}, "ID", "ContentHash")); diff != "" {
		t.Errorf("pending (-want +got):\n%s", diff)
	}
	if !cmp.Equal(status.Approved, approved) {
		t.Error("what was changed counts as approved")
	}
}

// TestUnseenIsFoldedInOnce shows that what nobody has seen is noted in the record no more, once the object says
// that it is withheld. The webhook says so with a digest of its own.
func TestUnseenIsFoldedInOnce(t *testing.T) {
	h := makeHolder()
	v := look(h.Unstructured, nil, controllertest.Noon)
	v.content, v.unseen = contentAt(5, "spec.template", "b"), unseen{fields: contentAt(4, "spec.template", "a").Digests}
	status := &v1alpha1.AllowanceRecordStatus{Approved: contentAt(4, "spec.template", "a")}
	var next requeue.Soonest
	v.approve(status, &next)
	if got := v.advance(t.Context(), status); !got.rewrite || len(status.PendingGrants) != 1 {
		t.Fatalf("not to be folded in: %+v, %+v", got, status)
	}

	said := withheldChange("spec.template")
	said.Initiator, said.Content = "", "80e79fde5443"
	h = h.holding(said)
	annotations := h.GetAnnotations()
	annotations[v1alpha1.AnnotationApproved] = "what was approved"
	h.SetAnnotations(annotations)
	after := look(h.Unstructured, nil, controllertest.Noon)
	after.content = v.content
	if got := after.advance(t.Context(), status); got.rewrite || len(status.PendingGrants) > 0 {
		t.Errorf("folded in again: %+v, with %+v pending", got, status.PendingGrants)
	}
	if diff := cmp.Diff([]v1alpha1.Allowance{said}, status.Active); diff != "" {
		t.Errorf("the record does not say what the object says (-object +record):\n%s", diff)
	}
}

// TestUnseenBesideAnotherMark shows that what nobody has seen is withheld until the object says so of it, and not
// only of another field that somebody has changed since.
func TestUnseenBesideAnotherMark(t *testing.T) {
	approved, found := contentAt(4, "spec.template", "a"), contentAt(4, "spec.template", "a").Digests
	for name, tc := range map[string]struct {
		said []string
		want int
	}{
		"nothing":          {want: 1},
		"another field":    {said: []string{"spec.replicas"}, want: 1},
		"the field":        {said: []string{"spec.replicas", "spec.template"}},
		"a part of it":     {said: []string{"spec.template.spec"}},
		"what is above it": {said: []string{"spec"}},
	} {
		t.Run(name, func(t *testing.T) {
			var marks []v1alpha1.Allowance
			for _, path := range tc.said {
				marks = append(marks, withheldChange(path))
			}
			v := look(makeHolder().holding(marks...).Unstructured, nil, controllertest.Noon)
			v.content, v.unseen = contentAt(5, "spec.template", "b"), unseen{fields: found, generation: 4}
			if got := v.says(found); got != (tc.want == 0) {
				t.Errorf("the object says so: %t", got)
			}
			status := &v1alpha1.AllowanceRecordStatus{Approved: approved}
			var next requeue.Soonest
			v.approve(status, &next)
			if got := len(status.PendingGrants); got != tc.want || !cmp.Equal(status.Approved, approved) {
				t.Errorf("%d grants withhold it, want %d; approved: %+v", got, tc.want, status.Approved)
			}
		})
	}
}

// TestTold shows until when another replica may tell of a change. What moved on the time of the
// last one, a label that nobody is asked about, makes none of it seen at the first look.
func TestTold(t *testing.T) {
	a := absence{since: controllertest.Noon.Add(-time.Minute), until: controllertest.Noon, over: controllertest.Noon}
	tests := map[string]struct {
		changed, now time.Duration
		first        bool
		until        time.Duration
		over         bool
	}{
		"changed meanwhile, looked at soon":                   {changed: -time.Second, now: time.Second, first: true, until: toldWithin},
		"changed meanwhile, looked at late":                   {changed: -time.Second, now: time.Minute, first: true, until: toldWithin},
		"changed since, looked at soon":                       {changed: time.Second, now: 2 * time.Second, first: true, until: 2*time.Second + toldWithin},
		"changed since, and looked at again soon":             {changed: time.Second, now: 2 * time.Second, until: 2*time.Second + toldWithin},
		"changed since, looked at late":                       {changed: time.Second, now: 8 * time.Second, first: true, until: 8*time.Second + toldWithin},
		"changed since, and not looked at for the first time": {changed: time.Second, now: 8 * time.Second, over: true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			until, over := a.told(controllertest.Noon.Add(tc.changed), controllertest.Noon.Add(tc.now), tc.first)
			if over != tc.over || !over && !until.Equal(controllertest.Noon.Add(tc.until)) {
				t.Errorf("until %s, over: %t", until, over)
			}
		})
	}
}

// TestOutOf shows what proves that what is different was not changed while nobody looked.
func TestOutOf(t *testing.T) {
	a := absence{since: controllertest.Noon, signedBefore: "100"}
	tests := map[string]struct {
		changed      time.Duration
		version      string
		first, moved bool
		want         bool
	}{
		"changed since":                              {changed: time.Second, version: "101", first: true},
		"changed before, at another generation":      {changed: -time.Second, version: "99", first: true, moved: true},
		"changed before, and not written since":      {changed: -time.Second, version: "99", first: true, want: true},
		"changed before, and something removed":      {changed: -time.Second, version: "101", first: true},
		"not looked at for the first time":           {changed: -time.Second, version: "101", want: true},
		"changed since, in a store of another order": {changed: time.Second, version: "99", first: true},
		"a version that is no number":                {changed: -time.Second, version: "x", first: true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			obj := &unstructured.Unstructured{}
			obj.SetResourceVersion(tc.version)
			if got := a.isOutOf(obj, controllertest.Noon.Add(tc.changed), tc.first, tc.moved); got != tc.want {
				t.Errorf("out of it: %t, want %t", got, tc.want)
			}
		})
	}
}

// TestLookedAt shows when an object that was looked at is not read again: once it was written after the first
// sign of life.
func TestLookedAt(t *testing.T) {
	a := absence{over: controllertest.Noon, signed: "100"}
	for version, want := range map[string]bool{"99": false, "100": false, "101": true, "": false} {
		obj := &unstructured.Unstructured{}
		obj.SetResourceVersion(version)
		if got := a.isSince(obj); got != want {
			t.Errorf("version %q is since the first sign of life: %t", version, got)
		}
		if (absence{}).isSince(obj) {
			t.Errorf("version %q is since a sign of life that was never given", version)
		}
	}
	if a.isOver(controllertest.Noon.Add(toldWithin)) || !a.isOver(controllertest.Noon.Add(toldWithin+time.Second)) {
		t.Error("another replica has another time to tell")
	}
	var l looks
	if l.has("a") || !l.add("a") || !l.has("a") || l.has("b") || l.add("a") {
		t.Error("looks are not known")
	}
}

// TestExplainedBefore shows that what admission let through after a start is nobody's unseen change,
// though the allowance for it is used up, and gone, before the holder is looked at.
func TestExplainedBefore(t *testing.T) {
	v := look(makeHolder().Unstructured, []*policy.Policy{about(t, controllertest.Noon.Add(-time.Hour), "spec.replicas")}, controllertest.Noon)
	v.content = contentAt(5, "spec.replicas", "theirs")
	knows := &v1alpha1.AllowanceRecordStatus{Approved: contentAt(4, "spec.replicas", "ours")}
	r := &Reconciler{Baseline: baseline.New(baseline.Config{})}
	r.Baseline.NoteExplained("another")
	if got := r.unexplained(&v, knows, controllertest.Noon); len(got) != 1 {
		t.Errorf("it is explained by what was seen of another one: %v", got)
	}
	r.Baseline.NoteExplained(v.obj.GetUID())
	if got := r.unexplained(&v, knows, controllertest.Noon); len(got) > 0 {
		t.Errorf("not explained: %v", got)
	}
}

// TestUnseenUntilTheObjectSaysSo shows that what was changed while nobody looked does not
// become approved because it is noted: what is noted counts for the object as it was, and a
// label that nobody is asked about makes it another one.
func TestUnseenUntilTheObjectSaysSo(t *testing.T) {
	approved, now := contentAt(4, "spec.template", "a"), contentAt(5, "spec.template", "b")
	policies := []*policy.Policy{about(t, controllertest.Noon, "spec.template")}
	v := look(makeHolder().Unstructured, policies, controllertest.Noon)
	v.content, v.unseen = now, unseen{fields: approved.Digests, generation: 4}
	status := &v1alpha1.AllowanceRecordStatus{Approved: approved}
	var next requeue.Soonest
	v.approve(status, &next)
	if len(status.PendingGrants) != 1 {
		t.Fatalf("nothing withheld: %+v", status)
	}

	v.unseen = unseen{}
	v.approve(status, &next)
	if !cmp.Equal(status.Approved, approved) {
		t.Errorf("what is to be withheld counts as approved")
	}

	v.unseen = unseen{fields: approved.Digests, generation: 4}
	status.WithheldCount = 1
	if got := v.stillUnseen(status); len(got) != 1 {
		t.Errorf("forgotten as it is noted")
	}
	status.Approved = now
	if got := v.stillUnseen(status); len(got) > 0 {
		t.Errorf("still unseen, though approved: %v", got)
	}
}
