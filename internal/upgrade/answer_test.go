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

package upgrade

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"kausality.io/operator/api/v1alpha1"
)

const (
	controller = "system:serviceaccount:widgets:controller"
	v1         = "example.org/controller:v1.0"
	v1rebuilt  = "example.org/controller:v1.1"
	v2         = "example.org/controller:v2.0"
	v2rebuilt  = "example.org/controller:v2.1"
)

var epoch = time.Date(2026, 11, 24, 0, 0, 0, 0, time.UTC)

// after returns a time some minutes later than the epoch.
func after(minutes int) time.Time { return epoch.Add(time.Duration(minutes) * time.Minute) }

func noKinds(schema.GroupVersionResource) (schema.GroupVersionKind, bool) {
	return schema.GroupVersionKind{}, false
}

func compiled(tb testing.TB, ranBefore []string, versions ...string) *Allowance {
	tb.Helper()
	u := &v1alpha1.UpgradeAllowance{
		ObjectMeta: metav1.ObjectMeta{Name: "upgrade", UID: "1"},
		Spec:       v1alpha1.UpgradeAllowanceSpec{ServiceAccount: controller, Versions: versions},
		Status:     v1alpha1.UpgradeAllowanceStatus{RanBefore: ranBefore},
	}
	a, errs := Compile(u, noKinds)
	if len(errs) > 0 {
		tb.Fatal(errs)
	}
	return a
}

func declared(tb testing.TB, uid types.UID) *Allowance {
	tb.Helper()
	a := compiled(tb, nil)
	a.Declared, a.UID = true, uid
	return a
}

func at(image string, minutes int) Version { return Version{Image: image, PodCreated: after(minutes)} }

// crowded is the memory of a parent that has no room for another version.
func crowded() []v1alpha1.ControllerVersion {
	out := make([]v1alpha1.ControllerVersion, maxVersions)
	for i := range out {
		out[i] = *MadeBy(fmt.Sprintf("other-%02d", i), at(v1, 1), after(1))
	}
	return out
}

