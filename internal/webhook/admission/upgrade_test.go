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

package admission

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	testingclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
	"sigs.k8s.io/yaml"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/approved"
	"kausality.io/operator/internal/change"
	"kausality.io/operator/internal/decision"
	"kausality.io/operator/internal/eventrecorder"
	"kausality.io/operator/internal/ledger"
	"kausality.io/operator/internal/upgrade"
)

const replicaSetUpgrade = `
metadata:
  name: v2
  uid: uid-of-upgrade
  generation: 2
  annotations: {kausality.io/changed-by: greta}
spec:
  serviceAccount: ` + deployer + `
  policies:
  - target: {apiGroup: apps, apiVersion: v1, resource: replicasets}
    relation: ControllerChild
    mutations: [{jsonPath: spec.template}]
`

var upgradeBegan = time.Date(2026, 11, 24, 3, 0, 0, 0, time.UTC)

// pods are versions by the Pod that a token is bound to.
type pods struct {
	versions map[string]upgrade.Version
	broken   error
	asked    int
}

func (p *pods) Of(_ context.Context, r upgrade.Request) ([]upgrade.Version, error) {
	p.asked++
	if pod := r.User.Extra["pod"]; len(pod) == 1 {
		return []upgrade.Version{p.versions[pod[0]]}, p.broken
	}
	return []upgrade.Version{{Unknown: "its token is bound to no Pod"}}, p.broken
}

// upgrading is a world in which the controller of ReplicaSets is upgraded.
type upgrading struct {
	*world
	*pods
	mutator   *Mutator
	validator *Validator
	clock     *testingclock.FakePassiveClock
}

func newUpgrading(t *testing.T, parent *unstructured.Unstructured, allowances ...string) *upgrading {
	t.Helper()
	u := &upgrading{
		world: &world{
			cached:  map[string]*unstructured.Unstructured{key("Deployment", "web"): parent},
			live:    map[string]*unstructured.Unstructured{key("Deployment", "web"): parent},
			records: map[types.UID]*v1alpha1.AllowanceRecord{},
		},
		pods: &pods{versions: map[string]upgrade.Version{
			"old": {Image: "controller:v1", PodCreated: upgradeBegan.Add(-2 * time.Hour)},
			"new": {Image: "controller:v2", PodCreated: upgradeBegan.Add(-time.Hour)},
		}},
		clock: testingclock.NewFakePassiveClock(upgradeBegan),
	}
	u.mutator, u.validator = u.hooks(t, deploymentPolicy, replicaSetPolicy)
	active := &upgrade.Active{}
	var compiled []*upgrade.Allowance
	for _, text := range allowances {
		declared := &v1alpha1.UpgradeAllowance{}
		if err := yaml.UnmarshalStrict([]byte(text), declared); err != nil {
			t.Fatal(err)
		}
		a, errs := upgrade.Compile(declared, served{}.KindFor)
		if len(errs) > 0 {
			t.Fatal(errs)
		}
		compiled = append(compiled, a)
	}
	active.Set(compiled)
	g := u.validator.Gatherer
	g.Upgrades, g.Versions, g.Clock = active, upgrade.Sources{v1alpha1.UpgradeOfController: u.pods}, u.clock
	return u
}

// rememberingOld has Deployment web remember that it was made by version 1.
func (u *upgrading) rememberingOld() *upgrading {
	v := u.versions["old"]
	u.records["uid-web"] = &v1alpha1.AllowanceRecord{Spec: v1alpha1.AllowanceRecordSpec{TargetRef: v1alpha1.TargetReference{UID: "uid-web"}}, Status: v1alpha1.AllowanceRecordStatus{
		Versions: []v1alpha1.ControllerVersion{*upgrade.MadeBy(deployer, v, v.PodCreated)},
	}}
	return u
}

func (u *upgrading) moved() {
	u.records["uid-web"].Status.Versions[0].MovedAt = new(metav1.NewTime(u.clock.Now()))
}

func withTemplate(obj *unstructured.Unstructured, image string) *unstructured.Unstructured {
	obj = obj.DeepCopy()
	_ = unstructured.SetNestedField(obj.Object, image, "spec", "template", "image")
	obj.SetGeneration(obj.GetGeneration() + 1)
	return obj
}

// by returns a request of a Pod of the controller for another template of ReplicaSet web-1.
func by(t *testing.T, pod string) admission.Request {
	t.Helper()
	req := asking(t, deployer, nil, withTemplate(replicaSet(3), "a"), withTemplate(withTemplate(replicaSet(3), "a"), "b"))
	if pod != "" {
		req.UserInfo.Extra = map[string]authenticationv1.ExtraValue{"pod": {pod}}
	}
	return req
}

