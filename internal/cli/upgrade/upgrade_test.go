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
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/cli/cluster"
	"kausality.io/operator/internal/cli/text"
	"kausality.io/operator/internal/policy"
	"kausality.io/operator/internal/upgrade"
)

const user = "system:serviceaccount:web-system:web-controller"

var now = time.Date(2026, time.November, 25, 12, 0, 0, 0, time.UTC)

func before(d time.Duration) metav1.Time { return metav1.NewTime(now.Add(-d)) }

// agreed returns an UpgradeAllowance that was accepted an hour ago.
func agreed() *v1alpha1.UpgradeAllowance {
	u := &v1alpha1.UpgradeAllowance{Spec: v1alpha1.UpgradeAllowanceSpec{
		ServiceAccount: user, Triggers: []v1alpha1.UpgradeTrigger{v1alpha1.UpgradeOfController, v1alpha1.UpgradeOfComposition},
	}}
	u.Name, u.UID = "v2", "uid-of-v2"
	u.Annotations = map[string]string{v1alpha1.AnnotationChangedBy: "greta"}
	u.Status.AcceptedAt = new(before(time.Hour))
	u.Status.Conditions = []metav1.Condition{
		{Type: v1alpha1.ConditionEnforced, Status: metav1.ConditionTrue, Message: "New versions are let through by it."},
		{Type: v1alpha1.ConditionUpgraded, Status: metav1.ConditionFalse, Reason: "Blocked", Message: "Something was denied."},
	}
	return u
}

// compiled compiles an UpgradeAllowance on a cluster that serves nothing.
func compiled(u *v1alpha1.UpgradeAllowance) *upgrade.Allowance {
	a, _ := upgrade.Compile(u, func(schema.GroupVersionResource) (schema.GroupVersionKind, bool) {
		return schema.GroupVersionKind{}, false
	})
	return a
}

// recordOf returns the record of a Deployment in namespace shop.
func recordOf(name string, status v1alpha1.AllowanceRecordStatus) v1alpha1.AllowanceRecord {
	return v1alpha1.AllowanceRecord{
		Spec: v1alpha1.AllowanceRecordSpec{TargetRef: v1alpha1.TargetReference{
			Group: "apps", Version: "v1", Kind: "Deployment", Namespace: "shop", Name: name, UID: types.UID(name),
		}},
		Status: status,
	}
}

// image returns a version of the controller that a parent remembers, and by is it let through.
func image(image string, since time.Duration, moved bool, by types.UID) v1alpha1.ControllerVersion {
	v := v1alpha1.ControllerVersion{
		ID: "Controller/" + user, User: user, Trigger: v1alpha1.UpgradeOfController, Image: image, Since: before(since), UpgradeAllowanceUID: by,
	}
	if moved {
		v.MovedAt = new(before(since - time.Minute))
	}
	return v
}

// ofNew is what a denied request of a new version comes from.
var ofNew = []v1alpha1.RequestVersion{{Trigger: v1alpha1.UpgradeOfController, Version: "web:v2", Standing: v1alpha1.StandingNew}}

