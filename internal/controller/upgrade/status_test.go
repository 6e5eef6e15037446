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
	"kausality.io/operator/internal/controller/controllertest"
	"kausality.io/operator/internal/upgrade"
)

const user = "system:serviceaccount:web:controller"

var accepted = metav1.Date(2026, 11, 24, 3, 0, 0, 0, time.UTC)

// agreed returns an UpgradeAllowance that was accepted when web:v1 ran.
func agreed(change func(*v1alpha1.UpgradeAllowance)) *v1alpha1.UpgradeAllowance {
	u := &v1alpha1.UpgradeAllowance{
		ObjectMeta: metav1.ObjectMeta{Name: "v2", UID: "1", Generation: 2},
		Spec: v1alpha1.UpgradeAllowanceSpec{ServiceAccount: user, Policies: []v1alpha1.PolicyEntry{{
			Target:   v1alpha1.Target{APIGroup: new("apps"), APIVersion: "v1", Resource: "deployments"},
			Relation: v1alpha1.RelationControllerChild,
		}}},
		Status: v1alpha1.UpgradeAllowanceStatus{AcceptedAt: &accepted, RanBefore: []string{"web:v1"}},
	}
	change(u)
	u.Annotations = upgrade.Stamp(nil, u, "greta")
	return u
}

// looked returns a look at one that nothing is wrong with, while web:v1 and web:v2 run.
func looked(t *testing.T, u *v1alpha1.UpgradeAllowance, change func(*view)) *view {
	t.Helper()
	v := &view{u: u, bounded: true, runs: []string{"web:v1", "web:v2"}, now: metav1.NewTime(accepted.Add(time.Hour))}
	v.allowance, v.errs = upgrade.Compile(u, controllertest.ServedKinds().KindFor)
	change(v)
	return v
}

func TestSay(t *testing.T) {
	same := func(*v1alpha1.UpgradeAllowance) {}
	unstamped := agreed(same)
	unstamped.Spec.Versions = []string{"*:v2"}
	tests := map[string]struct {
		u                            *v1alpha1.UpgradeAllowance
		change                       func(*view)
		accepted, enforced, upgraded string
	}{
		"that waits":                {u: agreed(same), change: func(*view) {}, accepted: "Accepted", enforced: "Enforced", upgraded: "WaitingForVersion"},
		"that moves parents":        {u: agreed(same), change: func(v *view) { v.moving, v.moved = 2, 1 }, accepted: "Accepted", enforced: "Enforced", upgraded: "Moving"},
		"that has moved all":        {u: agreed(same), change: func(v *view) { v.moved = 3 }, accepted: "Accepted", enforced: "Enforced", upgraded: "Upgraded"},
		"that something is beyond":  {u: agreed(same), change: func(v *view) { v.moved, v.blocked = 3, []v1alpha1.BlockedParent{{Kind: "Thing", Name: "a"}} }, accepted: "Accepted", enforced: "Enforced", upgraded: "Blocked"},
		"that nothing needs":        {u: agreed(same), change: func(v *view) { v.bounded = false }, accepted: "Accepted", enforced: "NothingBounded", upgraded: "WaitingForVersion"},
		"for what has no Pod":       {u: agreed(same), change: func(v *view) { v.runs = nil }, accepted: "Accepted", enforced: "IdentityUnknown", upgraded: "WaitingForVersion"},
		"that is declared":          {u: agreed(func(u *v1alpha1.UpgradeAllowance) { u.Spec.Detection = v1alpha1.DetectionDeclared }), change: func(v *view) { v.runs = nil }, accepted: "Accepted", enforced: "Enforced", upgraded: "WaitingForVersion"},
		"of nobody":                 {u: agreed(func(u *v1alpha1.UpgradeAllowance) { u.Spec.Detection = v1alpha1.DetectionDeclared }), change: func(v *view) { v.runs, v.absent = nil, true }, accepted: "Accepted", enforced: "IdentityUnknown", upgraded: "WaitingForVersion"},
		"that is deleted":           {u: agreed(func(u *v1alpha1.UpgradeAllowance) { u.DeletionTimestamp = &accepted }), change: func(*view) {}, accepted: "Accepted", enforced: "Pending", upgraded: "WaitingForVersion"},
		"whose author is not known": {u: unstamped, change: func(*view) {}, accepted: "Unstamped", enforced: "Unstamped", upgraded: "WaitingForVersion"},
		"that is wrong":             {u: agreed(func(u *v1alpha1.UpgradeAllowance) { u.Spec.Versions = []string{"*"} }), change: func(*view) {}, accepted: "Invalid", enforced: "Invalid", upgraded: "WaitingForVersion"},
		"of Pods that nobody lists": {u: agreed(func(u *v1alpha1.UpgradeAllowance) { u.Status = v1alpha1.UpgradeAllowanceStatus{} }), change: func(v *view) { v.forbidden, v.runs = true, nil }, accepted: "Forbidden", enforced: "Forbidden", upgraded: "WaitingForVersion"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			status := tt.u.Status.DeepCopy()
			looked(t, tt.u, tt.change).say(status)
			got := map[string]string{}
			for _, c := range status.Conditions {
				got[c.Type] = c.Reason
				if is := c.Status == metav1.ConditionTrue; is != (c.Reason == c.Type) {
					t.Errorf("%s is %s, reason %s", c.Type, c.Status, c.Reason)
				}
				if c.ObservedGeneration != 2 {
					t.Errorf("%s is of generation %d", c.Type, c.ObservedGeneration)
				}
			}
			want := map[string]string{"Accepted": tt.accepted, "Enforced": tt.enforced, "Upgraded": tt.upgraded}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("reasons (-want +got):\n%s", diff)
			}
		})
	}
}

