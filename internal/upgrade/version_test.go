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
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"kausality.io/operator/api/v1alpha1"
)

// of returns an UpgradeAllowance of some triggers that was accepted half an hour after the epoch.
func of(tb testing.TB, ranBefore, versions []string, triggers ...v1alpha1.UpgradeTrigger) *Allowance {
	tb.Helper()
	accepted := metav1.NewTime(after(30))
	a, errs := Compile(&v1alpha1.UpgradeAllowance{
		ObjectMeta: metav1.ObjectMeta{Name: "upgrade", UID: "1"},
		Spec:       v1alpha1.UpgradeAllowanceSpec{ServiceAccount: controller, Triggers: triggers, Versions: versions},
		Status:     v1alpha1.UpgradeAllowanceStatus{AcceptedAt: &accepted, RanBefore: ranBefore},
	}, noKinds)
	if len(errs) > 0 {
		tb.Fatal(errs)
	}
	return a
}

// revision returns a CompositionRevision that says something, and was created some minutes after
// the epoch.
func revision(name, says string, minutes int) Version {
	return Version{Trigger: v1alpha1.UpgradeOfComposition, Revision: name, Digest: says, Created: after(minutes)}
}

// function returns a package of Function f.
func function(image string) Version {
	return Version{Trigger: v1alpha1.UpgradeOfFunction, Of: "f", Image: image, Revision: "f-" + image}
}

func TestAskAboutRevisions(t *testing.T) {
	compositions, named := of(t, nil, nil, v1alpha1.UpgradeOfComposition), of(t, nil, []string{"db-*"}, v1alpha1.UpgradeOfComposition)
	functions, versioned := of(t, []string{"f:v1"}, nil, v1alpha1.UpgradeOfFunction), of(t, []string{"f:v1"}, []string{"f:v1*", "f:v2*"}, v1alpha1.UpgradeOfFunction)
	remembers := func(v Version) []v1alpha1.ControllerVersion {
		return []v1alpha1.ControllerVersion{*MadeBy("whoever", v, after(1))}
	}
	tests := map[string]struct {
		allowance *Allowance
		memory    []v1alpha1.ControllerVersion
		by        Version
		want      string // why not
	}{
		"another revision":                             {allowance: compositions, memory: remembers(revision("a", "A", 1)), by: revision("b", "B", 40)},
		"back to the first":                            {allowance: compositions, memory: remembers(revision("b", "B", 40)), by: revision("a", "A", 1)},
		"the same revision":                            {allowance: compositions, memory: remembers(revision("a", "A", 1)), by: revision("a", "A", 1), want: "the parent was upgraded to CompositionRevision a, or made by it"},
		"one that says the same":                       {allowance: compositions, memory: remembers(revision("a", "A", 1)), by: revision("c", "A", 40), want: "the parent was upgraded to CompositionRevision a, or made by it"},
		"one that says what nobody knows of the first": {allowance: compositions, memory: remembers(revision("a", "", 1)), by: revision("a", "A", 40), want: "the parent was upgraded to CompositionRevision a, or made by it"},
		"one that nobody could read":                   {allowance: compositions, memory: remembers(revision("a", "", 1)), by: revision("c", "", 40)},
		"no memory, and a revision from before":        {allowance: compositions, by: revision("b", "B", 20), want: "CompositionRevision b was there when it was accepted, and spec.versions does not name it"},
		"no memory, and a new revision":                {allowance: compositions, by: revision("b", "B", 40)},
		"no memory, and one that is named":             {allowance: named, by: revision("db-b", "B", 20)},
		"another one under the same pattern":           {allowance: named, memory: remembers(revision("db-a", "A", 1)), by: revision("db-b", "B", 20)},
		"one that is not named":                        {allowance: named, memory: remembers(revision("db-a", "A", 1)), by: revision("x-b", "B", 40), want: "CompositionRevision x-b is none of its versions"},
		"one that does not exist":                      {allowance: compositions, by: Version{Trigger: v1alpha1.UpgradeOfComposition, Unknown: "it is gone"}, want: "the version that makes the request is not known: it is gone"},
		"another package":                              {allowance: functions, memory: remembers(function("f:v1")), by: function("f:v2")},
		"back to the first package":                    {allowance: functions, memory: remembers(function("f:v2")), by: function("f:v1")},
		"no memory, and a package from before":         {allowance: functions, by: function("f:v1"), want: "package f:v1 ran when it was accepted, and spec.versions does not name it"},
		"no memory, and a new package":                 {allowance: functions, by: function("f:v2")},
		"a package that is rebuilt":                    {allowance: versioned, memory: remembers(function("f:v2.0")), by: function("f:v2.1"), want: "the parent was upgraded to package f:v2.0, or made by it"},
		"another Function than the parent knows":       {allowance: functions, memory: remembers(Version{Trigger: v1alpha1.UpgradeOfFunction, Of: "g", Image: "f:v2"}), by: function("f:v2")},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got := tt.allowance.Ask(tt.memory, tt.by, after(60))
			if got.Why != tt.want || got.Open != (tt.want == "") {
				t.Fatalf("open %t: %q, want %q", got.Open, got.Why, tt.want)
			}
			if !got.Open {
				return
			}
			if got.Note == nil || got.Note.Revision != tt.by.Revision || got.Note.Digest != tt.by.Digest || got.Note.Trigger != tt.by.Trigger || got.Note.User != controller {
				t.Fatalf("remembered: %+v", got.Note)
			}
			moving := Remember(tt.memory, *got.Note)
			if again := tt.allowance.Ask(moving, tt.by, after(60).Add(time.Second)); !again.Open || again.Note != nil {
				t.Errorf("while it moves: %+v", again)
			}
			moved := moving
			for i := range moved {
				moved[i].MovedAt = new(metav1.NewTime(after(61)))
			}
			if again := tt.allowance.Ask(moved, tt.by, after(62)); again.Open {
				t.Error("open for ever")
			}
		})
	}
}

