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

package generating

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/derive/draft"
	"kausality.io/operator/internal/policy"
)

// making returns a policy that makes a ConfigMap of ConfigMaps.
func making(applied string, variables ...admissionregistrationv1.Variable) *v1alpha1.GeneratingPolicy {
	p := &v1alpha1.GeneratingPolicy{}
	p.Name = "making"
	p.Spec.Evaluation.Synchronize = true
	p.Spec.MatchConstraints = &admissionregistrationv1.MatchResources{ResourceRules: []admissionregistrationv1.NamedRuleWithOperations{{
		RuleWithOperations: admissionregistrationv1.RuleWithOperations{
			Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.OperationAll},
			Rule:       admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"configmaps"}},
		},
	}}}
	p.Spec.Variables = variables
	p.Spec.Generate = []v1alpha1.Generation{{Expression: applied}}
	return p
}

const object = `{'apiVersion': 'v1', 'kind': 'ConfigMap', 'metadata': {'name': 'made'}, 'data': {'fixed': 'x', 'key': VALUE}}`

// TestTriggers says which changes of a trigger count, by what an expression reads of it.
func TestTriggers(t *testing.T) {
	for name, tc := range map[string]struct {
		value, want, observed string
		variable              string
	}{
		"a field":                         {value: "object.data.a", want: "data[a]"},
		"a key":                           {value: "object.data['a.b']", want: "data[a.b]"},
		"a computed key":                  {value: "object.data[object.data.k]", want: "data data[k]"},
		"whether there is a field":        {value: "string(has(object.data.a))", want: "data[a]"},
		"an optional":                     {value: "object.?data.?a.orValue('none')", want: "data[a]"},
		"an optional key":                 {value: "object.data[?'a'].orValue('none')", want: "data[a]"},
		"an optional that is mapped":      {value: "object.?spec.optMap(s, s.a + s.b).orValue('')", want: "spec spec.a spec.b"},
		"a condition":                     {value: "object.data.on == 'yes' ? object.data.a : 'b'", want: "data[a] data[on]"},
		"either of two":                   {value: "string(object.data.a == 'x' || object.data.b == 'y')", want: "data[a] data[b]"},
		"an item":                         {value: "object.spec.list[0].a", want: "spec.list"},
		"items":                           {value: "object.spec.list.map(x, x.a).join(',')", want: "spec.list"},
		"items for their number":          {value: "string(object.spec.list.map(x, 1).size())", want: "spec.list"},
		"items that are filtered":         {value: "object.spec.list.filter(x, x == object.data.only).join(',')", want: "data[only] spec.list"},
		"whether there is an item":        {value: "string(object.spec.list.exists(x, x.a == 'b'))", want: "spec.list"},
		"whether something is in a list":  {value: "string('x' in object.spec.list)", want: "spec.list"},
		"a map that is written out":       {value: "{'x': object.data.a, 'y': object.data.b}[object.data.c]", want: "data[a] data[b] data[c]"},
		"a label":                         {value: "object.metadata.labels['team']", want: "metadata.labels[team]"},
		"all annotations":                 {value: "string(size(object.metadata.annotations))", want: "metadata.annotations"},
		"a label of Kausality":            {value: "object.metadata.labels['kausality.io/generated-by']", observed: "object metadata.labels[kausality.io/generated-by]"},
		"what never changes":              {value: "object.metadata.name + object.kind"},
		"a generation":                    {value: "string(object.metadata.generation)", observed: "object metadata.generation"},
		"a status":                        {value: "object.status.phase", observed: "object status.phase"},
		"all of it":                       {value: "string(object == null)", want: "* metadata.annotations metadata.finalizers metadata.labels metadata.ownerReferences", observed: "object status"},
		"its namespace":                   {value: "namespaceObject.metadata.labels['a']", observed: "namespaceObject metadata.labels[a]"},
		"a variable":                      {value: "variables.v.a", variable: "object.data", want: "data[a]"},
		"a variable that is no more used": {value: "'x'", variable: "object.data"},
		"a variable that is a read":       {value: "variables.v.data.x", variable: "resource.Get('v1', 'secrets', 'ns', object.data.name)", want: "data[name]", observed: "secrets ns/* data[x]"},
	} {
		t.Run(name, func(t *testing.T) {
			var variables []admissionregistrationv1.Variable
			if tc.variable != "" {
				variables = append(variables, admissionregistrationv1.Variable{Name: "v", Expression: tc.variable})
			}
			derived, err := Derive(making("generator.ApplyAll('made', "+strings.Replace(object, "VALUE", tc.value, 1)+")", variables...), testOptions)
			if err != nil {
				t.Fatal(err)
			}
			var triggers, observed []string
			for _, r := range derived[1].Policy.Spec.Rules {
				triggers = append(triggers, r.Trigger)
			}
			for _, r := range derived[1].Rows {
				if r.Observed != "" {
					observed = append(observed, r.Observed)
				}
			}
			if diff := cmp.Diff(tc.want+"; "+tc.observed, strings.Join(triggers, " ")+"; "+strings.Join(observed, ", ")); diff != "" {
				t.Errorf("triggers; what changes by itself (-want +got):\n%s", diff)
			}
			if len(derived) > 2 {
				t.Errorf("there is a policy for %s, which is no parent", derived[2].Policy.Spec.For.Kind)
			}
		})
	}
}

