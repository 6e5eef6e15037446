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

	"kausality.io/operator/api/v1alpha1"
)

// approve has an initiator approve the change that was withheld (D20).
func (s *story) approve(ctx context.Context) error {
	if _, err := s.kubectl(ctx, s.alice, answer{says: []string{"deployment.apps/web annotated"}},
		"annotate", "deployment", deploymentName, v1alpha1.AnnotationApprove+"=*"); err != nil {
		return err
	}
	if err := s.eventually(ctx, "the rollout runs, and completes", s.rolledOut(thirdImage, 5)); err != nil {
		return err
	}
	if err := s.showTrace(ctx, s.alice, imageField); err != nil {
		return err
	}
	if err := s.eventually(ctx, "the Deployment waits for nothing any more", s.unblocked); err != nil {
		return err
	}
	if err := s.eventually(ctx, "the allowances are consumed: no ledger is left", s.settled); err != nil {
		return err
	}
	d, err := s.deployment(ctx)
	if err != nil {
		return err
	}
	var kept error
	if _, ok := d.Annotations[v1alpha1.AnnotationApprove]; ok {
		kept = errors.New("the annotation is still there")
	}
	return s.claim("the approval counted once: its annotation is gone", kept)
}
