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
)

// scale has an initiator scale the Deployment.
func (s *story) scale(ctx context.Context) error {
	if _, err := s.kubectl(ctx, s.alice, answer{says: []string{"deployment.apps/web scaled"}},
		"scale", "deployment/"+deploymentName, "--replicas=5"); err != nil {
		return err
	}
	if err := s.eventually(ctx, "the ReplicaSet is scaled, and 5 Pods are available", s.rolledOut(firstImage, 5)); err != nil {
		return err
	}
	return s.eventually(ctx, "the Deployment controller could do it, as alice had changed spec.replicas",
		s.covered(s.alice, "spec.replicas"))
}
