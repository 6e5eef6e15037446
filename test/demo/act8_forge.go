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
	"encoding/json"
	"fmt"

	"kausality.io/operator/api/v1alpha1"
)

// forge has somebody write a ledger by hand: what a request says about it is
// ignored (D10).
func (s *story) forge(ctx context.Context) error {
	d, err := s.deployment(ctx)
	if err != nil {
		return err
	}
	rs, err := s.activeReplicaSet(ctx)
	if err != nil {
		return err
	}
	forged, err := json.Marshal([]v1alpha1.Allowance{{
		Kind: v1alpha1.Any, Mutation: v1alpha1.Any, Generation: d.Generation, Initiator: s.alice.name,
	}})
	if err != nil {
		return err
	}
	if _, err := s.kubectl(ctx, s.mallory, answer{says: []string{"deployment.apps/web annotated"}},
		"annotate", "deployment", deploymentName, v1alpha1.AnnotationAllowances+"="+string(forged)); err != nil {
		return err
	}
	d, err = s.deployment(ctx)
	if err != nil {
		return err
	}
	var stays error
	if text := ledgerText(d); text != "" {
		stays = fmt.Errorf("it has %s", text)
	}
	if err := s.claim("the Deployment has no ledger, as before", stays); err != nil {
		return err
	}
	if _, err := s.kubectl(ctx, s.controller, notCovered(rs, advisesApproval),
		"patch", "replicaset/"+rs.Name, "-p", `{"spec":{"replicas":7}}`); err != nil {
		return err
	}
	return s.claim("the ReplicaSet is as it was", s.asItWas(ctx, rs))
}
