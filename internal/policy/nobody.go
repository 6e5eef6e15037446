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
	"fmt"
	"strings"

	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/apiserver/pkg/authentication/user"

	"kausality.io/operator/api/v1alpha1"
)

// nobody says why a subject that is well-formed matches no requester all the same, and nothing where it
// may: names are compared as they are, and the API server makes up some of them.
func nobody(s v1alpha1.Subject) string {
	switch {
	case s.Name == v1alpha1.Any:
		return fmt.Sprintf("no %s is called *, which is no pattern here; Group %s has everybody", s.Kind, user.AllAuthenticated)
	case s.Kind == v1alpha1.SubjectServiceAccount:
		return noAccount(s)
	case s.Kind == v1alpha1.SubjectGroup:
		if namespace, name, err := serviceaccount.SplitUsername(s.Name); err == nil {
			return fmt.Sprintf("that is a user, and no group; it is kind ServiceAccount, namespace %s, name %s", namespace, name)
		}
	case s.Kind == v1alpha1.SubjectUser:
		if isGroup(s.Name) {
			return "that is a group, and no user; it is kind Group"
		}
	}
	return ""
}

// noAccount says why no ServiceAccount can be called as a subject says.
func noAccount(s v1alpha1.Subject) string {
	if namespace, name, err := serviceaccount.SplitUsername(s.Name); err == nil {
		return fmt.Sprintf("that is the user of a ServiceAccount, and not its name; it is namespace %s, name %s", namespace, name)
	}
	if wrong := apivalidation.ValidateServiceAccountName(s.Name, false); len(wrong) > 0 {
		return "no ServiceAccount can be called so: " + wrong[0]
	}
	if wrong := apivalidation.ValidateNamespaceName(s.Namespace, false); len(wrong) > 0 {
		return "no namespace can be called as its namespace is: " + wrong[0]
	}
	return ""
}

// isGroup reports whether a name is one of the groups that the API server makes up.
func isGroup(name string) bool {
	switch name {
	case user.AllAuthenticated, user.AllUnauthenticated, user.SystemPrivilegedGroup, user.NodesGroup, user.MonitoringGroup:
		return true
	default:
		return name == serviceaccount.AllServiceAccountsGroup || strings.HasPrefix(name, serviceaccount.ServiceAccountGroupPrefix)
	}
}
