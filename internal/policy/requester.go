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

package policy

import (
	"slices"
	"strings"

	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/apiserver/pkg/authentication/user"
)

// Requester is who makes a request, as the API server authenticated them. An
// impersonated user is the requester, not whoever impersonates (D3).
type Requester struct {
	// Username is the user's name, system:serviceaccount:NAMESPACE:NAME for
	// service accounts.
	Username string
	// Groups the user is in.
	Groups []string
	// UID of the user, where the authenticator knows one.
	UID string
}

// IsServiceAccount tells a service account from a person.
func (r Requester) IsServiceAccount() bool {
	return strings.HasPrefix(r.Username, serviceaccount.ServiceAccountUsernamePrefix)
}

// IsController returns true for service accounts, and for the user that all built-in
// controllers share where the controller manager runs without
// --use-service-account-credentials (D3).
func (r Requester) IsController() bool {
	return r.IsServiceAccount() || r.Username == user.KubeControllerManager
}

// systemPrefix is that of the users that a cluster makes for its own components.
const systemPrefix = "system:"

// administrators are names of people that look like those of components: k3s and OpenShift give
// the first to whoever installs a cluster, and the other is nobody's.
var administrators = []string{"system:admin", user.Anonymous}

// IsComponent returns true for service accounts and for what the cluster itself runs, such as
// the scheduler and kubelets.
func (r Requester) IsComponent() bool {
	return strings.HasPrefix(r.Username, systemPrefix) && !slices.Contains(administrators, r.Username)
}
