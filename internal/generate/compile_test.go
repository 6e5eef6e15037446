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
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"

	"kausality.io/operator/api/v1alpha1"
)

// valid is a policy that each case of TestCompileRefuses makes invalid in one place.
const valid = `
metadata: {name: made}
spec:
  matchConstraints:
    resourceRules:
    - {apiGroups: [""], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [namespaces]}
  matchConditions:
  - {name: named, expression: "variables.ns != ''"}
  variables:
  - {name: ns, expression: object.metadata.name}
  generate:
  - {name: all, expression: "generator.ApplyAll(variables.ns, [])"}
`

// What cannot work is refused, at the field that says so.
func TestCompileRefuses(t *testing.T) {
	const rules, generate, variable, condition = "spec.matchConstraints.resourceRules[0]", "spec.generate[0].expression", "spec.variables[0].expression", "spec.matchConditions[0].expression"
	const expression, of, when = `"generator.ApplyAll(variables.ns, [])"`, "expression: object.metadata.name", `"variables.ns != ''"`
	tests := map[string]struct {
		old, new string
		at, says string
	}{
		"no rules":               {"resourceRules:\n    - {apiGroups: [\"\"], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [namespaces]}", "resourceRules: []", "spec.matchConstraints.resourceRules", "Required"},
		"no groups":              {`apiGroups: [""]`, "apiGroups: []", rules + ".apiGroups", "Required"},
		"a group beside all":     {`apiGroups: [""]`, `apiGroups: ["*", apps]`, rules + ".apiGroups", "'*'"},
		"no versions":            {"apiVersions: [v1]", "apiVersions: []", rules + ".apiVersions", "Required"},
		"an empty version":       {"apiVersions: [v1]", `apiVersions: [""]`, rules + ".apiVersions[0]", "Required"},
		"no operations":          {"operations: [CREATE, UPDATE]", "operations: []", rules + ".operations", "Required"},
		"an unknown operation":   {"operations: [CREATE, UPDATE]", "operations: [PATCH]", rules + ".operations[0]", "Unsupported"},
		"an operation, and all":  {"operations: [CREATE, UPDATE]", `operations: [CREATE, "*"]`, rules + ".operations", "'*'"},
		"no resources":           {"resources: [namespaces]", "resources: []", rules + ".resources", "Required"},
		"an empty resource":      {"resources: [namespaces]", `resources: ["/status"]`, rules + ".resources[0]", "Required"},
		"a resource beside all":  {"resources: [namespaces]", `resources: ["*", pods]`, rules + ".resources", "must not specify pods"},
		"an unknown scope":       {"resources: [namespaces]", "resources: [namespaces], scope: World", rules + ".scope", "Unsupported"},
		"an empty resource name": {"resources: [namespaces]", `resources: [namespaces], resourceNames: [""]`, rules + ".resourceNames[0]", "Required"},
		"a resource name twice":  {"resources: [namespaces]", `resources: [namespaces], resourceNames: [a, a]`, rules + ".resourceNames[1]", "Duplicate"},
		"a bad exclusion":        {"    resourceRules", "    excludeResourceRules: [{apiGroups: [x], apiVersions: [v1], operations: [PUT], resources: [pods]}]\n    resourceRules", "spec.matchConstraints.excludeResourceRules[0].operations[0]", "Unsupported"},
		"a bad namespace selector": {"    resourceRules", "    namespaceSelector: {matchExpressions: [{key: a, operator: Like}]}\n    resourceRules",
			"spec.matchConstraints.namespaceSelector.matchExpressions[0].operator", "not a valid selector operator"},
		"a bad object selector": {"    resourceRules", "    objectSelector: {matchLabels: {'!': a}}\n    resourceRules", "spec.matchConstraints.objectSelector.matchLabels", "Invalid"},
		"a bad match policy":    {"    resourceRules", "    matchPolicy: Similar\n    resourceRules", "spec.matchConstraints.matchPolicy", "Unsupported"},

		"no generate":              {"generate:\n  - {name: all, expression: " + expression + "}", "generate: []", "spec.generate", "Required"},
		"an empty expression":      {expression, `" "`, generate, "Required"},
		"no expression of CEL":     {expression, `"generator.ApplyAll("`, generate, "does not compile"},
		"an expression too long":   {expression, `"true || '` + strings.Repeat("x", MaxExpression) + `' == ''"`, generate, "Too long"},
		"nothing is applied":       {expression, `"variables.ns == ''"`, generate, "applies nothing"},
		"an unknown variable":      {expression, `"generator.ApplyAll(variables.nsName, [])"`, generate, "variables.nsName is not declared in spec.variables"},
		"an unknown function":      {expression, `"generator.ApplySome(variables.ns, [])"`, generate, "undeclared reference to 'ApplySome'"},
		"a namespace of a number":  {expression, `"generator.ApplyAll(1, [])"`, generate, "no matching overload"},
		"a bad namespace":          {expression, `"generator.ApplyAll('Not One', [])"`, generate, "can be no namespace"},
		"an unknown request field": {expression, `"generator.ApplyAll(request.user, [])"`, generate, "undefined field 'user'"},
		"a generate name twice":    {"generate:", "generate:\n  - {name: all, expression: " + expression + "}", "spec.generate[1].name", "Duplicate"},

		"a variable without a name":        {"variables:", "variables:\n  - {name: '', expression: '1'}", "spec.variables[0].name", "must be a name that CEL has"},
		"a variable with a dash":           {"variables:", "variables:\n  - {name: n-s, expression: '1'}", "spec.variables[0].name", "must be a name that CEL has"},
		"a variable twice":                 {"variables:", "variables:\n  - {name: ns, expression: string('1')}", "spec.variables[1].name", "Duplicate"},
		"a variable that uses itself":      {of, "expression: variables.ns", variable, "variables.ns is declared after it"},
		"a variable that applies":          {of, `expression: "generator.ApplyAll('a', [])"`, variable, "undeclared reference to 'generator'"},
		"a read of a bad version":          {of, `expression: "resource.Get('a/b/c', 'secrets', 'x', 'y').data.z"`, variable, "API version"},
		"a read of a kind":                 {of, `expression: "resource.List('v1', 'Secret', 'x').items[0].metadata.name"`, variable, `"Secret" is no resource`},
		"a read of a bad namespace":        {of, `expression: "resource.List('v1', 'secrets', 'X').items[0].metadata.name"`, variable, `"X" can be no namespace`},
		"a read of no name":                {of, `expression: "resource.Get('v1', 'secrets', 'x', '').metadata.name"`, variable, "the name is empty"},
		"a field that is no path":          {of, `expression: "object.setField('a[', 1).metadata.name"`, variable, "setField"},
		"a field that is many":             {of, `expression: "object.setField('spec.l[*]', 1).metadata.name"`, variable, "wildcard"},
		"a condition without a name":       {"name: named", `name: ""`, "spec.matchConditions[0].name", "Required"},
		"a condition with a bad name":      {"name: named", "name: a b", "spec.matchConditions[0].name", "Invalid"},
		"a condition twice":                {"matchConditions:", "matchConditions:\n  - {name: named, expression: 'true'}", "spec.matchConditions[1].name", "Duplicate"},
		"a condition that is no condition": {when, `"'a' + 'b'"`, condition, "must yield true or false, and yields string"},
		"no service account":               {"spec:", "spec:\n  serviceAccount: kausality-generator", "spec.serviceAccount", "user name of a service account"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if !strings.Contains(valid, tt.old) {
				t.Fatalf("the policy has no %q", tt.old)
			}
			m := parsePolicy(t, strings.Replace(valid, tt.old, tt.new, 1))
			p, _, errs := Compile(m.Name, &m.Spec)
			if p != nil {
				t.Error("there is a policy nevertheless")
			}
			if len(errs) != 1 || errs[0].Field != tt.at || !strings.Contains(errs[0].Error(), tt.says) {
				t.Errorf("got %v, want one error at %s with %q", errs, tt.at, tt.says)
			}
		})
	}
}

