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

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/change"
)

// typed declares Deployments without the fields that TestUnmatched is about.
type typed struct{ declarations }

func (typed) Undeclared(kind schema.GroupVersionKind, pattern change.Pattern) string {
	if kind.Kind == "Deployment" && pattern.String() == "status.observedGenerations" {
		return "there is no field status.observedGenerations"
	}
	return ""
}

func TestMisjudged(t *testing.T) {
	const (
		at       = "spec.consumption.when: "
		never    = ": that cannot be evaluated, and does not hold"
		unequal  = ": these are never equal"
		convert  = "; int() makes a number of a string"
		observed = "object.status.observedGeneration (a string)"
	)
	tests := map[string]struct {
		when string
		want []string
	}{
		"numbers":                       {when: "object.spec.replicas >= allowance.generation"},
		"what is not declared in full":  {when: "object.status.limit >= allowance.generation && object.status.limit == '5'"},
		"a string that is converted":    {when: "int(object.status.observedGeneration) >= allowance.generation"},
		"a number that is converted":    {when: "object.status.observedGeneration == string(allowance.generation)"},
		"null, which anything can be":   {when: "object.spec.replicas != null && object.metadata.generation == 1"},
		"a field by its key":            {when: "object['status']['observedGeneration'] == string(object.metadata.generation)"},
		"a string and a number":         {when: "object.status.observedGeneration >= allowance.generation", want: []string{at + "it compares " + observed + " with allowance.generation (a number): that cannot be evaluated, and does not hold" + convert}},
		"a string that is no number":    {when: "object.status.observedGeneration == object.metadata.generation || object.status.observedGeneration == 3", want: []string{at + "it compares " + observed + " with a number" + unequal + convert}},
		"true and a string":             {when: "object.spec.paused == 'true' || object.metadata.generation == 1", want: []string{at + "it compares object.spec.paused (true or false) with a string" + unequal}},
		"one of some":                   {when: "object.status.observedGeneration in [1, 'x']", want: []string{at + "it compares " + observed + " with a number" + unequal + convert}},
		"one of a list":                 {when: "object.metadata.generation in object.spec.items.map(i, i.size)"},
		"each of a list":                {when: "object.spec.items.all(i, i.size > 0 && i.name == 1) && object.metadata.generation > 0", want: []string{at + "it compares object.spec.items[*].name (a string) with a number" + unequal + convert}},
		"each key of a map":             {when: "object.metadata.labels.all(k, k == 1) && object.metadata.generation > 0", want: []string{at + "it compares a string with a number" + unequal + convert}},
		"a label":                       {when: "object.metadata.labels['tier'] == 1 && object.metadata.generation > 0", want: []string{at + "it compares object.metadata.labels[tier] (a string) with a number" + unequal + convert}},
		"what is chosen":                {when: "(object.spec.paused ? 'a' : 'b') == 1 && object.metadata.generation > 0", want: []string{at + "it compares a string with a number" + unequal + convert}},
		"what the kind does not have":   {when: "object.status.observedGenerations >= allowance.generation", want: []string{at + "in kind Deployment, there is no field status.observedGenerations"}},
		"what no allowance has":         {when: "object.metadata.generation >= allowance.generatoin", want: []string{at + "an allowance has no field generatoin: it has apiGroup, content, external, generation, initiator, kind, mutation, mutations, relation, through, trace, verbs"}},
		"what an allowance has":         {when: "object.metadata.generation >= allowance.generation && allowance.trace[0].name != '' && allowance.external['a'] != ''"},
		"no generation":                 {when: "object.spec.paused", want: []string{at + "it looks at no generation: what the status said before a change would end at once what the change allows; compare object.status.observedGeneration with allowance.generation"}},
		"a generation by its key":       {when: "object['status']['observedGeneration'] != ''"},
		"two that compare in vain":      {when: "has(object.status.observedGeneration) && size(object.metadata.name) == 'x'", want: []string{at + "it compares a number with a string" + unequal + convert}},
		"what does not compile":         {when: "object..x"},
		"an index, and what is not one": {when: "object.spec.items[0].name == 'a' && object.spec.items[object.metadata.generation].size < 'a'", want: []string{at + "it compares object.spec.items[*].size (a number) with a string" + never + convert}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			spec := &v1alpha1.AllowancePolicySpec{
				For:         v1alpha1.ParentKind{APIGroup: "apps", APIVersion: "v1", Kind: "Deployment"},
				Consumption: &v1alpha1.Consumption{When: tt.when},
			}
			if diff := cmp.Diff(tt.want, Misjudged(spec, typed{})); diff != "" {
				t.Errorf("Misjudged() (-want +got):\n%s", diff)
			}
		})
	}
}