func TestLeaves(t *testing.T) {
	a, b, c := revision("a", "A", 1), revision("b", "B", 2), revision("c", "A", 3)
	knows := func(v Version, also string) []v1alpha1.ControllerVersion {
		known := *MadeBy("crossplane", v, after(1))
		known.AlsoRevision = also
		return []v1alpha1.ControllerVersion{known}
	}
	upgradedTo := func(v Version) []v1alpha1.ControllerVersion {
		memory := knows(v, "")
		memory[0].UpgradeAllowance, memory[0].MovedAt = "agreed", nil
		return memory
	}
	unread := func(name string) Version {
		return Version{Trigger: v1alpha1.UpgradeOfComposition, Revision: name}
	}
	crowded := make([]v1alpha1.ControllerVersion, maxVersions)
	tests := map[string]struct {
		memory    []v1alpha1.ControllerVersion
		old, next Version
		withheld  bool
		want      string
	}{
		"the first change that is seen":                  {old: a, next: b, want: "a"},
		"labels only":                                    {old: a, next: c},
		"what is remembered":                             {memory: knows(a, ""), old: a, next: b},
		"what is remembered, after something else":       {memory: knows(a, "b"), old: a, next: b},
		"what says the same as what is remembered":       {memory: knows(a, ""), old: c, next: b},
		"back from what nobody had to agree to":          {memory: knows(a, "b"), old: b, next: a, want: "b"},
		"on from what nobody had to agree to":            {memory: knows(a, "b"), old: b, next: revision("d", "D", 4), want: "b"},
		"back from what was in vain":                     {memory: knows(a, ""), old: b, next: a},
		"on from what was in vain":                       {memory: knows(a, ""), old: b, next: revision("d", "D", 4)},
		"back from what was in vain, after something":    {memory: knows(a, "d"), old: b, next: a},
		"back to what it is being upgraded to":           {memory: upgradedTo(a), old: b, next: a},
		"what is withheld, where nothing is remembered":  {old: b, next: a, withheld: true},
		"what is remembered, while others are withheld":  {memory: knows(a, "b"), old: b, next: a, withheld: true, want: "b"},
		"what cannot be read, by its name":               {old: unread("x"), next: unread("y"), want: "x"},
		"no room":                                        {memory: crowded, old: a, next: b},
		"no room, and remembered":                        {memory: append(knows(a, "b"), crowded[1:]...), old: b, next: a, want: "b"},
		"what cannot be read, and is remembered so":      {memory: knows(unread("x"), ""), old: unread("x"), next: b},
		"another one of which nothing could be read":     {memory: knows(unread("x"), "z"), old: unread("z"), next: b, want: "z"},
		"another one of which nothing is known, in vain": {memory: knows(unread("x"), ""), old: unread("z"), next: b},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got := Leaves(tt.memory, "alice", tt.old, tt.next, !tt.withheld, after(9))
			if tt.want == "" {
				if got != nil {
					t.Fatalf("remembers %+v", got)
				}
				return
			}
			if got == nil || got.Revision != tt.want || got.ID != "Composition" || IsMoving(got) || got.User != "alice" || got.AlsoRevision != "" {
				t.Errorf("remembers %+v", got)
			}
		})
	}
}

