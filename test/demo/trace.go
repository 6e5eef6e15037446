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

	"k8s.io/apimachinery/pkg/api/equality"
)

// showTrace draws the way to each Pod that runs now. All of them have to begin
// with the initiator's change of the given field of the Deployment.
func (s *story) showTrace(ctx context.Context, initiator person, field string) error {
	rs, err := s.activeReplicaSet(ctx)
	if err != nil {
		return err
	}
	running, err := s.pods(ctx, rs)
	if err != nil {
		return err
	}
	pods, err := s.witness.podCreations(func(name string) bool { _, ok := running[name]; return ok })
	if err != nil {
		return s.claim("each Pod has a trace", err)
	}
	s.narrator.output(drawn(pods))
	claim := fmt.Sprintf("the trace of each of the %d Pods, in the API server's audit log, leads back to %s", len(running), initiator.name)
	if err := s.claim(claim, leadBack(pods, len(running), initiator, field, rs.Name)); err != nil {
		return err
	}
	return s.eventually(ctx, "the AllowanceRecord of ReplicaSet "+rs.Name+" tells the same", func(ctx context.Context) error {
		rec, err := s.record(ctx, rs)
		if err != nil {
			return err
		}
		last := rec.Status.LastDecision
		if last == nil || last.Kind != "Pod" {
			return errors.New("its last decision is not about a Pod")
		}
		for _, p := range pods {
			if p.initiator == last.Initiator && equality.Semantic.DeepEqual(p.hops, last.Trace) {
				return nil
			}
		}
		return fmt.Errorf("it tells of %s by %s", hopTexts(last.Trace), last.Initiator)
	})
}

// leadBack checks the way to each Pod: from the initiator over the field of the
// Deployment and the ReplicaSet.
func leadBack(pods []created, want int, initiator person, field, replicaSet string) error {
	if len(pods) != want {
		return fmt.Errorf("%d of %d Pods have a trace", len(pods), want)
	}
	for _, p := range pods {
		if p.initiator != initiator.name || len(p.hops) != 2 ||
			!isHop(p.hops[0], "Deployment", deploymentName) || p.hops[0].Field != field ||
			!isHop(p.hops[1], "ReplicaSet", replicaSet) {
			return fmt.Errorf("that of Pod %s is %s by %s", p.pod, hopTexts(p.hops), p.initiator)
		}
	}
	return nil
}