func TestMisjudgedConstants(t *testing.T) {
	const (
		initializing = "spec.initializing.when: it is always true: each object stays Initializing for ever, and anybody may do to its children what this section lets them"
		ends         = "spec.consumption.when: it is always true: what a change allows would end at once"
		stays        = "spec.consumption.when: it is never true: what a change allows would not end"
	)
	tests := map[string]struct {
		initializing, consumption string
		want                      []string
	}{
		"always initializing":            {initializing: "(true)", want: []string{initializing}},
		"never initializing":             {initializing: "false"},
		"initializing as is reported":    {initializing: "object.status.ready != true"},
		"always at an end":               {consumption: "true", want: []string{ends}},
		"never at an end":                {consumption: "false", want: []string{stays}},
		"what does not compile":          {initializing: "tru e"},
		"a string that is not true":      {initializing: "'true' == object.status.ready"},
		"at an end as the status has it": {consumption: "object.status.observedGeneration >= string(allowance.generation)"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			spec := &v1alpha1.AllowancePolicySpec{
				For:          v1alpha1.ParentKind{APIGroup: "apps", APIVersion: "v1", Kind: "Deployment"},
				Initializing: &v1alpha1.InitializingSection{When: tt.initializing},
				Consumption:  &v1alpha1.Consumption{When: tt.consumption},
			}
			if diff := cmp.Diff(tt.want, Misjudged(spec, typed{})); diff != "" {
				t.Errorf("Misjudged() (-want +got):\n%s", diff)
			}
		})
	}
}

func TestMisjudgedPlaces(t *testing.T) {
	group := "apps"
	spec := &v1alpha1.AllowancePolicySpec{
		For:          v1alpha1.ParentKind{APIGroup: "apps", APIVersion: "v1", Kind: "Deployment"},
		Initializing: &v1alpha1.InitializingSection{When: "object.metadata.name == 1"},
		Maintaining: &v1alpha1.MaintainingSection{Policies: []v1alpha1.MaintainingEntry{{
			PolicyEntry: v1alpha1.PolicyEntry{Target: v1alpha1.Target{APIGroup: &group, APIVersion: "v1", Resource: "replicasets"}},
			Conditions:  []string{"true", "object.metadata.name == 1 || oldObject == null"},
		}}},
		Rules: []v1alpha1.Rule{{Conditions: []string{"oldObject.spec.replicas != '3'"}}},
	}
	want := []string{
		"spec.initializing.when: it compares object.metadata.name (a string) with a number: these are never equal; int() makes a number of a string",
		"spec.rules[0].conditions[0]: it compares oldObject.spec.replicas (a number) with a string: these are never equal; int() makes a number of a string",
	}
	if diff := cmp.Diff(want, Misjudged(spec, typed{})); diff != "" {
		t.Errorf("Misjudged() (-want +got):\n%s", diff)
	}
	spec.Initializing.When = " !has( object.status.observedGeneration )"
	if diff := cmp.Diff(want[1:], Misjudged(spec, typed{})); diff != "" {
		t.Errorf("Misjudged() of the default (-want +got):\n%s", diff)
	}
}

func TestMisjudgedConditions(t *testing.T) {
	const at, never = "spec.rules[0].conditions[0]: ", "it is never true: the rule allows nothing, and every change of what it is about is withheld"
	tests := map[string]struct {
		condition string
		want      []string
	}{
		"never":                    {condition: "1 == 2", want: []string{at + never}},
		"never, by a list":         {condition: "'a' in ['b'].filter(i, i != 'c')"},
		"always":                   {condition: "true"},
		"by the object":            {condition: "object.spec.paused"},
		"what yields no condition": {condition: "object.spec.replicas", want: []string{at + "it yields object.spec.replicas (a number), which is neither true nor false: that does not hold"}},
		"of no known type":         {condition: "object.spec.unknown"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			spec := &v1alpha1.AllowancePolicySpec{
				For:   v1alpha1.ParentKind{APIGroup: "apps", APIVersion: "v1", Kind: "Deployment"},
				Rules: []v1alpha1.Rule{{Trigger: "spec.replicas", Conditions: []string{tt.condition}}},
			}
			if diff := cmp.Diff(tt.want, Misjudged(spec, typed{})); diff != "" {
				t.Errorf("Misjudged() (-want +got):\n%s", diff)
			}
		})
	}
}

func TestMisjudges(t *testing.T) {
	c, err := compileCondition(consumptionScope, "object.status.observedGeneration >= allowance.generation && object.status.items.all(i, i.at == 'a')")
	if err != nil {
		t.Fatal(err)
	}
	number, text := map[string]any{"observedGeneration": int64(1)}, map[string]any{
		"observedGeneration": "1", "items": []any{map[string]any{"at": true}},
	}
	tests := map[string]struct {
		object map[string]any
		want   []string
	}{
		"numbers":   {object: map[string]any{"status": number}},
		"no status": {object: map[string]any{}},
		"others": {object: map[string]any{"status": text}, want: []string{
			"it compares object.status.observedGeneration (a string) with allowance.generation (a number): that cannot be evaluated, and does not hold; int() makes a number of a string",
			"it compares object.status.items[*].at (true or false) with a string: these are never equal",
		}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, c.Misjudges(tt.object)); diff != "" {
				t.Errorf("Misjudges() (-want +got):\n%s", diff)
			}
		})
	}
}
