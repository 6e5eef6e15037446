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

package record

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	"pgregory.net/rapid"

	"kausality.io/operator/api/v1alpha1"
)

func TestName(t *testing.T) {
	const uid = types.UID("0f0e0d0c-aaaa-bbbb-cccc-000000000001")
	tests := map[string]struct {
		ref  v1alpha1.TargetReference
		want string
	}{
		"kind, name and uid": {
			ref:  v1alpha1.TargetReference{Kind: "Deployment", Name: "web", UID: uid},
			want: "deployment-web-0f0e0d0c",
		},
		"a short uid": {
			ref:  v1alpha1.TargetReference{Kind: "Deployment", Name: "web", UID: "7"},
			want: "deployment-web-7",
		},
		"characters that a record cannot have": {
			ref:  v1alpha1.TargetReference{Kind: "ClusterRole", Name: "system:Node..x", UID: uid},
			want: "clusterrole-system-node-x-00b58097373de0b0",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, Name(test.ref)); diff != "" {
				t.Errorf("Name() (-want +got):\n%s", diff)
			}
		})
	}
}

// Any object has a record with a valid name, and different objects have records
// with different names.
func TestNameIsValidAndUnique(t *testing.T) {
	refs := rapid.Custom(func(t *rapid.T) v1alpha1.TargetReference {
		return v1alpha1.TargetReference{
			Kind: rapid.StringMatching(`[A-Z][A-Za-z0-9]{0,40}`).Draw(t, "kind"),
			Name: rapid.OneOf(
				rapid.StringMatching(`[a-z0-9]([-a-z0-9.]{0,10}[a-z0-9])?`),
				rapid.StringMatching(`[-A-Za-z0-9:._]{1,253}`),
				rapid.Just(strings.Repeat("long.", 50)+"x"),
			).Draw(t, "name"),
			UID: types.UID(rapid.StringMatching(`[a-f0-9]{8}`).Draw(t, "uid")),
		}
	})
	rapid.Check(t, func(t *rapid.T) {
		a, b := refs.Draw(t, "a"), refs.Draw(t, "b")
		if problems := validation.IsDNS1123Subdomain(Name(a)); len(problems) > 0 {
			t.Fatalf("%q is no valid name: %v", Name(a), problems)
		}
		if a.UID != b.UID && Name(a) == Name(b) {
			t.Fatalf("%v and %v share the record %s", a, b, Name(a))
		}
	})
}

func TestNamespace(t *testing.T) {
	if got := Namespace(v1alpha1.TargetReference{Namespace: "shop"}, "kausality-system"); got != "shop" {
		t.Errorf("the record of a namespaced object is in %q", got)
	}
	if got := Namespace(v1alpha1.TargetReference{}, "kausality-system"); got != "kausality-system" {
		t.Errorf("the record of a cluster-scoped object is in %q", got)
	}
}
