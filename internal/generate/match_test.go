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
	"errors"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestMatch(t *testing.T) {
	const (
		web      = `{apiVersion: v1, kind: ConfigMap, metadata: {name: web, namespace: shop, labels: {app: web}}}`
		plain    = `{apiVersion: v1, kind: ConfigMap, metadata: {name: web, namespace: shop}}`
		in       = `{apiVersion: v1, kind: Namespace, metadata: {name: shop, labels: {env: prod}}}`
		widget   = `{apiVersion: example.org/v1, kind: Widget, metadata: {name: w, namespace: shop}}`
		role     = `{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: r}}`
		maps     = `resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [configmaps]}]`
		anything = `resourceRules: [{apiGroups: ["*"], apiVersions: ["*"], operations: [CREATE, UPDATE], resources: ["*"]`
	)
	beta := schema.GroupVersionResource{Group: "example.org", Version: "v1beta1", Resource: "widgets"}
	tests := map[string]struct {
		match           string
		object, old, in string
		change          func(*Trigger)
		want            bool
		fails           string
	}{
		"the resource":       {match: maps, object: web, want: true},
		"another resource":   {match: maps, object: in},
		"another group":      {match: maps, object: widget},
		"any":                {match: anything + "}]", object: widget, want: true},
		"a sub-resource":     {match: maps, object: web, change: func(t *Trigger) { t.Subresource = "status" }},
		"created":            {match: strings.Replace(maps, "CREATE, UPDATE", "CREATE", 1), object: web, change: func(t *Trigger) { t.Operation = "CREATE" }, want: true},
		"updated":            {match: strings.Replace(maps, "CREATE, UPDATE", "CREATE", 1), object: web, change: func(t *Trigger) { t.Operation = "UPDATE" }},
		"is there":           {match: strings.Replace(maps, "CREATE, UPDATE", "UPDATE", 1), object: web, want: true},
		"is there, not gone": {match: strings.Replace(maps, "CREATE, UPDATE", "DELETE", 1), object: web},
		"deleted":            {match: strings.Replace(maps, "CREATE, UPDATE", "DELETE", 1), old: web, change: func(t *Trigger) { t.Operation = "DELETE" }, want: true},
		"deleted, with any":  {match: strings.Replace(maps, "CREATE, UPDATE", `"*"`, 1), old: web, change: func(t *Trigger) { t.Operation = "DELETE" }},
		"deleted, and named": {
			match: strings.NewReplacer("CREATE, UPDATE", "CREATE, DELETE", "}]", ", resourceNames: [db, web]}]").Replace(maps), old: web,
			change: func(t *Trigger) { t.Operation = "DELETE" }, want: true,
		},
		"deleted, and excluded": {
			match: strings.Replace(maps, "UPDATE", "DELETE", 1) + "\n    excludeR" + maps[1:strings.Index(maps, "CREATE")] + `"*"], resources: [configmaps]}]`, old: web,
			change: func(t *Trigger) { t.Operation = "DELETE" },
		},
		"scaled":               {match: strings.Replace(maps, "configmaps", "configmaps/scale", 1), object: web, change: func(t *Trigger) { t.Subresource, t.Operation = "scale", "UPDATE" }, want: true},
		"scaled, and not told": {match: strings.Replace(maps, "configmaps", `"*/*"`, 1), object: web, change: func(t *Trigger) { t.Subresource, t.Operation = "scale", "UPDATE" }},
		"is there, and scaled": {match: strings.Replace(maps, "configmaps", "configmaps/scale", 1), object: web},
		"the name":             {match: strings.Replace(maps, "}]", ", resourceNames: [db, web]}]", 1), object: web, want: true},
		"another name":         {match: strings.Replace(maps, "}]", ", resourceNames: [db]}]", 1), object: web},
		"excluded":             {match: maps + "\n    excludeR" + maps[1:], object: web},
		"excluded by name":     {match: maps + "\n    excludeR" + strings.Replace(maps[1:], "}]", ", resourceNames: [web]}]", 1), object: web},
		"another is excluded":  {match: maps + "\n    excludeR" + strings.Replace(maps[1:], "}]", ", resourceNames: [db]}]", 1), object: web, want: true},
		"namespaced":           {match: anything + ", scope: Namespaced}]", object: web, want: true},
		"not namespaced":       {match: anything + ", scope: Namespaced}]", object: role},
		"of the cluster":       {match: anything + ", scope: Cluster}]", object: role, want: true},
		"not of the cluster":   {match: anything + ", scope: Cluster}]", object: web},
		"Namespaces are so":    {match: anything + ", scope: Cluster}]", object: in, want: true},
		"selected":             {match: maps + "\n    objectSelector: {matchLabels: {app: web}}", object: web, want: true},
		"not selected":         {match: maps + "\n    objectSelector: {matchLabels: {app: db}}", object: web},
		"was selected":         {match: maps + "\n    objectSelector: {matchLabels: {app: web}}", object: plain, old: web, want: true},
		"in a namespace":       {match: maps + "\n    namespaceSelector: {matchLabels: {env: prod}}", object: web, in: in, want: true},
		"in another namespace": {match: maps + "\n    namespaceSelector: {matchLabels: {env: test}}", object: web, in: in},
		"in an unknown one":    {match: maps + "\n    namespaceSelector: {matchLabels: {env: prod}}", object: web, fails: "namespace of the trigger is not known"},
		"a Namespace itself":   {match: anything + "}]\n    namespaceSelector: {matchLabels: {env: prod}}", object: in, want: true},
		"another Namespace":    {match: anything + "}]\n    namespaceSelector: {matchLabels: {env: test}}", object: in},
		"in no namespace":      {match: anything + "}]\n    namespaceSelector: {matchLabels: {env: prod}}", object: role, want: true},
		"not even of the kind": {match: maps + "\n    namespaceSelector: {matchLabels: {env: prod}}", object: widget},
		"another version": {
			match: `resourceRules: [{apiGroups: [example.org], apiVersions: [v1beta1], operations: ["*"], resources: [widgets]}]`, object: widget,
			change: func(t *Trigger) { t.Equivalent = []schema.GroupVersionResource{beta} }, want: true,
		},
		"another version, exactly": {
			match: `{matchPolicy: Exact, resourceRules: [{apiGroups: [example.org], apiVersions: [v1beta1], operations: ["*"], resources: [widgets]}]}`, object: widget,
			change: func(t *Trigger) { t.Equivalent = []schema.GroupVersionResource{beta} },
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			p := compiled(t, "metadata: {name: made}\nspec:\n  matchConstraints:\n    "+tt.match+`
  generate: [{expression: "generator.ApplyAll('shop', [])"}]`)
			trigger := &Trigger{}
			if tt.object != "" {
				trigger = triggerOf(parse(t, tt.object))
			}
			if tt.old != "" {
				old := triggerOf(parse(t, tt.old))
				trigger.Resource, trigger.OldObject = old.Resource, old.Object
			}
			if tt.in != "" {
				trigger.Namespace = parse(t, tt.in)
			}
			if tt.change != nil {
				tt.change(trigger)
			}
			got, err := p.Evaluate(t.Context(), trigger, &cluster{})
			if tt.fails != "" {
				var failure *Error
				if !errors.As(err, &failure) || !strings.Contains(err.Error(), tt.fails) {
					t.Errorf("got %v, want an error with %q", err, tt.fails)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got.Matched != tt.want {
				t.Errorf("matched: %v, want %v", got.Matched, tt.want)
			}
		})
	}
}

// All conditions have to hold. One that does not hold decides, even where another one fails.
func TestMatchConditions(t *testing.T) {
	for name, tt := range map[string]struct {
		conditions []string
		want       bool
		at         string
	}{
		"all hold":              {[]string{"true", "object.metadata.name == 'shop'"}, true, ""},
		"one does not":          {[]string{"true", "object.metadata.name == 'x'"}, false, ""},
		"one fails":             {[]string{"true", "object.spec.none.split(',')[0] == 'x'", "true"}, false, "spec.matchConditions[1].expression"},
		"one fails, one is not": {[]string{"object.spec.none.split(',')[0] == 'x'", "false"}, false, ""},
		"neither":               {[]string{"object.metadata.name"}, false, "spec.matchConditions[0].expression"},
		"the namespace":         {[]string{"namespaceObject == null"}, true, ""},
		"a variable":            {[]string{"variables.name == 'shop'"}, true, ""},
		"what is read":          {[]string{"resource.List('v1', 'secrets', '').items.size() == 0"}, true, ""},
	} {
		t.Run(name, func(t *testing.T) {
			var conditions strings.Builder
			for i, condition := range tt.conditions {
				conditions.WriteString("  - {name: c" + string(rune('a'+i)) + ", expression: \"" + condition + "\"}\n")
			}
			p := compiled(t, strings.NewReplacer(
				"  - {name: named, expression: \"variables.ns != ''\"}\n", conditions.String(),
				"name: ns", "name: name", "variables.ns", "variables.name").Replace(valid))
			got, err := p.Evaluate(t.Context(), triggerOf(parse(t, shop)), &cluster{})
			if tt.at != "" {
				var failure *Error
				if !errors.As(err, &failure) || failure.Field.String() != tt.at {
					t.Errorf("got %v, want an error at %s", err, tt.at)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got.Matched != tt.want {
				t.Errorf("matched: %v, want %v", got.Matched, tt.want)
			}
		})
	}
}

// A policy about the request is evaluated where there is one, and nowhere else.
func TestRequest(t *testing.T) {
	p := policyOf(t, `generator.ApplyAll('shop', {'apiVersion': 'example.org/v1', 'kind': 'Widget', 'metadata': {'name': request.userInfo.username}, 'was': oldObject.metadata.labels['team']})`)
	trigger := triggerOf(parse(t, shop))
	var failure *Error
	if _, err := p.Evaluate(t.Context(), trigger, &cluster{}); !errors.As(err, &failure) || failure.Reason != ReasonRead {
		t.Errorf("without a request: got %v, want that it is not known", err)
	}
	trigger.Operation = "UPDATE"
	trigger.OldObject = parse(t, shop)
	trigger.Request = map[string]any{"userInfo": map[string]any{"username": "anna"}}
	got, err := p.Evaluate(t.Context(), trigger, &cluster{})
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Objects) != 1 || got.Objects[0].ID.Name != "anna" || got.Objects[0].Content["was"] != "x" {
		t.Errorf("got %+v, want a Widget of anna, and what was", got.Objects)
	}
}
