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
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/test/campaign/stranger/checker"
	"kausality.io/operator/test/campaign/stranger/plan"
)

const (
	// breath is what controllers have between two acts that are played again.
	breath = 300 * time.Millisecond
	// late is how long what was found may take to show after the last act.
	late = 8 * time.Second
)

// note remembers what an act was done to.
func (s *stage) note(n int, upon string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.upon == nil {
		s.upon = map[int]string{}
	}
	s.upon[n] = upon
}

// shrink plays acts again of those up to a finding, and leaves out more and more of them, as long
// as a promise of the kind is not kept. What happens at the same time is not the same again, so
// that it may say nothing: then the story of the finding is all there is.
func (s *stage) shrink(ctx context.Context, found checker.Finding) error {
	family := familyOf(found)
	acts := s.about(family, plan.Make(*seed, *acts)[:s.before(found.At)])
	sayf("playing %d acts upon %s again", len(acts), family)
	tries := 0
	breaks := func(acts []plan.Act) (bool, error) {
		tries++
		return s.again(ctx, tries, family, acts, found.Promise)
	}
	still, err := breaks(acts)
	if err != nil || !still {
		sayf("played again, it does not show")
		return err
	}
	for size := len(acts) / 2; size > 0 && tries < *shrink; {
		fewer := false
		for at := 0; at < len(acts) && tries < *shrink; {
			left := slices.Delete(slices.Clone(acts), at, min(at+size, len(acts)))
			broken, err := breaks(left)
			switch {
			case err != nil:
				return err
			case broken:
				acts, fewer = left, true
			default:
				at += size
			}
		}
		if !fewer || size > len(acts)/2 {
			size /= 2
		}
	}
	sayf("it takes %d acts upon %s:", len(acts), family)
	for _, act := range acts {
		fmt.Printf("    act %d: %s: %s %s\n", act.N, act.Who, act.What, act.Resource)
	}
	return nil
}

// familyOf returns the one of alice's objects that a finding is about or below.
func familyOf(found checker.Finding) string {
	for _, names := range hers {
		for _, name := range names {
			if strings.Contains(found.Object+" "+found.Parent+" ", "/"+name) {
				return name
			}
		}
	}
	return ""
}

// about returns the acts upon one of alice's objects, or below it.
func (s *stage) about(family string, acts []plan.Act) []plan.Act {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.DeleteFunc(acts, func(act plan.Act) bool {
		return act.Who == plan.Fate || !strings.HasPrefix(s.upon[act.N], family)
	})
}

// again plays acts one after the other where nothing has happened yet, and reports whether a
// promise is not kept.
func (s *stage) again(ctx context.Context, try int, family string, acts []plan.Act, promise checker.Promise) (bool, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	fresh := &stage{
		cp: s.cp, operator: s.operator, admin: s.admin, schemas: s.schemas, policies: s.policies,
		people: map[plan.Who]client.Client{}, namespace: fmt.Sprintf("again-%d", try), family: family,
	}
	if err := fresh.invite(ctx); err != nil {
		return false, err
	}
	if err := fresh.furnish(ctx); err != nil {
		return false, err
	}
	pause(ctx, late) // What is new settles.
	for _, act := range acts {
		if err := fresh.play(ctx, []plan.Act{act}); err != nil {
			return false, err
		}
		pause(ctx, breath)
	}
	broken := false
	err := wait.PollUntilContextTimeout(ctx, time.Second, late, true, func(ctx context.Context) (bool, error) {
		evidence, err := s.collect(ctx)
		if err != nil {
			return false, err
		}
		evidence.Log, evidence.Final = evidence.Log.In(fresh.namespace), nil
		r, err := checker.Check(evidence)
		if err != nil {
			return false, err
		}
		broken = slices.ContainsFunc(r.Findings, func(f checker.Finding) bool { return f.Promise == promise })
		return broken, nil
	})
	if wait.Interrupted(err) && ctx.Err() == nil {
		err = nil
	}
	sayf("  %d acts: %t", len(acts), broken)
	return broken, err
}

func pause(ctx context.Context, long time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(long):
	}
}
