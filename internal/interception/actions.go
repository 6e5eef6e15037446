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

package interception

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/authentication/user"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/policy"
)

// place is where a kind has its status.
type place bool

const (
	// inStatus is the sub-resource of that name.
	inStatus place = true
	// inObject is the object itself, of a kind without that sub-resource.
	inObject place = false
)

// somebodyActs is true for a request that may change what people change in a status to have
// a controller act. What those write there who may use what policies allow, and start
// nothing, is their report, and stays inside the API server.
func somebodyActs(in Input, where place) []string {
	resources, reporters := sets.New[string](), newReporters()
	for _, p := range in.Policies {
		if !p.HasActions() {
			continue
		}
		resource, _, subresources, served := in.Holder(p.For)
		if !served || slices.Contains(subresources, "status") != bool(where) {
			continue
		}
		resources.Insert(resource.Group + "/" + resource.Resource)
		reporters.add(p)
	}
	if resources.Len() == 0 {
		return nil
	}
	return []string{fmt.Sprintf(`(request.resource.group + "/" + request.resource.resource in %s && !(%s)
&& has(object.status) && (!has(oldObject.status) || object.status != oldObject.status))`,
		list(sets.List(resources)...), reporters.expression(in.OperatorUser))}
}

// reporters are who only use what policies allow.
type reporters struct {
	users sets.Set[string]
	// anyController is true where a policy names none of them, so that any controller may.
	anyController bool
	// initiators are service accounts that may initiate, and so act.
	initiators sets.Set[string]
}

func newReporters() *reporters {
	return &reporters{users: sets.New[string](), initiators: sets.New[string]()}
}

func (r *reporters) add(p *policy.Policy) {
	r.anyController = r.anyController || !p.NamesExercisers()
	for _, s := range p.Subjects() {
		switch {
		case s.MayInitiate:
			r.initiators.Insert(userOf(s.Subject))
		case s.Kind != v1alpha1.SubjectGroup:
			r.users.Insert(userOf(s.Subject))
		}
	}
}

func userOf(s v1alpha1.Subject) string {
	if s.Kind == v1alpha1.SubjectServiceAccount {
		return "system:serviceaccount:" + s.Namespace + ":" + s.Name
	}
	return s.Name
}

// expression is true for requests by one of them. Who is known by a group is asked about.
func (r *reporters) expression(operator string) string {
	users := r.users.Difference(r.initiators).Insert(operator)
	out := `has(request.userInfo.username) && (request.userInfo.username in ` + list(sets.List(users)...)
	if r.anyController {
		out += fmt.Sprintf(` || (request.userInfo.username.startsWith("system:serviceaccount:") || request.userInfo.username == %q) && !(request.userInfo.username in %s)`,
			user.KubeControllerManager, list(sets.List(r.initiators)...))
	}
	return out + ")"
}
