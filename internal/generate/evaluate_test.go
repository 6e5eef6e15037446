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
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
)

// policyOf compiles a policy for Namespaces and ConfigMaps with these variables and this expression.
func policyOf(t *testing.T, expression string, variables ...string) *Policy {
	t.Helper()
	var text strings.Builder
	text.WriteString(`
apiVersion: kausality.io/v1alpha1
kind: GeneratingPolicy
metadata: {name: made}
spec:
  matchConstraints:
    resourceRules:
    - {apiGroups: [""], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [namespaces, configmaps]}
  generate:
  - expression: ` + fmt.Sprintf("%q", expression) + "\n")
	if len(variables) > 0 {
		text.WriteString("  variables:\n")
	}
	for i := 0; i < len(variables); i += 2 {
		fmt.Fprintf(&text, "  - {name: %s, expression: %q}\n", variables[i], variables[i+1])
	}
	return compiled(t, text.String())
}

// shop is a trigger.
const shop = `{apiVersion: v1, kind: Namespace, metadata: {name: shop, uid: 7, labels: {team: x}}, spec: {finalizers: [kubernetes]}, status: {phase: Active}}`

func TestEvaluate(t *testing.T) {
	const widget = `'apiVersion': 'example.org/v1', 'kind': 'Widget'`
	tests := map[string]struct {
		expression string
		variables  []string
		cluster    string
		want       string
		leftOut    map[LeftOut]int
		notServed  []schema.GroupVersionKind
	}{
		"mixed literals": {
			expression: `generator.ApplyAll('shop', {` + widget + `, 'metadata': {'name': 'w'}, 'spec': {'n': 1, 'f': 1.5, 'b': true, 's': 'x', 'l': [1, 'a', {'k': []}], 'e': {}}})`,
			want:       `{apiVersion: example.org/v1, kind: Widget, metadata: {name: w, namespace: shop}, spec: {'n': 1, f: 1.5, b: true, s: x, l: [1, a, {k: []}], e: {}}}`,
		},
		"values that JSON has not": {
			expression: `generator.ApplyAll('shop', {` + widget + `, 'metadata': {'name': 'w'}, 'spec': {'t': timestamp('2026-01-02T03:04:05Z'), 'd': duration('90s'), 'y': b'hi', 'u': 3u, 'q': quantity('1Gi'), 'o': optional.of(1), 'no': optional.none()}})`,
			want:       `{apiVersion: example.org/v1, kind: Widget, metadata: {name: w, namespace: shop}, spec: {t: "2026-01-02T03:04:05Z", d: 1m30s, 'y': aGk=, u: 3, q: 1Gi, o: 1}}`,
		},
		"what is absent is left out": {
			expression: `generator.ApplyAll('shop', {` + widget + `, 'metadata': {'name': 'w', 'labels': object.metadata.annotations, 'annotations': {'a': object.metadata.labels['none'], 'team': object.metadata.labels['team']}}, 'spec': {'l': [object.spec.none, 1]}})`,
			want:       `{apiVersion: example.org/v1, kind: Widget, metadata: {name: w, namespace: shop, annotations: {team: x}}, spec: {l: [1]}}`,
		},
		"no name is that of the policy": {
			expression: `generator.ApplyAll(object.metadata.name, {` + widget + `})`,
			want:       `{apiVersion: example.org/v1, kind: Widget, metadata: {name: made, namespace: shop}}`,
		},
		"its own namespace where it is applied to none": {
			expression: `generator.ApplyAll('', {` + widget + `, 'metadata': {'namespace': 'there'}})`,
			want:       `{apiVersion: example.org/v1, kind: Widget, metadata: {name: made, namespace: there}}`,
		},
		"another namespace": {
			expression: `generator.ApplyAll('here', {` + widget + `, 'metadata': {'namespace': 'there'}})`,
			leftOut:    map[LeftOut]int{LeftOutOtherNamespace: 1},
		},
		"a kind without namespaces": {
			expression: `generator.ApplyAll('shop', {'apiVersion': 'rbac.authorization.k8s.io/v1', 'kind': 'ClusterRole', 'metadata': {'name': 'r', 'namespace': 'x'}, 'rules': []})`,
			want:       `{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: r}, rules: []}`,
		},
		"a kind that is not served yet": {
			expression: `generator.ApplyAll('shop', [{'apiVersion': 'later.example.org/v1', 'kind': 'Later'}, {` + widget + `}])`,
			want:       `{apiVersion: example.org/v1, kind: Widget, metadata: {name: made, namespace: shop}}`,
			leftOut:    map[LeftOut]int{LeftOutNotServed: 1},
			notServed:  []schema.GroupVersionKind{{Group: "later.example.org", Version: "v1", Kind: "Later"}},
		},
		"a List": {
			expression: `generator.ApplyAll('shop', {'apiVersion': 'v1', 'kind': 'List', 'items': [{` + widget + `}]})`,
			want:       `{apiVersion: example.org/v1, kind: Widget, metadata: {name: made, namespace: shop}}`,
		},
		"what was listed, as a whole": {
			expression: `generator.ApplyAll('shop', resource.List('v1', 'configmaps', 'default', {'allowedToBeCloned': 'true'}))`, cluster: configMaps,
			want: `{apiVersion: v1, kind: ConfigMap, metadata: {name: one, namespace: shop, labels: {allowedToBeCloned: "true"}}, data: {a: b}}`,
		},
		"an object that has items, and is no List": {
			expression: `generator.ApplyAll('shop', {` + widget + `, 'items': [1]})`,
			want:       `{apiVersion: example.org/v1, kind: Widget, metadata: {name: made, namespace: shop}, items: [1]}`,
		},
		"lists in lists": {
			expression: `generator.ApplyAll('shop', [[], [[{` + widget + `}]], optional.none(), null])`,
			want:       `{apiVersion: example.org/v1, kind: Widget, metadata: {name: made, namespace: shop}}`,
			leftOut:    map[LeftOut]int{LeftOutNothing: 2},
		},
		"twice the same": {
			expression: `generator.ApplyAll('shop', {` + widget + `}) && generator.apply('shop', {` + widget + `}) && generator.Apply('shop', [{` + widget + `}])`,
			want:       `{apiVersion: example.org/v1, kind: Widget, metadata: {name: made, namespace: shop}}`,
		},
		"only what is evaluated is applied": {
			expression: `false && generator.ApplyAll('shop', {` + widget + `}) || (object.spec.none == null ? true : generator.ApplyAll('shop', {` + widget + `}))`,
		},
		"an optional application": {expression: `object.?spec.?none.optMap(x, generator.ApplyAll(x, {}))`},
		"a clone of the trigger": {
			expression: `generator.ApplyAll('', object.setField('metadata.name', 'copy'))`,
			want:       `{apiVersion: v1, kind: Namespace, metadata: {name: copy, labels: {team: x}}, spec: {finalizers: [kubernetes]}}`,
		},
		"setField on what was read moves it": {
			expression: `generator.ApplyAll('shop', resource.Get('v1', 'configmaps', 'default', 'one').setField('data.c', 'd').setField('data[a]', null))`, cluster: configMaps,
			want: `{apiVersion: v1, kind: ConfigMap, metadata: {name: one, namespace: shop, labels: {allowedToBeCloned: "true"}}, data: {c: d}}`,
		},
		"setField sets what a copy does not get": {
			expression: `generator.ApplyAll('shop', resource.Get('v1', 'configmaps', 'default', 'allowed-registry').setField('metadata.finalizers', ['a/b']).setField('metadata.labels', null).setField('metadata.annotations[x.y/z]', 'v'))`, cluster: registry,
			want: `{apiVersion: v1, kind: ConfigMap, metadata: {name: allowed-registry, namespace: shop, finalizers: [a/b], annotations: {note: kept, x.y/z: v}}, data: {registry: registry.example.org}}`,
		},
		"setField gives a namespace": {
			expression: `generator.ApplyAll('shop', resource.Get('v1', 'configmaps', 'default', 'one').setField('metadata.namespace', 'elsewhere'))`, cluster: configMaps,
			leftOut: map[LeftOut]int{LeftOutOtherNamespace: 1},
		},
		"setField in a list": {
			expression: `generator.ApplyAll('shop', {` + widget + `, 'spec': {'l': [{'a': 1}, {'a': 2}]}}.setField('spec.l[1].a', 3).setField('spec.l[0]', null))`,
			want:       `{apiVersion: example.org/v1, kind: Widget, metadata: {name: made, namespace: shop}, spec: {l: [{a: 3}]}}`,
		},
		"setField of nothing is nothing": {
			expression: `generator.ApplyAll('shop', resource.get('v1', 'configmaps', 'default', 'none').setField('data.a', 'b'))`,
			leftOut:    map[LeftOut]int{LeftOutNothing: 1},
		},
		"written with the name of what is gone": {
			expression: `generator.ApplyAll('shop', {'apiVersion': 'v1', 'kind': 'Secret', 'metadata': {'name': 'creds'}, 'data': variables.s.data})`,
			variables:  []string{"s", `resource.Get('v1', 'secrets', 'default', 'creds')`},
			leftOut:    map[LeftOut]int{LeftOutSourceGone: 1},
		},
		"written with another name than what is gone": {
			expression: `generator.ApplyAll('shop', {'apiVersion': 'v1', 'kind': 'Secret', 'metadata': {'name': 'other'}, 'data': variables.s.data})`,
			variables:  []string{"s", `resource.Get('v1', 'secrets', 'default', 'creds')`},
			want:       `{apiVersion: v1, kind: Secret, metadata: {name: other, namespace: shop}}`,
		},
		"made where it is looked for": {
			expression: `has(variables.s.data) || generator.ApplyAll('shop', {'apiVersion': 'v1', 'kind': 'Secret', 'metadata': {'name': 'creds'}})`,
			variables:  []string{"s", `resource.Get('v1', 'secrets', 'shop', 'creds')`},
			want:       `{apiVersion: v1, kind: Secret, metadata: {name: creds, namespace: shop}}`,
		},
		"a source of a kind that is not served": {
			expression: `generator.ApplyAll('shop', [resource.Get('later.example.org/v1', 'laters', 'default', 'x'), resource.list('later.example.org/v1', 'laters', '').items])`,
			leftOut:    map[LeftOut]int{LeftOutNothing: 1},
		},
		"written objects keep what they say": {
			expression: `generator.ApplyAll('shop', {` + widget + `, 'metadata': {'finalizers': ['a/b'], 'uid': 'x', 'resourceVersion': '1', 'labels': {'app.kubernetes.io/instance': 'i'}}, 'status': {'a': 1}})`,
			want:       `{apiVersion: example.org/v1, kind: Widget, metadata: {name: made, namespace: shop, finalizers: [a/b], labels: {app.kubernetes.io/instance: i}}, status: {a: 1}}`,
		},
		"stringData of a Secret": {
			expression: `generator.ApplyAll('shop', {'apiVersion': 'v1', 'kind': 'Secret', 'stringData': {'a': 'plain', 'b': 'plain'}, 'data': {'b': 'b3ZlcnJpZGRlbg==', 'c': 'Yg=='}})`,
			want:       `{apiVersion: v1, kind: Secret, metadata: {name: made, namespace: shop}, data: {a: cGxhaW4=, b: cGxhaW4=, c: Yg==}}`,
		},
		"a variable that is not asked for does not fail": {
			expression: `object.spec.none == null || generator.ApplyAll(variables.bad, {})`,
			variables:  []string{"bad", `object.spec.none.split(',')[0]`},
		},
		"namespaces of a Namespace": {expression: `namespaceObject == null ? true : generator.ApplyAll('shop', {` + widget + `})`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			p := policyOf(t, tt.expression, tt.variables...)
			got, err := p.Evaluate(t.Context(), triggerOf(parse(t, shop)), &cluster{objects: parseAll(t, tt.cluster)})
			if err != nil {
				t.Fatal(err)
			}
			var objects []map[string]any
			for _, w := range got.Objects {
				objects = append(objects, w.Content)
			}
			if diff := cmp.Diff(parseAll(t, tt.want), objects); diff != "" {
				t.Errorf("objects (-want +got):\n%s", diff)
			}
			if len(got.LeftOut)+len(tt.leftOut) > 0 {
				if diff := cmp.Diff(tt.leftOut, got.LeftOut); diff != "" {
					t.Errorf("left out (-want +got):\n%s", diff)
				}
			}
			if diff := cmp.Diff(tt.notServed, got.NotServed); diff != "" {
				t.Errorf("not served (-want +got):\n%s", diff)
			}
		})
	}
}

