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
	"fmt"
	"slices"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/test/campaign/faults/checker"
	"kausality.io/operator/test/campaign/faults/plan"
	strangers "kausality.io/operator/test/campaign/stranger/checker"
)

// forged is a ledger that nothing has caused.
const forged = `[{"kind":"ReplicaSet","mutation":"spec.replicas","generation":99,"initiator":"alice","trace":[{"kind":"Deployment","name":"web-0","generation":99,"field":"spec.replicas"}]}]`

// plant breaks promises on purpose: for a moment nobody is asked, a stranger changes a
// child, and writes a ledger.
func (s *stage) plant(ctx context.Context) error {
	for _, name := range s.operators.Names() {
		if err := s.cp.Pause(name); err != nil {
			return err
		}
	}
	for _, kind := range []client.Object{
		&admissionregistrationv1.MutatingWebhookConfiguration{}, &admissionregistrationv1.ValidatingWebhookConfiguration{},
		&admissionregistrationv1.MutatingAdmissionPolicyBinding{},
	} {
		if err := s.admin.DeleteAllOf(ctx, kind); err != nil {
			return err
		}
	}
	mallory := s.people[plan.Mallory]
	rs, err := s.replicaSet(ctx, 0)
	if err != nil {
		return err
	}
	// The API server hears some time later that it is not to ask.
	if err := insist(ctx, func(ctx context.Context) error {
		return patch(ctx, mallory, rs, `{"spec":{"replicas":%d}}`, *rs.Spec.Replicas+1)
	}); err != nil {
		return err
	}
	if err := insist(ctx, func(ctx context.Context) error {
		d := bare(0)
		err := patch(ctx, mallory, d, `{"metadata":{"annotations":{%q:%q}}}`, v1alpha1.AnnotationAllowances, forged)
		if err == nil && d.Annotations[v1alpha1.AnnotationAllowances] != forged {
			return fmt.Errorf("the ledger of Deployment %s stays as it is", d.Name)
		}
		return err
	}); err != nil {
		return err
	}
	for _, name := range s.operators.Names() {
		if err := s.cp.Resume(name); err != nil {
			return err
		}
	}
	return nil
}

// planted reports whether what was broken on purpose was found.
func planted(f *findings) error {
	if !slices.ContainsFunc(f.Unexcused(), func(f checker.Finding) bool { return f.Promise == checker.Invented }) {
		return fmt.Errorf("there was an %s, and nobody found it", checker.Invented)
	}
	if !slices.ContainsFunc(f.children.Findings, func(f strangers.Finding) bool { return f.Promise == strangers.Uncovered }) {
		return fmt.Errorf("there was an %s, and nobody found it", strangers.Uncovered)
	}
	sayf("what was broken on purpose is found")
	return nil
}