// TestSayKeepsWhatRanBefore has what ran when it was accepted noted once.
func TestSayKeepsWhatRanBefore(t *testing.T) {
	u := agreed(func(u *v1alpha1.UpgradeAllowance) { u.Status = v1alpha1.UpgradeAllowanceStatus{} })
	looked(t, u, func(v *view) { v.runs = []string{"web:v1"} }).say(&u.Status)
	if diff := cmp.Diff([]string{"web:v1"}, u.Status.RanBefore); diff != "" || u.Status.AcceptedAt == nil {
		t.Errorf("at first (-want +got):\n%s", diff)
	}
	looked(t, u, func(v *view) { v.runs = []string{"web:v2"} }).say(&u.Status)
	if diff := cmp.Diff([]string{"web:v1"}, u.Status.RanBefore); diff != "" {
		t.Errorf("later (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"web:v2"}, u.Status.Runs); diff != "" {
		t.Errorf("what runs (-want +got):\n%s", diff)
	}
}

func TestIsBlocked(t *testing.T) {
	later := func(minutes int) metav1.Time {
		return metav1.NewTime(accepted.Add(time.Duration(minutes) * time.Minute))
	}
	denial := func(who string, at metav1.Time) *v1alpha1.Decision {
		return &v1alpha1.Decision{User: who, Time: at, Kind: "Deployment"}
	}
	of := func(standings ...v1alpha1.VersionStanding) *v1alpha1.Decision {
		triggers := []v1alpha1.UpgradeTrigger{v1alpha1.UpgradeOfController, v1alpha1.UpgradeOfComposition}
		d := denial(user, later(1))
		d.Kind = ""
		for i, standing := range standings {
			d.Versions = append(d.Versions, v1alpha1.RequestVersion{Trigger: triggers[i], Standing: standing})
		}
		return d
	}
	// What the record of a parent knew was lost when v1 was denied, and v2 was let through in the same second.
	inPod := func(age int) *v1alpha1.Decision {
		d := of(v1alpha1.StandingFirst)
		d.Versions[0].Version, d.Versions[0].PodCreated = "web:v1", new(later(age))
		return d
	}
	upgraded := []v1alpha1.ControllerVersion{{
		ID: "Controller/" + user, User: user, Trigger: v1alpha1.UpgradeOfController, Image: "web:v2", UpgradeAllowanceUID: "1", MovedAt: new(later(0)),
	}}
	byAnother, ofRevision := []v1alpha1.ControllerVersion{upgraded[0]}, []v1alpha1.ControllerVersion{upgraded[0]}
	byAnother[0].UpgradeAllowanceUID, ofRevision[0].Trigger = "2", v1alpha1.UpgradeOfFunction
	ofDeployment := func(standing v1alpha1.VersionStanding) *v1alpha1.Decision {
		d := of(standing)
		d.Operation, d.Kind, d.Name, d.Paths = "Update", "Deployment", "web", []string{"spec.replicas"}
		return d
	}
	first := func(image string) *v1alpha1.Decision {
		d := of(v1alpha1.StandingFirst)
		d.Versions[0].Version = image
		return d
	}
	passed := func(change func(*v1alpha1.HistoryEntry)) []v1alpha1.HistoryEntry {
		e := v1alpha1.HistoryEntry{
			Time: later(2), Event: v1alpha1.EventExercised, User: user, Operation: "Update", Kind: "Deployment",
			Names: []string{"other", "web"}, Paths: []string{"spec.paused", "spec.replicas"},
		}
		change(&e)
		return []v1alpha1.HistoryEntry{e}
	}
	withheld := []v1alpha1.Allowance{{Relation: v1alpha1.RelationWithheld}}
	moving := []v1alpha1.ControllerVersion{{
		ID: "Controller/" + user, User: user, Trigger: v1alpha1.UpgradeOfController, Image: "web:v2", PodCreated: new(later(0)), LastUsed: new(later(1)),
	}}
	same := []v1alpha1.ControllerVersion{moving[0]}
	same[0].Image = "web:v1"
	// What was in the way may have gone within seconds.
	helpless := func(d *v1alpha1.Decision) *v1alpha1.Decision {
		d.NoUpgrade = true
		return d
	}
	settled := func(d *v1alpha1.Decision) *v1alpha1.Decision {
		d.Settled = true
		return d
	}
	used := []v1alpha1.ControllerVersion{{User: user, LastUsed: new(later(10))}}
	tests := map[string]struct {
		denial   *v1alpha1.Decision
		versions []v1alpha1.ControllerVersion
		triggers []v1alpha1.UpgradeTrigger
		names    []string
		history  []v1alpha1.HistoryEntry
		active   []v1alpha1.Allowance
		after    time.Duration
		waits    bool
		want     bool
	}{
		"nothing was denied": {},
		"something was":      {denial: denial(user, later(1)), want: true},
		"something else was, of which no version is known":               {denial: &v1alpha1.Decision{User: user, Time: later(1), Kind: "XDatabase"}},
		"something was, while a stranger's change is withheld":           {denial: denial(user, later(1)), active: withheld},
		"a stranger's change was withheld then":                          {denial: helpless(denial(user, later(1)))},
		"a stranger's change was withheld then, and it was upgraded":     {denial: helpless(denial(user, later(1))), versions: upgraded},
		"a stranger's change was withheld then, and still is":            {denial: helpless(denial(user, later(1))), active: withheld, waits: true},
		"a controller's parent has settled since":                        {denial: settled(of(v1alpha1.StandingNew)), want: true},
		"what is made from a revision has settled since":                 {denial: settled(of(v1alpha1.StandingNew, v1alpha1.StandingFirst))},
		"what is made from a revision waits":                             {denial: of(v1alpha1.StandingNew, v1alpha1.StandingFirst), want: true},
		"an older version was":                                           {denial: of(v1alpha1.StandingOlder)},
		"a new version was":                                              {denial: of(v1alpha1.StandingNew), want: true},
		"the version was that it moves to":                               {denial: of(v1alpha1.StandingMoving), want: true},
		"what is agreed to is over, and the rest was":                    {denial: ofDeployment(v1alpha1.StandingSame), versions: upgraded, want: true},
		"what is agreed to is over, and a stranger's change is withheld": {denial: ofDeployment(v1alpha1.StandingSame), versions: upgraded, active: withheld},
		"a stranger's change is withheld":                                {denial: ofDeployment(v1alpha1.StandingNew), active: withheld, want: true},
		"what is agreed to is over, and what it does not name was":       {denial: of(v1alpha1.StandingSame), versions: upgraded},
		"it had the version before":                                      {denial: ofDeployment(v1alpha1.StandingSame), versions: same},
		"another one upgraded it, and the rest was":                      {denial: ofDeployment(v1alpha1.StandingSame), versions: byAnother},
		"something else was upgraded by it":                              {denial: ofDeployment(v1alpha1.StandingSame), versions: ofRevision},
		"nobody knows the version":                                       {denial: of(v1alpha1.StandingUnknown), want: true},
		"nobody knows the version, and it is over":                       {denial: of(v1alpha1.StandingUnknown), versions: upgraded},
		"nobody knows the version, and the rest was":                     {denial: ofDeployment(v1alpha1.StandingUnknown), versions: upgraded, want: true},
		"what ran before was":                                            {denial: first("web:v1")},
		"what did not run before was":                                    {denial: first("web:v2"), want: true},
		"what it names was":                                              {denial: first("web:v1"), names: []string{"web:v1"}, want: true},
		"what it does not name was":                                      {denial: first("web:v2"), names: []string{"web:v3"}},
		"a version was that is none of its triggers":                     {denial: of(v1alpha1.StandingNew), triggers: []v1alpha1.UpgradeTrigger{v1alpha1.UpgradeOfComposition}},
		"nobody has tried for long":                                      {denial: of(v1alpha1.StandingNew), after: 20*time.Minute + time.Second},
		"nobody has tried for long, and the parent waits":                {denial: of(v1alpha1.StandingNew), after: time.Hour, waits: true, want: true},
		"a controller may wait to try":                                   {denial: of(v1alpha1.StandingNew), after: 20 * time.Minute, want: true},
		"it passed since by an approval":                                 {denial: ofDeployment(v1alpha1.StandingNew), history: passed(func(*v1alpha1.HistoryEntry) {})},
		"it passed before by an approval":                                {denial: ofDeployment(v1alpha1.StandingNew), history: passed(func(e *v1alpha1.HistoryEntry) { e.Time = later(0) }), want: true},
		"it was denied again":                                            {denial: ofDeployment(v1alpha1.StandingNew), history: passed(func(e *v1alpha1.HistoryEntry) { e.Event = v1alpha1.EventDenied }), want: true},
		"somebody else passed":                                           {denial: ofDeployment(v1alpha1.StandingNew), history: passed(func(e *v1alpha1.HistoryEntry) { e.User = "alice" }), want: true},
		"another child passed":                                           {denial: ofDeployment(v1alpha1.StandingNew), history: passed(func(e *v1alpha1.HistoryEntry) { e.Names = e.Names[:1] }), want: true},
		"another kind passed":                                            {denial: ofDeployment(v1alpha1.StandingNew), history: passed(func(e *v1alpha1.HistoryEntry) { e.Kind = "Pod" }), want: true},
		"another field passed":                                           {denial: ofDeployment(v1alpha1.StandingNew), history: passed(func(e *v1alpha1.HistoryEntry) { e.Paths = e.Paths[:1] }), want: true},
		"another operation passed":                                       {denial: ofDeployment(v1alpha1.StandingNew), history: passed(func(e *v1alpha1.HistoryEntry) { e.Operation = "Delete" }), want: true},
		"an older version was, of a Composition":                         {denial: of(v1alpha1.StandingNew, v1alpha1.StandingOlder), want: true},
		"an older version was, of a new Composition":                     {denial: of(v1alpha1.StandingOlder, v1alpha1.StandingNew)},
		"an older version was, of a new Composition that is agreed to": {
			denial: of(v1alpha1.StandingOlder, v1alpha1.StandingNew), triggers: []v1alpha1.UpgradeTrigger{v1alpha1.UpgradeOfController, v1alpha1.UpgradeOfComposition}, want: true,
		},
		"one was that is older by now":               {denial: inPod(-1), versions: moving},
		"one was that is as old":                     {denial: inPod(0), versions: moving, want: true},
		"one was that is newer":                      {denial: inPod(1), versions: moving, want: true},
		"it was in an older Pod":                     {denial: inPod(-1), versions: same},
		"somebody else was":                          {denial: denial("mallory", later(1))},
		"it was before":                              {denial: denial(user, later(-1))},
		"it passed since":                            {denial: denial(user, later(1)), versions: used},
		"it passed before":                           {denial: denial(user, later(11)), versions: used, want: true},
		"the parent was made by it":                  {denial: denial(user, later(1)), versions: []v1alpha1.ControllerVersion{{User: user}}, want: true},
		"it has moved since to a revision":           {denial: denial(user, later(1)), versions: []v1alpha1.ControllerVersion{{User: user, Trigger: v1alpha1.UpgradeOfComposition, MovedAt: new(later(10))}}},
		"it has moved to a revision before":          {denial: denial(user, later(11)), versions: []v1alpha1.ControllerVersion{{User: user, Trigger: v1alpha1.UpgradeOfComposition, MovedAt: new(later(10))}}, want: true},
		"it has moved since to an image":             {denial: denial(user, later(1)), versions: []v1alpha1.ControllerVersion{{User: user, Trigger: v1alpha1.UpgradeOfController, MovedAt: new(later(10))}}, want: true},
		"somebody else passed since, and it did not": {denial: denial(user, later(1)), versions: []v1alpha1.ControllerVersion{{User: "other", LastUsed: new(later(10))}}, want: true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			status := &v1alpha1.AllowanceRecordStatus{LastDenial: tt.denial, Versions: tt.versions, History: tt.history, Active: tt.active}
			if tt.waits {
				status.Blocked = &v1alpha1.Blocked{Since: tt.denial.Time}
			}
			u := agreed(func(u *v1alpha1.UpgradeAllowance) { u.Spec.Triggers, u.Spec.Versions = tt.triggers, tt.names })
			now := later(12)
			if tt.after > 0 {
				now = metav1.NewTime(tt.denial.Time.Add(tt.after))
			}
			if got := looked(t, u, func(*view) {}).allowance.IsBlocked(status, now.Time); got != tt.want {
				t.Errorf("blocked: %v", got)
			}
		})
	}
}