func TestAsk(t *testing.T) {
	plain, named := compiled(t, []string{v1}), compiled(t, []string{v2}, "*:v2.*")
	both := compiled(t, []string{v1}, "*:v1.*", "*:v2.*")
	madeBy := func(image string, minutes int) []v1alpha1.ControllerVersion {
		return []v1alpha1.ControllerVersion{*MadeBy(controller, at(image, minutes), after(minutes))}
	}
	moving := func(a *Allowance, v Version, minutes int) []v1alpha1.ControllerVersion {
		return []v1alpha1.ControllerVersion{*a.Ask(nil, v, after(minutes)).Note}
	}
	now := after(60)
	tests := map[string]struct {
		allowance *Allowance
		memory    []v1alpha1.ControllerVersion
		by        Version
		now       time.Time
		want      Answer
	}{
		"the version that makes the children of the parent": {
			allowance: plain, memory: madeBy(v1, 1), by: at(v1, 1),
			want: Answer{Why: "the parent was upgraded to image " + v1 + ", or made by it"},
		},
		"the same version, restarted": {
			allowance: plain, memory: madeBy(v1, 1), by: at(v1, 30),
			want: Answer{Why: "the parent was upgraded to image " + v1 + ", or made by it"},
		},
		"a new version": {
			allowance: plain, memory: madeBy(v1, 1), by: at(v2, 2),
			want: Answer{Open: true, Note: plain.begin(nil, at(v2, 2), now).Note},
		},
		"another version in an older Pod": {
			allowance: plain, memory: madeBy(v2, 2), by: at(v1, 1),
			want: Answer{Why: "image " + v1 + " is in an older Pod than image " + v2 + ", which the parent was upgraded to or made by"},
		},
		"another version in a Pod of the same second": {
			allowance: plain, memory: madeBy(v2, 2), by: at(v1, 2),
			want: Answer{Why: "image " + v1 + " is in a Pod of the same second as image " + v2 + ", which the parent was upgraded to or made by, " +
				"so that nobody can tell which is the newer one: delete the Pod of the newer one, for another to take its place"},
		},
		"a roll-back": {
			allowance: plain, memory: madeBy(v2, 2), by: at(v1, 3),
			want: Answer{Open: true, Note: plain.begin(nil, at(v1, 3), now).Note},
		},
		"a parent without memory, and a version that ran before": {
			allowance: plain, by: at(v1, 1),
			want: Answer{Why: "image " + v1 + " ran when it was accepted, and spec.versions does not name it"},
		},
		"a parent without memory, and a new version": {
			allowance: plain, by: at(v2, 1),
			want: Answer{Open: true, Note: plain.begin(nil, at(v2, 1), now).Note},
		},
		"a parent without memory, and a version that ran before and is named": {
			allowance: named, by: at(v2, 1),
			want: Answer{Open: true, Note: named.begin(nil, at(v2, 1), now).Note},
		},
		"a version that no pattern names": {
			allowance: named, memory: madeBy(v2, 2), by: at(v1, 3),
			want: Answer{Why: "image " + v1 + " is none of its versions"},
		},
		"a rebuilt image under one pattern": {
			allowance: both, memory: madeBy(v1, 1), by: at(v1rebuilt, 2),
			want: Answer{Why: "the parent was upgraded to image " + v1 + ", or made by it"},
		},
		"a rebuilt image without patterns": {
			allowance: plain, memory: madeBy(v1, 1), by: at(v1rebuilt, 2),
			want: Answer{Open: true, Note: plain.begin(nil, at(v1rebuilt, 2), now).Note},
		},
		"an upgrade that goes on": {
			allowance: plain, memory: moving(plain, at(v2, 2), 59), by: at(v2, 2), now: after(59).Add(time.Second),
			want: Answer{Open: true},
		},
		"an upgrade that goes on by a rebuilt image": {
			allowance: both, memory: moving(both, at(v2, 2), 59), by: at(v2rebuilt, 3), now: after(59).Add(time.Second),
			want: Answer{Open: true},
		},
		"an old version during the upgrade": {
			allowance: plain, memory: moving(plain, at(v2, 2), 59), by: at(v1, 1),
			want: Answer{Why: "image " + v1 + " is in an older Pod than image " + v2 + ", which the parent was upgraded to or made by"},
		},
		"a new version, without room": {
			allowance: plain, memory: crowded(), by: at(v2, 2), want: Answer{Why: "the record of the parent has no room for another version"},
		},
		"a new version in place of another one, without room": {
			allowance: plain, memory: append(crowded()[1:], madeBy(v1, 1)...), by: at(v2, 2), want: Answer{Open: true, Note: plain.begin(nil, at(v2, 2), now).Note},
		},
		"an identity that is not known": {
			allowance: plain, memory: madeBy(v1, 1), by: Version{Unknown: "its token is bound to no Pod"},
			want: Answer{Why: "the version that makes the request is not known: its token is bound to no Pod"},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			when := now
			if !tt.now.IsZero() {
				when = tt.now
			}
			if diff := cmp.Diff(tt.want, tt.allowance.Ask(tt.memory, tt.by, when)); diff != "" {
				t.Errorf("answer (-want +got):\n%s", diff)
			}
		})
	}
}

// TestAskNotesUse has an upgrade that goes on for longer remembered now and then.
func TestAskNotesUse(t *testing.T) {
	a := compiled(t, nil)
	first := a.Ask(nil, at(v2, 1), after(2))
	again := a.Ask([]v1alpha1.ControllerVersion{*first.Note}, at(v2, 1), after(3))
	if !again.Open || again.Note == nil || !again.Note.LastUsed.Time.Equal(after(3)) || !again.Note.Since.Time.Equal(after(2)) {
		t.Errorf("a minute later: %+v", again)
	}
}

