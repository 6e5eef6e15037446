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
	"context"
	"errors"
	"strings"
	"testing"
)

const secretValue = "hunter2"

func activation() Activation {
	return Activation{
		Object: map[string]any{
			"metadata": map[string]any{
				"name":        "web",
				"annotations": map[string]any{"jira": "INFRA-23232", "token": secretValue},
			},
			"spec": map[string]any{
				"replicas": int64(4),
				"id":       int64(1<<53 + 1),
				"paused":   nil,
				"cpu":      "500m",
				"containers": []any{
					map[string]any{"name": "app", "image": "app:2"},
					map[string]any{"name": "proxy"},
				},
			},
		},
		OldObject: map[string]any{
			"metadata": map[string]any{"labels": map[string]any{"env": "prod"}},
			"spec":     map[string]any{"replicas": float64(3), "id": int64(1 << 53)},
		},
		Request: RequestVars{
			Username: "hans@example.com", Groups: []string{"platform-team"},
			Operation: "UPDATE", Namespace: "shop", Name: "web",
		},
	}
}

func TestConditionEval(t *testing.T) {
	const needs, neither = "a field that it needs is absent or of another type", "yields neither true nor false"
	tests := map[string]struct {
		source string
		want   bool
		fails  string
	}{
		// The expressions of the specification.
		"absent status":                  {source: "!has(object.status.observedGeneration)", want: true},
		"annotation is there":            {source: "has(object.metadata.annotations['jira'])", want: true},
		"annotation is not there":        {source: "has(object.metadata.annotations['other'])", want: false},
		"no annotations at all":          {source: "has(oldObject.metadata.annotations['jira'])", want: false},
		"label differs":                  {source: "oldObject.metadata.labels['env'] != 'prod'", want: false},
		"no labels differ":               {source: "object.metadata.labels['env'] != 'prod'", want: true},
		"absent label differs":           {source: "oldObject.metadata.labels['stage'] != 'prod'", want: true},
		"absent annotation equals":       {source: "object.metadata.annotations['allow-recreate'] == 'true'", want: false},
		"pattern":                        {source: "object.metadata.annotations['jira'].matches('^INFRA-[0-9]+$')", want: true},
		"pattern of absent":              {source: "oldObject.metadata.annotations['jira'].matches('^INFRA-[0-9]+$')", fails: needs},
		"whole against floating numbers": {source: "object.spec.replicas > oldObject.spec.replicas", want: true},
		"long numbers":                   {source: "object.spec.id != oldObject.spec.id && object.spec.id > oldObject.spec.id", want: true},
		"disjunction":                    {source: "object.metadata.labels['env'] != 'prod' || has(object.spec.jiraTicket)", want: true},

		// has and null.
		"null is not there":               {source: "has(object.spec.paused)", want: false},
		"null equals absent":              {source: "object.spec.paused == object.spec.absent", want: true},
		"below null":                      {source: "has(object.spec.paused.a.b)", want: false},
		"below a number":                  {source: "has(object.spec.replicas.a)", want: false},
		"index in range":                  {source: "has(object.spec.containers[1].name)", want: true},
		"index out of range":              {source: "has(object.spec.containers[2].name)", want: false},
		"key from an expression":          {source: "has(object.metadata.annotations['ji' + 'ra'])", want: true},
		"key from a selection":            {source: "object.spec[object.spec.absent] == 1", fails: needs},
		"a list has no names":             {source: "object.spec.containers['app'] == null", fails: needs},
		"has of an optional selection":    {source: "has(object.?spec.replicas)", want: true},
		"has within a comprehension":      {source: "object.spec.containers.exists(c, !has(c.image))", want: true},
		"has of a request":                {source: "has(request.namespace)", want: true},
		"ordering comparison with absent": {source: "object.spec.absent > 3", fails: needs},
		"negation of absent":              {source: "!object.spec.absent", fails: needs},
		"neither true nor false":          {source: "object.spec.replicas", fails: neither},
		"absent is no answer":             {source: "object.spec.absent", fails: neither},

		// What goes over items takes absent for empty.
		"all of nothing":             {source: "object.spec.absent.all(x, x.y == 1)", want: true},
		"exists in nothing":          {source: "object.spec.absent.exists(x, true)", want: false},
		"in nothing":                 {source: "'a' in object.spec.absent", want: false},
		"in a map":                   {source: "'jira' in object.metadata.annotations", want: true},
		"size of nothing":            {source: "size(object.spec.absent) == 0 && object.spec.paused.size() == 0", want: true},
		"two variables":              {source: "object.metadata.annotations.all(k, v, k != v)", want: true},
		"absent field of an item":    {source: "object.spec.containers.all(c, c.image != 'app:1')", want: true},
		"map keeps absent as null":   {source: "object.spec.containers.map(c, c.image) == [dyn('app:2'), dyn(null)]", want: true},
		"selection from a result":    {source: "object.spec.containers.filter(c, c.name == 'app')[0].image == 'app:2'", want: true},
		"selection from no result":   {source: "object.spec.containers.filter(c, c.name == 'x')[0].image == null", want: true},
		"selection from a literal":   {source: "{'a': object.spec.replicas}.a == 4 && {'a': 1}.b == null", want: true},
		"nested comprehensions":      {source: "object.spec.containers.all(c, object.spec.containers.exists(d, d.name == c.name))", want: true},
		"variable named as a type":   {source: "object.spec.containers.exists(google, google.name == 'app')", want: true},
		"ternary over a selection":   {source: "object.spec.absent == null ? true : object.spec.absent.x", want: true},
		"selection in a list":        {source: "object.spec.replicas in [object.spec.absent, dyn(4)]", want: true},
		"optional selection":         {source: "object.?spec.replicas.orValue(1) == 4", want: true},
		"optional selection, absent": {source: "object.?spec[?'absent'].orValue(1) == 1", want: true},
		"optional map":               {source: "object.?spec.?replicas.optMap(r, r > 3).orValue(false)", want: true},

		// The rest of the scope.
		"request":              {source: "request.user.username.endsWith('@example.com') && 'platform-team' in request.user.groups", want: true},
		"operation":            {source: "request.operation == 'UPDATE' && request.namespace == 'shop' && request.name == 'web'", want: true},
		"qualified type name":  {source: "type(object.spec.absent) == google.protobuf.Timestamp", want: false},
		"quantity":             {source: "quantity(object.spec.cpu).isLessThan(quantity('1'))", want: true},
		"quantity of nonsense": {source: "quantity(object.metadata.annotations['token']).isLessThan(quantity('1'))", fails: needs},
		"conversion":           {source: "int(object.metadata.annotations['token']) == 1", fails: needs},
		"regex":                {source: "object.metadata.annotations['jira'].find('[0-9]+') == '23232'", want: true},
		"ip":                   {source: "isIP('10.0.0.1') && cidr('10.0.0.0/8').containsIP('10.0.0.1')", want: true},
		"url":                  {source: "url('https://example.com/a').getHost() == 'example.com'", want: true},
		"list":                 {source: "[1, 2].isSorted() && [1, 3].max() == 3 && object.spec.containers.map(c, c.name).isSorted()", want: true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			c, err := compileCondition(changeScope, tc.source)
			if err != nil {
				t.Fatal(err)
			}
			if c.Source() != tc.source {
				t.Errorf("Source() = %q, want %q", c.Source(), tc.source)
			}
			got, err := c.Eval(t.Context(), activation())
			if (err != nil) != (tc.fails != "") || err != nil && !strings.Contains(err.Error(), tc.fails) {
				t.Fatalf("Eval() error = %v, want one that says %q", err, tc.fails)
			}
			if got != tc.want {
				t.Errorf("Eval() = %t, want %t", got, tc.want)
			}
			if err != nil && (strings.Contains(err.Error(), secretValue) || !strings.Contains(err.Error(), tc.source)) {
				t.Errorf("the error must carry the expression and no value of the object: %v", err)
			}
		})
	}
}

