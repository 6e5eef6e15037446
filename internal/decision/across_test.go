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

package decision

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"kausality.io/operator/internal/policy"
)

// A trace that goes on to another namespace names the one that it comes from.
func TestTracesAcrossNamespaces(t *testing.T) {
	deployment := []*policy.Policy{compile(t, "deployment", deploymentSpec)}
	replicaSet := compile(t, "replicaset", replicaSetSpec)
	scaled := func() *request {
		return aRequest(deployer, Update, replicaSetGVK, "web-1").changing(t, int64(1), int64(2), "spec.replicas").governed(replicaSet).
			of(deploymentGVK, "web", deployment)
	}
	read := referentOf(configChange(t, alice))
	read.Namespace = "settings"
	tests := map[string]struct {
		request           *request
		parent, namespace string
		want              []string // the namespaces of the hops
	}{
		"an allowance, within a namespace": {
			request: scaled().of(deploymentGVK, "web", deployment, allowance("ReplicaSet", "spec.replicas", "spec.replicas")),
			parent:  "shop", namespace: "shop", want: []string{"", ""},
		},
		"an allowance, of another namespace": {
			request: scaled().of(deploymentGVK, "web", deployment, allowance("ReplicaSet", "spec.replicas", "spec.replicas")),
			parent:  "platform", namespace: "shop", want: []string{"platform", ""},
		},
		"an allowance of what is in no namespace": {
			request:   scaled().of(deploymentGVK, "web", deployment, allowance("ReplicaSet", "spec.replicas", "spec.replicas")),
			namespace: "shop", want: []string{"", ""},
		},
		"an allowance for what is in no namespace": {
			request: scaled().of(deploymentGVK, "web", deployment, allowance("ReplicaSet", "spec.replicas", "spec.replicas")),
			parent:  "platform", want: []string{"platform", ""},
		},
		"an upgrade": {
			request: scaled().with(func(in *Input) { in.Upgrades = []Upgrade{upgradeTo(t, "all", anything)} }),
			parent:  "platform", namespace: "shop", want: []string{"", "platform", ""},
		},
		"broken glass": {
			request: scaled().with(func(in *Input) { in.BreakGlass = "fire" }),
			parent:  "platform", namespace: "shop", want: []string{"platform", ""},
		},
		"what the parent reads": {
			request: scaled().with(func(in *Input) { in.Referents = []Referent{read} }),
			parent:  "platform", namespace: "shop", want: []string{"settings", "platform", ""},
		},
		"what the parent reads beside it": {
			request: scaled().with(func(in *Input) { in.Referents = []Referent{read} }),
			parent:  "settings", namespace: "shop", want: []string{"", "settings", ""},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			in := &tt.request.Input
			in.Parent.Namespace, in.Child.Namespace = tt.parent, tt.namespace
			stored := in.Parent.Ledger
			granted := Grants(t.Context(), in, Decide(t.Context(), in)).Allowances
			if len(granted) == 0 {
				t.Fatal("nothing is granted")
			}
			var got []string
			for _, hop := range granted[0].Trace {
				got = append(got, hop.Namespace)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("namespaces (-want +got):\n%s", diff)
			}
			for _, e := range stored {
				if last, ok := e.LastHop(); ok && last.Namespace != "" {
					t.Errorf("the parent's own entry says %v", last)
				}
			}
		})
	}
}
