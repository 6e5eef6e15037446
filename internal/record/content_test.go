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
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/approved"
	"kausality.io/operator/internal/change"
	"kausality.io/operator/internal/lineage"
	"kausality.io/operator/internal/policy"
)

// TestChangedSince shows what is found of what was said in Crossplane's books while nobody looked, and
// what Crossplane itself may have written there.
func TestChangedSince(t *testing.T) {
	all := []string{"spec.compositionRef", "spec.compositionSelector", "spec.compositionRevisionRef", "spec.compositionRevisionSelector", "spec.compositionUpdatePolicy", "spec.resourceRef"}
	const ours = "compositionRef: {name: a}, compositionRevisionRef: {name: a-1}, resourceRef: {name: x}"
	tests := map[string]struct {
		category      string // composite resources and claims have one
		triggers      []string
		before, after string
		want          []string
	}{
		"another composition":               {triggers: all, before: ours, after: "compositionRef: {name: evil}, resourceRef: {name: x}", want: []string{"spec.compositionRef"}},
		"none":                              {triggers: all, before: ours, after: "resourceRef: {name: x}", want: []string{"spec.compositionRef"}},
		"another revision":                  {triggers: all, before: ours, after: "compositionRef: {name: a}, compositionRevisionRef: {name: a-2}, resourceRef: {name: x}"},
		"one that is to stay":               {triggers: all, before: ours + ", compositionUpdatePolicy: Manual", after: "compositionUpdatePolicy: Manual, compositionRef: {name: a}, compositionRevisionRef: {name: a-2}, resourceRef: {name: x}", want: []string{"spec.compositionRevisionRef"}},
		"no revision that is to stay":       {triggers: all, before: ours + ", compositionUpdatePolicy: Manual", after: ours, want: []string{"spec.compositionUpdatePolicy", "spec.compositionRevisionRef"}},
		"to stay at a revision":             {triggers: all, before: ours, after: ours + ", compositionUpdatePolicy: Manual", want: []string{"spec.compositionUpdatePolicy"}},
		"what is so without being said":     {triggers: all, before: ours, after: ours + ", compositionUpdatePolicy: Automatic"},
		"a selector":                        {triggers: all, before: ours, after: ours + ", compositionSelector: {matchLabels: {a: b}}", want: []string{"spec.compositionSelector"}},
		"a selector of revisions":           {triggers: all, before: ours, after: ours + ", compositionRevisionSelector: {matchLabels: {a: b}}", want: []string{"spec.compositionRevisionSelector"}},
		"another composite resource":        {triggers: all, before: ours, after: "compositionRef: {name: a}, compositionRevisionRef: {name: a-1}, resourceRef: {name: y}", want: []string{"spec.resourceRef"}},
		"what was filled in":                {triggers: all, before: "size: 1", after: ours},
		"no rule is about it":               {triggers: []string{"spec.size"}, before: "size: 1, " + ours, after: "size: 1, compositionRef: {name: evil}"},
		"a rule about all":                  {triggers: []string{"spec"}, before: "size: 1, " + ours, after: "size: 2, compositionRef: {name: evil}, resourceRef: {name: x}", want: []string{"spec.size", "spec.compositionRef"}},
		"without claims":                    {category: lineage.CategoryComposite, triggers: []string{"spec.crossplane"}, before: "crossplane: {compositionRef: {name: a}}", after: "crossplane: {compositionRef: {name: evil}}", want: []string{"spec.crossplane.compositionRef"}},
		"without claims, what is composed":  {category: lineage.CategoryComposite, triggers: []string{"spec.crossplane"}, before: "crossplane: {compositionRef: {name: a}}", after: "crossplane: {compositionRef: {name: a}, compositionRevisionRef: {name: a-1}, resourceRefs: [{name: x}]}"},
		"without claims, all is gone":       {category: lineage.CategoryComposite, triggers: []string{"spec.crossplane"}, before: "crossplane: {compositionRef: {name: a}}", after: "size: 1", want: []string{"spec.crossplane.compositionRef"}},
		"without claims, a new one":         {category: lineage.CategoryComposite, triggers: []string{"spec"}, before: "size: 1", after: "size: 1, crossplane: {compositionRef: {name: a}}"},
		"a kind of somebody else":           {category: "none", triggers: []string{"spec.resourceRef"}, before: ours, after: "resourceRef: {name: y}", want: []string{"spec.resourceRef"}},
		"a kind of somebody else, inserted": {category: "none", triggers: []string{"spec.resourceRef"}, before: "size: 1", after: ours, want: []string{"spec.resourceRef"}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if tc.category == "" {
				tc.category = lineage.CategoryClaim
			}
			policies := databasePolicies(t, tc.category, tc.triggers...)
			before, after := ContentOf(databaseOf(t, tc.before), policies, "key"), ContentOf(databaseOf(t, tc.after), policies, "key")
			var got []string
			for _, d := range ChangedSince(before, after, policies) {
				got = append(got, d.Path)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("ChangedSince() (-want +got):\n%s", diff)
			}
		})
	}
}

