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

package generate

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Secrets and ConfigMaps of the examples, with what a copy does not get.
const (
	registry = `
apiVersion: v1
kind: ConfigMap
metadata:
  name: allowed-registry
  namespace: default
  uid: 9f0e
  resourceVersion: "12"
  creationTimestamp: "2026-01-01T00:00:00Z"
  ownerReferences: [{apiVersion: v1, kind: ConfigMap, name: owner, uid: 1a}]
  finalizers: [example.org/kept]
  labels: {team: x, app.kubernetes.io/managed-by: Helm, kustomize.toolkit.fluxcd.io/name: apps, argocd.argoproj.io/instance: a, generate.kyverno.io/policy-name: p}
  annotations:
    note: kept
    kubectl.kubernetes.io/last-applied-configuration: "{}"
    meta.helm.sh/release-name: r
    kausality.io/generated-from: "{}"
  managedFields: [{manager: kubectl}]
data: {registry: registry.example.org}`
	secrets = `
apiVersion: v1
kind: Secret
metadata: {name: source-secret, namespace: default, labels: {allowedToBeCloned: "true", app.kubernetes.io/managed-by: kyverno}, annotations: {note: x, argocd.argoproj.io/tracking-id: y}}
type: Opaque
data: {password: aHVudGVyMg==}
---
apiVersion: v1
kind: Secret
metadata: {name: second, namespace: default, labels: {allowedToBeCloned: "true"}}
type: Opaque
data: {token: dG9rZW4=}
---
apiVersion: v1
kind: Secret
metadata: {name: private, namespace: default}
type: Opaque
data: {key: a2V5}
---
apiVersion: v1
kind: Secret
metadata: {name: elsewhere, namespace: other, labels: {allowedToBeCloned: "true"}}
type: Opaque`
	configMaps = `
apiVersion: v1
kind: ConfigMap
metadata: {name: one, namespace: default, labels: {allowedToBeCloned: "true"}}
data: {a: b}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: two, namespace: default, labels: {allowedToBeCloned: "false"}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: three, namespace: default}`
	redNamespace  = `{apiVersion: v1, kind: Namespace, metadata: {name: shop, labels: {color: red}}}`
	namespaceList = `{apiVersion: v1, kind: ConfigMap, metadata: {name: default-deny, namespace: default}, data: {namespaces: "foreach-ns-1,foreach-ns-2,foreach-ns-3"}}`
	twoNamespaces = `{apiVersion: v1, kind: ConfigMap, metadata: {name: default-deny, namespace: default}, data: {namespaces: "foreach-ns-1,foreach-ns-2"}}`
)

// bothClones are the two Secrets that may be cloned, in both namespaces.
const bothClones = `
{apiVersion: v1, kind: Secret, metadata: {name: second, namespace: foreach-ns-1, labels: {allowedToBeCloned: "true"}}, type: Opaque, data: {token: dG9rZW4=}}
---
{apiVersion: v1, kind: Secret, metadata: {name: source-secret, namespace: foreach-ns-1, labels: {allowedToBeCloned: "true"}, annotations: {note: x}}, type: Opaque, data: {password: aHVudGVyMg==}}
---
{apiVersion: v1, kind: Secret, metadata: {name: second, namespace: foreach-ns-2, labels: {allowedToBeCloned: "true"}}, type: Opaque, data: {token: dG9rZW4=}}
---
{apiVersion: v1, kind: Secret, metadata: {name: source-secret, namespace: foreach-ns-2, labels: {allowedToBeCloned: "true"}, annotations: {note: x}}, type: Opaque, data: {password: aHVudGVyMg==}}`

// oneClone is the Secret source-secret in both namespaces.
const oneClone = `
{apiVersion: v1, kind: Secret, metadata: {name: source-secret, namespace: foreach-ns-1, labels: {allowedToBeCloned: "true"}, annotations: {note: x}}, type: Opaque, data: {password: aHVudGVyMg==}}
---
{apiVersion: v1, kind: Secret, metadata: {name: source-secret, namespace: foreach-ns-2, labels: {allowedToBeCloned: "true"}, annotations: {note: x}}, type: Opaque, data: {password: aHVudGVyMg==}}`

