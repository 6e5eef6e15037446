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
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/types"

	"kausality.io/operator/api/v1alpha1"
)

// withhold has somebody change the Deployment who may not initiate: the change
// stands, and nothing follows from it (D2).
func (s *story) withhold(ctx context.Context) error {
	before, err := s.below(ctx)
	if err != nil {
		return err
	}
	began := time.Now()
	if _, err := s.kubectl(ctx, s.mallory, answer{says: []string{
		"Warning: ", imageField + " of Deployment web is withheld", s.mallory.name, "Group platform-team", "kubectl annotate",
		"deployment.apps/web image updated",
	}}, "set", "image", "deployment/"+deploymentName, deploymentName+"="+thirdImage); err != nil {
		return err
	}
	if err := s.eventually(ctx, "the Deployment controller tries to create a ReplicaSet for it, and is denied",
		func(context.Context) error { return s.denialsSince(began, s.controller) }); err != nil {
		return err
	}
	d, err := s.deployment(ctx)
	if err != nil {
		return err
	}
	if err := s.claim("the change stands, and the ledger of the Deployment says that it is mallory's and withheld", isWithheld(d, s.mallory)); err != nil {
		return err
	}
	if err := s.eventually(ctx, "the Deployment says what it waits for", s.waits); err != nil {
		return err
	}
	if _, err := s.kubectl(ctx, s.admin, answer{says: []string{"Create of ReplicaSet", "withheld", imageField, "platform-team"}},
		"get", "deployment", deploymentName, "-o",
		`jsonpath={.status.conditions[?(@.type=="`+v1alpha1.ConditionBlocked+`")].message}`); err != nil {
		return err
	}
	after, err := s.below(ctx)
	if err != nil {
		return err
	}
	return s.claim("no ReplicaSet has moved, and the same Pods run", same(before, after))
}

// below returns the generations of the ReplicaSets, and the Pods, by uid.
func (s *story) below(ctx context.Context) (map[types.UID]int64, error) {
	all, err := s.replicaSets(ctx)
	if err != nil {
		return nil, err
	}
	found := map[types.UID]int64{}
	for i := range all {
		found[all[i].UID] = all[i].Generation
		pods, err := s.pods(ctx, &all[i])
		if err != nil {
			return nil, err
		}
		for _, pod := range pods {
			found[pod.UID] = 0
		}
	}
	return found, nil
}

func same(before, after map[types.UID]int64) error {
	if maps.Equal(before, after) {
		return nil
	}
	return fmt.Errorf("there are %d objects, after %d, or some of them have changed", len(after), len(before))
}

// isWithheld returns an error unless the Deployment has the new image, and a
// ledger that holds nothing but that this change of the person is withheld.
func isWithheld(d *appsv1.Deployment, by person) error {
	if got := d.Spec.Template.Spec.Containers[0].Image; got != thirdImage {
		return fmt.Errorf("its image is %s", got)
	}
	var entries []v1alpha1.Allowance
	if err := json.Unmarshal([]byte(ledgerText(d)), &entries); err != nil {
		return fmt.Errorf("its ledger cannot be read: %w", err)
	}
	other := slices.ContainsFunc(entries, func(e v1alpha1.Allowance) bool {
		return e.Relation != v1alpha1.RelationWithheld || e.Mutation != imageField || e.Initiator != by.name
	})
	if len(entries) != 1 || other {
		return fmt.Errorf("its ledger is %s", ledgerText(d))
	}
	return nil
}

// waits is so when the Deployment has the Blocked condition.
func (s *story) waits(ctx context.Context) error {
	d, err := s.deployment(ctx)
	if err != nil {
		return err
	}
	if blocked(d) == "" {
		return errors.New("it has no condition " + v1alpha1.ConditionBlocked)
	}
	return nil
}
