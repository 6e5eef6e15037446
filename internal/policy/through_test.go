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

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"kausality.io/operator/internal/change"
)

// object reads an object.
func object(tb testing.TB, text string) *unstructured.Unstructured {
	tb.Helper()
	obj := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &obj.Object); err != nil {
		tb.Fatal(err)
	}
	return obj
}

func TestIsRead(t *testing.T) {
	place := func(text string) change.Path {
		path, err := change.ParsePath(text)
		if err != nil {
			t.Fatal(err)
		}
		return path
	}
	patterns := func(text string) []change.Pattern {
		pattern, err := change.ParsePattern(text)
		if err != nil {
			t.Fatal(err)
		}
		return []change.Pattern{pattern}
	}
	selected := Through{SelectedBy: place("spec.selector"), NamespacesSelectedBy: place("spec.namespaces")}
	own := Through{SelectedBy: place("spec.selector")}
	named := Through{NamedBy: patterns("spec.volumes[*].name")}
	names := Through{Names: patterns("spec.parents[*].name")}
	const (
		one     = "{metadata: {namespace: a, name: one, labels: {team: x}}, spec: {parents: [{name: reader}]}}"
		cluster = "{metadata: {name: one, labels: {team: x}}}"
	)
	tests := map[string]struct {
		through        Through
		reader, object string
		want           bool
	}{
		"selected":                                {selected, "{metadata: {namespace: a}, spec: {selector: {matchLabels: {team: x}}}}", one, true},
		"selected by an expression":               {selected, "{metadata: {namespace: a}, spec: {selector: {matchExpressions: [{key: team, operator: Exists}]}}}", one, true},
		"selected by a map of labels":             {selected, "{metadata: {namespace: a}, spec: {selector: {team: x}}}", one, true},
		"not selected":                            {selected, "{metadata: {namespace: a}, spec: {selector: {matchLabels: {team: z}}}}", one, false},
		"not selected by a map":                   {selected, "{metadata: {namespace: a}, spec: {selector: {team: z}}}", one, false},
		"everything is selected":                  {selected, "{metadata: {namespace: a}, spec: {selector: {}}}", one, true},
		"nothing is selected":                     {selected, "{metadata: {namespace: a}, spec: {selector: null}}", one, false},
		"there is no selector":                    {selected, "{metadata: {namespace: a}, spec: {}}", one, false},
		"a selector that is none":                 {selected, "{metadata: {namespace: a}, spec: {selector: {matchExpressions: [{key: team, operator: Near}]}}}", one, false},
		"a selector of something else":            {selected, "{metadata: {namespace: a}, spec: {selector: {team: true}}}", one, false},
		"a selector with something else":          {selected, "{metadata: {namespace: a}, spec: {selector: {matchLabels: {}, near: a}}}", one, true},
		"elsewhere":                               {selected, "{metadata: {namespace: b}, spec: {selector: {}}}", one, false},
		"elsewhere, of all namespaces":            {selected, "{metadata: {namespace: b}, spec: {selector: {}, namespaces: {}}}", one, true},
		"elsewhere, of namespaces by label":       {selected, "{metadata: {namespace: b}, spec: {selector: {}, namespaces: {matchLabels: {zone: one}}}}", one, true},
		"elsewhere, of other namespaces":          {selected, "{metadata: {namespace: b}, spec: {selector: {}, namespaces: {matchLabels: {zone: two}}}}", one, false},
		"here, of other namespaces":               {selected, "{metadata: {namespace: a}, spec: {selector: {}, namespaces: {matchLabels: {zone: two}}}}", one, false},
		"elsewhere, without such a field":         {own, "{metadata: {namespace: b}, spec: {selector: {}}}", one, false},
		"by a reader outside of namespaces":       {own, "{metadata: {name: c}, spec: {selector: {}}}", one, true},
		"of an object outside of namespaces":      {own, "{metadata: {namespace: b}, spec: {selector: {}}}", cluster, true},
		"named":                                   {named, "{metadata: {namespace: a}, spec: {volumes: [{}, {name: two}, {name: one}]}}", one, true},
		"not named":                               {named, "{metadata: {namespace: a}, spec: {volumes: [{name: two}]}}", one, false},
		"named elsewhere":                         {named, "{metadata: {namespace: b}, spec: {volumes: [{name: one}]}}", one, false},
		"named, outside of namespaces":            {named, "{metadata: {namespace: b}, spec: {volumes: [{name: one}]}}", cluster, true},
		"it names its reader":                     {names, "{metadata: {namespace: a, name: reader}}", one, true},
		"it names another reader":                 {names, "{metadata: {namespace: a, name: other}}", one, false},
		"it names a reader of the same name":      {names, "{metadata: {namespace: b, name: reader}}", one, false},
		"it names a reader that has no namespace": {names, "{metadata: {name: reader}}", one, true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			obj := object(t, tc.object)
			o := Read{Object: obj, Content: obj.Object, Labels: obj.GetLabels(), NamespaceLabels: map[string]string{"zone": "one"}}
			if got := tc.through.IsRead(object(t, tc.reader), o); got != tc.want {
				t.Errorf("is read: %v, want %v", got, tc.want)
			}
		})
	}
}

const configPolicy = `
metadata: {name: configs}
spec:
  for: {apiVersion: v1, kind: ConfigMap}
  subjects: [{kind: User, name: alice, mayInitiate: true}]
  rules:
  - trigger: data
    policies:
    - target: {apiGroup: apps, apiVersion: v1, resource: replicasets}
      relation: ControllerChild
      through: {apiGroup: apps, apiVersion: v1, resource: deployments, namedBy: ["spec.template.spec.volumes[*].configMap.name"]}
`

// What is allowed through readers bounds none of the object's own children.
func TestThroughBoundsNothing(t *testing.T) {
	p := compile(t, configPolicy)
	if p.Bounds(replicaSets) {
		t.Error("it bounds ReplicaSets that ConfigMaps own")
	}
	if len(p.Entries()) != 0 || p.Rules[0].AllowsAnything() {
		t.Errorf("entries %v, anything %v", p.Entries(), p.Rules[0].AllowsAnything())
	}
	if !p.IsAboutReaders() {
		t.Error("it is about others than readers")
	}
	index := NewIndex([]*Policy{p})
	if got := index.ReadBy(deployments, replicaSets); len(got) != 1 {
		t.Errorf("%d policies are about what Deployments read, want 1", len(got))
	}
	if got := index.ReadBy(replicaSets, replicaSets); len(got) != 0 {
		t.Errorf("%d policies are about what ReplicaSets read, want none", len(got))
	}
	if got := (*Index)(nil).ReadBy(schema.GroupKind{}, schema.GroupKind{}); got != nil {
		t.Errorf("no index knows %v", got)
	}
}