func TestEvaluateFails(t *testing.T) {
	const (
		widget = `'apiVersion': 'example.org/v1', 'kind': 'Widget'`
		many   = `[1,2,3,4,5,6,7,8,9,10]`
	)
	hundred := strings.ReplaceAll(many+`.map(a, `+many+`.map(b, X))`, "X", `string(a * 10 + b)`)
	tests := map[string]struct {
		expression string
		variables  []string
		cluster    string
		forbidden  string
		reason     Reason
		at         string
		says       string
	}{
		"an absent namespace":       {expression: `generator.ApplyAll(object.spec.none, {` + widget + `})`, reason: ReasonEvaluation, says: "absent or of another type"},
		"no namespace":              {expression: `generator.ApplyAll('', {` + widget + `})`, reason: ReasonObject, says: "applied to no namespace"},
		"a bad namespace":           {expression: `generator.ApplyAll('No ' + object.metadata.name, {` + widget + `})`, reason: ReasonObject, says: "namespace"},
		"an absent name":            {expression: `generator.ApplyAll('shop', {` + widget + `, 'metadata': {'name': object.spec.none}})`, reason: ReasonObject, says: "name is absent"},
		"a bad name":                {expression: `generator.ApplyAll('shop', {` + widget + `, 'metadata': {'name': 'a/b'}})`, reason: ReasonObject, says: "name is absent or can be none"},
		"an absent own namespace":   {expression: `generator.ApplyAll('shop', {` + widget + `, 'metadata': {'namespace': object.spec.none}})`, reason: ReasonObject, says: "namespace is absent"},
		"generateName":              {expression: `generator.ApplyAll('shop', {` + widget + `, 'metadata': {'generateName': 'a-'}})`, reason: ReasonObject, says: "generateName"},
		"no kind":                   {expression: `generator.ApplyAll('shop', {'apiVersion': 'v1'})`, reason: ReasonObject, says: "no kind"},
		"neither kind nor version":  {expression: `generator.ApplyAll('shop', {'metadata': {'name': 'x'}})`, reason: ReasonObject, says: "no apiVersion"},
		"metadata that is a string": {expression: `generator.ApplyAll('shop', {` + widget + `, 'metadata': 'x'})`, reason: ReasonObject, says: "metadata has no fields"},
		"no object":                 {expression: `generator.ApplyAll('shop', 'hunter2')`, reason: ReasonObject, says: "with a string"},
		"a key that is no string":   {expression: `generator.ApplyAll('shop', {` + widget + `, 'data': {1: 'x'}})`, reason: ReasonObject, says: "key of a map is a int"},
		"what cannot be JSON":       {expression: `generator.ApplyAll('shop', {` + widget + `, 'data': {'x': type(1)}})`, reason: ReasonObject, says: "cannot be part of an object"},
		"twice, with other content": {expression: `generator.ApplyAll('shop', [{` + widget + `, 'a': 1}, {` + widget + `, 'a': 2}])`, reason: ReasonObject, says: "twice"},
		"forgotten to apply":        {expression: `[{` + widget + `}].map(o, generator.ApplyAll('shop', o) ? dyn(o) : dyn(null))`, reason: ReasonEvaluation, says: "does not apply"},
		"read is refused":           {expression: `generator.ApplyAll('shop', resource.Get('v1', 'secrets', 'a', 'b'))`, forbidden: "secrets", reason: ReasonRead, says: "reading secrets failed: forbidden"},
		"list is refused":           {expression: `generator.ApplyAll('shop', resource.List('v1', 'secrets', '').items)`, forbidden: "secrets", reason: ReasonRead, says: "reading secrets failed: forbidden"},
		"a read of nothing":         {expression: `generator.ApplyAll('shop', resource.Get('v1', 'secrets', 'a', object.spec.none == null ? '' : 'x'))`, reason: ReasonEvaluation, says: "empty name"},
		"a read of a bad version":   {expression: `generator.ApplyAll('shop', resource.Get('a/b/c' + object.metadata.name, 'secrets', 'a', 'x'))`, reason: ReasonEvaluation, says: "API version"},
		"bad labels":                {expression: `generator.ApplyAll('shop', resource.List('v1', 'secrets', 'a', {'a': 'not a label!'}))`, reason: ReasonEvaluation, says: "labels"},
		"a variable":                {expression: `generator.ApplyAll(variables.ns, {` + widget + `})`, variables: []string{"ns", `object.spec.none.split(',')[0]`}, reason: ReasonEvaluation, at: "spec.variables[0].expression"},
		"a variable of a variable":  {expression: `generator.ApplyAll(variables.b, {` + widget + `})`, variables: []string{"a", `resource.Get('v1', 'secrets', 'a', 'b').data`, "b", "string(variables.a)"}, forbidden: "secrets", reason: ReasonRead, at: "spec.variables[0].expression"},
		"setField below a string":   {expression: `generator.ApplyAll('shop', object.setField('metadata.name.x', 1))`, reason: ReasonEvaluation, says: "setField"},
		"setField of no such item":  {expression: `generator.ApplyAll('shop', object.setField('spec.finalizers[7]', 'x'))`, reason: ReasonEvaluation, says: "no item 7"},
		"too many objects":          {expression: many + `.map(x, ` + hundred + `.map(l, l.map(n, generator.ApplyAll('shop', {` + widget + `, 'metadata': {'name': 'w' + string(x) + '-' + n}})))) == [] || generator.ApplyAll('shop', {` + widget + `})`, reason: ReasonLimit, says: "more than 1000 objects"},
		"too large":                 {expression: `generator.ApplyAll('shop', {` + widget + `, 'data': variables.m.map(x, variables.m)})`, variables: []string{"k", strings.ReplaceAll(hundred, "string(a * 10 + b)", "'"+strings.Repeat("x", 1000)+"'"), "m", "variables.k + variables.k"}, reason: ReasonLimit, says: "bytes, and may have"},
		"too many applications":     {expression: hundred + `.map(l, ` + hundred + `.map(m, ` + hundred + `.map(n, generator.ApplyAll('shop', [[` + strings.TrimSuffix(strings.Repeat(`{`+widget+`, 'metadata': {'namespace': 'no'}},`, 101), ",") + `]]))))`, reason: ReasonLimit, says: "more than 100000 objects are applied"},
		"too expensive":             {expression: hundred + `.all(l, ` + hundred + `.all(m, ` + hundred + `.all(n, l.all(a, m.all(b, n.all(c, a + b + c != '')))))) && generator.ApplyAll('shop', {` + widget + `})`, reason: ReasonLimit, says: "costs more"},
		"lists too deep in lists":   {expression: `generator.ApplyAll('shop', [[[[[[[[[[{` + widget + `}]]]]]]]]]])`, reason: ReasonLimit, says: "lists in lists"},
		"too many reads":            {expression: hundred + `.map(l, l.map(n, resource.Get('v1', 'configmaps', 'default', n))) != [] && generator.ApplyAll('shop', resource.List('v1', 'configmaps', ''))`, reason: ReasonLimit, says: "more than 100 reads"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			p := policyOf(t, tt.expression, tt.variables...)
			got, err := p.Evaluate(t.Context(), triggerOf(parse(t, shop)), &cluster{objects: parseAll(t, tt.cluster), forbidden: tt.forbidden})
			var failure *Error
			if !errors.As(err, &failure) {
				t.Fatalf("got %v and the error %v", got, err)
			}
			if failure.Reason != tt.reason || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("got %s: %v; want %s with %q", failure.Reason, err, tt.reason, tt.says)
			}
			at := tt.at
			if at == "" {
				at = "spec.generate[0].expression"
			}
			if failure.Field.String() != at {
				t.Errorf("the error is at %s, want %s", failure.Field, at)
			}
			if strings.Contains(err.Error(), "hunter2") {
				t.Error("the error carries a value")
			}
		})
	}
}

