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
	"strings"
	"testing"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"kausality.io/operator/internal/cli/source"
)

// TestFromFiles shows that other objects are left aside, and that a policy whose kind has no
// such name is not: the role would lack what it needs.
func TestFromFiles(t *testing.T) {
	const policy = "apiVersion: kausality.io/v1alpha1\nkind: AllowancePolicy\nmetadata: {name: web}\n---\n"
	for name, tc := range map[string]struct {
		beside, want string
	}{
		"another object":    {beside: "apiVersion: v1\nkind: Service\n"},
		"another of ours":   {beside: "apiVersion: kausality.io/v1alpha1\nkind: UpgradeAllowance\n"},
		"a misnamed policy": {beside: "apiVersion: kausality.io/v1alpha1\nkind: AllowancePolicies\n", want: "<stdin>:6: there is no kind \"AllowancePolicies\""},
		"another version":   {beside: "apiVersion: kausality.io/v1\nkind: AllowancePolicy\n", want: "<stdin>:5: there is no kausality.io/v1"},
	} {
		t.Run(name, func(t *testing.T) {
			policies, err := fromFiles([]string{source.Stdin}, genericiooptions.IOStreams{In: strings.NewReader(policy + tc.beside)})
			switch {
			case tc.want == "" && (err != nil || len(policies) != 1):
				t.Errorf("%d policies, %v; want one", len(policies), err)
			case tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)):
				t.Errorf("%v, want an error with %q", err, tc.want)
			}
		})
	}
}
