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
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestToName(t *testing.T) {
	const add = "add it to spec.subjects of AllowancePolicy a or b, or of one that is in effect for the children."
	deployments, things := schema.GroupKind{Group: "apps", Kind: "Deployment"}, schema.GroupKind{Group: "example.com", Kind: "Thing"}
	for name, tc := range map[string]struct {
		kind schema.GroupKind
		user string
		want string
	}{
		"the controller": {
			deployments, "system:serviceaccount:kube-system:deployment-controller",
			"ServiceAccount kube-system/deployment-controller makes the children of a Deployment: " + add,
		},
		"the user as whom all controllers run": {
			deployments, "system:kube-controller-manager", "system:kube-controller-manager makes the children of a Deployment: " + add,
		},
		"another controller":              {deployments, "system:serviceaccount:kube-system:replicaset-controller", ""},
		"of a kind of which nobody knows": {things, "system:serviceaccount:things:maker", "If ServiceAccount things/maker makes the children of a Thing, " + add},
		"a person":                        {things, "mallory", ""},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, ToName(tc.kind, tc.user, []string{"a", "b"})); diff != "" {
				t.Errorf("ToName() (-want +got):\n%s", diff)
			}
		})
	}
}