func TestUpgradeOfAController(t *testing.T) {
	u := newUpgrading(t, deployment(3), replicaSetUpgrade).rememberingOld()
	expect := func(what, pod string, want bool, says string) {
		t.Helper()
		resp := u.validator.Handle(t.Context(), by(t, pod))
		if resp.Allowed != want {
			t.Errorf("%s: allowed %t: %v", what, resp.Allowed, resp.Result)
		}
		if !want && !strings.Contains(resp.Result.Message, says) {
			t.Errorf("%s: %q does not say %q", what, resp.Result.Message, says)
		}
		if told := upgrade.Told(resp.Result.Message); !want && (!strings.Contains(told, says) || strings.Contains(told, "Details")) {
			t.Errorf("%s: of upgrades it says %q", what, told)
		}
		if want && (resp.AuditAnnotations[auditReason] != "Upgrade" || !strings.Contains(resp.AuditAnnotations[auditTrace], `greta [{"kind":"UpgradeAllowance","name":"v2","generation":2,"field":"(upgrade)"}`)) {
			t.Errorf("%s: %v", what, resp.AuditAnnotations)
		}
	}
	expect("version 1", "old", false, "UpgradeAllowance v2 does not let it through: the parent was upgraded to image controller:v1, or made by it")
	expect("a token without a Pod", "", false, "the version that makes the request is not known: its token is bound to no Pod")
	expect("version 2", "new", true, "")
	u.clock.SetTime(upgradeBegan.Add(time.Second))
	expect("version 2 again", "new", true, "")
	expect("version 1 beside it", "old", false, "image controller:v1 is in an older Pod than image controller:v2")
	u.moved()
	expect("version 2 afterwards", "new", false, "the parent was upgraded to image controller:v2, or made by it")

	want := []v1alpha1.ControllerVersion{{
		ID: "Controller/" + deployer, User: deployer, Trigger: "Controller", Image: "controller:v2",
		PodCreated: new(metav1.NewTime(upgradeBegan.Add(-time.Hour))), UpgradeAllowance: "v2", UpgradeAllowanceUID: "uid-of-upgrade",
		Since: metav1.NewTime(upgradeBegan), LastUsed: new(metav1.NewTime(upgradeBegan)), MovedAt: new(metav1.NewTime(u.clock.Now())),
	}}
	if diff := cmp.Diff(want, u.records["uid-web"].Status.Versions); diff != "" {
		t.Errorf("remembered (-want +got):\n%s", diff)
	}
	var told []string
	for _, n := range u.notices {
		if n.Reason == eventrecorder.Upgrading {
			told = append(told, n.Text)
		}
	}
	if diff := cmp.Diff([]string{"Deployment web is being upgraded to image controller:v2 of " + deployer + ", as UpgradeAllowance v2 by greta lets it through"}, told); diff != "" {
		t.Errorf("told (-want +got):\n%s", diff)
	}
}

// TestUpgradeIsGranted has what follows below traced to who agreed to the upgrade.
func TestUpgradeIsGranted(t *testing.T) {
	scaling := strings.Replace(replicaSetUpgrade, "spec.template", "spec.replicas", 1)
	u := newUpgrading(t, deployment(3), scaling).rememberingOld()
	req := asking(t, deployer, nil, replicaSet(3), counted(replicaSet(5)))
	req.UserInfo.Extra = map[string]authenticationv1.ExtraValue{"pod": {"new"}}
	stored := applied(t, req, u.mutator.Handle(t.Context(), req))
	ledger := stored.GetAnnotations()[replicaSetLedger]
	if !strings.Contains(ledger, `"initiator":"greta"`) || !strings.Contains(ledger, `{"kind":"UpgradeAllowance","name":"v2","generation":2,"field":"(upgrade)"}`) {
		t.Errorf("ledger %s", ledger)
	}
	if versions := u.records["uid-web"].Status.Versions; versions[0].Image != "controller:v1" {
		t.Errorf("the mutating hook had it remembered: %v", versions)
	}
	again := asking(t, deployer, nil, replicaSet(3), stored)
	again.UserInfo.Extra = req.UserInfo.Extra
	if resp := u.validator.Handle(t.Context(), again); !resp.Allowed {
		t.Errorf("refused: %v", resp.Result)
	}
}

func TestUpgradeThatIsNone(t *testing.T) {
	elsewhere := strings.Replace(replicaSetUpgrade, "spec:", "spec:\n  objectSelector: {matchLabels: {stage: canary}}", 1)
	other := strings.Replace(replicaSetUpgrade, "spec.template", "spec.selector", 1)
	tests := map[string]struct {
		allowances []string
		change     func(*testing.T, *upgrading)
		request    func(admission.Request) admission.Request
		code       int32
		says       string
		says2      string
	}{
		"nobody agreed": {
			says: "The request comes from image controller:v2, and Deployment web was made by, or upgraded to, image controller:v1", says2: "kubectl explain upgradeallowance.spec",
		},
		"another parent": {
			allowances: []string{elsewhere}, says: "it does not select Deployment web. ",
			says2: "The request comes from image controller:v2, and Deployment web was made by, or upgraded to, image controller:v1",
		},
		"something else":  {allowances: []string{other}, says: "UpgradeAllowance v2 does not let it through: spec.policies does not cover it"},
		"a stranger's":    {allowances: []string{replicaSetUpgrade}, request: func(r admission.Request) admission.Request { r.UserInfo.Username = "mallory"; return r }, says: "is not allowed by its parent"},
		"cannot be read":  {allowances: []string{replicaSetUpgrade}, change: func(_ *testing.T, u *upgrading) { u.pods.broken = errAway }, says: "is not allowed by its parent"},
		"cannot be noted": {allowances: []string{replicaSetUpgrade}, change: func(_ *testing.T, u *upgrading) { u.validator.Records = unremembered{store{u.world}} }, code: http.StatusInternalServerError, says: "cannot be written down"},
		"over meanwhile": {
			allowances: []string{replicaSetUpgrade}, code: http.StatusInternalServerError, says: "the upgrade of Deployment web was over in the meantime",
			change: func(_ *testing.T, u *upgrading) {
				u.validator.Records = movedMeanwhile{store{u.world}, u}
			},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			u := newUpgrading(t, deployment(3), tt.allowances...).rememberingOld()
			if tt.change != nil {
				tt.change(t, u)
			}
			req := by(t, "new")
			if tt.request != nil {
				req = tt.request(req)
			}
			resp := u.validator.Handle(t.Context(), req)
			if resp.Allowed || tt.code != 0 && resp.Result.Code != tt.code {
				t.Fatalf("allowed %t: %v", resp.Allowed, resp.Result)
			}
			if !strings.Contains(resp.Result.Message, tt.says) || !strings.Contains(resp.Result.Message, tt.says2) {
				t.Errorf("%q does not say %q %q", resp.Result.Message, tt.says, tt.says2)
			}
		})
	}
}