func TestAskDeclared(t *testing.T) {
	a, other := declared(t, "a"), declared(t, "b")
	unknown := Version{Unknown: "its token is bound to no Pod"}
	begun := a.Ask(nil, unknown, after(1))
	if !begun.Open || begun.Note == nil || begun.Note.Image != "" {
		t.Fatalf("the first request: %+v", begun)
	}
	moved := *begun.Note
	moved.MovedAt = new(metav1.NewTime(after(3)))
	memory := []v1alpha1.ControllerVersion{moved}
	if got := a.Ask(memory, unknown, after(4)); got.Open {
		t.Errorf("a request after the upgrade passes: %+v", got)
	}
	if got := other.Ask(memory, unknown, after(4)); !got.Open {
		t.Errorf("the next UpgradeAllowance lets nothing through: %+v", got)
	}
	memory = Remember(memory, *other.Ask(memory, unknown, after(4)).Note)
	if got := a.Ask(memory, unknown, after(5)); got.Open {
		t.Errorf("the first one lets something through again: %+v", got)
	}
}

func TestIsOver(t *testing.T) {
	v := compiled(t, nil).Ask(nil, at(v2, 1), after(0)).Note
	tests := map[string]struct {
		settled bool
		now     time.Time
		over    bool
		again   time.Duration
	}{
		"just let through":            {settled: true, now: after(0), again: time.Minute + UsedInterval},
		"quiet, and settled":          {settled: true, now: after(2), over: true},
		"quiet, and not settled":      {now: after(2)},
		"settled, and not quiet long": {settled: true, now: after(1), again: UsedInterval},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			over, again := IsOver(v, tt.settled, time.Minute, tt.now)
			if over != tt.over || again != tt.again {
				t.Errorf("over %v, again in %s; want %v, %s", over, again, tt.over, tt.again)
			}
		})
	}
}