// One evaluation reads the same once, and says what it read.
func TestReads(t *testing.T) {
	p := policyOf(t, `generator.ApplyAll('shop', [resource.Get('v1', 'configmaps', 'default', 'one'), variables.one, resource.List('v1', 'configmaps', 'default', {'b': 'c', 'a': 'b'}).items, resource.List('v1', 'secrets', '')])`,
		"one", `resource.Get('v1', 'configmaps', 'default', 'one')`)
	from := &cluster{objects: parseAll(t, configMaps)}
	got, err := p.Evaluate(t.Context(), triggerOf(parse(t, shop)), from)
	if err != nil {
		t.Fatal(err)
	}
	maps, secrets := schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}, schema.GroupVersionResource{Version: "v1", Resource: "secrets"}
	want := []Read{
		{Resource: maps, Namespace: "default", Selector: "a=b,b=c"},
		{Resource: maps, Namespace: "default", Name: "one"},
		{Resource: secrets},
	}
	if diff := cmp.Diff(want, got.Reads); diff != "" {
		t.Errorf("reads (-want +got):\n%s", diff)
	}
	if from.reads != len(want) {
		t.Errorf("read %d times, want %d", from.reads, len(want))
	}
}

// What is wanted shares nothing with what was read, and nothing of that is changed.
func TestEvaluateChangesNothing(t *testing.T) {
	p := policyOf(t, `generator.ApplyAll('shop', [resource.List('v1', 'configmaps', '').items, object.setField('metadata.name', 'x').setField('spec.finalizers[0]', 'y')])`)
	objects, trigger := parseAll(t, registry), parse(t, shop)
	before := []map[string]any{runtime.DeepCopyJSON(objects[0]), runtime.DeepCopyJSON(trigger)}
	got, err := p.Evaluate(t.Context(), triggerOf(trigger), &cluster{objects: objects})
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Objects) != 2 {
		t.Fatalf("%d objects are wanted, want 2", len(got.Objects))
	}
	for _, w := range got.Objects {
		scribble(w.Content)
	}
	if diff := cmp.Diff(before, []map[string]any{objects[0], trigger}); diff != "" {
		t.Errorf("what was read has changed (-before +after):\n%s", diff)
	}
}

