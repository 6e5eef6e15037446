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

package offline_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kausality.io/operator/internal/cli/offline"
	"kausality.io/operator/internal/cli/source"
)

func TestMisnamed(t *testing.T) {
	const has = "it has AllowancePolicy, AllowanceRecord, GeneratingPolicy, PolicyTest, UpgradeAllowance"
	for name, tc := range map[string]struct {
		text string
		want []string
	}{
		"ours": {text: "apiVersion: kausality.io/v1alpha1\nkind: AllowancePolicy\n---\napiVersion: kausality.io/v1alpha1\nkind: AllowanceRecord\n" +
			"---\napiVersion: kausality.io/v1alpha1\nkind: UpgradeAllowance\n---\napiVersion: kausality.io/v1alpha1\nkind: PolicyTest\n"},
		"those of others": {text: "apiVersion: v1\nkind: Thing\n---\napiVersion: fake.kausality.io/v1\nkind: Thing\n---\nkind: PolicyTest\n"},
		"a list of ours":  {text: "apiVersion: kausality.io/v1alpha1\nkind: AllowancePolicyList\nitems:\n"},
		"a kind in the plural": {
			text: "apiVersion: kausality.io/v1alpha1\nkind: PolicyTests\n",
			want: []string{`<stdin>:2 kind: there is no kind "PolicyTests" in kausality.io/v1alpha1: ` + has},
		},
		"a kind in small letters": {
			text: "kind: policytest\napiVersion: kausality.io/v1alpha1\n",
			want: []string{`<stdin>:1 kind: there is no kind "policytest" in kausality.io/v1alpha1: ` + has},
		},
		"no kind": {
			text: "apiVersion: kausality.io/v1alpha1\nspec: {}\n",
			want: []string{`<stdin>:1 kind: there is no kind "" in kausality.io/v1alpha1: ` + has},
		},
		"another version, behind another document": {
			text: "kind: Thing\n---\napiVersion: kausality.io/v1beta1\nkind: PolicyTest\n",
			want: []string{"<stdin>:3 apiVersion: there is no kausality.io/v1beta1: kind PolicyTest is of kausality.io/v1alpha1"},
		},
		"no version": {
			text: "apiVersion: kausality.io\nkind: AllowancePolicy\n",
			want: []string{"<stdin>:1 apiVersion: there is no kausality.io: kind AllowancePolicy is of kausality.io/v1alpha1"},
		},
		"the group in capitals": {
			text: "apiVersion: Kausality.io/v1alpha1\nkind: AllowancePolicy\n",
			want: []string{"<stdin>:1 apiVersion: there is no Kausality.io/v1alpha1: kind AllowancePolicy is of kausality.io/v1alpha1"},
		},
		"items of a List": {
			text: "apiVersion: v1\nkind: List\nitems:\n- apiVersion: kausality.io/v1alpha1\n  kind: GeneratingPolicies\n",
			want: []string{`<stdin>:5 kind: there is no kind "GeneratingPolicies" in kausality.io/v1alpha1: ` + has},
		},
	} {
		t.Run(name, func(t *testing.T) {
			docs, malformed, err := source.Read([]string{source.Stdin}, strings.NewReader(tc.text))
			if err != nil || len(malformed) > 0 {
				t.Fatal(err, malformed)
			}
			var got []string
			for _, p := range offline.Misnamed(docs) {
				got = append(got, p.String()+" "+p.Field+": "+p.Message)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
