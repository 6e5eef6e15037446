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
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kausality.io/operator/api/v1alpha1"
)

// policySubjects checks the subjects of a policy. One that is wrong stays: it
// matches nobody, but without it a policy might name nobody who may use what was
// allowed, and then everybody may.
func (c *compiler) policySubjects(subjects []v1alpha1.PolicySubject, path *field.Path) []v1alpha1.PolicySubject {
	seen := make(map[v1alpha1.Subject]bool, len(subjects))
	for i, s := range subjects {
		if c.subject(s.Subject, path.Index(i)) && seen[s.Subject] {
			c.report(field.Duplicate(path.Index(i), subjectText(s.Subject)))
		}
		seen[s.Subject] = true
	}
	return append([]v1alpha1.PolicySubject(nil), subjects...)
}

// subject reports whether a subject can match anybody.
func (c *compiler) subject(s v1alpha1.Subject, path *field.Path) bool {
	return c.soundly(func() {
		if s.Name == "" {
			c.report(field.Required(path.Child("name"), "the name of the subject"))
		}
		switch s.Kind {
		case v1alpha1.SubjectServiceAccount:
			if s.Namespace == "" {
				c.report(field.Required(path.Child("namespace"), "the namespace of the service account"))
			}
		case v1alpha1.SubjectUser, v1alpha1.SubjectGroup:
			if s.Namespace != "" {
				c.report(field.Forbidden(path.Child("namespace"), "a "+string(s.Kind)+" has no namespace"))
			}
		default:
			c.report(field.NotSupported(path.Child(kindField), s.Kind, []v1alpha1.SubjectKind{
				v1alpha1.SubjectUser, v1alpha1.SubjectGroup, v1alpha1.SubjectServiceAccount,
			}))
		}
	})
}