// unremembered is a store that nothing can be written to.
type unremembered struct{ store }

func (unremembered) RememberVersion(context.Context, v1alpha1.TargetReference, func([]v1alpha1.ControllerVersion) *v1alpha1.ControllerVersion) error {
	return errors.New("the disk is full")
}

// movedMeanwhile is a store in which the upgrade ends before it is noted.
type movedMeanwhile struct {
	store
	u *upgrading
}

func (m movedMeanwhile) RememberVersion(_ context.Context, _ v1alpha1.TargetReference, note func([]v1alpha1.ControllerVersion) *v1alpha1.ControllerVersion) error {
	v := m.u.versions["new"]
	note([]v1alpha1.ControllerVersion{*upgrade.MadeBy(deployer, v, v.PodCreated)})
	return nil
}

// TestUpgradeCostsNothingElse looks for what is read, and written, for requests that are none.
func TestUpgradeCostsNothingElse(t *testing.T) {
	u := newUpgrading(t, unsettled(deployment(3, mayScale("alice", 4))), replicaSetUpgrade).rememberingOld()
	req := asking(t, deployer, nil, replicaSet(3), counted(replicaSet(5)))
	req.UserInfo.Extra = map[string]authenticationv1.ExtraValue{"pod": {"new"}}
	if resp := u.validator.Handle(t.Context(), req); !resp.Allowed || resp.AuditAnnotations[auditReason] != "Covered" {
		t.Errorf("what an allowance covers: %v", resp.AuditAnnotations)
	}
	if u.asked != 0 || u.liveReads.Load() != 0 {
		t.Errorf("%d versions and %d objects were read for what an allowance covers", u.asked, u.liveReads.Load())
	}
	dry := by(t, "new")
	dry.DryRun = new(true)
	if resp := u.validator.Handle(t.Context(), dry); !resp.Allowed {
		t.Errorf("a dry run: %v", resp.Result)
	}
	if versions := u.records["uid-web"].Status.Versions; versions[0].Image != "controller:v1" {
		t.Errorf("a dry run is remembered: %v", versions)
	}
}

// TestVersionThatMakesChildren has a new parent remember by what its children are made.
func TestVersionThatMakesChildren(t *testing.T) {
	created := v1alpha1.Allowance{
		Kind: "*", Mutation: "*", Generation: 4, Initiator: "alice",
		Trace: []v1alpha1.TraceHop{{Kind: "Deployment", Name: "web", Generation: 4, Field: v1alpha1.FieldCreated}},
	}
	u := newUpgrading(t, unsettled(deployment(3, created)))
	if resp := u.validator.Handle(t.Context(), by(t, "old")); !resp.Allowed {
		t.Fatal(resp.Result)
	}
	if u.asked != 0 {
		t.Error("the request waited for it")
	}
	for _, o := range u.observed {
		if o.MadeBy == nil {
			continue
		}
		if v := o.MadeBy.Find(t.Context()); o.MadeBy.User != deployer || len(v) != 1 || v[0].Image != "controller:v1" || upgrade.IsMoving(&v[0]) {
			t.Errorf("made by %s: %+v", o.MadeBy.User, v)
		}
		return
	}
	t.Error("nobody asks")
}

// byNote is a source by an annotation of the parent, in place of the reference of a composite
// resource.
type byNote struct{ upgrade.Source }

const revisionNote = "example.org/revision"

func (byNote) version(obj *unstructured.Unstructured) upgrade.Version {
	name := obj.GetAnnotations()[revisionNote]
	return upgrade.Version{Trigger: v1alpha1.UpgradeOfComposition, Revision: name, Digest: strings.ToUpper(name[:1])}
}

func (n byNote) Of(_ context.Context, r upgrade.Request) ([]upgrade.Version, error) {
	if r.Parent.GetAnnotations()[revisionNote] == "" {
		return nil, nil
	}
	return []upgrade.Version{n.version(r.Parent)}, nil
}

func (byNote) Named(obj *unstructured.Unstructured) string {
	return obj.GetAnnotations()[revisionNote]
}

func (n byNote) Left(_ context.Context, before, after *unstructured.Unstructured) (left, next upgrade.Version, ok bool) {
	if before.GetAnnotations()[revisionNote] == after.GetAnnotations()[revisionNote] {
		return upgrade.Version{}, upgrade.Version{}, false
	}
	return n.version(before), n.version(after), true
}

// revised returns Deployment web made from a revision.
func revised(revision string) *unstructured.Unstructured {
	return annotate(deployment(3), revisionNote, revision)
}

// have replaces the parent.
func (u *upgrading) have(parent *unstructured.Unstructured) {
	u.cached[key("Deployment", "web")], u.live[key("Deployment", "web")] = parent, parent
}

