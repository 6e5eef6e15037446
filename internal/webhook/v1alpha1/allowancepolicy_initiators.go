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

package v1alpha1

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/apiserver/pkg/authentication/user"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/knowledge"
	"kausality.io/operator/internal/policy"
)

// initiators warns where nobody can start a chain, and of initiators that start
// one with whatever anybody else made them do.
func initiators(p *v1alpha1.AllowancePolicy, compiled *policy.Policy) admission.Warnings {
	var out admission.Warnings
	someone := false
	for i, s := range p.Spec.Subjects {
		if !s.MayInitiate {
			continue
		}
		someone = true
		if reason := startsUnasked(compiled.Known(), p.Spec.For, s.Subject); reason != "" {
			out = append(out, fmt.Sprintf("spec.subjects[%d]: %s", i, reason))
		}
	}
	if !someone {
		out = append(out, fmt.Sprintf("no subject has mayInitiate: the policy takes effect only for a %s whose own parent has "+
			"a policy in effect that names it as a target", p.Spec.For.Kind))
	}
	return out
}

// startsUnasked says why a subject would carry out anybody's change of a parent as
// one of its own (D2), or nothing where it would not.
func startsUnasked(known *knowledge.Kind, kind v1alpha1.ParentKind, s v1alpha1.Subject) string {
	switch s.Kind {
	case v1alpha1.SubjectServiceAccount:
		if slices.Contains(known.Writers, s) {
			return fmt.Sprintf("%s writes a %s for its parent; with mayInitiate, anybody's change of the parent starts a chain here",
				s.Name, kind.Kind)
		}
	case v1alpha1.SubjectGroup:
		if s.Name == user.AllAuthenticated || s.Name == serviceaccount.AllServiceAccountsGroup ||
			strings.HasPrefix(s.Name, serviceaccount.ServiceAccountGroupPrefix) {
			return fmt.Sprintf("group %s includes controllers; with mayInitiate, whatever they do starts a chain", s.Name)
		}
	case v1alpha1.SubjectUser:
		if s.Name == user.KubeControllerManager {
			return "all built-in controllers may act as " + s.Name + "; with mayInitiate, whatever they do starts a chain"
		}
	}
	return ""
}
