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
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"pgregory.net/rapid"

	"kausality.io/operator/api/v1alpha1"
)

const chainOfPolicies = `metadata: {name: deployment, creationTimestamp: "2026-01-02T00:00:00Z"}
spec:
  for: {apiGroup: apps, apiVersion: v1, kind: Deployment}
  subjects: [{kind: Group, name: platform-team, mayInitiate: true}]
  objectSelector: {matchLabels: {traced: "yes"}}
  rules:
  - trigger: spec
    policies:
    - {target: {apiGroup: apps, apiVersion: v1, resource: replicasets}, relation: ControllerChild, verbs: ["*"]}
---
metadata: {name: replicaset, creationTimestamp: "2026-01-02T00:00:00Z"}
spec:
  for: {apiGroup: apps, apiVersion: v1, kind: ReplicaSet}
  deleting:
    policies:
    - {target: {apiVersion: v1, resource: pods}, relation: ControllerChild, verbs: ["*"]}
---
metadata: {name: pod, creationTimestamp: "2026-01-02T00:00:00Z"}
spec:
  for: {apiVersion: v1, kind: Pod}
---
metadata: {name: pod-of-shop, creationTimestamp: "2026-01-01T00:00:00Z"}
spec:
  for: {apiVersion: v1, kind: Pod}
  subjects: [{kind: User, name: hans, mayInitiate: true}]
  namespaceSelector: {matchLabels: {team: shop}}
`

// indexOfChain has the policies of chainOfPolicies.
func indexOfChain(tb testing.TB) *Index {
	tb.Helper()
	var policies []*Policy
	for text := range strings.SplitSeq(chainOfPolicies, "---\n") {
		policies = append(policies, compile(tb, text))
	}
	return NewIndex(policies)
}

func namesOf(policies []*Policy) []string {
	names := make([]string, 0, len(policies))
	for _, p := range policies {
		names = append(names, p.Name)
	}
	return names
}

func TestInEffect(t *testing.T) {
	index := indexOfChain(t)
	deployment := Holder{Kind: deployments, Labels: map[string]string{"traced": "yes"}}
	untraced := Holder{Kind: deployments}
	replicaSet, pod := Holder{Kind: replicaSets}, Holder{Kind: pods}
	podOfShop := Holder{Kind: pods, NamespaceLabels: map[string]string{"team": "shop"}}
	podOfOthers := Holder{Kind: pods, NamespaceLabels: map[string]string{"team": "search"}}
	tests := map[string]struct {
		chain []Holder
		want  []string
	}{
		"nothing":                               {want: []string{}},
		"another kind":                          {chain: []Holder{{Kind: configMaps}}, want: []string{}},
		"an initiator":                          {chain: []Holder{deployment}, want: []string{"deployment"}},
		"an initiator, not selected":            {chain: []Holder{untraced}, want: []string{}},
		"no parent":                             {chain: []Holder{replicaSet}, want: []string{}},
		"a parent that names it":                {chain: []Holder{replicaSet, deployment}, want: []string{"replicaset"}},
		"a parent that is not selected":         {chain: []Holder{replicaSet, untraced}, want: []string{}},
		"a parent that does not name it":        {chain: []Holder{podOfOthers, deployment}, want: []string{}},
		"two hops":                              {chain: []Holder{podOfOthers, replicaSet, deployment}, want: []string{"pod"}},
		"two hops, the first is not selected":   {chain: []Holder{podOfOthers, replicaSet, untraced}, want: []string{}},
		"own initiator and parent, oldest":      {chain: []Holder{podOfShop, replicaSet, deployment}, want: []string{"pod-of-shop", "pod"}},
		"own initiator, no parent":              {chain: []Holder{podOfShop}, want: []string{"pod-of-shop"}},
		"no namespace: its selector is moot":    {chain: []Holder{pod}, want: []string{"pod-of-shop"}},
		"grandparent that names it, not parent": {chain: []Holder{replicaSet, {Kind: configMaps}, deployment}, want: []string{}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, namesOf(index.InEffect(tc.chain))); diff != "" {
				t.Errorf("InEffect() (-want +got):\n%s", diff)
			}
		})
	}
}