// Too many of anything are refused.
func TestCompileCounts(t *testing.T) {
	m := parsePolicy(t, valid)
	for i := range MaxVariables {
		m.Spec.Variables = append(m.Spec.Variables, admissionregistrationv1.Variable{Name: fmt.Sprintf("v%d", i), Expression: "1"})
	}
	for i := range MaxConditions {
		m.Spec.MatchConditions = append(m.Spec.MatchConditions, admissionregistrationv1.MatchCondition{Name: fmt.Sprintf("c%d", i), Expression: "true"})
	}
	for range MaxGenerations {
		m.Spec.Generate = append(m.Spec.Generate, m.Spec.Generate[0])
		m.Spec.Generate[len(m.Spec.Generate)-1].Name = ""
	}
	_, _, errs := Compile(m.Name, &m.Spec)
	var at []string
	for _, err := range errs {
		at = append(at, string(err.Type)+" "+err.Field)
	}
	slices.Sort(at)
	if diff := cmp.Diff([]string{"FieldValueTooMany spec.generate", "FieldValueTooMany spec.matchConditions", "FieldValueTooMany spec.variables"}, at); diff != "" {
		t.Errorf("refused (-want +got):\n%s", diff)
	}
}

// A variable that does not compile is one error: what uses it is not wrong.
func TestCompileSaysOnce(t *testing.T) {
	m := parsePolicy(t, strings.Replace(valid, "object.metadata.name", "'1 +'", 1))
	if _, _, errs := Compile(m.Name, &m.Spec); len(errs) != 1 {
		t.Errorf("got %v, want one error", errs)
	}
}