func TestCollect(t *testing.T) {
	versions := func(v ...v1alpha1.ControllerVersion) v1alpha1.AllowanceRecordStatus {
		return v1alpha1.AllowanceRecordStatus{Versions: v}
	}
	ofRevision := v1alpha1.ControllerVersion{ID: "Composition", User: "alice", Trigger: v1alpha1.UpgradeOfComposition, Revision: "db-a", Since: before(2 * time.Hour), MovedAt: new(before(2 * time.Hour))}
	denied := versions(image("web:v1", 2*time.Hour, true, ""))
	denied.LastDenial = &v1alpha1.Decision{
		User: user, Time: before(5 * time.Minute), Operation: "Update", Kind: "ReplicaSet", Name: "web-1", Paths: []string{"spec.replicas"},
		Versions: ofNew,
	}
	denied.Active = []v1alpha1.Allowance{{Relation: v1alpha1.RelationWithheld, Mutation: "spec.paused", Initiator: "mallory"}}
	givenUp := *denied.DeepCopy()
	givenUp.LastDenial.Time = before(30 * time.Minute)
	deniedBefore := versions(image("web:v1", 2*time.Hour, true, ""))
	deniedBefore.LastDenial = &v1alpha1.Decision{User: user, Time: before(90 * time.Minute)}
	ended := versions(image("web:v2", time.Minute, false, "uid-of-v2"))
	ended.EndedAt = new(before(time.Second))
	tests := map[string]struct {
		status   v1alpha1.AllowanceRecordStatus
		versions []string
		want     []Parent
	}{
		"nothing is remembered": {},
		"it is over":            {status: ended},
		"it is moving": {
			status: versions(image("web:v2", time.Minute, false, "uid-of-v2")),
			want:   []Parent{{State: Moving, Versions: []string{"image web:v2"}, Since: before(time.Minute), On: "until it has settled and nothing more is written"}},
		},
		"it has moved": {
			status: versions(image("web:v2", 10*time.Minute, true, "uid-of-v2")),
			want:   []Parent{{State: Moved, Versions: []string{"image web:v2"}, Since: before(9 * time.Minute)}},
		},
		"another UpgradeAllowance moved it before": {
			status: versions(image("web:v1", 2*time.Hour, true, "uid-of-v1")),
			want:   []Parent{{State: Waits, Versions: []string{"image web:v1"}, Since: before(2 * time.Hour), On: "no change of its children was asked for"}},
		},
		"another UpgradeAllowance moved it to what this one names": {
			status: versions(image("web:v2", 2*time.Hour, true, "uid-of-another")), versions: []string{"web:v2*"},
		},
		"another UpgradeAllowance moved it to what this one does not name": {
			status: versions(image("web:v1", 2*time.Hour, true, "uid-of-another")), versions: []string{"web:v2*"},
			want: []Parent{{State: Waits, Versions: []string{"image web:v1"}, Since: before(2 * time.Hour), On: "no change of its children was asked for"}},
		},
		"it was made since":       {status: versions(image("web:v2", time.Minute, true, ""))},
		"it was denied something": {status: denied, want: []Parent{{State: Blocked, Versions: []string{"image web:v1"}, Since: before(5 * time.Minute), On: "update of ReplicaSet/web-1: spec.replicas; spec.paused by mallory is withheld: kubectl kausality why -n shop deployment/web"}}},
		"it was denied something before": {
			status: deniedBefore,
			want:   []Parent{{State: Waits, Versions: []string{"image web:v1"}, Since: before(2 * time.Hour), On: "no change of its children was asked for"}},
		},
		"somebody else had it go over to another revision": {
			status: versions(ofRevision),
			want:   []Parent{{State: Waits, Versions: []string{"CompositionRevision db-a"}, Since: before(2 * time.Hour), On: "no change of its children was asked for"}},
		},
		"it is about other revisions of the Composition": {
			status: versions(ofRevision), versions: []string{"db-b*"},
			want: []Parent{{State: Waits, Versions: []string{"CompositionRevision db-a"}, Since: before(2 * time.Hour), On: "no change of its children was asked for"}},
		},
		"it is about all Compositions": {
			status: versions(ofRevision), versions: []string{"*-b"},
			want: []Parent{{State: Waits, Versions: []string{"CompositionRevision db-a"}, Since: before(2 * time.Hour), On: "no change of its children was asked for"}},
		},
		"it is about another Composition":           {status: versions(ofRevision), versions: []string{"network-*", "dbs-a"}},
		"what it was denied has long been given up": {status: givenUp, versions: []string{"web:v1"}},
		"it is about nothing of this": {
			status: versions(v1alpha1.ControllerVersion{ID: "Function/a", User: user, Trigger: v1alpha1.UpgradeOfFunction, Image: "a:v1", Since: before(2 * time.Hour)}),
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			rec := recordOf("web", tt.status)
			for i := range tt.want {
				tt.want[i].Object = rec.Spec.TargetRef
			}
			u := agreed()
			u.Spec.Versions = tt.versions
			got := collect(u, compiled(u), []v1alpha1.AllowanceRecord{rec}, now).Parents
			if diff := cmp.Diff(append([]Parent{}, tt.want...), got); diff != "" {
				t.Errorf("parents (-want +got):\n%s", diff)
			}
		})
	}
}

