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

package cluster

import (
	"context"
	"fmt"

	authenticationv1 "k8s.io/api/authentication/v1"

	"kausality.io/operator/internal/policy"
)

// Whoami returns the user that the cluster takes requests to come from, an impersonated
// one included.
func (c *Cluster) Whoami(ctx context.Context) (policy.Requester, error) {
	review := &authenticationv1.SelfSubjectReview{}
	if err := c.Create(ctx, review); err != nil {
		return policy.Requester{}, fmt.Errorf("asking the cluster who you are: %w", err)
	}
	you := review.Status.UserInfo
	return policy.Requester{Username: you.Username, Groups: you.Groups, UID: you.UID}, nil
}
