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

	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/api/v1alpha1"
)

// showRecords shows the AllowanceRecords, once the last decision on the Deployment
// was taken for the given reason, and all of them go back to the initiator.
func (s *story) showRecords(ctx context.Context, initiator person, reason string) error {
	d, err := s.deployment(ctx)
	if err != nil {
		return err
	}
	all, err := s.replicaSets(ctx)
	if err != nil {
		return err
	}
	if err := s.eventually(ctx, "the AllowanceRecords remain, and name "+initiator.name, func(ctx context.Context) error {
		for i := range all {
			if _, err := s.recordOf(ctx, &all[i], initiator); err != nil {
				return err
			}
		}
		rec, err := s.recordOf(ctx, d, initiator)
		if err != nil {
			return err
		}
		if last := rec.Status.LastDecision; last == nil || last.Reason != reason || last.Initiator != initiator.name {
			return fmt.Errorf("the last decision that %s tells of is another one", rec.Name)
		}
		return nil
	}); err != nil {
		return err
	}
	want := answer{says: []string{"Deployment web Steady 0 " + initiator.name + " " + reason}}
	for i := range all {
		want.says = append(want.says, "ReplicaSet "+all[i].Name+" Steady 0 "+initiator.name)
	}
	_, err = s.kubectl(ctx, s.admin, want, "get", "allowancerecords")
	return err
}

// recordOf returns the record of an object whose latest allowance was of the
// initiator.
func (s *story) recordOf(ctx context.Context, obj client.Object, initiator person) (*v1alpha1.AllowanceRecord, error) {
	rec, err := s.record(ctx, obj)
	if err != nil {
		return nil, err
	}
	if rec.Status.Initiator != initiator.name {
		return nil, fmt.Errorf("AllowanceRecord %s names %q", rec.Name, rec.Status.Initiator)
	}
	return rec, nil
}

// covered is so when the last decision on the Deployment let its controller change
// a ReplicaSet, because the initiator had changed the field.
func (s *story) covered(initiator person, field string) condition {
	return func(ctx context.Context) error {
		d, err := s.deployment(ctx)
		if err != nil {
			return err
		}
		rec, err := s.record(ctx, d)
		if err != nil {
			return err
		}
		last := rec.Status.LastDecision
		switch {
		case last == nil:
			return errors.New("nothing was decided")
		case last.User != s.controller.name || last.Kind != "ReplicaSet" || last.Reason != "Covered":
			return fmt.Errorf("the last decision is %s, on a %s by %s", last.Reason, last.Kind, last.User)
		case last.Initiator != initiator.name || len(last.Trace) != 1 ||
			!isHop(last.Trace[0], "Deployment", deploymentName) || last.Trace[0].Field != field:
			return fmt.Errorf("the cause was %s by %s", hopTexts(last.Trace), last.Initiator)
		}
		return nil
	}
}

// hopTexts returns the objects of a way.
func hopTexts(hops []v1alpha1.TraceHop) []string {
	texts := make([]string, 0, len(hops))
	for _, hop := range hops {
		texts = append(texts, hopText(hop))
	}
	return texts
}

// isHop reports whether the hop is the object.
func isHop(hop v1alpha1.TraceHop, kind, name string) bool {
	return hop.Kind == kind && hop.Name == name
}
