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

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kausality.io/operator/test/campaign/generating/model"
	"kausality.io/operator/test/campaign/generating/plan"
	"kausality.io/operator/test/controlplane"
)

// breakOrMend breaks something, or makes it whole again.
func (p *performance) breakOrMend(ctx context.Context) (string, error) {
	var err error
	switch p.Do {
	case plan.Kill:
		if p.model.Down {
			return "", errNothing
		}
		err = p.operator.Kill()
		p.did(func(w *model.World) { w.Down = true })
	case plan.Revive:
		err = p.revive(ctx)
	case plan.RestartAPIs:
		if err = p.cp.Restart(ctx, string(controlplane.APIServer)); err == nil {
			err = p.attend(ctx)
		}
	case plan.TakeRights:
		return p.takeRights(ctx)
	case plan.GiveRights:
		return p.giveRights(ctx)
	default:
		return "", fmt.Errorf("nobody knows how to %s", p.Do)
	}
	return string(p.Do), err
}

// revive has the operator back where it is down.
func (s *stage) revive(ctx context.Context) error {
	if !s.model.Down {
		return nil
	}
	err := s.operator.Restart(ctx)
	s.model.Act(func(w *model.World) { w.Down = false })
	return err
}

// attend starts again what has ended by itself, as a kubelet would.
func (s *stage) attend(ctx context.Context) error {
	for _, member := range s.cp.Status() {
		if member.Running || member.Name == s.operator.Name && s.model.Down {
			continue
		}
		sayf("%s had ended, and starts again", member.Name)
		if err := s.cp.Restart(ctx, member.Name); err != nil {
			return err
		}
	}
	return nil
}

func (p *performance) takeRights(ctx context.Context) (string, error) {
	kind := kinds[p.Pick[0]%len(kinds)]
	if p.model.MayNotWrite[kind] {
		return "", errNothing
	}
	if err := p.admin.Delete(ctx, &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: roleToWrite(kind).Name}}); err != nil {
		return "", err
	}
	err := p.untilAllowed(ctx, kind, false)
	p.did(func(w *model.World) { w.MayNotWrite[kind] = true })
	return fmt.Sprintf("%s to write %s", p.Do, kind), err
}

func (p *performance) giveRights(ctx context.Context) (string, error) {
	kind, err := pickOf(keysOf(p.model.MayNotWrite), p.Pick[0])
	if err != nil {
		return "", err
	}
	if err := p.admin.Create(ctx, roleToWrite(kind)); err != nil {
		return "", err
	}
	p.did(func(w *model.World) { delete(w.MayNotWrite, kind) })
	return fmt.Sprintf("%s to write %s", p.Do, kind), p.untilAllowed(ctx, kind, true)
}

// keysOf returns the kinds of a set, in their order.
func keysOf(set map[string]bool) []string {
	var out []string
	for _, kind := range kinds {
		if set[kind] {
			out = append(out, kind)
		}
	}
	return out
}

// pause waits, since acts are not to come all in the same moment.
func pause(ctx context.Context, long time.Duration) {
	timer := time.NewTimer(long)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
