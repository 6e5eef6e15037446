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

	"kausality.io/operator/api/v1alpha1"
)

// create has a Deployment created by somebody who may not initiate: its creation
// is its own cause (D9).
func (s *story) create(ctx context.Context) error {
	if _, err := s.kubectl(ctx, s.carol, answer{says: []string{"deployment.apps/web created"}},
		"create", "deployment", deploymentName, "--image="+firstImage, "--replicas=3"); err != nil {
		return err
	}
	if err := s.eventually(ctx, "its controllers create a ReplicaSet and 3 Pods, which become available", s.rolledOut(firstImage, 3)); err != nil {
		return err
	}
	if err := s.showTrace(ctx, s.carol, v1alpha1.FieldCreated); err != nil {
		return err
	}
	if err := s.eventually(ctx, "what the creation allowed is consumed: no ledger is left", s.settled); err != nil {
		return err
	}
	return s.showRecords(ctx, s.carol, "Initializing")
}
