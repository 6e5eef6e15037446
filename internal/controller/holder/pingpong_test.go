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
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/controller/controllertest"
	"kausality.io/operator/internal/policy"
	"kausality.io/operator/internal/upgrade"
)

// replicaPolicy has a change of spec.replicas of Deployments by strangers withheld.
func replicaPolicy(t *testing.T) *policy.Policy {
	t.Helper()
	p := &v1alpha1.AllowancePolicy{}
	if err := yaml.UnmarshalStrict([]byte(`
metadata: {name: deployment, generation: 1}
spec:
  for: {apiGroup: apps, apiVersion: v1, kind: Deployment}
  subjects: [{kind: User, name: alice, mayInitiate: true}]
  rules:
  - trigger: spec.replicas
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
	return compiled
}

// pingPong is a holder whose controllers try again each time that they are woken, and are denied it.
type pingPong struct {
	t        *testing.T
	status   v1alpha1.AllowanceRecordStatus
	holding  []v1alpha1.Allowance
	policies []*policy.Policy
	upgrades []*upgrade.Allowance
}

// rounds has controllers be denied that often as denials say, and returns how often they are woken. They try only
// where they are.
func (p *pingPong) rounds(most int, denials ...v1alpha1.Decision) (woken int) {
	p.t.Helper()
	for range most {
		for i := range denials {
			d := denials[i]
			d.Time, d.Kind = metav1.NewTime(controllertest.Noon), "ReplicaSet"
			p.status.Denials++
			p.status.LastDenial = &d
			p.status.History = append([]v1alpha1.HistoryEntry{{Time: d.Time, Event: v1alpha1.EventDenied, User: d.User, Kind: d.Kind}}, p.status.History...)
		}
		p.look(makeHolder().holding(p.holding...))
		if p.status.Blocked == nil {
			p.t.Fatal("a denial does not block")
		}
		p.look(makeHolder().holding(p.holding...).blocked())
		if p.status.Blocked != nil {
			return woken
		}
		woken++
	}
	return woken
}

func (p *pingPong) look(h testHolder) {
	v := look(h.Unstructured, p.policies, controllertest.Noon.Add(time.Second))
	v.upgrades = p.upgrades
	v.advance(p.t.Context(), &p.status)
}

// TestWakesEnd has the controllers of a holder that are denied something each time not be woken without end, whatever
// their denials say.
func TestWakesEnd(t *testing.T) {
	const other = "system:serviceaccount:app:other"
	another := helpful()
	another.Name = "another"
	edited := helpful()
	edited.Generation++
	asked := v1alpha1.Decision{User: waitingUser, Upgrades: []string{helpful().ID()}}
	unasked, ofOther := v1alpha1.Decision{User: waitingUser}, v1alpha1.Decision{User: other}
	none := []*policy.Policy{{Name: "deployment", Generation: 1}}
	tests := map[string]struct {
		denials  []v1alpha1.Decision
		holding  []v1alpha1.Allowance
		upgrades []*upgrade.Allowance
		want     int
		// then changes something, and has them be denied again.
		then     func(*pingPong)
		wantThen int
	}{
		"it was asked":              {denials: []v1alpha1.Decision{asked}, upgrades: []*upgrade.Allowance{helpful()}},
		"no denial says who was":    {denials: []v1alpha1.Decision{unasked}, upgrades: []*upgrade.Allowance{helpful()}, want: 2},
		"none says so of either":    {denials: []v1alpha1.Decision{unasked}, upgrades: []*upgrade.Allowance{helpful(), another}, want: 2},
		"the last is of somebody":   {denials: []v1alpha1.Decision{asked, ofOther}, upgrades: []*upgrade.Allowance{helpful()}, want: 1},
		"something is withheld":     {denials: []v1alpha1.Decision{unasked}, upgrades: []*upgrade.Allowance{helpful()}, holding: []v1alpha1.Allowance{withheldChange("spec.replicas")}},
		"what counts for no policy": {denials: []v1alpha1.Decision{unasked}, upgrades: []*upgrade.Allowance{helpful()}, holding: []v1alpha1.Allowance{withheldChange("spec.paused")}, want: 2},
		"what is withheld passes":   {denials: []v1alpha1.Decision{asked}, upgrades: []*upgrade.Allowance{helpful()}, holding: []v1alpha1.Allowance{withheldChange("spec.replicas")}, then: func(p *pingPong) { p.holding = nil; p.look(makeHolder().blocked()) }},
		"it changes":                {denials: []v1alpha1.Decision{unasked}, upgrades: []*upgrade.Allowance{helpful()}, want: 2, then: func(p *pingPong) { p.upgrades = []*upgrade.Allowance{edited} }, wantThen: 2},
		"another one comes":         {denials: []v1alpha1.Decision{unasked}, upgrades: []*upgrade.Allowance{helpful()}, want: 2, then: func(p *pingPong) { p.upgrades = append(p.upgrades, another) }, wantThen: 2},
		"the holder settles":        {denials: []v1alpha1.Decision{unasked}, upgrades: []*upgrade.Allowance{helpful()}, want: 2, then: func(p *pingPong) { p.look(makeHolder().settled()) }, wantThen: 2},
		"nothing changes":           {denials: []v1alpha1.Decision{unasked}, upgrades: []*upgrade.Allowance{helpful()}, want: 2, then: func(*pingPong) {}},
		"a policy changes": {denials: []v1alpha1.Decision{asked}, upgrades: []*upgrade.Allowance{helpful()}, then: func(p *pingPong) {
			p.policies = []*policy.Policy{{Name: "deployment", Generation: 2}}
			p.look(makeHolder().blocked())
		}},
		"it is there no more, and is": {denials: []v1alpha1.Decision{unasked}, upgrades: []*upgrade.Allowance{another, helpful()}, want: 2, then: func(p *pingPong) { p.upgrades = p.upgrades[1:] }},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			policies := none
			if len(tt.holding) > 0 {
				policies = []*policy.Policy{replicaPolicy(t)}
			}
			p := &pingPong{t: t, holding: tt.holding, policies: policies, upgrades: tt.upgrades}
			if got := p.rounds(10, tt.denials...); got != tt.want {
				t.Errorf("woken %d times, want %d", got, tt.want)
			}
			if tt.then == nil {
				return
			}
			tt.then(p)
			if got := p.rounds(10, tt.denials...); got != tt.wantThen {
				t.Errorf("then woken %d times, want %d", got, tt.wantThen)
			}
		})
	}
}

// TestHelpsWhenTheWayIsFree has an UpgradeAllowance that comes while something is withheld wake whoever waits once
// that has gone, and not before.
func TestHelpsWhenTheWayIsFree(t *testing.T) {
	held := []v1alpha1.Allowance{withheldChange("spec.replicas")}
	p := &pingPong{t: t, policies: []*policy.Policy{replicaPolicy(t)}}
	p.rounds(1, v1alpha1.Decision{User: waitingUser})
	p.holding, p.upgrades = held, []*upgrade.Allowance{helpful()}
	p.look(makeHolder().holding(held...).blocked())
	if p.status.Blocked == nil {
		t.Fatal("it is woken while something is withheld")
	}
	p.look(makeHolder().blocked())
	if diff := cmp.Diff([]string{helpful().ID()}, p.status.WokenBy); diff != "" || p.status.Blocked != nil {
		t.Errorf("blocked: %v, woken by (-want +got):\n%s", p.status.Blocked, diff)
	}
}

// TestSettledSinceADenial has a denial say that the holder has settled since, where it was blocked by it.
func TestSettledSinceADenial(t *testing.T) {
	for name, tt := range map[string]struct {
		then testHolder
		want bool
	}{
		"that settles":    {makeHolder().settled(), true},
		"that waits":      {makeHolder().blocked(), false},
		"that is deleted": {makeHolder().deleting(), false},
	} {
		t.Run(name, func(t *testing.T) {
			p := &pingPong{t: t, policies: []*policy.Policy{{Name: "deployment", Generation: 1}}}
			p.rounds(1, v1alpha1.Decision{User: waitingUser})
			p.look(tt.then)
			if p.status.LastDenial.Settled != tt.want {
				t.Errorf("settled: %v", p.status.LastDenial.Settled)
			}
		})
	}
}