// TestKinds says of what is applied what it is.
func TestKinds(t *testing.T) {
	for name, tc := range map[string]struct{ applied, want, note string }{
		"a list of objects":           {applied: "[" + object + ", " + object + "]", want: "configmaps"},
		"a List":                      {applied: "{'apiVersion': 'v1', 'kind': 'List', 'items': [" + object + "]}", want: "configmaps"},
		"lists in lists":              {applied: "[[" + object + "]]", want: "configmaps"},
		"either of two":               {applied: "object.data.a == 'x' ? " + object + " : {'apiVersion': 'v1', 'kind': 'Secret'}", want: "configmaps secrets"},
		"the trigger":                 {applied: "object", want: "configmaps"},
		"what is read":                {applied: "resource.Get('example.org/v1', 'widgets', '', 'w')", want: "widgets.example.org"},
		"all that is read":            {applied: "resource.List('v1', 'secrets', '')", want: "secrets"},
		"the kind of what is read":    {applied: "{'apiVersion': 'v1', 'kind': resource.Get('v1', 'secrets', 'ns', 's').kind}", want: "secrets"},
		"a kind that is not known":    {applied: "{'apiVersion': 'example.org/v2', 'kind': 'Gizmo'}", want: "gizmos.example.org", note: "the resource of the kind Gizmo.example.org is not known, and taken to be gizmos.example.org"},
		"a computed kind, and others": {applied: "[" + object + ", {'apiVersion': 'v1', 'kind': object.data.kind}]", want: "configmaps", note: "of which kind an object is that is applied cannot be told"},
		"two kinds of two groups":     {applied: "[" + object + "].map(x, object.data.a == 'x' ? x : {'apiVersion': 'networking.k8s.io/v1', 'kind': 'NetworkPolicy'})", want: "configmaps networkpolicies.networking.k8s.io"},
		"a part of an object":         {applied: "[" + object + ", object.spec.template]", want: "configmaps", note: "a part of another one"},
	} {
		t.Run(name, func(t *testing.T) {
			derived, err := Derive(making("generator.ApplyAll('made', "+strings.ReplaceAll(tc.applied, "VALUE", "'x'")+")"), testOptions)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, e := range derived[0].Policy.Spec.Initializing.Policies {
				resource := e.Target.Resource
				if *e.Target.APIGroup != "" {
					resource += "." + *e.Target.APIGroup
				}
				got = append(got, resource)
			}
			if diff := cmp.Diff(tc.want, strings.Join(got, " ")); diff != "" {
				t.Errorf("what is made (-want +got):\n%s", diff)
			}
			if !says(derived[0].Notes, tc.note) {
				t.Errorf("notes %v, want %q", derived[0].Notes, tc.note)
			}
		})
	}
}

func says(notes []draft.Note, text string) bool {
	for _, n := range notes {
		if text != "" && strings.Contains(n.Message, text) {
			return true
		}
	}
	return text == ""
}

func TestDeriveFails(t *testing.T) {
	for name, tc := range map[string]struct{ applied, want string }{
		"what cannot compile": {"generator.ApplyAll('made', nothing)", "spec.generate[0].expression: the expression does not compile"},
		"a computed kind":     {"generator.ApplyAll('made', {'apiVersion': 'v1', 'kind': object.data.kind})", "cannot be told"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := Derive(making(tc.applied), testOptions); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("Derive() = %v, want %q", err, tc.want)
			}
		})
	}
}

// TestPutBack lets what was changed be put back only where that is asked for.
func TestPutBack(t *testing.T) {
	for _, asked := range []bool{false, true} {
		opts := testOptions
		opts.PutBack = asked
		derived, err := Derive(making("generator.ApplyAll('made', "+strings.Replace(object, "VALUE", "object.data.a", 1)+")"), opts)
		if err != nil {
			t.Fatal(err)
		}
		got := strings.Join(derived[1].Policy.Spec.Maintaining.Policies[0].Verbs, " ")
		if want := map[bool]string{false: "Create", true: "Create Update"}[asked]; got != want {
			t.Errorf("maintaining allows %s, want %s", got, want)
		}
	}
}

// TestFits makes a policy of more fields than one has room for, which the API server takes all the same.
func TestFits(t *testing.T) {
	var data strings.Builder
	for i := range 100 {
		fmt.Fprintf(&data, "'key%d': object.data['from%d'], ", i, i)
	}
	derived, err := Derive(making("generator.ApplyAll('made', {'apiVersion': 'v1', 'kind': 'ConfigMap', 'metadata': {'name': 'made'}, 'data': {'fixed': 'x', "+
		data.String()+"}})"), testOptions)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range derived {
		if _, errs := policy.Compile(d.Policy, kindFor); len(errs) > 0 {
			t.Errorf("%s: %v", d.Policy.Name, errs)
		}
		if n := len(d.Policy.Spec.Rules); n == 0 || n > 64 {
			t.Errorf("%s has %d rules", d.Policy.Name, n)
		}
		for _, r := range d.Policy.Spec.Rules {
			for _, e := range r.Policies {
				if len(e.Mutations) > 32 {
					t.Errorf("%s has %d mutations for %s", d.Policy.Name, len(e.Mutations), r.Trigger)
				}
			}
		}
	}
	if !says(derived[1].Notes, "one rule stands for all fields below") {
		t.Errorf("notes %v", derived[1].Notes)
	}
}
