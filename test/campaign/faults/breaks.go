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
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/test/campaign/faults/checker"
	"kausality.io/operator/test/campaign/faults/plan"
	"kausality.io/operator/test/campaign/operators"
	"kausality.io/operator/test/controlplane"
)

// unwritten is how long before its end an operator may have decided what it has not
// written down: it may have been cut off, too.
const unwritten = 20 * time.Second

// breakOne breaks something, and returns when it is whole again.
func (s *stage) breakOne(ctx context.Context, f plan.Fault) error {
	name := ""
	if names := s.operators.Names(); f.Operator < len(names) {
		name = names[f.Operator]
	}
	switch f.Break {
	case plan.Kill:
		return s.down(time.Now(), func() error {
			if err := s.cp.Kill(name); err != nil {
				return err
			}
			pause(ctx, time.Second)
			return s.cp.Restart(ctx, name)
		})
	case plan.Freeze:
		return s.operators.Freeze(ctx, name, f.For)
	case plan.Restart:
		return s.down(time.Now(), func() error { return s.cp.Restart(ctx, name) })
	case plan.Depose:
		return s.depose(ctx)
	case plan.RestartAPIServer:
		return s.cp.Restart(ctx, string(controlplane.APIServer))
	case plan.FreezeEtcd:
		return s.operators.Freeze(ctx, string(controlplane.Etcd), f.For)
	case plan.ExpireCertificate:
		return s.changeCertificate(ctx, expire)
	case plan.RotateCertificate:
		return s.changeCertificate(ctx, func(secret *corev1.Secret) error {
			secret.Data = nil
			return nil
		})
	case plan.CutWatches:
		s.operators.CutWatches(ctx, f.For)
		return nil
	case plan.StepClock:
		return s.operators.StepClock(ctx, f.Ahead, f.For)
	case plan.EditPolicy:
		return s.editPolicies(ctx, f.For)
	case plan.DeletePolicy:
		return s.deletePolicies(ctx, f.For)
	case plan.DelayCalls:
		s.operators.DelayCalls(ctx, 2*f.For)
		return nil
	default:
		return fmt.Errorf("nobody knows how to %s", f.Break)
	}
}

// down notes that an operator ends, not before a time, and comes back.
func (s *stage) down(since time.Time, during func() error) error {
	from := since.Add(-unwritten)
	err := during()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.killed = append(s.killed, checker.Interval{From: from, To: time.Now()})
	return err
}

// pause waits, since what is broken is to stay broken for a while.
func pause(ctx context.Context, long time.Duration) {
	timer := time.NewTimer(long)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// depose gives the lease to somebody else. The operator that had it ends, and is started
// again, as a kubelet would. Where none had it just then, none ends, and one takes it once
// it has run out.
func (s *stage) depose(ctx context.Context) error {
	if err := insist(ctx, func(ctx context.Context) error { return operators.Depose(ctx, s.admin) }); err != nil {
		return err
	}
	return wait.PollUntilContextTimeout(ctx, poll, time.Minute, true, func(ctx context.Context) (bool, error) {
		if revived, err := s.revive(ctx); revived || err != nil {
			return revived, err
		}
		return operators.Led(ctx, s.admin), nil
	})
}

// attend starts again what ends by itself, as a kubelet would: an operator that cannot
// renew its lease because nobody answers. It returns once nobody is acting any more.
func (s *stage) attend(ctx, acting context.Context) error {
	for {
		if _, err := s.revive(ctx); err != nil {
			return err
		}
		select {
		case <-time.After(poll):
		case <-acting.Done():
			return nil
		}
	}
}

// attendUntil does so until a time has come.
func (s *stage) attendUntil(ctx context.Context, at time.Time) error {
	acting, cancel := context.WithDeadline(ctx, at)
	defer cancel()
	return s.attend(ctx, acting)
}

// revive starts again what has ended by itself, and tells whether there was something.
func (s *stage) revive(ctx context.Context) (bool, error) {
	found, looked := false, time.Now()
	for _, member := range s.cp.Status() {
		if member.Running {
			continue
		}
		found = true
		sayf("  %s had ended, and starts again", member.Name)
		if err := s.down(s.whole, func() error { return s.cp.Restart(ctx, member.Name) }); err != nil {
			return false, err
		}
	}
	s.whole = looked
	return found, nil
}

// editPolicies adds a rule to each policy and takes it away again.
func (s *stage) editPolicies(ctx context.Context, long time.Duration) error {
	edit := func(change func(*v1alpha1.AllowancePolicySpec)) error {
		for _, p := range s.policies {
			if err := insist(ctx, func(ctx context.Context) error {
				live := &v1alpha1.AllowancePolicy{}
				if err := s.admin.Get(ctx, client.ObjectKeyFromObject(p), live); err != nil {
					return err
				}
				change(&live.Spec)
				return s.admin.Update(ctx, live)
			}); err != nil {
				return err
			}
		}
		return nil
	}
	err := edit(func(spec *v1alpha1.AllowancePolicySpec) {
		extra := spec.Rules[0].DeepCopy()
		extra.Trigger = "spec.selector"
		spec.Rules = append(spec.Rules, *extra)
	})
	if err != nil {
		return err
	}
	pause(ctx, long)
	if err := edit(func(spec *v1alpha1.AllowancePolicySpec) { spec.Rules = spec.Rules[:len(spec.Rules)-1] }); err != nil {
		return err
	}
	return s.untilEnforced(ctx)
}

// deletePolicies deletes all policies and creates them again.
func (s *stage) deletePolicies(ctx context.Context, long time.Duration) error {
	s.unasked.Store(true)
	for _, p := range s.policies {
		if err := insist(ctx, func(ctx context.Context) error {
			return client.IgnoreNotFound(s.admin.Delete(ctx, p.DeepCopy()))
		}); err != nil {
			return err
		}
	}
	pause(ctx, long)
	return s.applyPolicies(ctx)
}