func TestRememberFirstKeepsWhatIsThere(t *testing.T) {
	first, second := *MadeBy(controller, at(v1, 1), after(1)), *MadeBy(controller, at(v2, 2), after(2))
	memory := RememberFirst(RememberFirst(nil, first), second)
	if diff := cmp.Diff([]v1alpha1.ControllerVersion{first}, memory); diff != "" {
		t.Errorf("memory (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(crowded(), RememberFirst(crowded(), first)); diff != "" {
		t.Errorf("memory without room (-want +got):\n%s", diff)
	}
	if MadeBy(controller, Version{Unknown: "why"}, after(1)) != nil {
		t.Error("a version that is not known is remembered")
	}
}

// TestNothingFlaps has the Pods of two versions make requests in any order, each of which may
// reach a replica of ours that remembers only what some earlier write has left, and upgrades
// end in between. Where all Pods of the second version are younger, the parent is
// upgraded once; whatever their ages, no more often than there are Pods.
func TestNothingFlaps(t *testing.T) {
	a := compiled(t, []string{v1})
	rapid.Check(t, func(t *rapid.T) {
		old := rapid.SliceOfN(rapid.IntRange(0, 100), 1, 4).Draw(t, "old Pods")
		shift := rapid.SampledFrom([]int{0, 200}).Draw(t, "shift")
		young := rapid.SliceOfN(rapid.IntRange(0, 100), 1, 4).Draw(t, "new Pods")
		pods := make([]Version, 0, len(old)+len(young))
		for _, minutes := range old {
			pods = append(pods, at(v1, minutes))
		}
		for _, minutes := range young {
			pods = append(pods, at(v2, minutes+shift))
		}
		memory := RememberFirst(nil, *MadeBy(controller, at(v1, 0), after(0)))
		begun := 0
		now := after(1000)
		for i, turn := range rapid.SliceOfN(rapid.IntRange(0, 2*len(pods)-1), 1, 60).Draw(t, "turns") {
			now = now.Add(time.Second)
			if turn >= len(pods) {
				over := memory[0]
				over.MovedAt = &metav1.Time{Time: now}
				memory = Remember(memory, over)
				continue
			}
			answer := a.Ask(memory, pods[turn], now)
			if answer.Note == nil {
				continue
			}
			if answer.Note.Since.Time.Equal(now) {
				begun++
				if known := memory[0].PodCreated; !answer.Note.PodCreated.After(known.Time) {
					t.Fatalf("turn %d: Pod of %s took over from one of %s", i, answer.Note.PodCreated, known)
				}
			}
			memory = Remember(memory, *answer.Note)
		}
		if shift > 0 && begun > 1 {
			t.Fatalf("upgraded %d times to one version", begun)
		}
		if begun > len(pods) {
			t.Fatalf("upgraded %d times by %d Pods", begun, len(pods))
		}
	})
}

// TestMoves checks that an upgrade is known by who makes it and by what the parent goes to, however it began.
func TestMoves(t *testing.T) {
	moved := metav1.NewTime(after(1))
	known := func(edit func(*v1alpha1.ControllerVersion)) []v1alpha1.ControllerVersion {
		v := v1alpha1.ControllerVersion{User: controller, Trigger: v1alpha1.UpgradeOfComposition, Revision: "db-b", UpgradeAllowance: "v2", UpgradeAllowanceUID: "uid-of-v2"}
		edit(&v)
		return []v1alpha1.ControllerVersion{v}
	}
	as := func(*v1alpha1.ControllerVersion) {}
	of := func(edit func(*v1alpha1.UpgradeAllowance)) *Allowance {
		u := &v1alpha1.UpgradeAllowance{Spec: v1alpha1.UpgradeAllowanceSpec{
			ServiceAccount: controller, Triggers: []v1alpha1.UpgradeTrigger{v1alpha1.UpgradeOfComposition},
		}}
		u.UID = "uid-of-another"
		edit(u)
		a, _ := Compile(u, func(schema.GroupVersionResource) (schema.GroupVersionKind, bool) {
			return schema.GroupVersionKind{}, false
		})
		return a
	}
	whatever := of(func(*v1alpha1.UpgradeAllowance) {})
	declared := func(uid types.UID) *Allowance {
		return of(func(u *v1alpha1.UpgradeAllowance) {
			u.UID, u.Spec.Triggers, u.Spec.Detection = uid, []v1alpha1.UpgradeTrigger{v1alpha1.UpgradeOfController}, v1alpha1.DetectionDeclared
		})
	}
	byController := func(v *v1alpha1.ControllerVersion) { v.Trigger, v.Revision = v1alpha1.UpgradeOfController, "" }
	for name, tt := range map[string]struct {
		allowance *Allowance
		memory    []v1alpha1.ControllerVersion
		want      bool
	}{
		"it is being upgraded":       {whatever, known(as), true},
		"to a version that it names": {of(func(u *v1alpha1.UpgradeAllowance) { u.Spec.Versions = []string{"db-*"} }), known(as), true},
		"to another version":         {of(func(u *v1alpha1.UpgradeAllowance) { u.Spec.Versions = []string{"db-a"} }), known(as), false},
		"it was upgraded":            {whatever, known(func(v *v1alpha1.ControllerVersion) { v.MovedAt = &moved }), false},
		"by somebody else":           {whatever, known(func(v *v1alpha1.ControllerVersion) { v.User = "other" }), false},
		"in another way":             {whatever, known(func(v *v1alpha1.ControllerVersion) { v.Trigger = v1alpha1.UpgradeOfFunction }), false},
		"as it declares":             {declared("uid-of-v2"), known(byController), true},
		"as another one declares":    {declared("uid-of-another"), known(byController), false},
		"it remembers nothing":       {whatever, nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := tt.allowance.Moves(tt.memory); got != tt.want {
				t.Errorf("moves %t, want %t", got, tt.want)
			}
		})
	}
}