// TestRememberWhatElseMadeSomething notes it beside what the parent was made by, which stays.
func TestRememberWhatElseMadeSomething(t *testing.T) {
	a, b, c := revision("a", "A", 1), revision("b", "B", 2), revision("c", "A", 3)
	image := Version{Trigger: v1alpha1.UpgradeOfFunction, Of: "fn", Image: "fn:v1"}
	crowded := make([]v1alpha1.ControllerVersion, maxVersions)
	for name, tt := range map[string]struct {
		memory []v1alpha1.ControllerVersion
		made   []Version
		want   []string
		may    bool
	}{
		"the first one":               {made: []Version{a}, want: []string{"a/"}},
		"another one":                 {made: []Version{a, b}, want: []string{"a/b"}, may: true},
		"the same one again":          {made: []Version{a, a}, want: []string{"a/"}},
		"one that says the same":      {made: []Version{a, c}, want: []string{"a/"}, may: true},
		"another one and back":        {made: []Version{a, b, a}, want: []string{"a/b"}},
		"another image of a Function": {made: []Version{image, {Trigger: v1alpha1.UpgradeOfFunction, Of: "fn", Image: "fn:v2"}}, want: []string{"/"}},
		"no room":                     {memory: crowded, made: []Version{a}, want: make([]string, maxVersions)},
	} {
		t.Run(name, func(t *testing.T) {
			memory := tt.memory
			may := false
			for _, v := range tt.made {
				may = MayAlso(memory, v.About(), v.Revision)
				memory = RememberFirst(memory, *MadeBy("crossplane", v, after(1)))
			}
			var got []string
			for _, v := range memory {
				if v.ID == "" {
					got = append(got, "")
					continue
				}
				got = append(got, v.Revision+"/"+v.AlsoRevision)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("memory (-want +got):\n%s", diff)
			}
			if may != tt.may {
				t.Errorf("may note the last one: %t", may)
			}
		})
	}
}

func TestReplaces(t *testing.T) {
	remembers := func(v Version) []v1alpha1.ControllerVersion {
		return []v1alpha1.ControllerVersion{*MadeBy(controller, v, after(1))}
	}
	tests := map[string]struct {
		memory []v1alpha1.ControllerVersion
		by     Version
		want   bool
	}{
		"nothing is remembered":               {by: at(v2, 2)},
		"the same image":                      {memory: remembers(at(v1, 1)), by: at(v1, 2)},
		"another image":                       {memory: remembers(at(v1, 1)), by: at(v2, 2), want: true},
		"another revision":                    {memory: remembers(revision("a", "A", 1)), by: revision("b", "B", 2), want: true},
		"a version that is not known":         {memory: remembers(at(v1, 1)), by: Version{Unknown: "why"}},
		"what is declared, which has no name": {memory: remembers(Version{}), by: at(v2, 2)},
		"no version":                          {memory: remembers(at(v1, 1)), by: Version{}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if _, got := Replaces(tt.memory, controller, tt.by); got != tt.want {
				t.Errorf("replaces: %v", got)
			}
		})
	}
}

