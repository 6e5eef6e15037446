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
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/ptr"
)

// causing compiles a policy that makes what a trigger says from what expressions read.
func causing(t *testing.T, match, conditions, variables, expression string) *Policy {
	t.Helper()
	return compiled(t, "metadata: {name: made}\nspec:\n  matchConstraints: {"+match+"}\n  matchConditions: ["+conditions+
		"]\n  variables: ["+variables+"]\n  generate: [{expression: \""+expression+"\"}]")
}

const configMapRules = `resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [configmaps]}]`

func TestTriggerRulesAndSources(t *testing.T) {
	for name, tc := range map[string]struct {
		match, variables, expression string
		want                         []string
	}{
		"the trigger":                {want: []string{"/v1 configmaps"}},
		"a source":                   {expression: "resource.Get('v1', 'secrets', 'platform', 'ca')", want: []string{"/v1 configmaps", "reads v1 secrets platform/ca"}},
		"a source of any namespace":  {expression: "resource.get('v1', 'secrets', object.metadata.namespace, 'ca')", want: []string{"/v1 configmaps", "reads v1 secrets */ca"}},
		"a source of any name":       {expression: "resource.Get('v1', 'secrets', 'platform', object.metadata.name)", want: []string{"/v1 configmaps", "reads v1 secrets platform/*"}},
		"a source nobody knows":      {expression: "resource.Get('v1', 'secrets', object.metadata.namespace, object.metadata.name)", want: []string{"/v1 configmaps"}},
		"a list":                     {expression: "resource.List('apps/v1', 'deployments', 'platform')", want: []string{"/v1 configmaps", "reads apps/v1 deployments platform/*"}},
		"a list of the cluster":      {expression: "resource.List('apps/v1', 'deployments', '')", want: []string{"/v1 configmaps"}},
		"a constant of the policy":   {variables: `{name: from, expression: "'platform'"}`, expression: "resource.Get('v1', 'secrets', variables.from, object.metadata.name)", want: []string{"/v1 configmaps", "reads v1 secrets platform/*"}},
		"a variable that reads":      {variables: `{name: ca, expression: "resource.Get('v1', 'secrets', 'platform', 'ca')"}`, expression: "variables.ca", want: []string{"/v1 configmaps", "reads v1 secrets platform/ca"}},
		"what is deleted":            {match: strings.Replace(configMapRules, "CREATE, UPDATE", "DELETE", 1), want: []string{"/v1 configmaps DELETE"}},
		"what is created or deleted": {match: strings.Replace(configMapRules, "UPDATE", "DELETE", 1), want: []string{"/v1 configmaps", "/v1 configmaps DELETE"}},
		"a sub-resource": {
			match: strings.Replace(configMapRules, "[configmaps]", "[deployments/scale, configmaps]", 1),
			want:  []string{"/v1 configmaps", "/v1 deployments/scale"},
		},
		"everything": {match: `resourceRules: [{apiGroups: ["*"], apiVersions: ["*"], operations: ["*"], resources: ["*/*"]}]`, want: []string{"*/* *"}},
	} {
		t.Run(name, func(t *testing.T) {
			match, expression := tc.match, tc.expression
			if match == "" {
				match = configMapRules
			}
			if expression == "" {
				expression = "[]"
			}
			var got []string
			p := causing(t, match, "", tc.variables, "generator.ApplyAll('shop', "+expression+")")
			for _, rule := range p.TriggerRules() {
				is := rule.APIGroups[0] + "/" + rule.APIVersions[0] + " " + strings.Join(rule.Resources, ",")
				if !slices.Equal(rule.Operations, writing) {
					is += " " + string(rule.Operations[0])
				}
				got = append(got, is)
				if rule.Scope == nil {
					t.Errorf("a rule that the API server would default: %v", rule)
				}
			}
			for _, s := range p.Sources() {
				got = append(got, "reads "+s.Resource.GroupVersion().String()+" "+s.Resource.Resource+" "+ptr.Deref(s.Namespace, "*")+"/"+ptr.Deref(s.Name, "*"))
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("TriggerRules() and Sources() (-want +got):\n%s", diff)
			}
		})
	}
}

