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

package draft

import (
	"fmt"
	"strings"

	"kausality.io/operator/api/v1alpha1"
)

// ParseInitiators reads subjects that are written as user:NAME, group:NAME or
// serviceaccount:NAMESPACE/NAME.
func ParseInitiators(texts []string) ([]v1alpha1.Subject, error) {
	var out []v1alpha1.Subject
	for _, text := range texts {
		kind, name, _ := strings.Cut(strings.TrimSpace(text), ":")
		subject := v1alpha1.Subject{Name: name}
		switch {
		case name == "":
			return nil, notASubject(text)
		case strings.EqualFold(kind, string(v1alpha1.SubjectUser)):
			subject.Kind = v1alpha1.SubjectUser
		case strings.EqualFold(kind, string(v1alpha1.SubjectGroup)):
			subject.Kind = v1alpha1.SubjectGroup
		case strings.EqualFold(kind, string(v1alpha1.SubjectServiceAccount)):
			account, err := ParseAccount(name)
			if err != nil {
				return nil, err
			}
			subject = account
		default:
			return nil, notASubject(text)
		}
		out = append(out, subject)
	}
	return out, nil
}

func notASubject(text string) error {
	return fmt.Errorf("%q is none of user:NAME, group:NAME, serviceaccount:NAMESPACE/NAME", text)
}

// ParseAccount reads a service account that is written as NAMESPACE/NAME.
func ParseAccount(text string) (v1alpha1.Subject, error) {
	namespace, name, ok := strings.Cut(text, "/")
	if !ok || namespace == "" || name == "" {
		return v1alpha1.Subject{}, fmt.Errorf("%q is no service account: it is named as NAMESPACE/NAME", text)
	}
	return v1alpha1.Subject{Kind: v1alpha1.SubjectServiceAccount, Namespace: namespace, Name: name}, nil
}
