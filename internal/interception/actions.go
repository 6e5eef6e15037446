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
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/apiserver/pkg/authentication/user"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/policy"
)

// place is where a kind has its status.
type place bool

const (
	// inStatus is the sub-resource of that name.
	inStatus place = true
	// inObject is the object itself, where it is written in a version without that sub-resource.
	inObject place = false
)

// of reports whether objects of a resource have their status there, in some version.
func (p place) of(s *Served) bool {
	if p == inStatus {
		return s.has("status")
	}
	return s.StatusInObject
}

// somebodyActs returns true for requests that may change what people change in a status to have
// a controller act, or what others act upon: one expression for each kind, as who is named
// for one says nothing of another. What those write there who may use what policies allow,
// and start nothing, is their report, and stays inside the API server.
func somebodyActs(in Input, where place) []string {
	kinds := map[string]*reporters{}
	for _, p := range in.Policies {
		if !p.HasActions() && !p.HasReports() && (where != inObject || !p.HasProof()) {
			continue
		}
		holder, served := in.Holder(p.For)
		if !served || !where.of(&holder) {
			continue
		}
		name := holder.Resource.Group + "/" + holder.Resource.Resource
		if kinds[name] == nil {
			kinds[name] = &reporters{initiators: sets.New[string]()}
		}
		kinds[name].add(p)
	}
	out := make([]string, 0, len(kinds))
	for _, name := range slices.Sorted(maps.Keys(kinds)) {
		out = append(out, fmt.Sprintf(`(request.resource.group + "/" + request.resource.resource == %q && !(%s)
&& (has(object.status) != has(oldObject.status) || has(object.status) && object.status != oldObject.status))`,
			name, kinds[name].expression(in.OperatorUser)))
	}
	return out
}

// reporters are who writes the status of objects of a kind, and by that starts nothing,
// whichever of the policies for the kind is in effect.
type reporters struct {
	// users are named by each of the policies.
	users sets.Set[string]
	// anyController is true where none of them names anybody, so that any controller may.
	anyController bool
	// initiators are service accounts that may initiate, and so act.
	initiators sets.Set[string]
}

// add adds a policy. Where a kind has some through which people act, who may initiate is asked
// about as well.
func (r *reporters) add(p *policy.Policy) {
	named := sets.New[string]()
	for _, s := range p.Subjects() {
		switch {
		case s.MayInitiate && p.HasActions():
			r.initiators.Insert(userOf(s.Subject))
		case s.Kind != v1alpha1.SubjectGroup:
			named.Insert(userOf(s.Subject))
		}
	}
	if r.users == nil {
		r.users, r.anyController = named, true
	}
	r.users = r.users.Intersection(named)
	r.anyController = r.anyController && !p.NamesExercisers()
}

func userOf(s v1alpha1.Subject) string {
	if s.Kind == v1alpha1.SubjectServiceAccount {
		return serviceaccount.MakeUsername(s.Namespace, s.Name)
	}
	return s.Name
}

// expression returns true for requests by one of them. Who is known by a group is asked about.
func (r *reporters) expression(operator string) string {
	users := r.users.Difference(r.initiators).Insert(operator)
	out := `has(request.userInfo.username) && (request.userInfo.username in ` + list(sets.List(users)...)
	if r.anyController {
		out += fmt.Sprintf(` || (request.userInfo.username.startsWith("system:serviceaccount:") || request.userInfo.username == %q) && !(request.userInfo.username in %s)`,
			user.KubeControllerManager, list(sets.List(r.initiators)...))
	}
	return out + ")"
}