// TestUpgradeOfARevision has a parent go over to another revision by its own write.
func TestUpgradeOfARevision(t *testing.T) {
	agreed := strings.Replace(replicaSetUpgrade, "spec:", "spec:\n  triggers: [Composition, Function]", 1)
	u := newUpgrading(t, revised("a1"), agreed)
	u.validator.Versions = upgrade.Sources{v1alpha1.UpgradeOfComposition: byNote{}, v1alpha1.UpgradeOfController: u.pods}
	u.records["uid-web"] = &v1alpha1.AllowanceRecord{Spec: v1alpha1.AllowanceRecordSpec{TargetRef: v1alpha1.TargetReference{UID: "uid-web"}}}
	u.pods.broken = errAway // Nobody asks an UpgradeAllowance of revisions about Pods.
	remembers := func() (out []string) {
		for _, v := range u.records["uid-web"].Status.Versions {
			out = append(out, v.ID+" "+v.Revision)
		}
		return out
	}
	move := func(from, to string, dry bool) {
		t.Helper()
		req := asking(t, "mallory", nil, revised(from), revised(to))
		req.DryRun = &dry
		if resp := u.validator.Handle(t.Context(), req); !resp.Allowed {
			t.Fatalf("from %s to %s: %v", from, to, resp.Result)
		}
		if !dry {
			u.have(revised(to))
		}
	}
	expect := func(what string, want ...string) {
		t.Helper()
		if diff := cmp.Diff(want, remembers()); diff != "" {
			t.Errorf("%s, it remembers (-want +got):\n%s", what, diff)
		}
	}
	child := func(what string, want bool, says string) {
		t.Helper()
		resp := u.validator.Handle(t.Context(), by(t, "new"))
		if resp.Allowed != want {
			t.Errorf("%s: allowed %t: %v", what, resp.Allowed, resp.Result)
		}
		if !want && !strings.Contains(resp.Result.Message, says) {
			t.Errorf("%s: %q does not say %q", what, resp.Result.Message, says)
		}
		if want && resp.AuditAnnotations[auditReason] != "Upgrade" {
			t.Errorf("%s: %v", what, resp.AuditAnnotations)
		}
	}

	move("a1", "b1", true)
	expect("after a dry run")
	move("a1", "a2", false)
	expect("after a change of labels")
	move("a2", "b1", false)
	expect("before anything is made from it", "Composition a2")
	child("the next revision", true, "")
	expect("with the next revision", "Composition b1")
	u.moved()
	child("once it is over", false, "UpgradeAllowance v2 does not let it through: the parent was upgraded to CompositionRevision b1, or made by it")
	move("b1", "a1", false)
	child("back again", true, "")
	expect("back again", "Composition a1")

	u.validator.Upgrades = nil
	move("a1", "b1", false)
	child("what nobody agreed to", false, "The request comes from CompositionRevision b1, and Deployment web was made by, or upgraded to, CompositionRevision a1: "+
		"if this is an upgrade, agree to it by an UpgradeAllowance with spec.serviceAccount "+deployer+" and spec.triggers [Composition]")
}

// TestRevisionInVain has a parent go over to a revision and back, by which nothing, or something, is made.
func TestRevisionInVain(t *testing.T) {
	agreed := strings.Replace(replicaSetUpgrade, "spec:", "spec:\n  triggers: [Composition]\n  versions: ['a*']", 1)
	scaled := func(t *testing.T) admission.Request {
		t.Helper()
		return asking(t, deployer, nil, replicaSet(3), counted(replicaSet(5)))
	}
	changed := func(t *testing.T) admission.Request {
		t.Helper()
		return by(t, "new")
	}
	withheld := held("spec.replicas", "2")
	for name, tt := range map[string]struct {
		parent *unstructured.Unstructured
		// asked while the parent names the other revision.
		asked   func(t *testing.T) admission.Request
		allowed bool
		want    string
	}{
		"nothing is asked":         {parent: unsettled(deployment(3, mayScale("alice", 4))), want: "a1/"},
		"what is asked is refused": {parent: deployment(3), asked: changed, want: "a1/"},
		"something is covered":     {parent: unsettled(deployment(3, mayScale("alice", 4))), asked: scaled, allowed: true, want: "b1/"},
		"something is withheld":    {parent: unsettled(deployment(3, mayScale("alice", 4), withheld)), asked: scaled, want: "a1/"},
	} {
		t.Run(name, func(t *testing.T) {
			named := func(revision string) *unstructured.Unstructured {
				return annotate(tt.parent.DeepCopy(), revisionNote, revision)
			}
			u := newUpgrading(t, named("a1"), agreed)
			u.validator.Versions = upgrade.Sources{v1alpha1.UpgradeOfComposition: byNote{}}
			u.records["uid-web"] = &v1alpha1.AllowanceRecord{Spec: v1alpha1.AllowanceRecordSpec{TargetRef: v1alpha1.TargetReference{UID: "uid-web"}}, Status: v1alpha1.AllowanceRecordStatus{
				Versions: []v1alpha1.ControllerVersion{*upgrade.MadeBy(deployer, byNote{}.version(named("a1")), upgradeBegan)},
			}}
			status := &u.records["uid-web"].Status
			move := func(from, to string) {
				t.Helper()
				if resp := u.validator.Handle(t.Context(), asking(t, "mallory", nil, named(from), named(to))); !resp.Allowed {
					t.Fatal(resp.Result)
				}
				u.have(named(to))
			}
			move("a1", "b1")
			if tt.asked != nil {
				if resp := u.validator.Handle(t.Context(), tt.asked(t)); resp.Allowed != tt.allowed {
					t.Fatalf("allowed %t: %v", resp.Allowed, resp.Result)
				}
			}
			for _, o := range u.observed {
				if o.MadeBy == nil {
					continue
				}
				for _, v := range o.MadeBy.Find(t.Context()) {
					status.Versions = upgrade.RememberFirst(status.Versions, v)
				}
			}
			move("b1", "a1")
			var got []string
			for _, v := range status.Versions {
				got = append(got, v.Revision+"/"+v.AlsoRevision)
			}
			if diff := cmp.Diff([]string{tt.want}, got); diff != "" {
				t.Errorf("remembers (-want +got):\n%s", diff)
			}
			if resp := u.validator.Handle(t.Context(), changed(t)); resp.Allowed != (tt.want == "b1/") {
				t.Errorf("the old revision: allowed %t: %v", resp.Allowed, resp.Result)
			}
		})
	}
}

