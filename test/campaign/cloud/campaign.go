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

package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/test/campaign/cloud/checker"
	"kausality.io/operator/test/campaign/cloud/plan"
	"kausality.io/operator/test/campaign/operators"
	"kausality.io/operator/test/controlplane"
	"kausality.io/operator/test/crossplane"
)

// pace is how often something happens to one database at most. Crossplane stops looking
// at composite resources that change more often than it lets them.
const pace = 20 * time.Second

// campaign is what happens to a fleet of databases.
type campaign struct {
	*stage
	plan plan.Plan

	mu sync.Mutex
	// begun counts the steps of databases that have begun.
	begun int
	// outages are when the operator, the provider or Crossplane was away.
	outages []checker.Span
	// stuck are steps whose end nobody had the patience to see.
	stuck []string
}

// fight has the campaign of a seed happen, and returns an error where the cloud was
// asked for what nobody had allowed, or what was allowed has not come about.
func fight(ctx context.Context, seed uint64) (err error) {
	tell(fmt.Sprintf("--- seed %d: %d steps upon %d databases", seed, *steps, *databases))
	s, err := set(ctx, folder(seed))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	c := &campaign{stage: s, plan: plan.New(seed, *steps, *databases)}
	started := time.Now()
	if err := c.happen(ctx); err != nil {
		return err
	}
	if err := c.plant(ctx, *planted); err != nil {
		return fmt.Errorf("planting the fault %q: %w", *planted, err)
	}
	c.rest(ctx)
	tell(fmt.Sprintf("it took %s", time.Since(started).Round(time.Second)))
	for _, text := range c.stuck {
		tell("not seen: " + text)
	}
	return judge(c.cp.AuditLog(), crossplane.CloudLog(c.cp), c.outages)
}

// happen has everything happen, once all databases are there: until then nothing is broken. What does not
// come about is noted, and what comes after it happens all the same.
func (c *campaign) happen(ctx context.Context) error {
	all := make([]*database, 0, len(c.plan.Databases))
	creating, creatingCtx := errgroup.WithContext(ctx)
	for number, planned := range c.plan.Databases {
		d := &database{campaign: c, Database: planned, number: number}
		all = append(all, d)
		creating.Go(func() error { return d.create(creatingCtx, planned.Size) })
	}
	if err := creating.Wait(); err != nil {
		return fmt.Errorf("before anything happened: %w", err)
	}
	group, ctx := errgroup.WithContext(ctx)
	for _, d := range all {
		group.Go(func() error {
			for _, s := range c.plan.For(d.number) {
				next := time.Now().Add(pace)
				c.begin(s)
				c.note(s, d.perform(ctx, s))
				if err := pause(ctx, time.Until(next)); err != nil {
					return err
				}
			}
			return nil
		})
	}
	group.Go(func() error { return c.attend(ctx) })
	return group.Wait()
}

