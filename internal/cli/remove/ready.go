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

package remove

import (
	"context"
	"fmt"
	"strings"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/interception"
	"kausality.io/operator/internal/kubectl"
)

// lookInterval is the time between two looks whether something has gone.
const lookInterval = 500 * time.Millisecond

// withoutPolicies makes sure that there are no policies, by which an operator would put back what
// is taken away.
func withoutPolicies(ctx context.Context, c client.Client, remove bool) error {
	if generating, err := generatingPolicies(ctx, c); err != nil {
		return err
	} else if len(generating) > 0 && !remove {
		return fmt.Errorf("%d GeneratingPolicies are there, by which the operator would put back what is taken away: "+
			"delete them first, with what they made, or use --delete-policies, by which that stays", len(generating))
	}
	var policies v1alpha1.AllowancePolicyList
	switch err := c.List(ctx, &policies); {
	case apierrors.IsNotFound(err), apimeta.IsNoMatchError(err):
		return nil // Their kind is not there either.
	case err != nil:
		return fmt.Errorf("listing AllowancePolicies: %w", err)
	case len(policies.Items) == 0:
		return nil
	case !remove:
		return fmt.Errorf("%d AllowancePolicies are there, by which the operator would put back what is taken away: "+
			"delete them first, or use --delete-policies", len(policies.Items))
	}
	for i := range policies.Items {
		if err := client.IgnoreNotFound(c.Delete(ctx, &policies.Items[i])); err != nil {
			return fmt.Errorf("deleting AllowancePolicy %s: %w", policies.Items[i].Name, err)
		}
	}
	return nil
}

// withoutInterception waits until the API server asks nobody about objects, and protects no
// annotation of them.
func withoutInterception(ctx context.Context, c client.Client, timeout time.Duration) error {
	var there []string
	began := time.Now()
	// Each look may take as long as it takes: one that is cut short has seen nothing.
	err := wait.PollUntilContextTimeout(ctx, lookInterval, timeout, true, func(context.Context) (bool, error) {
		now, err := intercepting(ctx, c)
		if err != nil {
			return false, err // What was there before is what there is to say.
		}
		there = now
		return len(there) == 0, nil
	})
	if err == nil || len(there) == 0 {
		return err
	}
	after := timeout
	if ctx.Err() != nil { // Somebody did not want to wait for so long.
		after = time.Since(began).Round(time.Second)
	}
	return fmt.Errorf("after %s %s %s still there, by which the API server would ask about each change, or undo it. "+
		"The operator takes that away without policies, where it runs; to have it taken away at once: %s",
		after, strings.Join(there, ", "), interception.DefaultName, switchOff(context.WithoutCancel(ctx), c))
}

// intercepting returns the kinds of what the operator has rendered and that is there.
func intercepting(ctx context.Context, c client.Client) ([]string, error) {
	var there []string
	for _, each := range []struct {
		resource string
		obj      client.Object
	}{
		{"mutatingwebhookconfigurations", &admissionregistrationv1.MutatingWebhookConfiguration{}},
		{"validatingwebhookconfigurations", &admissionregistrationv1.ValidatingWebhookConfiguration{}},
		{"mutatingadmissionpolicies", &admissionregistrationv1.MutatingAdmissionPolicy{}},
		{"mutatingadmissionpolicybindings", &admissionregistrationv1.MutatingAdmissionPolicyBinding{}},
	} {
		switch err := c.Get(ctx, client.ObjectKey{Name: interception.DefaultName}, each.obj); {
		case apierrors.IsNotFound(err), apimeta.IsNoMatchError(err):
		case err != nil:
			return nil, fmt.Errorf("reading %s %s: %w", each.resource, interception.DefaultName, err)
		default:
			there = append(there, each.resource)
		}
	}
	return there, nil
}

// switchOff returns the command that ends all interception.
func switchOff(ctx context.Context, c client.Client) string {
	var configurations admissionregistrationv1.ValidatingWebhookConfigurationList
	if err := c.List(ctx, &configurations); err == nil {
		if installed := interception.FindInstalled(configurations.Items); installed != nil {
			names := make([]string, 0, len(installed.Owners))
			for _, owner := range installed.Owners {
				names = append(names, kubectl.Name(owner.Name))
			}
			return "kubectl delete validatingwebhookconfigurations " + strings.Join(names, " ")
		}
	}
	return "kubectl delete mutatingwebhookconfigurations,validatingwebhookconfigurations,mutatingadmissionpolicies,mutatingadmissionpolicybindings " +
		interception.DefaultName
}