func TestInitiatorsAbove(t *testing.T) {
	index := indexOfChain(t)
	alice := Requester{Username: "alice", Groups: []string{"platform-team"}}
	deployment := Holder{Kind: deployments, Labels: map[string]string{"traced": "yes"}}
	replicaSet, pod := Holder{Kind: replicaSets}, Holder{Kind: pods, NamespaceLabels: map[string]string{"team": "search"}}
	tests := map[string]struct {
		chain []Holder
		want  bool
	}{
		"on the object itself":         {[]Holder{deployment}, false},
		"on a parent that names it":    {[]Holder{replicaSet, deployment}, true},
		"all the way":                  {[]Holder{pod, replicaSet, deployment}, true},
		"on one that does not name it": {[]Holder{pod, deployment}, false},
		"behind one that does not":     {[]Holder{replicaSet, {Kind: configMaps}, deployment}, false},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if got := index.MayInitiateAbove(tc.chain, alice); got != tc.want {
				t.Errorf("MayInitiateAbove() = %t, want %t", got, tc.want)
			}
			if got := len(index.InitiatorsOf(tc.chain[:0:0])); got != 0 {
				t.Errorf("InitiatorsOf(nobody) has %d", got)
			}
		})
	}
}

// TestInitiatesByTheStrictest checks that who may initiate by a policy that is less strict than another one for the
// same object has no say in what is below it.
func TestInitiatesByTheStrictest(t *testing.T) {
	const policyOf = `metadata: {name: %s}
spec:
  for: {apiGroup: apps, apiVersion: v1, kind: Deployment}
  subjects: [{kind: User, name: %s, mayInitiate: true}]
  validationActions: [%s]
  rules:
  - trigger: spec
    policies: [{target: {apiGroup: apps, apiVersion: v1, resource: %s}, relation: ControllerChild, verbs: ["*"]}]
`
	denying := compile(t, fmt.Sprintf(policyOf, "denying", "alice", "Deny", "replicasets"))
	elsewhere := compile(t, fmt.Sprintf(policyOf, "elsewhere", "alice", "Deny", "deployments"))
	warning := compile(t, fmt.Sprintf(policyOf, "warning", "bea", "Warn", "replicasets"))
	auditing := compile(t, fmt.Sprintf(policyOf, "auditing", "carl", "Audit", "replicasets"))
	chain := []Holder{{Kind: replicaSets}, {Kind: deployments}}
	for name, tc := range map[string]struct {
		policies []*Policy
		want     []string
	}{
		"one that denies":                {[]*Policy{denying, warning, auditing}, []string{"alice"}},
		"one that denies something else": {[]*Policy{elsewhere, warning}, []string{"bea"}},
		"none that denies":               {[]*Policy{warning, auditing}, []string{"bea", "carl"}},
	} {
		t.Run(name, func(t *testing.T) {
			index := NewIndex(tc.policies)
			var got, named []string
			for _, who := range []string{"alice", "bea", "carl"} {
				if index.MayInitiateAbove(chain, Requester{Username: who}) {
					got = append(got, who)
				}
			}
			for _, text := range index.InitiatorsAbove(chain) {
				named = append(named, strings.TrimPrefix(text, "User "))
			}
			slices.Sort(named)
			if !slices.Equal(got, tc.want) || !slices.Equal(named, tc.want) {
				t.Errorf("%v may, and %v are named, want %v", got, named, tc.want)
			}
		})
	}
}

func TestInEffectWithoutPolicies(t *testing.T) {
	var none *Index
	if got := none.InEffect([]Holder{{Kind: deployments}}); got != nil {
		t.Errorf("InEffect() = %v, want none", namesOf(got))
	}
	if none.Policies() != nil || none.For(pods) != nil {
		t.Error("a nil index must be empty")
	}
}

var kindsOfProperty = []struct {
	kind     v1alpha1.ParentKind
	resource v1alpha1.Target
}{
	{v1alpha1.ParentKind{APIGroup: "apps", APIVersion: "v1", Kind: "Deployment"}, v1alpha1.Target{APIGroup: new("apps"), APIVersion: "v1", Resource: "deployments"}},
	{v1alpha1.ParentKind{APIGroup: "apps", APIVersion: "v1", Kind: "ReplicaSet"}, v1alpha1.Target{APIGroup: new("apps"), APIVersion: "v1", Resource: "replicasets"}},
	{v1alpha1.ParentKind{APIVersion: "v1", Kind: "Pod"}, v1alpha1.Target{APIVersion: "v1", Resource: "pods"}},
}