func TestUsable(t *testing.T) {
	same := func(*v1alpha1.UpgradeAllowance) {}
	unstamped := agreed(same)
	unstamped.Spec.Versions = []string{"*:v2"}
	tests := map[string]struct {
		u    *v1alpha1.UpgradeAllowance
		want bool
	}{
		"accepted":     {u: agreed(same), want: true},
		"not accepted": {u: agreed(func(u *v1alpha1.UpgradeAllowance) { u.Status.AcceptedAt = nil })},
		"unstamped":    {u: unstamped},
		"wrong":        {u: agreed(func(u *v1alpha1.UpgradeAllowance) { u.Spec.Versions = []string{"*"} })},
		"withdrawn":    {u: agreed(func(u *v1alpha1.UpgradeAllowance) { u.DeletionTimestamp = &accepted })},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if _, got := usable(tt.u, controllertest.ServedKinds()); got != tt.want {
				t.Errorf("usable: %v", got)
			}
		})
	}
}

// TestCountParent counts a parent once, of however many versions it was upgraded to.
func TestCountParent(t *testing.T) {
	version := func(by types.UID, moved bool) v1alpha1.ControllerVersion {
		v := v1alpha1.ControllerVersion{UpgradeAllowanceUID: by}
		if moved {
			v.MovedAt = new(accepted)
		}
		return v
	}
	u := agreed(func(u *v1alpha1.UpgradeAllowance) { u.UID = "mine" })
	tests := map[string]struct {
		versions      []v1alpha1.ControllerVersion
		moving, moved int32
	}{
		"nothing":             {},
		"of another":          {versions: []v1alpha1.ControllerVersion{version("other", true), version("", false)}},
		"moved twice":         {versions: []v1alpha1.ControllerVersion{version("mine", true), version("mine", true)}, moved: 1},
		"moved, and moving":   {versions: []v1alpha1.ControllerVersion{version("mine", true), version("mine", false)}, moving: 1},
		"moving, and another": {versions: []v1alpha1.ControllerVersion{version("mine", false), version("other", true)}, moving: 1},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			v := &view{u: u}
			v.countParent(tt.versions)
			if v.moving != tt.moving || v.moved != tt.moved {
				t.Errorf("%d moving, %d moved", v.moving, v.moved)
			}
		})
	}
}