// TestMadeAlso has no request noted as one of another revision that makes nothing by it, or may not.
func TestMadeAlso(t *testing.T) {
	counts := &approved.Standing{Differences: []approved.Difference{{Change: change.Change{Path: change.MustParsePath("spec.replicas")}, Counts: true}}}
	remembering := func(also string) *v1alpha1.AllowanceRecord {
		known := *upgrade.MadeBy(deployer, byNote{}.version(revised("a1")), upgradeBegan)
		known.AlsoRevision = also
		return &v1alpha1.AllowanceRecord{Status: v1alpha1.AllowanceRecordStatus{Versions: []v1alpha1.ControllerVersion{known}}}
	}
	for name, tt := range map[string]struct {
		change func(f *facts)
		reason decision.Reason
		source upgrade.Source
		want   bool
	}{
		"covered":                  {reason: decision.ReasonCovered, want: true},
		"warned of":                {reason: decision.ReasonWarned, want: true},
		"not judged":               {reason: decision.ReasonAudited, want: true},
		"by breaking the glass":    {reason: decision.ReasonBreakGlass, want: true},
		"while it was adopted":     {reason: decision.ReasonAdopting, want: true},
		"while it was new":         {reason: decision.ReasonInitializing, want: true},
		"as an upgrade":            {reason: decision.ReasonUpgrade},
		"changing nothing":         {reason: decision.ReasonUnchanged},
		"bookkeeping":              {reason: decision.ReasonBookkeeping},
		"while it is withheld":     {reason: decision.ReasonCovered, change: func(f *facts) { f.Parent.Standing = counts }},
		"while it is deleted":      {reason: decision.ReasonCovered, change: func(f *facts) { f.Parent.Deleting = true }},
		"by what is remembered":    {reason: decision.ReasonCovered, change: func(f *facts) { f.parentObject = revised("a1") }},
		"by nothing that is named": {reason: decision.ReasonCovered, change: func(f *facts) { f.parentObject = deployment(3) }},
		"by what is noted":         {reason: decision.ReasonCovered, change: func(f *facts) { f.parentRecord = remembering("b1") }},
		"by one after that":        {reason: decision.ReasonCovered, change: func(f *facts) { f.parentRecord = remembering("c1") }, want: true},
		"remembering nothing":      {reason: decision.ReasonCovered, change: func(f *facts) { f.parentRecord = nil }},
		"of what no object names":  {reason: decision.ReasonCovered, source: &graphs{}},
	} {
		t.Run(name, func(t *testing.T) {
			f := &facts{Input: decision.Input{ParentState: decision.ParentFound, Parent: decision.Parent{UID: "uid-web"}}}
			f.parentObject, f.parentRecord = revised("b1"), remembering("")
			if tt.change != nil {
				tt.change(f)
			}
			source := tt.source
			if source == nil {
				source = byNote{}
			}
			if got := f.isMadeAlso(v1alpha1.UpgradeOfComposition, source, decision.Verdict{Allowed: true, Reason: tt.reason}); got != tt.want {
				t.Errorf("isMadeAlso() = %t, want %t", got, tt.want)
			}
		})
	}
}

// TestWithholdsBooks tells a choice of what an object is made from that is withheld from anything else that is.
func TestWithholdsBooks(t *testing.T) {
	differs := func(path string, counts bool) *approved.Standing {
		return &approved.Standing{Differences: []approved.Difference{{Change: change.Change{Path: change.MustParsePath(path)}, Counts: counts}}}
	}
	for name, tt := range map[string]struct {
		standing *approved.Standing
		want     bool
	}{
		"nothing is known":           {},
		"nothing is withheld":        {standing: &approved.Standing{}},
		"the composition is":         {standing: differs("spec.crossplane.compositionRef.name", true), want: true},
		"that of a claim is":         {standing: differs("spec.compositionRef", true), want: true},
		"no rule is in effect of it": {standing: differs("spec.crossplane.compositionRef.name", false)},
		"something else is":          {standing: differs("spec.size", true)},
	} {
		t.Run(name, func(t *testing.T) {
			if got := withholdsBooks(tt.standing); got != tt.want {
				t.Errorf("withholdsBooks() = %t, want %t", got, tt.want)
			}
		})
	}
}