// TestRender shows the blocked ones first.
func TestRender(t *testing.T) {
	blocked := v1alpha1.AllowanceRecordStatus{
		Versions:   []v1alpha1.ControllerVersion{image("web:v1", 2*time.Hour, true, "")},
		LastDenial: &v1alpha1.Decision{User: user, Time: before(5 * time.Minute), Operation: "Update", Kind: "ReplicaSet", Name: "b-1", Paths: []string{"spec.replicas"}, Versions: ofNew},
	}
	moved := v1alpha1.AllowanceRecordStatus{Versions: []v1alpha1.ControllerVersion{image("web:v2", 10*time.Minute, true, "uid-of-v2")}}
	report := collect(agreed(), compiled(agreed()), []v1alpha1.AllowanceRecord{recordOf("a", moved), recordOf("b", blocked)}, now)
	const want = `UpgradeAllowance/v2 of system:serviceaccount:web-system:web-controller, by greta
It lets through what is new of: Controller, Composition.
Enforced: yes. New versions are let through by it.
Upgraded: no, Blocked. Something was denied.

  STATE     AGE      NAMESPACE   PARENT         MADE FROM      WAITS FOR
  Blocked   5m ago   shop        Deployment/b   image web:v1   update of ReplicaSet/b-1: spec.replicas
  Moved     9m ago   shop        Deployment/a   image web:v2

Why:                        kubectl kausality why -n shop deployment/b
What would let it through:  kubectl kausality upgrade suggest web-system/web-controller
`
	if diff := cmp.Diff(want, render(report, text.Terminal{Width: 110}, now)); diff != "" {
		t.Errorf("text (-want +got):\n%s", diff)
	}
	if got := render(collect(agreed(), compiled(agreed()), nil, now), text.Terminal{}, now); !strings.HasSuffix(got, "\nNo AllowanceRecord tells of a parent that it is about.\n") {
		t.Errorf("without parents: %s", got)
	}
}

// policies bound the ReplicaSets of Deployments.
func policies(t *testing.T) cluster.Policies {
	t.Helper()
	return cluster.Policies{Index: policy.NewIndex([]*policy.Policy{compile(t, `
metadata: {name: deployment}
spec:
  for: {apiGroup: apps, apiVersion: v1, kind: Deployment}
  subjects: [{kind: Group, name: platform-team, mayInitiate: true}]
  rules:
  - trigger: spec.template
    policies:
    - target: {apiGroup: apps, apiVersion: v1, resource: replicasets}
      relation: ControllerChild
      verbs: [Create, Update]
      mutations: [{jsonPath: spec.replicas}]
`)})}
}