// TestChangedSinceApart shows that fields which came or went are found where a rule is about all of them,
// though no digest is of what is not there.
func TestChangedSinceApart(t *testing.T) {
	tests := map[string]struct {
		// then are the triggers by which the earlier content was looked at, where they are others.
		then, triggers []string
		before, after  string
		want           []string
	}{
		"a field more":               {triggers: []string{"spec"}, before: "size: 1", after: "size: 1, class: big", want: []string{"spec.class"}},
		"the first field":            {triggers: []string{"spec"}, after: "size: 1", want: []string{"spec.size"}},
		"all fields gone":            {triggers: []string{"spec"}, before: "size: 1, class: big", want: []string{"spec.class", "spec.size"}},
		"a field less":               {triggers: []string{"spec"}, before: "size: 1, class: big", after: "size: 1", want: []string{"spec.class"}},
		"by a wildcard":              {triggers: []string{"spec[*]"}, before: "size: 1", after: "size: 1, class: big", want: []string{"spec.class"}},
		"of all there is":            {triggers: []string{"*"}, before: "size: 1", after: "size: 2", want: []string{"spec"}},
		"beside a narrower rule":     {triggers: []string{"spec", "spec.size"}, before: "size: 1, name: a", after: "size: 1, name: a, class: big", want: []string{"spec.class"}},
		"no rule was about it":       {then: []string{"spec.size"}, triggers: []string{"spec", "spec.size"}, before: "size: 1", after: "size: 1, class: big"},
		"no rule is about it":        {then: []string{"spec"}, triggers: []string{"spec.size"}, before: "size: 1", after: "size: 1, class: big"},
		"a deeper rule was about it": {then: []string{"spec.class.name"}, triggers: []string{"spec"}, before: "class: {name: a}", after: "class: {name: a}"},
		"nothing, and still nothing": {triggers: []string{"spec"}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			policies := databasePolicies(t, "none", tc.triggers...)
			looked := policies
			if tc.then != nil {
				looked = databasePolicies(t, "none", tc.then...)
			}
			before, after := ContentOf(databaseOf(t, tc.before), looked, "key"), ContentOf(databaseOf(t, tc.after), policies, "key")
			var got []string
			for _, d := range ChangedSince(before, after, policies) {
				got = append(got, d.Path)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("ChangedSince() (-want +got):\n%s", diff)
			}
		})
	}
}

// TestChangedSinceOlder shows that digests of an operator that knew nothing of what is said in
// Crossplane's books tell nothing of that: such an operator wrote empty ones.
func TestChangedSinceOlder(t *testing.T) {
	for trigger, path := range map[string]string{
		"spec.compositionRef": "spec.compositionRef", "spec.crossplane": "spec.crossplane", "spec.resourceRef": "spec.resourceRef",
	} {
		for _, category := range []string{lineage.CategoryClaim, lineage.CategoryComposite, "none"} {
			t.Run(trigger+" of "+category, func(t *testing.T) {
				policies := databasePolicies(t, category, trigger)
				older := &v1alpha1.ApprovedContent{Digests: []v1alpha1.ContentDigest{{Path: path}}}
				obj := databaseOf(t, "compositionRef: {name: a}, resourceRef: {name: x}, crossplane: {compositionRef: {name: a}}")
				if got := ChangedSince(older, ContentOf(obj, policies, "key"), policies); len(got) > 0 {
					t.Errorf("changed: %v", got)
				}
			})
		}
	}
}

// TestMarkOfAbsent shows that a field that was absent is approved by taking it away.
func TestMarkOfAbsent(t *testing.T) {
	got := markOf(v1alpha1.Allowance{Relation: v1alpha1.RelationWithheld, Mutation: "spec.compositionSelector", Replaced: absent})
	want := approved.Mark{Author: approved.Author{Path: "spec.compositionSelector"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("markOf() (-want +got):\n%s", diff)
	}
}

func databaseOf(t *testing.T, spec string) *unstructured.Unstructured {
	t.Helper()
	obj := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte("{apiVersion: example.com/v1, kind: Database, metadata: {name: db, uid: u}, spec: {"+spec+"}}"), &obj.Object); err != nil {
		t.Fatal(err)
	}
	return obj
}

func databasePolicies(t *testing.T, category string, triggers ...string) []*policy.Policy {
	t.Helper()
	gvk := schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Database"}
	p := &policy.Policy{
		For: gvk, Action: v1alpha1.ActionDeny, Categories: map[schema.GroupKind][]string{gvk.GroupKind(): {category}},
	}
	for _, text := range triggers {
		trigger, err := change.ParsePattern(text)
		if err != nil {
			t.Fatal(err)
		}
		p.Rules = append(p.Rules, policy.Rule{Trigger: trigger})
	}
	return []*policy.Policy{p}
}
