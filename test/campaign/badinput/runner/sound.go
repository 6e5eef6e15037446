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

package runner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kausality.io/operator/api/v1alpha1"
)

// sound reports whether Kausality works as before: the policy is in effect, whoever may
// initiate grants, a rollout comes to its end, and a stranger is refused.
func (s *stage) sound(ctx context.Context) error {
	if err := s.untilEnforced(ctx); err != nil {
		return err
	}
	if err := s.until(ctx, s.grants); err != nil {
		return err
	}
	image := fmt.Sprintf("web:%d", time.Now().UnixNano())
	// What mallory has changed last is withheld, and would hold this up.
	body := map[string]any{"metadata": approval(), "spec": map[string]any{"template": map[string]any{"spec": map[string]any{
		"containers": []any{map[string]any{"name": "main", "image": image}},
	}}}}
	if _, err := s.alice.insist(ctx, http.MethodPatch, s.apps("deployments")+"/web", "application/strategic-merge-patch+json", body); err != nil {
		return err
	}
	if err := s.until(ctx, s.rolledOut); err != nil {
		return fmt.Errorf("a rollout does not come to its end: %w", err)
	}
	a, err := s.mallory.do(ctx, http.MethodPatch, s.replicaSet, asMerge, []byte(`{"spec":{"replicas":7}}`))
	if err != nil {
		return err
	}
	if a.code != http.StatusForbidden || !strings.Contains(a.status.Message, "kausality.io") {
		return fmt.Errorf("a stranger who changes a ReplicaSet is answered %d: %s", a.code, a.status.Message)
	}
	return nil
}

// approval returns metadata that approves of everything.
func approval() map[string]any {
	return map[string]any{"annotations": map[string]any{v1alpha1.AnnotationApprove: v1alpha1.Any}}
}

// grants reports whether a change by alice has given the Thing an allowance.
func (s *stage) grants(ctx context.Context) error {
	body := map[string]any{"metadata": approval(), "spec": map[string]any{"config": strconv.FormatInt(time.Now().UnixNano(), 10), "items": nil}}
	a, err := s.alice.insist(ctx, http.MethodPatch, s.things()+"/holder", asMerge, body)
	if err != nil {
		return err
	}
	var thing metav1.PartialObjectMetadata
	if err := json.Unmarshal(a.body, &thing); err != nil {
		return err
	}
	var ledger []v1alpha1.Allowance
	text := thing.Annotations[v1alpha1.AnnotationAllowances]
	if text == "" {
		return errors.New("a change of the Thing grants nothing")
	}
	if err := json.Unmarshal([]byte(text), &ledger); err != nil {
		return fmt.Errorf("the ledger of the Thing cannot be read: %w", err)
	}
	for _, entry := range ledger {
		if entry.Initiator == "alice" && entry.Generation == thing.Generation {
			return nil
		}
	}
	return errors.New("a change of the Thing grants nothing that is new")
}

// rolledOut reports whether the Deployment is what it is to be.
func (s *stage) rolledOut(ctx context.Context) error {
	a, err := s.admin.insist(ctx, http.MethodGet, s.apps("deployments")+"/web", asJSON, nil)
	if err != nil {
		return err
	}
	var d appsv1.Deployment
	if err := json.Unmarshal(a.body, &d); err != nil {
		return err
	}
	want, st := *d.Spec.Replicas, d.Status
	if st.ObservedGeneration != d.Generation || st.UpdatedReplicas != want || st.Replicas != want || st.AvailableReplicas != want {
		return fmt.Errorf("%d of %d Pods are new, %d are available, there are %d", st.UpdatedReplicas, want, st.AvailableReplicas, st.Replicas)
	}
	return nil
}
