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

package admission

import (
	"context"
	"fmt"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/access"
)

// +kubebuilder:rbac:groups=authorization.k8s.io,resources=subjectaccessreviews,verbs=create

// Reviews asks the API server who may break the glass.
type Reviews struct {
	// Client makes SubjectAccessReviews.
	Client client.Client
}

// MayBreakGlass implements Access: it is up to the cluster's own authorization.
// Without a policy to name, the right on all policies is asked for.
func (a Reviews) MayBreakGlass(ctx context.Context, user authenticationv1.UserInfo, policies []string) (bool, error) {
	if len(policies) == 0 {
		policies = []string{""}
	}
	for _, name := range policies {
		review := access.ReviewFor(user, &authorizationv1.ResourceAttributes{
			Group:    v1alpha1.GroupVersion.Group,
			Version:  v1alpha1.GroupVersion.Version,
			Resource: "allowancepolicies",
			Verb:     v1alpha1.VerbBreakGlass,
			Name:     name,
		})
		if err := a.Client.Create(ctx, review); err != nil {
			return false, fmt.Errorf("cannot review whether %s may break the glass of AllowancePolicy %q: %w", user.Username, name, err)
		}
		if !review.Status.Allowed {
			return false, nil
		}
	}
	return true, nil
}
