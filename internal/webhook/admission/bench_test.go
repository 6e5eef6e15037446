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

package admission

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"kausality.io/operator/internal/record"
)

// silent is a store that keeps no outcomes: in a benchmark there are too many.
type silent struct{ store }

func (silent) Observe(record.Outcome) {}

// BenchmarkHandle is what a request costs in the operator, without the network.
func BenchmarkHandle(b *testing.B) {
	parent := deployment(3, mayScale("alice", 4))
	w := &world{
		cached: map[string]*unstructured.Unstructured{key("Deployment", "web"): parent},
		live:   map[string]*unstructured.Unstructured{key("Deployment", "web"): parent},
	}
	mutator, validator := w.hooks(b, deploymentPolicy, replicaSetPolicy)
	mutator.Records = silent{store{w}}
	for _, bench := range []struct {
		name    string
		handler admission.Handler
		req     admission.Request
	}{
		{"grant", mutator, asking(b, "alice", platformTeam, deployment(3), deployment(5))},
		{"covered", validator, asking(b, deployer, nil, replicaSet(3), replicaSet(5))},
		{"denied", validator, asking(b, "mallory", nil, replicaSet(3), replicaSet(5))},
	} {
		b.Run(bench.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				bench.handler.Handle(b.Context(), bench.req)
			}
		})
	}
}
