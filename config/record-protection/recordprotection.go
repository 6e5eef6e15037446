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

// Package recordprotection holds the ValidatingAdmissionPolicy that keeps everybody but the
// operator from writing AllowanceRecords, for operators that are installed by something which
// cannot install one.
package recordprotection

import (
	_ "embed"
	"fmt"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"sigs.k8s.io/yaml"
)

// namePrefix is what kustomize puts before names.
const namePrefix = "kausality-"

// Name is that of the policy and of its binding, once installed.
const Name = namePrefix + "record-protection"

// installedUser is the operator as the installation in config has it.
const installedUser = "'system:serviceaccount:kausality-system:kausality-controller-manager'"

var (
	//go:embed policy.yaml
	policy []byte
	//go:embed policy_binding.yaml
	binding []byte
)

// For returns both as they are installed for an operator that is this user.
func For(user string) (*admissionregistrationv1.ValidatingAdmissionPolicy, *admissionregistrationv1.ValidatingAdmissionPolicyBinding, error) {
	if !strings.Contains(string(policy), installedUser) {
		return nil, nil, fmt.Errorf("config/record-protection/policy.yaml does not name the operator as %s", installedUser)
	}
	p := &admissionregistrationv1.ValidatingAdmissionPolicy{}
	if err := yaml.UnmarshalStrict([]byte(strings.ReplaceAll(string(policy), installedUser, "'"+user+"'")), p); err != nil {
		return nil, nil, fmt.Errorf("config/record-protection/policy.yaml: %w", err)
	}
	b := &admissionregistrationv1.ValidatingAdmissionPolicyBinding{}
	if err := yaml.UnmarshalStrict(binding, b); err != nil {
		return nil, nil, fmt.Errorf("config/record-protection/policy_binding.yaml: %w", err)
	}
	p.Name, b.Name, b.Spec.PolicyName = Name, Name, Name
	for _, labels := range []map[string]string{p.Labels, b.Labels} {
		labels["app.kubernetes.io/managed-by"] = "kausality"
	}
	return p, b, nil
}