// TestDenialSaysWhatWouldHelp has a new revision told of beside an UpgradeAllowance of something else that
// makes the request, and no such UpgradeAllowance where the request is none of an upgrade.
func TestDenialSaysWhatWouldHelp(t *testing.T) {
	with := func(triggers string) string {
		return strings.Replace(replicaSetUpgrade, "spec:", "spec:\n  triggers: ["+triggers+"]", 1)
	}
	elsewhere := func(text string) string {
		return strings.Replace(text, "spec:", "spec:\n  objectSelector: {matchLabels: {stage: canary}}", 1)
	}
	const (
		no       = "UpgradeAllowance v2 does not let it through: "
		hint     = "The request comes from CompositionRevision b1, and Deployment web was made by, or upgraded to, CompositionRevision a1: "
		function = "xpkg.example.org/fn:v1"
	)
	revision := func(name string) upgrade.Version {
		return upgrade.Version{Trigger: v1alpha1.UpgradeOfComposition, Revision: name, Digest: name, Created: upgradeBegan}
	}
	for name, tt := range map[string]struct {
		allowance string
		revision  string
		want      []string
	}{
		"one of Functions, that was asked": {with("Function"), "b1", []string{no + "the parent was upgraded to package " + function, hint}},
		"one of other versions of Functions": {
			strings.Replace(with("Function"), "spec:", "spec:\n  versions: ['*:v2']", 1), "b1", []string{no + "package " + function + " is none of its versions", hint},
		},
		"one of controllers":          {with("Controller"), "b1", []string{no + "the parent was upgraded to image controller:v1", hint}},
		"one of both":                 {with("Composition, Function"), "b1", nil},
		"one of other revisions":      {strings.Replace(with("Composition"), "spec:", "spec:\n  versions: [c1]", 1), "b1", []string{no + "CompositionRevision b1 is none of its versions"}},
		"one of graphs":               {with("ResourceGraph"), "b1", []string{no + "it is about no version that makes the request. ", hint}},
		"one of other parents":        {elsewhere(with("Composition")), "b1", []string{no + "it does not select Deployment web. ", hint}},
		"one of graphs elsewhere":     {elsewhere(with("ResourceGraph")), "b1", []string{hint}},
		"of graphs, no upgrade":       {with("ResourceGraph"), "a1", []string{}},
		"of other parents, none":      {elsewhere(with("Composition")), "a1", []string{}},
		"one of Functions, none":      {with("Function"), "a1", []string{no + "the parent was upgraded to package " + function}},
		"nobody agreed":               {"", "b1", []string{hint}},
		"nobody agreed, and none new": {"", "a1", []string{}},
	} {
		t.Run(name, func(t *testing.T) {
			var allowances []string
			if tt.allowance != "" {
				allowances = append(allowances, tt.allowance)
			}
			u := newUpgrading(t, deployment(3), allowances...).rememberingOld()
			package1 := upgrade.Version{Trigger: v1alpha1.UpgradeOfFunction, Of: "fn", Image: function}
			u.validator.Versions[v1alpha1.UpgradeOfFunction] = &graphs{package1}
			u.validator.Versions[v1alpha1.UpgradeOfComposition] = &graphs{revision(tt.revision)}
			status := &u.records["uid-web"].Status
			for _, v := range []upgrade.Version{package1, revision("a1")} {
				status.Versions = upgrade.Remember(status.Versions, *upgrade.MadeBy(deployer, v, upgradeBegan))
			}
			resp := u.validator.Handle(t.Context(), by(t, "old"))
			if resp.Allowed != (tt.want == nil) {
				t.Fatalf("allowed %t: %v", resp.Allowed, resp.Result)
			}
			if tt.want == nil {
				return
			}
			told := upgrade.Told(resp.Result.Message)
			for _, want := range tt.want {
				if !strings.Contains(told, want) {
					t.Errorf("%q does not say %q", told, want)
				}
			}
			if got := strings.Count(told, no) + strings.Count(told, hint); got != len(tt.want) {
				t.Errorf("%q says %d things, want %d", told, got, len(tt.want))
			}
		})
	}
}

// TestDenialSaysWhatIsInTheWayOfUpgrades has whoever reads a denial find out that no upgrade passes, and why.
func TestDenialSaysWhatIsInTheWayOfUpgrades(t *testing.T) {
	parent := func(change func(*decision.Parent)) *facts {
		f := &facts{Input: decision.Input{ParentState: decision.ParentFound, Parent: decision.Parent{Name: "web", UID: "uid-web"}}}
		change(&f.Parent)
		return f
	}
	kept := ledger.Ledger{{Allowance: held("spec.replicas", "3")}}
	for name, tt := range map[string]struct {
		f    *facts
		v    decision.Verdict
		want string
	}{
		"nothing is":                   {f: parent(func(*decision.Parent) {})},
		"it does not name the child":   {f: parent(func(p *decision.Parent) { p.OneSided = true }), want: "it does not name the child"},
		"it is being deleted":          {f: parent(func(p *decision.Parent) { p.Deleting = true }), want: "it is being deleted"},
		"another child was adopted":    {f: parent(func(p *decision.Parent) { p.Surplus = []string{"web-2"} }), want: "a child was adopted without a cause"},
		"this child was adopted":       {f: parent(func(p *decision.Parent) { p.Strays = sets.New("") }), want: "a child was adopted without a cause"},
		"something is withheld":        {f: parent(func(*decision.Parent) {}), v: decision.Verdict{Withheld: kept}, want: upgrade.Withheld},
		"several changes are withheld": {f: parent(func(*decision.Parent) {}), v: decision.Verdict{Withheld: append(kept, kept...)}, want: upgrade.Withheld},
		"what was withheld is gone": {
			f: parent(func(*decision.Parent) {}), v: decision.Verdict{TakenBack: []change.Path{change.MustParsePath("spec.size")}},
			want: "what was withheld is gone, and its controller has not heard of that",
		},
	} {
		t.Run(name, func(t *testing.T) {
			if got := upgrade.Kept("Its parent, which " + tt.f.allowing(tt.v) + ". " + "Nobody may."); got != tt.want {
				t.Errorf("of %q: %q, want %q", tt.f.allowing(tt.v), got, tt.want)
			}
		})
	}
}

// TestLeavingIsNeverInTheWay has what cannot be remembered hold up nobody.
func TestLeavingIsNeverInTheWay(t *testing.T) {
	u := newUpgrading(t, revised("a1"))
	u.validator.Versions = upgrade.Sources{v1alpha1.UpgradeOfComposition: byNote{}}
	u.validator.Records = unremembered{store{u.world}}
	if resp := u.validator.Handle(t.Context(), asking(t, "mallory", nil, revised("a1"), revised("b1"))); !resp.Allowed {
		t.Error(resp.Result)
	}
}