func TestSelecting(t *testing.T) {
	canary := compiled(t, nil)
	canary.Name, canary.User = "canary", "b"
	canary.objectSelector, _ = metav1.LabelSelectorAsSelector(&metav1.LabelSelector{MatchLabels: map[string]string{"stage": "canary"}})
	all := compiled(t, nil)
	all.Name, all.User = "all", "a"
	var active Active
	if got := active.Selecting(nil, nil); got != nil {
		t.Errorf("of none: %v", got)
	}
	active.Set([]*Allowance{canary, all})
	names := func(labels map[string]string) (out []string) {
		for _, a := range active.Selecting(labels, nil) {
			out = append(out, a.Name)
		}
		return out
	}
	if diff := cmp.Diff([]string{"all", "canary"}, names(map[string]string{"stage": "canary"})); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"all"}, names(nil)); diff != "" {
		t.Error(diff)
	}
}

func TestOnCome(t *testing.T) {
	allowance := func(name string, generation int64) *Allowance {
		return &Allowance{Name: name, UID: types.UID(name), Generation: generation, User: controller}
	}
	anew := allowance("one", 1)
	anew.UID = "another"
	tests := map[string]struct {
		before, after []*Allowance
		want          int
	}{
		"none":                            {},
		"one comes":                       {after: []*Allowance{allowance("one", 1)}, want: 1},
		"one was there":                   {before: []*Allowance{allowance("one", 1)}, want: 1},
		"one stays":                       {before: []*Allowance{allowance("one", 1)}, after: []*Allowance{allowance("one", 1)}, want: 1},
		"one changes":                     {before: []*Allowance{allowance("one", 1)}, after: []*Allowance{allowance("one", 2)}, want: 2},
		"one is made anew":                {before: []*Allowance{allowance("one", 1)}, after: []*Allowance{anew}, want: 2},
		"another one goes, and one stays": {before: []*Allowance{allowance("one", 1), allowance("two", 1)}, after: []*Allowance{allowance("one", 1)}, want: 1},
		"two come":                        {after: []*Allowance{allowance("one", 1), allowance("two", 1)}, want: 1},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var active Active
			active.Set(tt.before)
			came, known := 0, len(tt.before)
			active.OnCome(func() {
				came++
				if len(active.For(controller)) != known {
					t.Errorf("%d are known when one comes", len(active.For(controller)))
				}
			})
			known = len(tt.after)
			active.Set(tt.after)
			if came != tt.want {
				t.Errorf("told %d times, want %d", came, tt.want)
			}
			if active.Any() != (len(tt.after) > 0) {
				t.Errorf("any: %t", active.Any())
			}
		})
	}
	var nobody *Active
	nobody.OnCome(func() { t.Error("it comes from nobody") })
	if nobody.Any() {
		t.Error("nobody has some")
	}
}

func TestStanding(t *testing.T) {
	made := []v1alpha1.ControllerVersion{*MadeBy(controller, at(v2, 2), after(2))}
	moving := []v1alpha1.ControllerVersion{*compiled(t, nil).Ask(nil, at(v2, 2), after(2)).Note}
	tests := map[string]struct {
		memory []v1alpha1.ControllerVersion
		by     Version
		want   v1alpha1.VersionStanding
	}{
		"nothing is remembered":        {by: at(v2, 2), want: v1alpha1.StandingFirst},
		"the same":                     {memory: made, by: at(v2, 5), want: v1alpha1.StandingSame},
		"the one that it moves to":     {memory: moving, by: at(v2, 5), want: v1alpha1.StandingMoving},
		"another one":                  {memory: made, by: at(v1, 3), want: v1alpha1.StandingNew},
		"another one, in a Pod as old": {memory: made, by: at(v1, 2), want: v1alpha1.StandingNew},
		"an older one meanwhile":       {memory: moving, by: at(v1, 1), want: v1alpha1.StandingOlder},
		"nobody knows":                 {memory: made, by: Version{Unknown: "its token is bound to no Pod"}, want: v1alpha1.StandingUnknown},
		"another graph":                {memory: made, by: graph("r2", "b", 20), want: v1alpha1.StandingFirst},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got := Standing(tt.memory, controller, tt.by)
			want := v1alpha1.RequestVersion{Trigger: tt.by.About(), Version: tt.by.name(), Standing: tt.want}
			if !tt.by.PodCreated.IsZero() {
				want.PodCreated = new(metav1.NewTime(tt.by.PodCreated))
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("standing (-want +got):\n%s", diff)
			}
		})
	}
}