// scribble writes into all that a value holds.
func scribble(v any) {
	switch v := v.(type) {
	case map[string]any:
		for _, held := range v {
			scribble(held)
		}
		v["scribbled"] = true
	case []any:
		for i := range v {
			scribble(v[i])
			v[i] = "scribbled"
		}
	}
}

func TestEvaluateIsInterrupted(t *testing.T) {
	p := policyOf(t, `generator.ApplyAll('shop', [1].map(x, object))`)
	ctx, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("shutting down")
	cancel(cause)
	_, err := p.Evaluate(ctx, triggerOf(parse(t, shop)), &cluster{})
	if err != nil && !errors.Is(err, cause) {
		t.Errorf("got %v, want what interrupted it", err)
	}
}

// All expressions of one evaluation share what they may cost.
func TestBudgetIsShared(t *testing.T) {
	const costly = `[1,2,3,4,5,6,7,8,9,10].all(a, [1,2,3,4,5,6,7,8,9,10].all(b, a + b > 0))`
	p := policyOf(t, `variables.one && variables.two && generator.ApplyAll('shop', [])`, "one", costly, "two", costly)
	if p.budget != celconfig.RuntimeCELCostBudget {
		t.Errorf("expressions may cost %d together, want what those of an admission policy may", p.budget)
	}
	p.budget = 600
	_, err := p.Evaluate(t.Context(), triggerOf(parse(t, shop)), &cluster{})
	var failure *Error
	if !errors.As(err, &failure) || failure.Reason != ReasonLimit || failure.Field.String() != "spec.variables[1].expression" {
		t.Errorf("got %v, want that there is nothing left for the second variable", err)
	}
}

// A policy does not act on what it made, and a long line of policies ends.
func TestOffspring(t *testing.T) {
	p := policyOf(t, `generator.ApplyAll('shop', {'apiVersion': 'example.org/v1', 'kind': 'Widget'})`)
	trigger := triggerOf(parse(t, shop))
	trigger.Above = []string{"other", "made"}
	got, err := p.Evaluate(t.Context(), trigger, &cluster{})
	if err != nil || got.Matched {
		t.Errorf("below itself: got %+v, %v, want no match", got, err)
	}
	trigger.Above = []string{"a", "b"}
	if got, err = p.Evaluate(t.Context(), trigger, &cluster{}); err != nil || len(got.Objects) != 1 {
		t.Errorf("below others: got %+v, %v, want one object", got, err)
	}
	trigger.Above = strings.Split(strings.Repeat("x,", MaxAbove)+"x", ",")
	var failure *Error
	if _, err = p.Evaluate(t.Context(), trigger, &cluster{}); !errors.As(err, &failure) || failure.Reason != ReasonLimit {
		t.Errorf("below too many: got %v, want a limit", err)
	}
}
