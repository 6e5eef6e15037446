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
	"slices"
	"strings"

	"kausality.io/operator/api/v1alpha1"
)

// The images of the Deployment, one after the other.
const (
	firstImage  = "shop/web:1"
	secondImage = "shop/web:2"
	thirdImage  = "shop/web:3"
)

// imageField is where the Deployment has its image.
const imageField = "spec.template.spec.containers[0].image"

// changeImage has an initiator change the image, and looks at the ledger that the
// Deployment has while it rolls out, and no more afterwards.
func (s *story) changeImage(ctx context.Context) error {
	out, err := s.kubectl(ctx, s.alice, answer{},
		"set", "image", "deployment/"+deploymentName, deploymentName+"="+secondImage,
		"-o", `jsonpath=generation {.metadata.generation}{"\n"}{.metadata.annotations.kausality\.io/allowances}{"\n"}`)
	if err != nil {
		return err
	}
	if err := s.claim("the ledger, written with the change, lets controllers create and scale ReplicaSets in alice's name",
		checkLedger(out, s.alice, imageField)); err != nil {
		return err
	}
	if err := s.eventually(ctx, "the rollout completes: a new ReplicaSet has 5 available Pods, the old one none", s.rolledOut(secondImage, 5)); err != nil {
		return err
	}
	if err := s.showTrace(ctx, s.alice, imageField); err != nil {
		return err
	}
	if err := s.eventually(ctx, "the allowances are consumed: no ledger is left", s.settled); err != nil {
		return err
	}
	return s.showRecords(ctx, s.alice, "Covered")
}

// checkLedger checks a generation and the ledger after it: that there are
// allowances to create and to scale ReplicaSets, for this generation and in the
// name of the initiator who changed the field, and no others.
func checkLedger(out string, initiator person, field string) error {
	var generation int64
	head, text, _ := strings.Cut(out, "\n")
	if _, err := fmt.Sscanf(head, "generation %d", &generation); err != nil {
		return fmt.Errorf("it begins with no generation: %w", err)
	}
	var entries []v1alpha1.Allowance
	if err := json.Unmarshal([]byte(text), &entries); err != nil {
		return fmt.Errorf("it is no ledger: %w", err)
	}
	var mutations []string
	for _, e := range entries {
		if e.Kind != "ReplicaSet" || e.Generation != generation || e.Initiator != initiator.name ||
			len(e.Trace) != 1 || !isHop(e.Trace[0], "Deployment", deploymentName) || e.Trace[0].Field != field {
			return fmt.Errorf("it has an allowance for %s of %s, generation %d, by %s, from %s",
				e.Mutation, e.Kind, e.Generation, e.Initiator, hopTexts(e.Trace))
		}
		mutations = append(mutations, e.Mutation)
	}
	slices.Sort(mutations)
	if !slices.Equal(mutations, []string{v1alpha1.MutationCreateObject, "spec.replicas"}) {
		return fmt.Errorf("it allows %s", mutations)
	}
	return nil
}
