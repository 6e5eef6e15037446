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

package generating

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// +kubebuilder:rbac:groups=authorization.k8s.io,resources=subjectaccessreviews,verbs=create
// +kubebuilder:rbac:groups=authorization.k8s.io,resources=selfsubjectaccessreviews,verbs=create

const (
	// permittedFor is how long a right that was found counts.
	permittedFor = time.Minute
	// maxReviews is how many answers are remembered.
	maxReviews = 10_000
)

// The verbs that it takes to read and to write.
const (
	verbGet    = "get"
	verbList   = "list"
	verbWatch  = "watch"
	verbCreate = "create"
	verbPatch  = "patch"
	verbDelete = "delete"
)

// right is to do something to objects.
type right struct {
	// user is empty for the operator itself.
	user string
	verb string
	schema.GroupResource
	namespace, name string
}

// missingRightError says that somebody may not do something, and what would help.
type missingRightError struct{ right }

// Error implements error.
func (m *missingRightError) Error() string {
	who, label := m.user, "to-generator"
	if who == "" {
		who, label = "the operator", "to-operator"
	}
	where := ""
	if m.namespace != "" {
		where = " in namespace " + m.namespace
	}
	verbs := m.verb
	switch m.verb {
	case verbCreate, verbPatch, verbDelete:
		verbs = "create, patch, delete"
	case verbGet, verbList, verbWatch:
		verbs = "get, list, watch"
	}
	return fmt.Sprintf("%s may not %s %s%s: it takes a role with apiGroups [%q], resources [%s], verbs [%s], such as a ClusterRole with the label rbac.kausality.io/aggregate-%s: \"true\"",
		who, m.verb, m.GroupResource, where, m.Group, m.Resource, verbs, label)
}

// reviews ask the API server who may do what, and remember it for a while.
type reviews struct {
	client client.Client
	clock  clock.PassiveClock
	// refusedFor is how long a right that was not found counts as missing.
	refusedFor time.Duration

	mu      sync.Mutex
	answers map[right]reviewed
}

type reviewed struct {
	allowed bool
	until   time.Time
}

// require returns a *missingRightError where a right is missing.
func (r *reviews) require(ctx context.Context, what right) error {
	allowed, err := r.allows(ctx, what)
	if err == nil && !allowed {
		err = &missingRightError{what}
	}
	return err
}

// requireRead returns a *missingRightError where a user may not read an object or, with an empty
// name, list objects of a namespace. The right to all objects is asked for first, as that answer
// serves all of them.
func (r *reviews) requireRead(ctx context.Context, user string, of schema.GroupResource, namespace, name string) error {
	verb := verbGet
	if name == "" {
		verb = verbList
	}
	all := right{user: user, verb: verb, GroupResource: of}
	if allowed, err := r.allows(ctx, all); err != nil || allowed {
		return err
	}
	if namespace == "" && name == "" {
		return &missingRightError{all}
	}
	all.namespace, all.name = namespace, name
	return r.require(ctx, all)
}

func (r *reviews) allows(ctx context.Context, what right) (bool, error) {
	r.mu.Lock()
	known, ok := r.answers[what]
	r.mu.Unlock()
	if ok && r.clock.Now().Before(known.until) {
		return known.allowed, nil
	}
	allowed, err := r.ask(ctx, what)
	if err != nil {
		return false, err
	}
	known = reviewed{allowed: allowed, until: r.clock.Now().Add(r.refusedFor)}
	if allowed {
		known.until = r.clock.Now().Add(permittedFor)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.answers == nil || len(r.answers) >= maxReviews {
		r.answers = map[right]reviewed{}
	}
	r.answers[what] = known
	return allowed, nil
}

func (r *reviews) ask(ctx context.Context, what right) (bool, error) {
	of := &authorizationv1.ResourceAttributes{
		Verb: what.verb, Group: what.Group, Version: "*", Resource: what.Resource, Namespace: what.namespace, Name: what.name,
	}
	if what.user == "" {
		review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: of}}
		if err := r.client.Create(ctx, review); err != nil {
			return false, fmt.Errorf("asking whether the operator may %s %s: %w", what.verb, what.GroupResource, err)
		}
		return review.Status.Allowed, nil
	}
	review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User: what.user, Groups: groupsOf(what.user), ResourceAttributes: of,
	}}
	if err := r.client.Create(ctx, review); err != nil {
		return false, fmt.Errorf("asking whether %s may %s %s: %w", what.user, what.verb, what.GroupResource, err)
	}
	return review.Status.Allowed, nil
}

// groupsOf returns the groups of a service account, as its tokens and those who impersonate it have
// them.
func groupsOf(user string) []string {
	namespace, _, err := serviceaccount.SplitUsername(user)
	if err != nil {
		return nil
	}
	return append(serviceaccount.MakeGroupNames(namespace), "system:authenticated")
}

// requireImpersonation returns an error where the operator may not act as a service account.
func (r *reviews) requireImpersonation(ctx context.Context, user string) error {
	namespace, name, err := serviceaccount.SplitUsername(user)
	if err != nil {
		return fmt.Errorf("reading spec.serviceAccount: %w", err)
	}
	allowed, err := r.allows(ctx, right{verb: "impersonate", GroupResource: schema.GroupResource{Resource: "serviceaccounts"}, namespace: namespace, name: name})
	if err != nil || allowed {
		return err
	}
	return &missingImpersonationError{namespace: namespace, name: name}
}

// missingImpersonationError says that the operator may not act as a service account.
type missingImpersonationError struct{ namespace, name string }

// Error implements error.
func (m *missingImpersonationError) Error() string {
	return strings.Join([]string{
		"the operator may not act as service account ", m.namespace, "/", m.name, ": it takes a Role in namespace ", m.namespace,
		" with resources [serviceaccounts], resourceNames [", m.name, "], verbs [impersonate], bound to the operator's service account",
	}, "")
}