// TestDenialSaysWhatWasAsked has the record of a parent say which UpgradeAllowances did not help.
func TestDenialSaysWhatWasAsked(t *testing.T) {
	for pod, denied := range map[string]bool{"old": true, "new": false} {
		u := newUpgrading(t, deployment(3), replicaSetUpgrade).rememberingOld()
		var want []string
		if denied {
			want = []string{u.validator.Gatherer.Upgrades.For(deployer)[0].ID()}
		}
		u.validator.Handle(t.Context(), by(t, pod))
		var got []string
		var standings []v1alpha1.VersionStanding
		for _, o := range u.observed {
			if o.Decision == nil {
				continue
			}
			got = append(got, o.Decision.Upgrades...)
			for _, by := range o.Decision.Versions {
				standings = append(standings, by.Standing)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("by the %s one (-want +got):\n%s", pod, diff)
		}
		if pod == "old" && !slices.Equal(standings, []v1alpha1.VersionStanding{v1alpha1.StandingSame}) || pod == "new" && len(standings) > 0 {
			t.Errorf("by the %s one: %v", pod, standings)
		}
	}
}

// TestDenialNamesWhomNobodyHadToAsk has a denial for another reason name the UpgradeAllowances that select the
// parent, and say that none of them could have let it through: who waits is not woken by them.
func TestDenialNamesWhomNobodyHadToAsk(t *testing.T) {
	elsewhere := strings.Replace(replicaSetUpgrade, "spec:", "spec:\n  objectSelector: {matchLabels: {stage: canary}}", 1)
	stray := sets.New("uid-child")
	for name, tt := range map[string]struct {
		change     func(*facts)
		allowances []string
		covered    bool
		want, says bool
	}{
		"nothing is in the way":       {change: func(*facts) {}, allowances: []string{replicaSetUpgrade}},
		"it does not name the child":  {change: func(f *facts) { f.Parent.OneSided = true }, allowances: []string{replicaSetUpgrade}, want: true, says: true},
		"it is being deleted":         {change: func(f *facts) { f.Parent.Deleting = true }, allowances: []string{replicaSetUpgrade}, want: true, says: true},
		"another child was adopted":   {change: func(f *facts) { f.Parent.Surplus = []string{"web-2"} }, allowances: []string{replicaSetUpgrade}, want: true, says: true},
		"this child was adopted":      {change: func(f *facts) { f.Parent.Strays, f.Child.UID = stray, "uid-child" }, allowances: []string{replicaSetUpgrade}, want: true, says: true},
		"it selects another parent":   {change: func(f *facts) { f.Parent.Deleting = true }, allowances: []string{elsewhere}, says: true},
		"there is none":               {change: func(f *facts) { f.Parent.Deleting = true }, says: true},
		"an allowance would cover it": {change: func(*facts) {}, covered: true, allowances: []string{replicaSetUpgrade}, want: true, says: true},
		"it has no parent":            {change: func(f *facts) { f.ParentState, f.Parent.Deleting = 0, true }, allowances: []string{replicaSetUpgrade}},
	} {
		t.Run(name, func(t *testing.T) {
			u := newUpgrading(t, deployment(3), tt.allowances...)
			f := &facts{Input: decision.Input{ParentState: decision.ParentFound, Parent: decision.Parent{Name: "web", UID: "uid-web"}}}
			f.parentObject = deployment(3)
			tt.change(f)
			r := &request{}
			r.requester.Username = deployer
			v := decision.Verdict{}
			if !tt.covered {
				v.Uncovered = []decision.Act{{Operation: decision.Create}}
			}
			u.validator.gatherHelpless(t.Context(), r, f, v)
			var want []string
			if tt.want {
				want = []string{u.validator.Gatherer.Upgrades.For(deployer)[0].ID()}
			}
			if diff := cmp.Diff(want, f.askedUpgrades(), cmpopts.EquateEmpty()); diff != "" || f.noUpgrade != tt.says {
				t.Errorf("it says %v, and names (-want +got):\n%s", f.noUpgrade, diff)
			}
			if got := f.upgradeText(decision.Verdict{}); got != "" {
				t.Errorf("a person is told %q", got)
			}
		})
	}
}

// TestDenialWhileSomethingIsWithheld has that said to the record of the parent.
func TestDenialWhileSomethingIsWithheld(t *testing.T) {
	u := newUpgrading(t, unsettled(deployment(5, held("spec.replicas", "3"))), replicaSetUpgrade).rememberingOld()
	if resp := u.validator.Handle(t.Context(), by(t, "new")); resp.Allowed {
		t.Fatal("it is allowed")
	}
	var got []*v1alpha1.Decision
	for _, o := range u.observed {
		if o.Decision != nil {
			got = append(got, o.Decision)
		}
	}
	want := []string{u.validator.Gatherer.Upgrades.For(deployer)[0].ID()}
	if len(got) != 1 || !got[0].NoUpgrade || !slices.Equal(got[0].Upgrades, want) || len(got[0].Versions) > 0 || u.asked > 0 {
		t.Errorf("%d versions were asked for, and it says %+v", u.asked, got)
	}
}

// TestDenialIsOfThoseThatSelect has a denial name no UpgradeAllowance for other parents: it may come
// to select this one, and help then.
func TestDenialIsOfThoseThatSelect(t *testing.T) {
	for name, selector := range map[string]string{"objects": "objectSelector", "namespaces": "namespaceSelector"} {
		t.Run(name, func(t *testing.T) {
			u := newUpgrading(t, deployment(3), strings.Replace(replicaSetUpgrade, "spec:", "spec:\n  "+selector+": {matchLabels: {stage: canary}}", 1)).rememberingOld()
			u.validator.Handle(t.Context(), by(t, "new"))
			denials := 0
			for _, o := range u.observed {
				if o.Decision == nil {
					continue
				}
				denials++
				if len(o.Decision.Upgrades) > 0 {
					t.Errorf("asked %v", o.Decision.Upgrades)
				}
			}
			if denials != 1 {
				t.Errorf("%d denials", denials)
			}
		})
	}
}

// TestDenialSaysWhatTheParentShowed has a denial say whether its parent showed that it is blocked,
// as the API server has it: the cache may be from before whoever waits was woken.
func TestDenialSaysWhatTheParentShowed(t *testing.T) {
	shows := func(blocked bool) *unstructured.Unstructured {
		d := deployment(3)
		if blocked {
			_ = unstructured.SetNestedSlice(d.Object, []any{map[string]any{"type": v1alpha1.ConditionBlocked, "status": "True"}}, "status", "conditions")
		}
		return d
	}
	for name, tt := range map[string]struct{ cached, live bool }{
		"nothing": {}, "that it is": {cached: true, live: true}, "that it is, since": {live: true}, "nothing any more": {cached: true},
	} {
		t.Run(name, func(t *testing.T) {
			u := newUpgrading(t, shows(tt.cached), replicaSetUpgrade).rememberingOld()
			u.live[key("Deployment", "web")] = shows(tt.live)
			u.validator.Handle(t.Context(), by(t, "old"))
			var got []bool
			for _, o := range u.observed {
				if o.Decision != nil {
					got = append(got, o.Shown)
				}
			}
			if diff := cmp.Diff([]bool{tt.live}, got); diff != "" {
				t.Errorf("it showed (-want +got):\n%s", diff)
			}
		})
	}
}

// TestDenialSaysWhoWaits has nobody wait for what a person is denied.
func TestDenialSaysWhoWaits(t *testing.T) {
	for user, want := range map[string]bool{"mallory": true, deployer: false, "system:kube-controller-manager": false} {
		t.Run(user, func(t *testing.T) {
			u := newUpgrading(t, deployment(3))
			req := asking(t, user, nil, withTemplate(replicaSet(3), "a"), withTemplate(withTemplate(replicaSet(3), "a"), "b"))
			u.validator.Handle(t.Context(), req)
			var got []bool
			for _, o := range u.observed {
				if o.Decision != nil && o.Decision.Result == "Denied" {
					got = append(got, o.OneOff)
				}
			}
			if diff := cmp.Diff([]bool{want}, got); diff != "" {
				t.Errorf("one-off (-want +got):\n%s", diff)
			}
		})
	}
}

// graphs is a source of what children are made from.
type graphs struct{ version upgrade.Version }

func (g *graphs) Of(_ context.Context, r upgrade.Request) ([]upgrade.Version, error) {
	if r.Parent == nil || r.Parent.GetName() != "web" {
		return nil, errors.New("it is asked about something else")
	}
	return []upgrade.Version{g.version}, nil
}

// TestUpgradeOfWhatChildrenAreMadeFrom has a parent remember that beside the controller.
func TestUpgradeOfWhatChildrenAreMadeFrom(t *testing.T) {
	revision := func(name, digest string) upgrade.Version {
		return upgrade.Version{Trigger: v1alpha1.UpgradeOfResourceGraph, Revision: name, Digest: digest, Created: upgradeBegan}
	}
	ofGraphs := strings.Replace(replicaSetUpgrade, "spec:", "spec:\n  triggers: [ResourceGraph]", 1)
	tests := map[string]struct {
		allowances []string
		serves     upgrade.Version
		want       bool
		says       string
	}{
		"another revision":            {allowances: []string{ofGraphs}, serves: revision("web-r2", "b"), want: true},
		"the revision that it is of":  {allowances: []string{ofGraphs}, serves: revision("web-r1", "a"), says: "the parent was upgraded to revision web-r1, or made by it"},
		"upgrades of controllers":     {allowances: []string{replicaSetUpgrade}, serves: revision("web-r2", "b"), says: "UpgradeAllowance v2 does not let it through: the parent was upgraded to image controller:v1"},
		"nobody agreed":               {serves: revision("web-r2", "b"), says: "The request comes from revision web-r2, and Deployment web was made by, or upgraded to, revision web-r1"},
		"nobody agreed, and none new": {serves: revision("web-r1", "a"), says: "is not allowed by its parent"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			u := newUpgrading(t, deployment(3), tt.allowances...).rememberingOld()
			source := &graphs{tt.serves}
			u.validator.Versions[v1alpha1.UpgradeOfResourceGraph] = source
			status := &u.records["uid-web"].Status
			status.Versions = upgrade.Remember(status.Versions, *upgrade.MadeBy(deployer, revision("web-r1", "a"), upgradeBegan))
			resp := u.validator.Handle(t.Context(), by(t, "old"))
			if resp.Allowed != tt.want {
				t.Fatalf("allowed %t: %v", resp.Allowed, resp.Result)
			}
			if !tt.want {
				if !strings.Contains(resp.Result.Message, tt.says) || tt.says == "is not allowed by its parent" && strings.Contains(resp.Result.Message, "The request comes from") {
					t.Errorf("%q does not say %q", resp.Result.Message, tt.says)
				}
				return
			}
			if resp.AuditAnnotations[auditReason] != "Upgrade" {
				t.Errorf("%v", resp.AuditAnnotations)
			}
			var known []string
			for i := range status.Versions {
				known = append(known, upgrade.Text(&status.Versions[i]))
			}
			if diff := cmp.Diff([]string{"image controller:v1", "revision web-r2"}, known); diff != "" {
				t.Errorf("remembered (-want +got):\n%s", diff)
			}
			status.Versions[1].MovedAt = new(metav1.NewTime(u.clock.Now()))
			if resp := u.validator.Handle(t.Context(), by(t, "old")); resp.Allowed {
				t.Error("it passes again once it is over")
			}
		})
	}
}