func (c *campaign) begin(s plan.Step) {
	if *verbose {
		tell(fmt.Sprintf("%s step %d: %s of %d", time.Now().Format(time.TimeOnly), s.Number, s.Action, s.Database))
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.begun++
	if c.begun%100 == 0 {
		tell(fmt.Sprintf("%s %d steps have begun", time.Now().Format(time.TimeOnly), c.begun))
	}
}

// note remembers what did not come about.
func (c *campaign) note(s plan.Step, err error) {
	if err == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	text := fmt.Sprintf("step %d, %s of database %d: %v", s.Number, s.Action, s.Database, err)
	c.stuck = append(c.stuck, text)
	tell(time.Now().Format(time.TimeOnly) + " " + text)
}

// attend lets happen what happens to the machinery, each step when as many others have
// begun as come before it.
func (c *campaign) attend(ctx context.Context) error {
	for _, s := range c.plan.For(plan.Machinery) {
		for !c.reached(s.Number) {
			if err := errors.Join(c.revive(ctx), pause(ctx, look)); err != nil {
				return err
			}
		}
		if len(c.operators.Names()) == 1 && 2*s.Number > len(c.plan.Steps) {
			tell(time.Now().Format(time.TimeOnly) + " a second operator")
			if err := c.operators.Start(ctx); err != nil {
				return fmt.Errorf("the second operator: %w", err)
			}
		}
		if err := c.operate(ctx, s); err != nil {
			return fmt.Errorf("step %d, %s: %w", s.Number, s.Action, err)
		}
	}
	for !c.reached(len(c.plan.Steps)) {
		if err := errors.Join(c.revive(ctx), pause(ctx, look)); err != nil {
			return err
		}
	}
	return nil
}

// revive starts again what has ended by itself, as a kubelet would: who cannot renew a lease ends.
func (c *campaign) revive(ctx context.Context) error {
	for _, member := range c.cp.Status() {
		if member.Running {
			continue
		}
		from := time.Now()
		tell(fmt.Sprintf("%s %s had ended, and starts again", from.Format(time.TimeOnly), member.Name))
		if err := c.cp.Restart(ctx, member.Name); err != nil {
			return err
		}
		c.away(from)
	}
	return nil
}

// away notes that somebody was.
func (c *campaign) away(from time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.outages = append(c.outages, checker.Span{From: from, To: time.Now()})
}

// reached reports whether as many steps have begun as come before a step, or nearly so:
// some databases have nothing left to do in the end.
func (c *campaign) reached(number int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	all, before := 0, 0
	for _, s := range c.plan.Steps {
		if s.Database == plan.Machinery {
			continue
		}
		all++
		if s.Number < number {
			before++
		}
	}
	return c.begun >= min(before, all)
}

// operate does what a step does to the machinery.
func (c *campaign) operate(ctx context.Context, s plan.Step) error {
	if *verbose {
		tell(fmt.Sprintf("%s step %d: %s", time.Now().Format(time.TimeOnly), s.Number, s.Action))
	}
	from := time.Now()
	defer c.away(from)
	switch s.Action {
	case plan.KillProvider:
		return c.outage(ctx, crossplane.Provider, s.Delay)
	case plan.KillOperator:
		return c.outage(ctx, c.operatorOf(s), s.Delay)
	case plan.FreezeOperator:
		return c.operators.Freeze(ctx, c.operatorOf(s), frozen)
	case plan.FreezeEtcd:
		return c.operators.Freeze(ctx, string(controlplane.Etcd), frozen)
	case plan.Depose:
		return persist(ctx, func(ctx context.Context) error { return operators.Depose(ctx, c.admin) })
	case plan.RestartAPIServer:
		return c.cp.Restart(ctx, string(controlplane.APIServer))
	case plan.CutWatches:
		c.operators.CutWatches(ctx, frozen)
		return nil
	case plan.EditPolicies:
		return c.editPolicies(ctx, s.Delay)
	case plan.StepClock:
		return c.operators.StepClock(ctx, []time.Duration{time.Hour, -time.Hour}[s.Number%2], s.Delay)
	default:
		return c.cp.Restart(ctx, crossplane.Core)
	}
}

// frozen is for how long processes are frozen, and cut off.
const frozen = 5 * time.Second

// operatorOf returns the operator that a step is about.
func (c *campaign) operatorOf(s plan.Step) string {
	names := c.operators.Names()
	return names[s.Number%len(names)]
}

// editPolicies adds a rule to each policy, for a field that nobody changes, and takes it away
// again after a while.
func (c *campaign) editPolicies(ctx context.Context, while time.Duration) error {
	edit := func(change func(*v1alpha1.AllowancePolicySpec)) error {
		var list v1alpha1.AllowancePolicyList
		if err := persist(ctx, func(ctx context.Context) error { return c.admin.List(ctx, &list) }); err != nil {
			return err
		}
		for _, p := range list.Items {
			err := persist(ctx, func(ctx context.Context) error {
				live := &v1alpha1.AllowancePolicy{}
				if err := c.admin.Get(ctx, client.ObjectKeyFromObject(&p), live); err != nil || len(live.Spec.Rules) == 0 {
					return err
				}
				change(&live.Spec)
				return c.admin.Update(ctx, live)
			})
			if err != nil {
				return err
			}
		}
		return nil
	}
	err := edit(func(spec *v1alpha1.AllowancePolicySpec) {
		extra := spec.Rules[0].DeepCopy()
		extra.Trigger = "spec.engine"
		spec.Rules = append(spec.Rules, *extra)
	})
	if err != nil {
		return err
	}
	if err := pause(ctx, while); err != nil {
		return err
	}
	return edit(func(spec *v1alpha1.AllowancePolicySpec) { spec.Rules = spec.Rules[:len(spec.Rules)-1] })
}

// outage kills a process, and starts it again after a while.
func (c *campaign) outage(ctx context.Context, name string, while time.Duration) error {
	if err := c.cp.Kill(name); err != nil {
		return err
	}
	if err := pause(ctx, while); err != nil {
		return err
	}
	return c.cp.Restart(ctx, name)
}
