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
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// benchmarkIndex returns the chain of two policies among n for other kinds.
func benchmarkIndex(b *testing.B, n int) *Index {
	b.Helper()
	policies := indexOfChain(b).Policies()
	for i := range n {
		other := *policies[0]
		other.Name = fmt.Sprintf("other-%d", i)
		other.For = schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: fmt.Sprintf("Kind%d", i)}
		policies = append(policies, &other)
	}
	return NewIndex(policies)
}

// scales are the numbers of policies, or of rules, that a cost is measured at.
var scales = []int{10, 100, 1000, 10_000}

func BenchmarkIndexFor(b *testing.B) {
	for _, n := range scales {
		index := benchmarkIndex(b, n)
		b.Run(fmt.Sprintf("others=%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				index.For(replicaSets)
			}
		})
	}
}

func BenchmarkIndexInEffect(b *testing.B) {
	for _, n := range scales {
		b.Run(fmt.Sprintf("others=%d", n), func(b *testing.B) { askInEffect(b, benchmarkIndex(b, n)) })
	}
}

// BenchmarkIndexInEffectOfKind measures about n policies for the same kind, each for the
// objects of another namespace.
func BenchmarkIndexInEffectOfKind(b *testing.B) {
	for _, n := range scales {
		policies := benchmarkIndex(b, 0).Policies()
		for i := range n {
			policies = append(policies, compile(b, fmt.Sprintf(`
metadata: {name: other-%d}
spec:
  for: {apiGroup: apps, apiVersion: v1, kind: ReplicaSet}
  namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: namespace-%[1]d}}
`, i)))
		}
		b.Run(fmt.Sprintf("peers=%d", n), func(b *testing.B) { askInEffect(b, NewIndex(policies)) })
	}
}

// askInEffect asks for the policies in effect for a ReplicaSet of a Deployment.
func askInEffect(b *testing.B, index *Index) {
	b.Helper()
	namespace := map[string]string{"kubernetes.io/metadata.name": "default"}
	chain := []Holder{
		{Kind: replicaSets, NamespaceLabels: namespace},
		{Kind: deployments, NamespaceLabels: namespace, Labels: map[string]string{"traced": "yes"}},
	}
	b.ReportAllocs()
	for b.Loop() {
		if len(index.InEffect(chain)) != 1 {
			b.Fatal("the policy for ReplicaSets must be in effect")
		}
	}
}

// BenchmarkTriggered measures about the rules of one policy that a change triggers.
func BenchmarkTriggered(b *testing.B) {
	for _, n := range scales {
		var rules strings.Builder
		for i := range n {
			fmt.Fprintf(&rules, "\n  - {trigger: spec.field%d}", i)
		}
		p := compile(b, forDeployments("  rules:"+rules.String()))
		path := mustPath(b, "spec.field7.below")
		b.Run(fmt.Sprintf("rules=%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if !p.HasRuleFor(path) {
					b.Fatal("the rule for the field must be triggered")
				}
			}
		})
	}
}

func BenchmarkConditionEval(b *testing.B) {
	for name, source := range map[string]string{
		"has":     "has(object.metadata.annotations['jira'])",
		"compare": "object.metadata.labels['env'] != 'prod'",
		"matches": "object.metadata.annotations['jira'].matches('^INFRA-[0-9]+$')",
		"request": "'platform-team' in request.user.groups",
		"items":   "object.spec.containers.all(c, c.image != 'app:1')",
	} {
		c, err := compileCondition(changeScope, source)
		if err != nil {
			b.Fatal(err)
		}
		in := activation()
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if holds, err := c.Eval(b.Context(), in); err != nil || !holds {
					b.Fatalf("Eval() = %t, %v", holds, err)
				}
			}
		})
	}
}

func BenchmarkCompile(b *testing.B) {
	for name, text := range specPolicies(b) {
		source := parse(b, text)
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, errs := Compile(source, servedKinds); len(errs) > 0 {
					b.Fatal(errs.ToAggregate())
				}
			}
		})
	}
}