func TestConcerns(t *testing.T) {
	const trigger = `{apiVersion: v1, kind: ConfigMap, metadata: {name: web, namespace: shop, labels: {app: web}}}`
	secret := func(namespace, name string) string {
		return "{apiVersion: v1, kind: Secret, metadata: {name: " + name + ", namespace: " + namespace + "}}"
	}
	const clone = "resource.Get('v1', 'secrets', 'platform', 'ca')"
	for name, tc := range map[string]struct {
		match, conditions, expression, object string
		want                                  bool
	}{
		"a trigger":                              {object: trigger, want: true},
		"an object of another kind":              {object: secret("shop", "ca")},
		"a trigger that is not selected":         {match: configMapRules + ", objectSelector: {matchLabels: {app: db}}", object: trigger},
		"a trigger by its conditions":            {conditions: `{name: c, expression: "object.metadata.name == 'web'"}`, object: trigger, want: true},
		"no trigger by its conditions":           {conditions: `{name: c, expression: "object.metadata.name == 'db'"}`, object: trigger},
		"a trigger by what is read":              {conditions: `{name: c, expression: "` + clone + ` != null"}`, object: trigger, want: true},
		"a trigger by a condition that may fail": {conditions: `{name: c, expression: "object.spec.absent > 1"}`, object: trigger, want: true},
		"a source":                               {expression: clone, object: secret("platform", "ca"), want: true},
		"a source of another name":               {expression: clone, object: secret("platform", "db")},
		"a source of another namespace":          {expression: clone, object: secret("shop", "ca")},
		"a source in any namespace":              {expression: "resource.Get('v1', 'secrets', object.metadata.namespace, 'ca')", object: secret("shop", "ca"), want: true},
		"a source that is listed":                {expression: "resource.List('v1', 'secrets', 'platform')", object: secret("platform", "db"), want: true},
	} {
		t.Run(name, func(t *testing.T) {
			match, expression := tc.match, tc.expression
			if match == "" {
				match = configMapRules
			}
			if expression == "" {
				expression = "[]"
			}
			p := causing(t, match, tc.conditions, "", "generator.ApplyAll('shop', "+expression+")")
			if got := p.Concerns(t.Context(), triggerOf(parse(t, tc.object))); got != tc.want {
				t.Errorf("Concerns() = %t", got)
			}
		})
	}
}

func TestSameContent(t *testing.T) {
	const before = `{kind: Deployment, metadata: {name: web, generation: 1, labels: {app: web}, annotations: {kausality.io/changed-by: alice}}, spec: {replicas: 1}, status: {replicas: 1}}`
	for name, tc := range map[string]struct {
		old, new string
		want     bool
	}{
		"nothing":                  {"web", "web", true},
		"the spec":                 {"spec: {replicas: 1}", "spec: {replicas: 2}", false},
		"the status":               {"status: {replicas: 1}", "status: {replicas: 2}", true},
		"a label":                  {"app: web", "app: db", false},
		"an annotation":            {"annotations: {", "annotations: {note: new, ", false},
		"an annotation of ours":    {"alice", "bob", true},
		"that of a child of ours":  {"annotations: {", "annotations: {replicaset.kausality.io/allowances: x, ", true},
		"what the server notes":    {"generation: 1", "generation: 2", true},
		"a field beside the spec":  {"spec: {", "data: {a: b}, spec: {", false},
		"all labels, with nothing": {"labels: {app: web}", "labels: {}", false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := SameContent(parse(t, before), parse(t, strings.Replace(before, tc.old, tc.new, 1))); got != tc.want {
				t.Errorf("SameContent() = %t", got)
			}
		})
	}
}