func TestSuggest(t *testing.T) {
	denial := func(change func(*v1alpha1.HistoryEntry), paths ...string) v1alpha1.HistoryEntry {
		e := v1alpha1.HistoryEntry{
			Event: v1alpha1.EventDenied, Time: before(5 * time.Minute), User: user, Kind: "ReplicaSet", Policies: []string{"deployment"}, Paths: paths,
		}
		change(&e)
		return e
	}
	as := func(*v1alpha1.HistoryEntry) {}
	web := recordOf("web", v1alpha1.AllowanceRecordStatus{
		Versions: []v1alpha1.ControllerVersion{
			image("web:v1", time.Hour, true, ""), {ID: "Composition", User: "alice", Trigger: v1alpha1.UpgradeOfComposition, Revision: "a"},
			{ID: "Controller/other", User: "other", Trigger: v1alpha1.UpgradeOfController, Image: "other:v1"},
		},
		History: []v1alpha1.HistoryEntry{
			denial(as, "spec.template.spec.containers[0].image", "spec.replicas"),
			denial(func(e *v1alpha1.HistoryEntry) { e.Count = 3 }, v1alpha1.MutationCreateObject, "metadata.ownerReferences"),
			denial(func(e *v1alpha1.HistoryEntry) { e.User = "mallory" }, "spec.paused"),
			denial(func(e *v1alpha1.HistoryEntry) { e.Time = before(2 * time.Hour) }, "spec.paused"),
			denial(func(e *v1alpha1.HistoryEntry) { e.Event = v1alpha1.EventAllowed }, "spec.paused"),
			denial(func(e *v1alpha1.HistoryEntry) { e.Kind = "Secret" }, "data"),
		},
	})
	other := recordOf("other", v1alpha1.AllowanceRecordStatus{History: []v1alpha1.HistoryEntry{
		denial(as, v1alpha1.MutationDeleteObject), denial(as, "spec.template.spec.containers[1].image"),
	}})
	s, err := suggestFrom([]v1alpha1.AllowanceRecord{web, other}, policies(t), nowhere, user, now.Add(-time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	got, err := s.write()
	if err != nil {
		t.Fatal(err)
	}
	const want = `# What would have let refusals through. Cut it down to what you want before you apply it.
# A controller may ask for more once this passes, such as to create what takes the place of what it deletes: ask again then.
# replicasets: refused 6 times, for Deployment/web, Deployment/other
# triggers: any of these may be what is new. Keep what you change.
# Not in it: whose child a ReplicaSet is (metadata.ownerReferences), no UpgradeAllowance lets anybody change.
# Not in it: no policy that there is names the resource of kind Secret any more.
apiVersion: kausality.io/v1alpha1
kind: UpgradeAllowance
metadata:
  name: upgrade-web-controller
spec:
  serviceAccount: system:serviceaccount:web-system:web-controller
  triggers:
  - Composition
  - Controller
  policies:
  - target:
      apiGroup: apps
      apiVersion: v1
      resource: replicasets
    relation: ControllerChild
    verbs:
    - Create
    - Delete
    mutations:
    - jsonPath: spec.replicas
    - jsonPath: spec.template.spec.containers[*].image
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("suggestion (-want +got):\n%s", diff)
	}
	if _, err := suggestFrom([]v1alpha1.AllowanceRecord{web}, policies(t), nowhere, "nobody", now); !errors.Is(err, errNothing) {
		t.Errorf("of nobody: %v", err)
	}
}

// TestSuggestForVersions has an UpgradeAllowance suggested for what an upgrade would let through only.
func TestSuggestForVersions(t *testing.T) {
	by := func(version string, created time.Duration, standing v1alpha1.VersionStanding) v1alpha1.RequestVersion {
		out := v1alpha1.RequestVersion{Trigger: v1alpha1.UpgradeOfController, Version: version, Standing: standing}
		if version != "" {
			out.PodCreated = new(before(created))
		}
		return out
	}
	of := func(trigger v1alpha1.UpgradeTrigger, version string, standing v1alpha1.VersionStanding) v1alpha1.RequestVersion {
		return v1alpha1.RequestVersion{Trigger: trigger, Version: version, Standing: standing}
	}
	denied := func(path string, versions ...v1alpha1.RequestVersion) v1alpha1.HistoryEntry {
		return v1alpha1.HistoryEntry{
			Event: v1alpha1.EventDenied, Time: before(5 * time.Minute), User: user, Kind: "ReplicaSet", Policies: []string{"deployment"},
			Paths: []string{path}, Versions: versions,
		}
	}
	revisions := make([]v1alpha1.HistoryEntry, 0, maxVersions+1)
	var paths []string
	for i := range maxVersions + 1 {
		path := fmt.Sprintf("spec.p%02d", i)
		paths = append(paths, path)
		revisions = append(revisions, denied(path, of(v1alpha1.UpgradeOfComposition, path, v1alpha1.StandingNew)))
	}
	controller := []v1alpha1.UpgradeTrigger{v1alpha1.UpgradeOfController}
	composition := []v1alpha1.UpgradeTrigger{v1alpha1.UpgradeOfComposition}
	withheld := func(path string) v1alpha1.HistoryEntry {
		e := denied(path)
		e.Message = "changing " + path + " of ReplicaSet web-1 is not allowed by its parent Deployment web (Steady, AllowancePolicy deployment), which allows " +
			"nothing while the change of spec.paused by mallory is withheld. Nobody may initiate changes of Deployment web."
		return e
	}
	paused := []v1alpha1.Allowance{{Relation: v1alpha1.RelationWithheld, Mutation: "spec.paused", Initiator: "mallory"}}
	const isWithheld = "what was refused 2 times for Deployment/web, as something is withheld, which no UpgradeAllowance lets through: " +
		"approve it or take it back, see kubectl kausality why -n shop deployment/web"
	tests := map[string]struct {
		history  []v1alpha1.HistoryEntry
		triggers []v1alpha1.UpgradeTrigger
		versions []string
		declared bool
		paths    []string
		notes    []string
	}{
		"of the old version and the new one": {
			history: []v1alpha1.HistoryEntry{
				denied("spec.old", by("web:v1", 30*time.Minute, v1alpha1.StandingOlder)), denied("spec.new", by("web:v2", time.Minute, v1alpha1.StandingMoving)),
				denied("spec.before", by("web:v1", 30*time.Minute, v1alpha1.StandingSame)),
			},
			triggers: controller, versions: []string{"web:v2"}, paths: []string{"spec.new"},
			notes: []string{"what web:v1 was refused 2 times: the parents were made by it, or another version has replaced it"},
		},
		"of parents that remember none": {
			history:  []v1alpha1.HistoryEntry{denied("spec.new", by("web:v2", time.Minute, v1alpha1.StandingFirst)), denied("spec.old", by("web:v1", time.Hour, v1alpha1.StandingFirst))},
			triggers: controller, versions: []string{"web:v2"}, paths: []string{"spec.new"},
			notes: []string{"what web:v1 was refused 1 times: the parents were made by it, or another version has replaced it"},
		},
		"of a version that was put back": {
			history:  []v1alpha1.HistoryEntry{denied("spec.two", by("web:v2", 30*time.Minute, v1alpha1.StandingNew)), denied("spec.one", by("web:v1.1", time.Minute, v1alpha1.StandingNew))},
			triggers: controller, versions: []string{"web:v1.1"}, paths: []string{"spec.one"},
			notes: []string{"what web:v2 was refused 1 times: the parents were made by it, or another version has replaced it"},
		},
		"of what is made from another revision": {
			history: []v1alpha1.HistoryEntry{denied("spec.new",
				by("xp:v2", time.Hour, v1alpha1.StandingSame), of(v1alpha1.UpgradeOfComposition, "db-b", v1alpha1.StandingNew), of(v1alpha1.UpgradeOfFunction, "f:v1", v1alpha1.StandingFirst))},
			triggers: composition, versions: []string{"db-b"}, paths: []string{"spec.new"},
		},
		"of more revisions than can be named": {history: revisions, triggers: composition, paths: paths},
		"of what nothing is known of": {
			history:  []v1alpha1.HistoryEntry{denied("spec.new", by("", 0, v1alpha1.StandingUnknown), of(v1alpha1.UpgradeOfResourceGraph, "", v1alpha1.StandingUnknown))},
			triggers: controller, declared: true, paths: []string{"spec.new"},
		},
		"of what waits for something that is withheld, too": {
			history: []v1alpha1.HistoryEntry{
				withheld("spec.size"), denied("spec.new", of(v1alpha1.UpgradeOfComposition, "db-b", v1alpha1.StandingNew)), withheld(v1alpha1.MutationDeleteObject),
			},
			triggers: composition, versions: []string{"db-b"}, paths: []string{"spec.new"}, notes: []string{isWithheld},
		},
		"of a controller without a Pod, and of a revision": {
			history: []v1alpha1.HistoryEntry{
				denied("spec.new", by("", 0, v1alpha1.StandingUnknown), of(v1alpha1.UpgradeOfComposition, "db-b", v1alpha1.StandingNew)),
				denied("spec.first", by("", 0, v1alpha1.StandingUnknown), of(v1alpha1.UpgradeOfComposition, "db-b", v1alpha1.StandingFirst)),
				denied("spec.old", by("", 0, v1alpha1.StandingUnknown), of(v1alpha1.UpgradeOfComposition, "db-a", v1alpha1.StandingSame)),
				denied("spec.none", by("", 0, v1alpha1.StandingUnknown)),
			},
			triggers: composition, versions: []string{"db-b"}, paths: []string{"spec.first", "spec.new"}, notes: []string{
				"what a version that is not known was refused 1 times: the parents were made by it, or another version has replaced it",
				"what db-a was refused 1 times: the parents were made by it, or another version has replaced it",
			},
		},
		"of an earlier release": {history: []v1alpha1.HistoryEntry{denied("spec.new")}, triggers: controller, paths: []string{"spec.new"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s, err := suggestFrom([]v1alpha1.AllowanceRecord{recordOf("web", v1alpha1.AllowanceRecordStatus{Active: paused, History: tt.history})}, policies(t), nowhere, user, now.Add(-time.Hour))
			if err != nil {
				t.Fatal(err)
			}
			spec := s.upgrade.Spec
			if diff := cmp.Diff(tt.triggers, spec.Triggers); diff != "" {
				t.Errorf("triggers (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.versions, spec.Versions); diff != "" {
				t.Errorf("versions (-want +got):\n%s", diff)
			}
			if declared := spec.Detection == v1alpha1.DetectionDeclared; declared != tt.declared {
				t.Errorf("detection %q", spec.Detection)
			}
			var paths []string
			for _, m := range spec.Policies[0].Mutations {
				paths = append(paths, m.JSONPath)
			}
			if diff := cmp.Diff(tt.paths, paths); diff != "" {
				t.Errorf("paths (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.notes, s.notes); diff != "" {
				t.Errorf("notes (-want +got):\n%s", diff)
			}
		})
	}
	only := recordOf("web", v1alpha1.AllowanceRecordStatus{Active: paused, History: []v1alpha1.HistoryEntry{withheld("spec.size"), withheld(v1alpha1.MutationDeleteObject)}})
	if _, err := suggestFrom([]v1alpha1.AllowanceRecord{only}, policies(t), nowhere, user, now.Add(-time.Hour)); !errors.Is(err, errNothing) || !strings.Contains(err.Error(), isWithheld) {
		t.Errorf("of what waits for something that is withheld: %v", err)
	}
	gone, approved := only, only
	gone.Status.EndedAt, approved.Status.Active = new(before(time.Minute)), nil
	for name, rec := range map[string]v1alpha1.AllowanceRecord{"is gone": gone, "was approved": approved} {
		if _, err := suggestFrom([]v1alpha1.AllowanceRecord{rec}, policies(t), nowhere, user, now.Add(-time.Hour)); !errors.Is(err, errNothing) || strings.Contains(err.Error(), "withheld") {
			t.Errorf("of what waited for something withheld of what %s: %v", name, err)
		}
	}
	old := recordOf("web", v1alpha1.AllowanceRecordStatus{History: []v1alpha1.HistoryEntry{denied("spec.old", by("web:v1", time.Hour, v1alpha1.StandingSame))}})
	if _, err := suggestFrom([]v1alpha1.AllowanceRecord{old}, policies(t), nowhere, user, now.Add(-time.Hour)); !errors.Is(err, errNothing) || !strings.Contains(err.Error(), "what web:v1 was refused 1 times") {
		t.Errorf("of what no upgrade lets through: %v", err)
	}
}

func TestUserOf(t *testing.T) {
	tests := map[string]string{
		"web-system/web-controller": user, user: user, "system:kube-controller-manager": "system:kube-controller-manager",
		"web-controller": "", "/web-controller": "", "web-system/": "", "a/b/c": "",
	}
	for arg, want := range tests {
		t.Run(arg, func(t *testing.T) {
			if got, err := userOf(arg); got != want || (err != nil) != (want == "") {
				t.Errorf("user %q, %v", got, err)
			}
		})
	}
}

// What is suggested is applied: names in the comments say nothing beside them.
func TestNoNameEndsAComment(t *testing.T) {
	s := &suggested{upgrade: &v1alpha1.UpgradeAllowance{}, from: []string{"role a\nspec: {}"}, notes: []string{"role b\u2028\rspec: {}"}}
	text, err := s.write()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`# role a\nspec: {}` + "\n", `# Not in it: role b\u2028\rspec: {}.` + "\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in:\n%s", want, text)
		}
	}
}
