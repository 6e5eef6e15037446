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
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/test/campaign/faults/plan"
)

const (
	// atOnce is how many requests people make at the same time.
	atOnce = 16
	// patience is how long nothing may move until somebody looks after a Deployment.
	patience = 20 * time.Second
	// workTimeout bounds how long the work of a round may take once nothing breaks any
	// more.
	workTimeout = 2 * time.Minute
)

// furnish makes the Deployments, and waits for them.
func (s *stage) furnish(ctx context.Context) error {
	group, groupCtx := errgroup.WithContext(ctx)
	group.SetLimit(atOnce)
	for d := range *deployments {
		group.Go(func() error {
			return insist(groupCtx, func(ctx context.Context) error {
				return create(ctx, s.people[plan.Alice], d, imageOf(plan.Alice, 0, d))
			})
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	return s.untilDone(ctx)
}

// play lets a round happen, and waits until all its work is done.
func (s *stage) play(ctx context.Context, number int, round *plan.Round) error {
	sayf("round %d: %d operators, %d changes, %d faults", number+1, round.Operators, len(round.Changes), len(round.Faults))
	for len(s.operators.Names()) < round.Operators {
		if err := s.operators.Start(ctx); err != nil {
			return err
		}
	}
	group, groupCtx := errgroup.WithContext(ctx)
	began := time.Now()
	acting, acted := context.WithCancel(groupCtx)
	group.Go(func() error {
		if err := s.breakAll(groupCtx, began, round.Faults); err != nil {
			return err
		}
		return s.attend(groupCtx, acting)
	})
	group.Go(func() error {
		defer acted()
		return s.actAll(groupCtx, began, number, round.Changes)
	})
	if err := group.Wait(); err != nil {
		return err
	}
	if _, err := s.revive(ctx); err != nil {
		return err
	}
	if err := s.repair(ctx, number, round); err != nil {
		return err
	}
	err := s.untilDone(ctx)
	calls, late := s.operators.Calls()
	sayf("  done after %s; looked after %d Deployments so far; %d of %d calls delayed",
		time.Since(began).Round(time.Second), s.nudged, late, calls)
	return err
}

// breakAll breaks one thing after the other.
func (s *stage) breakAll(ctx context.Context, began time.Time, faults []plan.Fault) error {
	for _, f := range faults {
		if err := s.attendUntil(ctx, began.Add(f.At)); err != nil {
			return err
		}
		since := time.Now()
		err := s.breakOne(ctx, f)
		if err != nil {
			// An operator that has just lost its lease ends by itself: then there is none to break.
			if revived, reviveErr := s.revive(ctx); revived && reviveErr == nil {
				err = s.breakOne(ctx, f)
			}
		}
		if err != nil {
			return fmt.Errorf("%s: %w", f, err)
		}
		sayf("  %s, for %s", f, time.Since(since).Round(100*time.Millisecond))
	}
	return nil
}

// actAll has everybody act at their time.
func (s *stage) actAll(ctx context.Context, began time.Time, round int, changes []plan.Change) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(4 * atOnce)
	for n, change := range changes {
		pause(ctx, time.Until(began.Add(change.At)))
		group.Go(func() error { return s.act(ctx, round+1, n, change) })
	}
	return group.Wait()
}

// repair has alice set what strangers may have changed, and approve of the number of Pods alone:
// a stranger may have asked for as many as she does, which no change takes back. All else that
// is withheld stays so, and shows.
func (s *stage) repair(ctx context.Context, number int, round *plan.Round) error {
	for d := range *deployments {
		if !round.Strange(d) {
			continue
		}
		if err := insist(ctx, func(ctx context.Context) error {
			return patch(ctx, s.people[plan.Alice], bare(d),
				`{"metadata":{"annotations":{%q:%q}},"spec":{"replicas":%d,"template":{"spec":{"containers":[{"name":"main","image":%q}]}}}}`,
				v1alpha1.AnnotationApprove, "spec.replicas", replicasAtFirst, imageOf("alice-again", number+1, d))
		}); err != nil {
			return err
		}
	}
	return nil
}

// untilDone waits until every Deployment is what it is to be. One of which nothing moves
// for a while is looked after: its controller gives up some of what was refused.
func (s *stage) untilDone(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, workTimeout)
	defer cancel()
	moved, last := time.Now(), ""
	var undone []unfinished
	for {
		now, err := s.undone(ctx)
		switch {
		case err == nil && len(now) == 0:
			return nil
		case err == nil:
			undone = now
		case ctx.Err() == nil:
			sayf("  %v", err)
		}
		state := fmt.Sprint(undone)
		if state != last {
			moved, last = time.Now(), state
		}
		if time.Since(moved) > patience {
			moved = time.Now()
			sayf("  looking after %d Deployments, the first one is %s", len(undone), undone[0])
			for _, u := range undone {
				s.nudged++
				if err := s.nudge(ctx, u.deployment); err != nil {
					sayf("  %s: %v", u, err)
				}
			}
		}
		pause(ctx, poll)
		if ctx.Err() != nil {
			return errors.New("work is not done: " + summary(undone))
		}
	}
}

// unfinished is a Deployment that is not what it is to be.
type unfinished struct {
	deployment int
	why        string
}

func (t unfinished) String() string { return nameOf(t.deployment) + " (" + t.why + ")" }

func summary(all []unfinished) string {
	var out []string
	for _, t := range all[:min(len(all), 10)] {
		out = append(out, t.String())
	}
	return fmt.Sprintf("%d Deployments, such as %s", len(all), strings.Join(out, ", "))
}

// undone returns the Deployments of which something is left to do, or to be forgotten.
func (s *stage) undone(ctx context.Context) ([]unfinished, error) {
	var list appsv1.DeploymentList
	if err := s.admin.List(ctx, &list, client.InNamespace(namespace)); err != nil {
		return nil, err
	}
	var sets appsv1.ReplicaSetList
	if err := s.admin.List(ctx, &sets, client.InNamespace(namespace)); err != nil {
		return nil, err
	}
	open := map[string]int{}
	for i := range sets.Items {
		if sets.Items[i].Annotations[v1alpha1.ReplicaSetAnnotationPrefix+"allowances"] != "" {
			open[sets.Items[i].Labels["app"]]++
		}
	}
	byName := map[string]*appsv1.Deployment{}
	for i := range list.Items {
		byName[list.Items[i].Name] = &list.Items[i]
	}
	var out []unfinished
	for n := range *deployments {
		d, found := byName[nameOf(n)]
		if !found {
			out = append(out, unfinished{n, "it does not exist"})
			continue
		}
		want := ptr.Deref(d.Spec.Replicas, 1)
		st := d.Status
		switch {
		case st.ObservedGeneration != d.Generation, st.UpdatedReplicas != want, st.Replicas != want, st.AvailableReplicas != want:
			out = append(out, unfinished{n, fmt.Sprintf("%d of %d Pods are new, %d are available, there are %d", st.UpdatedReplicas, want, st.AvailableReplicas, st.Replicas)})
		case d.Annotations[v1alpha1.AnnotationAllowances] != "":
			out = append(out, unfinished{n, "it still has a ledger"})
		case open[d.Name] > 0:
			out = append(out, unfinished{n, "its ReplicaSets still have ledgers"})
		}
	}
	return out, nil
}
