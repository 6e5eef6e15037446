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
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/test/controlplane"
)

// reasonDenied is the reason of denials, in events and in the audit log.
const reasonDenied = "Denied"

// advisesApproval is in the answer to who may use what is approved.
const advisesApproval = "kubectl annotate"

// refuse has a person, and a controller that acts on nothing, change a ReplicaSet
// though nothing on its Deployment allows it.
func (s *story) refuse(ctx context.Context) error {
	rs, err := s.activeReplicaSet(ctx)
	if err != nil {
		return err
	}
	began := time.Now()
	if _, err := s.kubectl(ctx, s.mallory, notCovered(rs, "may have it done by changing Deployment web"),
		"scale", "replicaset/"+rs.Name, "--replicas=1"); err != nil {
		return err
	}
	if _, err := s.kubectl(ctx, s.controller, notCovered(rs, advisesApproval),
		"patch", "replicaset/"+rs.Name, "-p", `{"spec":{"replicas":7}}`); err != nil {
		return err
	}
	if err := s.claim("the ReplicaSet is as it was", s.asItWas(ctx, rs)); err != nil {
		return err
	}
	if err := s.claim("the audit log of the API server has both denials", s.denialsSince(began, s.mallory, s.controller)); err != nil {
		return err
	}
	if err := s.eventually(ctx, "an Event tells the owner of the Deployment", s.hasEvent); err != nil {
		return err
	}
	_, err = s.kubectl(ctx, s.admin, answer{says: []string{reasonDenied + " Deployment/web", "spec.replicas of ReplicaSet " + rs.Name}},
		"events", "--for=deployment/"+deploymentName, "--types=Warning")
	return err
}

// notCovered returns the answer to a change of the ReplicaSet's size: what was not
// covered, who bounds it, and who could help how: it depends on who asks.
func notCovered(rs *appsv1.ReplicaSet, help string) answer {
	return answer{refused: true, says: []string{
		"Forbidden",
		"spec.replicas of ReplicaSet " + rs.Name,
		"AllowancePolicy deployment", "Deployment web",
		"Group platform-team", help,
		"kubectl get allowancerecord",
	}}
}

// asItWas returns an error if the ReplicaSet was changed.
func (s *story) asItWas(ctx context.Context, before *appsv1.ReplicaSet) error {
	now := &appsv1.ReplicaSet{}
	if err := s.api.Get(ctx, client.ObjectKeyFromObject(before), now); err != nil {
		return err
	}
	if now.UID != before.UID || now.Generation != before.Generation {
		return fmt.Errorf("it is at generation %d, after %d", now.Generation, before.Generation)
	}
	return nil
}

// denialsSince returns an error unless each of the persons was denied a change of
// a ReplicaSet.
func (s *story) denialsSince(began time.Time, persons ...person) error {
	events, err := s.witness.all()
	if err != nil {
		return err
	}
	for _, p := range persons {
		denied := events.Where(controlplane.Since(began), controlplane.ByUser(p.name),
			controlplane.OfResource(appsv1.GroupName, "replicasets"), controlplane.Refused(403))
		if len(denied) == 0 {
			return fmt.Errorf("%s was not denied anything", p.name)
		}
		if reason := annotated(&denied[0], auditReason); reason != reasonDenied {
			return fmt.Errorf("the reason is %q", reason)
		}
	}
	return nil
}

// hasEvent is so when there is an Event about a denial on the Deployment.
func (s *story) hasEvent(ctx context.Context) error {
	var list corev1.EventList
	if err := s.api.List(ctx, &list, client.InNamespace(namespace)); err != nil {
		return err
	}
	for _, event := range list.Items {
		if event.Reason == reasonDenied && event.InvolvedObject.Kind == "Deployment" && event.InvolvedObject.Name == deploymentName {
			return nil
		}
	}
	return errors.New("there is none")
}