// Every policy of the proposal, word for word but for group and version, does what its text
// says.
func TestProposal(t *testing.T) {
	tests := map[string]struct {
		policy, trigger, cluster string
		want                     string
		clones                   bool
		leftOut                  map[LeftOut]int
		unmatched                bool
	}{
		"data": {
			policy: "data", trigger: redNamespace,
			want: `
apiVersion: v1
kind: ConfigMap
metadata: {name: zk-kafka-address, namespace: shop}
data: {zk-kafka-address: "192.168.10.10:2181,192.168.10.11:2181,192.168.10.12:2181"}`,
		},
		"data, another color": {policy: "data", trigger: `{apiVersion: v1, kind: Namespace, metadata: {name: shop, labels: {color: blue}}}`, unmatched: true},
		"data, no labels":     {policy: "data", trigger: `{apiVersion: v1, kind: Namespace, metadata: {name: shop}}`, unmatched: true},
		"data, another kind":  {policy: "data", trigger: namespaceList, unmatched: true},
		"clone": {
			policy: "clone", trigger: redNamespace, cluster: registry, clones: true,
			want: `
apiVersion: v1
kind: ConfigMap
metadata: {name: allowed-registry, namespace: shop, labels: {team: x}, annotations: {note: kept}}
data: {registry: registry.example.org}`,
		},
		"clone, the source is gone": {policy: "clone", trigger: redNamespace, leftOut: map[LeftOut]int{LeftOutNothing: 1}},
		"clone, beside the source": {
			policy: "clone", trigger: `{apiVersion: v1, kind: Namespace, metadata: {name: default, labels: {color: red}}}`, cluster: registry,
			leftOut: map[LeftOut]int{LeftOutIsSource: 1},
		},
		"clone a list": {
			policy: "clone-list", trigger: redNamespace, cluster: configMaps, clones: true,
			want: `{apiVersion: v1, kind: ConfigMap, metadata: {name: one, namespace: shop, labels: {allowedToBeCloned: "true"}}, data: {a: b}}`,
		},
		"clone a list, empty": {policy: "clone-list", trigger: redNamespace},
		"forEach with data": {
			policy: "foreach-data", trigger: namespaceList,
			want: `
{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: {name: my-networkpolicy-foreach-ns-1, namespace: foreach-ns-1}, spec: {podSelector: {}, policyTypes: [Ingress, Egress]}}
---
{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: {name: my-networkpolicy-foreach-ns-2, namespace: foreach-ns-2}, spec: {podSelector: {}, policyTypes: [Ingress, Egress]}}`,
			leftOut: map[LeftOut]int{LeftOutOtherNamespace: 2},
		},
		"forEach with a clone": {
			policy: "foreach-clone", trigger: twoNamespaces, cluster: secrets, want: oneClone, clones: true,
			leftOut: map[LeftOut]int{LeftOutOtherNamespace: 2},
		},
		"forEach with a clone, the source is gone": {policy: "foreach-clone", trigger: twoNamespaces, leftOut: map[LeftOut]int{LeftOutSourceGone: 4}},
		"forEach with a clone and setField": {
			policy: "foreach-clone-setfield", trigger: twoNamespaces, cluster: secrets, want: oneClone, clones: true,
			leftOut: map[LeftOut]int{LeftOutOtherNamespace: 2},
		},
		"forEach with a clone and setField, the source is gone": {
			policy: "foreach-clone-setfield", trigger: twoNamespaces, leftOut: map[LeftOut]int{LeftOutNothing: 4},
		},
		"forEach with a list of clones":              {policy: "foreach-clone-list", trigger: twoNamespaces, cluster: secrets, want: bothClones, clones: true},
		"forEach with a list of clones and setField": {policy: "foreach-clone-list-setfield", trigger: twoNamespaces, cluster: secrets, want: bothClones, clones: true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			p := compiled(t, proposal(t, tt.policy))
			got, err := p.Evaluate(t.Context(), triggerOf(parse(t, tt.trigger)), &cluster{objects: parseAll(t, tt.cluster)})
			if err != nil {
				t.Fatal(err)
			}
			if got.Matched == tt.unmatched {
				t.Errorf("matched: %v, want %v", got.Matched, !tt.unmatched)
			}
			var objects []map[string]any
			for _, w := range got.Objects {
				objects = append(objects, w.Content)
				if (w.Source != nil) != tt.clones {
					t.Errorf("%s has the source %v, and clones are %v", w.ID, w.Source, tt.clones)
				}
				if w.ID != IDOf(w.Content) {
					t.Errorf("%s is in truth %s", w.ID, IDOf(w.Content))
				}
			}
			if diff := cmp.Diff(parseAll(t, tt.want), objects); diff != "" {
				t.Errorf("objects (-want +got):\n%s", diff)
			}
			want := tt.leftOut
			if want == nil {
				want = map[LeftOut]int{}
			}
			if !tt.unmatched {
				if diff := cmp.Diff(want, got.LeftOut); diff != "" {
					t.Errorf("left out (-want +got):\n%s", diff)
				}
			}
		})
	}
}