func TestConditionOnCreate(t *testing.T) {
	in := activation()
	in.OldObject = nil
	for source, want := range map[string]bool{
		"oldObject == null":                          true,
		"has(oldObject.spec.replicas)":               false,
		"oldObject.metadata.labels['env'] != 'prod'": true,
		"object.spec.replicas != oldObject.spec.x":   true,
	} {
		t.Run(source, func(t *testing.T) {
			c, err := compileCondition(changeScope, source)
			if err != nil {
				t.Fatal(err)
			}
			if got, err := c.Eval(t.Context(), in); err != nil || got != want {
				t.Errorf("Eval() = %t, %v; want %t", got, err, want)
			}
		})
	}
}

func TestConditionScopes(t *testing.T) {
	tests := map[string]struct {
		in     scope
		source string
		want   string
	}{
		"syntax":                      {in: changeScope, source: "object.spec.", want: "Syntax error"},
		"not a condition":             {in: changeScope, source: "'yes'", want: "must yield true or false, and yields string"},
		"has of a variable":           {in: changeScope, source: "has(object)", want: "has() needs a selection"},
		"has of a call":               {in: changeScope, source: "has(object.spec.x.size())", want: "has() needs a selection"},
		"misspelled request":          {in: changeScope, source: "request.userInfo.username == 'x'", want: "undefined field 'userInfo'"},
		"misspelled request in has":   {in: changeScope, source: "has(request.usr)", want: "undefined field 'usr'"},
		"misspelled variable":         {in: changeScope, source: "objekt.spec.x == 1", want: "undeclared reference to 'objekt'"},
		"allowance in a rule":         {in: changeScope, source: "allowance.generation == 1", want: "undeclared reference to 'allowance'"},
		"old object in when":          {in: initializingScope, source: "oldObject == null", want: "undeclared reference to 'oldObject'"},
		"request in consumption":      {in: consumptionScope, source: "request.name == 'x'", want: "undeclared reference to 'request'"},
		"invalid regular expression":  {in: changeScope, source: "object.spec.x.matches('[')", want: "invalid matches argument"},
		"position of the second line": {in: changeScope, source: "true &&\n  objekt.x", want: "line 2, column 3: undeclared"},
		"internal function":           {in: changeScope, source: "@value(object)", want: "Syntax error"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := compileCondition(tc.in, tc.source)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("compileCondition() error = %v, want one with %q", err, tc.want)
			}
			if err != nil && strings.Contains(err.Error(), "\n") {
				t.Errorf("the error must be one line: %v", err)
			}
		})
	}
}