// A problem that many fields have is told for each of them.
func TestCompileSaysAll(t *testing.T) {
	m := parsePolicy(t, valid)
	m.Spec.MatchConstraints = nil
	m.Spec.MatchConditions[0].Expression = ""
	m.Spec.Generate[0].Expression = "true"
	if _, _, errs := Compile(m.Name, &m.Spec); len(errs) != 3 {
		t.Errorf("got %v, want three errors", errs)
	}
}

func TestCompileWarns(t *testing.T) {
	m := parsePolicy(t, strings.Replace(valid, "variables:", "variables:\n  - {name: unused, expression: '1'}", 1))
	_, warnings, errs := Compile(m.Name, &m.Spec)
	if len(errs) > 0 {
		t.Fatal(errs.ToAggregate())
	}
	if diff := cmp.Diff([]string{"spec.variables[0]: no expression uses variables.unused"}, warnings); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
}

// No policy of the proposal but those that have a variable which they do not use is warned of.
func TestProposalCompiles(t *testing.T) {
	for name, want := range map[string][]string{
		"data": nil, "clone": nil, "clone-list": nil, "foreach-data": nil, "foreach-clone": nil,
		"foreach-clone-setfield": nil, "foreach-clone-list": nil,
		"foreach-clone-list-setfield": {"spec.variables[3]: no expression uses variables.targets"},
	} {
		t.Run(name, func(t *testing.T) {
			m := parsePolicy(t, proposal(t, name))
			p, warnings, errs := Compile(m.Name, &m.Spec)
			if len(errs) > 0 {
				t.Fatal(errs.ToAggregate())
			}
			if diff := cmp.Diff(want, warnings); diff != "" {
				t.Errorf("warnings (-want +got):\n%s", diff)
			}
			if p.KeepsRequests() || p.NeedsRequest() {
				t.Error("it asks about requests, want that it can be evaluated for what is watched")
			}
			if want := (v1alpha1.GeneratingEvaluation{Synchronize: true}); p.Evaluation != want {
				t.Errorf("evaluation is %+v, want %+v", p.Evaluation, want)
			}
		})
	}
}

// TestNeedsRequest shows which policies are about more than what is watched.
func TestNeedsRequest(t *testing.T) {
	const operations, name = "operations: [CREATE, UPDATE], resources: [namespaces]", "object.metadata.name"
	for label, tt := range map[string]struct {
		old, new      string
		request, kept bool
		warns         string
	}{
		"watched":              {name, name, false, false, ""},
		"a field named so":     {name, "object.request.oldObject", false, false, ""},
		"who asked":            {name, "request.userInfo.username", true, false, ""},
		"deletions":            {operations, "operations: [DELETE], resources: [namespaces]", false, true, ""},
		"deletions as well":    {operations, "operations: [CREATE, DELETE], resources: [namespaces]", false, true, ""},
		"connections":          {operations, "operations: [CONNECT], resources: [pods/exec]", false, true, ""},
		"connections of none":  {operations, "operations: [CONNECT], resources: [pods]", false, false, "operations[0]: CONNECT is asked of sub-resources"},
		"all operations":       {operations, `operations: ["*"], resources: [pods]`, false, false, ""},
		"a sub-resource":       {operations, "operations: [CREATE], resources: [pods/eviction]", false, true, ""},
		"that of any resource": {operations, `operations: ["*"], resources: ["*/scale"]`, false, true, ""},
		"a status":             {operations, "operations: [UPDATE], resources: [pods/status]", false, false, "resources[0]: a status is no trigger"},
		"all sub-resources":    {operations, `operations: [CREATE], resources: ["*/*"]`, false, false, "resources[0]: of sub-resources only those that are named"},
		"all, but none of sub": {operations, `operations: [CREATE], resources: ["*"]`, false, false, ""},
	} {
		t.Run(label, func(t *testing.T) {
			m := parsePolicy(t, strings.Replace(valid, tt.old, tt.new, 1))
			p, warnings, errs := Compile(m.Name, &m.Spec)
			if len(errs) > 0 {
				t.Fatal(errs.ToAggregate())
			}
			if p.NeedsRequest() != tt.request || p.KeepsRequests() != tt.kept {
				t.Errorf("needs the request: %v, keeps requests: %v; want %v, %v", p.NeedsRequest(), p.KeepsRequests(), tt.request, tt.kept)
			}
			if all := strings.Join(warnings, "\n"); !strings.Contains(all, tt.warns) || (tt.warns == "") != (all == "") {
				t.Errorf("warns %q, want %q", all, tt.warns)
			}
		})
	}
}