func drawPolicies(t *rapid.T) []*Policy {
	n := rapid.IntRange(0, 8).Draw(t, "policies")
	policies := make([]*Policy, 0, n)
	for i := range n {
		var p v1alpha1.AllowancePolicy
		p.Name = fmt.Sprintf("p%d", i)
		p.CreationTimestamp = metav1.NewTime(time.Unix(rapid.Int64Range(0, 3).Draw(t, "age"), 0))
		p.Spec.For = rapid.SampledFrom(kindsOfProperty).Draw(t, "for").kind
		p.Spec.Subjects = []v1alpha1.PolicySubject{{
			Subject:     v1alpha1.Subject{Kind: v1alpha1.SubjectUser, Name: "hans"},
			MayInitiate: rapid.Bool().Draw(t, "mayInitiate"),
		}}
		if rapid.Bool().Draw(t, "selective") {
			p.Spec.ObjectSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"traced": "yes"}}
		}
		p.Spec.NamespaceSelector = rapid.SampledFrom([]*metav1.LabelSelector{
			nil, {MatchLabels: map[string]string{"team": "pay"}},
			{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "team", Operator: metav1.LabelSelectorOpIn, Values: []string{"pay", "shop"}}}},
			{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "team", Operator: metav1.LabelSelectorOpNotIn, Values: []string{"pay"}}}},
			{MatchLabels: map[string]string{"tier": "gold"}, MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "team", Operator: metav1.LabelSelectorOpExists}}},
		}).Draw(t, "namespaces")
		if rapid.Bool().Draw(t, "bounds") {
			p.Spec.Deleting = &v1alpha1.DeletingSection{Policies: []v1alpha1.PolicyEntry{{
				Target:   rapid.SampledFrom(kindsOfProperty).Draw(t, "target").resource,
				Relation: v1alpha1.RelationControllerChild,
			}}}
		}
		compiled, errs := Compile(&p, servedKinds)
		if len(errs) > 0 {
			t.Fatal(errs.ToAggregate())
		}
		policies = append(policies, compiled)
	}
	return policies
}

func drawChain(t *rapid.T) []Holder {
	chain := make([]Holder, rapid.IntRange(0, 4).Draw(t, "length"))
	for i := range chain {
		kind := rapid.SampledFrom(kindsOfProperty).Draw(t, "kind").kind
		chain[i].Kind = schema.GroupKind{Group: kind.APIGroup, Kind: kind.Kind}
		if rapid.Bool().Draw(t, "traced") {
			chain[i].Labels = map[string]string{"traced": "yes"}
		}
		chain[i].NamespaceLabels = rapid.SampledFrom([]map[string]string{
			nil, {}, {"team": "shop"}, {"team": "pay"}, {"team": "pay", "tier": "gold"}, {"kubernetes.io/metadata.name": "kube-system"},
		}).Draw(t, "namespace labels")
	}
	return chain
}

// TestInEffectProperties checks that the order in which policies come does not
// matter, and that the answer is the one that the definition gives (D2).
func TestInEffectProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		policies, chain := drawPolicies(t), drawChain(t)
		got := NewIndex(policies).InEffect(chain)
		shuffled := NewIndex(rapid.Permutation(policies).Draw(t, "order")).InEffect(chain)
		if diff := cmp.Diff(namesOf(got), namesOf(shuffled)); diff != "" {
			t.Errorf("the order of policies matters:\n%s", diff)
		}
		if !slices.IsSortedFunc(got, ByAge) {
			t.Errorf("not the oldest first: %v", namesOf(got))
		}
		want := map[string]bool{}
		for _, p := range policies {
			if len(chain) > 0 && inEffect(policies, p, chain) {
				want[p.Name] = true
			}
		}
		names := map[string]bool{}
		for _, p := range got {
			names[p.Name] = true
		}
		if diff := cmp.Diff(want, names); diff != "" {
			t.Errorf("in effect (-definition +got):\n%s", diff)
		}
	})
}

// inEffect is the definition, word for word.
func inEffect(all []*Policy, p *Policy, chain []Holder) bool {
	holder, ancestors := chain[0], chain[1:]
	if p.For.GroupKind() != holder.Kind || !p.Selects(holder.Labels, holder.NamespaceLabels) {
		return false
	}
	return p.HasInitiator() || len(ancestors) > 0 && slices.ContainsFunc(all, func(q *Policy) bool {
		return inEffect(all, q, ancestors) && q.Bounds(holder.Kind)
	})
}