func TestConditionAllowance(t *testing.T) {
	c, err := compileCondition(consumptionScope, "object.status.observedGeneration >= allowance.generation")
	if err != nil {
		t.Fatal(err)
	}
	in := Activation{
		Object:    map[string]any{"status": map[string]any{"observedGeneration": int64(7)}},
		Allowance: map[string]any{"generation": float64(7)},
	}
	if got, err := c.Eval(t.Context(), in); err != nil || !got {
		t.Errorf("Eval() = %t, %v; want true", got, err)
	}
}

// costly goes over the containers often enough to exceed any limit.
const costly = "object.l.all(a, object.l.all(b, object.l.all(c, object.l.all(d, a + b + c + d >= 0))))"

func costlyActivation() Activation {
	numbers := make([]any, 200)
	for i := range numbers {
		numbers[i] = int64(i)
	}
	return Activation{Object: map[string]any{"l": numbers}}
}

func TestConditionLimits(t *testing.T) {
	c, err := compileCondition(changeScope, costly)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := c.Eval(t.Context(), costlyActivation()); got || err == nil || !strings.Contains(err.Error(), "costs more") {
		t.Errorf("Eval() = %t, %v; want the cost limit to end it", got, err)
	}
	t.Run("together", func(t *testing.T) {
		in := costlyActivation()
		in.Budget = NewBudget()
		const evaluated = 3
		for i := range 2 * evaluated {
			_, err := c.Eval(t.Context(), in)
			want := "costs more"
			if i >= evaluated {
				want = "was not evaluated"
			}
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("the evaluation after %d ends with %v; want it to say %q", i, err, want)
			}
		}
		cheap, err := compileCondition(changeScope, "object.l.size() > 0")
		if err != nil {
			t.Fatal(err)
		}
		in.Budget = NewBudget()
		for range 1000 {
			if holds, err := cheap.Eval(t.Context(), in); err != nil || !holds {
				t.Fatalf("one of a thousand cheap ones: %t, %v", holds, err)
			}
		}
	})
	ctx, cancel := context.WithCancelCause(t.Context())
	overdue := errors.New("overdue")
	cancel(overdue)
	if got, err := c.Eval(ctx, costlyActivation()); got || !errors.Is(err, overdue) {
		t.Errorf("Eval() = %t, %v; want the context to end it", got, err)
	}
}

func FuzzCondition(f *testing.F) {
	for _, seed := range []string{
		"!has(object.status.observedGeneration)",
		"object.metadata.labels['env'] != 'prod' || has(object.spec.jiraTicket)",
		"object.?spec[?'a'].optMap(x, x.y[0]).orValue(true)",
		"object.spec.containers.all(i, c, c.name != request.user.groups[i])",
		"cel.bind(x, object.spec, x.a.b == {'k': [x]}.k[0].a)",
		"type(object) == google.protobuf.Timestamp",
		"has(has(object.a))",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, source string) {
		if len(source) > 512 {
			t.Skip("the cost of long expressions is not the point")
		}
		c, err := compileCondition(changeScope, source)
		if err != nil {
			return
		}
		if _, err := c.Eval(t.Context(), activation()); err != nil &&
			strings.Contains(err.Error(), secretValue) && !strings.Contains(source, secretValue) {
			t.Errorf("the error carries a value of the object: %v", err)
		}
	})
}
