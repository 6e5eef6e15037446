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

package access

import (
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// AggregationLabel is on ClusterRoles whose rights the operator is given.
const AggregationLabel = "rbac.kausality.io/aggregate-to-operator"

// ClusterRole gives the operator rights, once it is applied. What is allowed the same of one group
// is one rule.
func ClusterRole(name string, needs []Need) *rbacv1.ClusterRole {
	role := &rbacv1.ClusterRole{
		TypeMeta: metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: "ClusterRole"},
		ObjectMeta: metav1.ObjectMeta{
			Name:   name,
			Labels: map[string]string{"app.kubernetes.io/name": "kausality", AggregationLabel: "true"},
		},
		Rules: []rbacv1.PolicyRule{},
	}
	type target struct{ group, resource string }
	verbs := map[target][]string{}
	var order []target
	sorted := slices.SortedFunc(slices.Values(needs), compare)
	for _, n := range slices.Compact(sorted) {
		t := target{n.Group, n.Resource}
		if n.Subresource != "" {
			t.resource += "/" + n.Subresource
		}
		if verbs[t] == nil {
			order = append(order, t)
		}
		verbs[t] = append(verbs[t], n.Verb)
	}
	for _, t := range order {
		i := slices.IndexFunc(role.Rules, func(r rbacv1.PolicyRule) bool {
			return r.APIGroups[0] == t.group && slices.Equal(r.Verbs, verbs[t])
		})
		if i < 0 {
			role.Rules = append(role.Rules, rbacv1.PolicyRule{APIGroups: []string{t.group}, Resources: []string{t.resource}, Verbs: verbs[t]})
			continue
		}
		role.Rules[i].Resources = append(role.Rules[i].Resources, t.resource)
	}
	return role
}
