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

	"k8s.io/apiserver/pkg/authentication/serviceaccount"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/change"
)

// matches reports whether the requester is the subject, or belongs to it. As in
// RBAC, a User may also name a service account by its user name.
func matches(s v1alpha1.Subject, r Requester) bool {
	switch s.Kind {
	case v1alpha1.SubjectUser:
		return r.Username == s.Name
	case v1alpha1.SubjectGroup:
		return slices.Contains(r.Groups, s.Name)
	case v1alpha1.SubjectServiceAccount:
		return serviceaccount.MatchesUsername(s.Namespace, s.Name, r.Username)
	default:
		return false
	}
}

// subjectText names a subject in messages.
func subjectText(s v1alpha1.Subject) string {
	if s.Kind == v1alpha1.SubjectServiceAccount {
		return string(s.Kind) + " " + s.Namespace + "/" + s.Name
	}
	return string(s.Kind) + " " + s.Name
}

// AccountText names a user as messages name subjects, where it is a service account, and as it is
// where it is none.
func AccountText(username string) string {
	if namespace, name, err := serviceaccount.SplitUsername(username); err == nil {
		return subjectText(v1alpha1.Subject{Kind: v1alpha1.SubjectServiceAccount, Namespace: namespace, Name: name})
	}
	return username
}

// MayInitiate reports whether the requester may start chains on what the policy is
// for, through this policy (D3).
func (p *Policy) MayInitiate(r Requester) bool {
	return slices.ContainsFunc(p.subjects, func(s v1alpha1.PolicySubject) bool {
		return s.MayInitiate && matches(s.Subject, r)
	})
}

// Names reports whether the requester is any subject of the policy.
func (p *Policy) Names(r Requester) bool {
	return slices.ContainsFunc(p.subjects, func(s v1alpha1.PolicySubject) bool {
		return matches(s.Subject, r)
	})
}

// Subjects returns who the policy is about. The slice must not be changed.
func (p *Policy) Subjects() []v1alpha1.PolicySubject { return p.subjects }

// HasInitiator reports whether anybody may start a chain through the policy. One
// without initiators only continues chains (D2).
func (p *Policy) HasInitiator() bool {
	return slices.ContainsFunc(p.subjects, func(s v1alpha1.PolicySubject) bool { return s.MayInitiate })
}

// NamesExercisers reports whether the policy names somebody who may use what was
// allowed without being allowed to start anything.
func (p *Policy) NamesExercisers() bool {
	return slices.ContainsFunc(p.subjects, func(s v1alpha1.PolicySubject) bool { return !s.MayInitiate })
}

// Initiators names those who may start chains, for messages: "Group
// platform-team", "ServiceAccount ci/deployer". The order is the policy's.
func (p *Policy) Initiators() []string {
	var names []string
	for _, s := range p.subjects {
		if s.MayInitiate {
			names = append(names, subjectText(s.Subject))
		}
	}
	return names
}

// InitiatorsIn names who may start chains by one of the policies, for messages.
func InitiatorsIn(policies []*Policy) []string {
	var names []string
	for _, p := range policies {
		names = append(names, p.Initiators()...)
	}
	return names
}

// InitiatorsFor names those who may start chains by changing a field, for messages: the initiators of
// the policies with a rule about one of the paths.
func InitiatorsFor(policies []*Policy, paths ...string) []string {
	var names []string
	for _, p := range policies {
		if p.IsAbout(paths...) {
			names = append(names, p.Initiators()...)
		}
	}
	return names
}

// IsAbout reports whether the policy has a rule about one of the paths.
func (p *Policy) IsAbout(paths ...string) bool {
	return slices.ContainsFunc(paths, func(text string) bool {
		path, err := change.ParsePath(text)
		return err == nil && p.HasRuleFor(path)
	})
}

// Retries reports whether the requester tries again what it is denied, and so waits for an
// answer: components do, and whoever a policy in effect for the parent (parents) or for the
// child (own) has act without initiating anything, as a controller with a certificate. All
// others are people, who are told no in their own terminal.
func Retries(r Requester, parents, own []*Policy) bool {
	acts := func(p *Policy) bool {
		return slices.ContainsFunc(p.subjects, func(s v1alpha1.PolicySubject) bool { return !s.MayInitiate && matches(s.Subject, r) })
	}
	return r.IsComponent() || slices.ContainsFunc(parents, acts) || slices.ContainsFunc(own, acts)
}

// MayInitiate reports whether the requester may initiate by any of the policies.
func MayInitiate(r Requester, policies []*Policy) bool {
	return slices.ContainsFunc(policies, func(p *Policy) bool { return p.MayInitiate(r) })
}

// MayExercise reports whether the requester may use allowances of a parent on its
// child: where it is any subject of a policy in effect for the parent (parents)
// or for the child (own). Where these name nobody without mayInitiate, any
// controller may; people may not (D3).
func MayExercise(r Requester, parents, own []*Policy) bool {
	exercisers := false
	for _, policies := range [][]*Policy{parents, own} {
		for _, p := range policies {
			if p.Names(r) {
				return true
			}
			exercisers = exercisers || p.NamesExercisers()
		}
	}
	return !exercisers && r.IsController()
}

// Exercisers names those to whom MayExercise applies, for messages. The order is that of the policies.
func Exercisers(parents, own []*Policy) []string {
	var names []string
	exercisers := false
	for _, p := range slices.Concat(parents, own) {
		for _, s := range p.subjects {
			if name := subjectText(s.Subject); !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
		exercisers = exercisers || p.NamesExercisers()
	}
	if !exercisers {
		names = append(names, "any controller")
	}
	return names
}
