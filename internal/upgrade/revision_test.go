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

	"kausality.io/operator/api/v1alpha1"
)

// graph returns a revision of one, with a digest of what it says, and minutes after the start.
func graph(revision, digest string, minutes int) Version {
	return Version{Trigger: v1alpha1.UpgradeOfResourceGraph, Revision: revision, Digest: digest, Created: after(minutes)}
}

// ofGraphs returns an UpgradeAllowance for them that was accepted ten minutes after the start.
func ofGraphs(t *testing.T, versions ...string) *Allowance {
	t.Helper()
	u := &v1alpha1.UpgradeAllowance{Spec: v1alpha1.UpgradeAllowanceSpec{
		ServiceAccount: controller, Triggers: []v1alpha1.UpgradeTrigger{v1alpha1.UpgradeOfResourceGraph}, Versions: versions,
		Policies: []v1alpha1.PolicyEntry{{
			Target: v1alpha1.Target{APIVersion: "v1", Resource: "configmaps"}, Relation: v1alpha1.RelationControllerChild, Verbs: []string{"Update"},
		}},
	}}
	u.Name, u.UID = "edited", "uid-of-edited"
	u.Status.AcceptedAt = new(metav1.NewTime(after(10)))
	a, errs := Compile(u, noKinds)
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	return a
}

func TestAskAboutGraphs(t *testing.T) {
	now := after(60)
	made := func(v Version) []v1alpha1.ControllerVersion {
		return []v1alpha1.ControllerVersion{*MadeBy(controller, v, v.Created)}
	}
	r1, r2, r3 := graph("webapp-r1", "a", 1), graph("webapp-r2", "b", 20), graph("webapp-r3", "a", 30)
	plain, named := ofGraphs(t), ofGraphs(t, "webapp-r1")
	moving := made(r2)
	moving[0].MovedAt, moving[0].LastUsed = nil, new(metav1.NewTime(now))
	tests := map[string]struct {
		allowance *Allowance
		memory    []v1alpha1.ControllerVersion
		by        Version
		want      Answer
	}{
		"the revision that it was made from": {allowance: plain, memory: made(r1), by: r1, want: Answer{Why: "the parent was upgraded to revision webapp-r1, or made by it"}},
		"a later one":                        {allowance: plain, memory: made(r1), by: r2, want: Answer{Open: true, Note: plain.begin(nil, r2, now).Note}},
		"one that is put back":               {allowance: plain, memory: made(r2), by: r3, want: Answer{Open: true, Note: plain.begin(nil, r3, now).Note}},
		"one that says the same":             {allowance: plain, memory: made(r1), by: r3, want: Answer{Why: "the parent was upgraded to revision webapp-r1, or made by it"}},
		"one that goes on":                   {allowance: plain, memory: moving, by: r2, want: Answer{Open: true}},
		"without memory, a later one":        {allowance: plain, by: r2, want: Answer{Open: true, Note: plain.begin(nil, r2, now).Note}},
		"without memory, one that was there": {allowance: plain, by: r1, want: Answer{Why: "revision webapp-r1 was there when it was accepted, and spec.versions does not name it"}},
		"without memory, one that is named":  {allowance: named, by: r1, want: Answer{Open: true, Note: named.begin(nil, r1, now).Note}},
		"one that no pattern names":          {allowance: named, memory: made(r1), by: r2, want: Answer{Why: "revision webapp-r2 is none of its versions"}},
		"one that is not known":              {allowance: plain, memory: made(r1), by: Version{Trigger: v1alpha1.UpgradeOfResourceGraph, Unknown: "why"}, want: Answer{Why: "the version that makes the request is not known: why"}},
		"a parent that remembers a controller": {
			allowance: plain, memory: []v1alpha1.ControllerVersion{*MadeBy(controller, at(v1, 1), after(1))}, by: r2,
			want: Answer{Open: true, Note: plain.begin(nil, r2, now).Note},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, tt.allowance.Ask(tt.memory, tt.by, now)); diff != "" {
				t.Errorf("answer (-want +got):\n%s", diff)
			}
		})
	}
}

// TestGraphsAndControllersAreRemembered beside each other.
func TestGraphsAndControllersAreRemembered(t *testing.T) {
	memory := RememberFirst(nil, *MadeBy(controller, at(v1, 1), after(1)))
	memory = RememberFirst(memory, *MadeBy(controller, graph("webapp-r1", "a", 1), after(1)))
	memory = Remember(memory, *ofGraphs(t).Ask(memory, graph("webapp-r2", "b", 20), after(30)).Note)
	var got []string
	for i := range memory {
		got = append(got, memory[i].ID+" "+Text(&memory[i]))
	}
	if diff := cmp.Diff([]string{"Controller/" + controller + " image " + v1, "ResourceGraph revision webapp-r2"}, got); diff != "" {
		t.Errorf("memory (-want +got):\n%s", diff)
	}
}

func TestDeclaredIsOfControllers(t *testing.T) {
	u := &v1alpha1.UpgradeAllowance{Spec: v1alpha1.UpgradeAllowanceSpec{
		ServiceAccount: controller, Detection: v1alpha1.DetectionDeclared, Triggers: []v1alpha1.UpgradeTrigger{v1alpha1.UpgradeOfResourceGraph},
	}}
	if _, errs := Compile(u, noKinds); len(errs) != 1 || errs[0].Field != "spec.detection" {
		t.Errorf("of graphs: %v", errs)
	}
	u.Spec.Triggers = append(u.Spec.Triggers, v1alpha1.UpgradeOfController)
	a, errs := Compile(u, noKinds)
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	unknown := Version{Trigger: v1alpha1.UpgradeOfResourceGraph, Unknown: "why"}
	if got := a.Ask(nil, unknown, time.Time{}); got.Open {
		t.Errorf("a revision that is not known passes as declared: %+v", got)
	}
	if got := a.Ask(nil, Version{}, time.Time{}); !got.Open {
		t.Errorf("a controller that is declared: %+v", got)
	}
}
