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

package knowledge

import (
	"reflect"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/change"
)

func declared(tb testing.TB, text string) *v1alpha1.Knowledge {
	tb.Helper()
	k := &v1alpha1.Knowledge{}
	if err := yaml.UnmarshalStrict([]byte(text), k); err != nil {
		tb.Fatal(err)
	}
	return k
}

func object(tb testing.TB, text string) map[string]any {
	tb.Helper()
	raw, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		tb.Fatal(err)
	}
	var out map[string]any
	if err := utiljson.Unmarshal(raw, &out); err != nil {
		tb.Fatal(err)
	}
	return out
}

// What is built in is read as strictly as what an administrator says.
func TestBuiltInIsStrict(t *testing.T) {
	tests := map[string]struct{ text, want string }{
		"sound":                    {text: "for: {kind: A}\nknowledge: {selector: Keeps}"},
		"an unknown key":           {text: "for: {kind: A}\nknowledge: {selectr: Keeps}", want: "selectr"},
		"a wrong value":            {text: "for: {kind: A}\nknowledge: {selector: Sometimes}", want: "knowledge.selector"},
		"nothing":                  {text: "for: {kind: A}", want: "nothing is said"},
		"labels that name parents": {text: "category: a/b\nknowledge: {selector: Keeps}\nnamedBy: {uid: u, group: g, version: v, kind: k, namespace: s, name: n, found: ['metadata.labels[l]']}"},
		"labels of a kind":         {text: "for: {kind: A}\nknowledge: {selector: Keeps}\nnamedBy: {uid: u, group: g, version: v, kind: k, namespace: s, name: n}", want: "of a category"},
		"a label that is missing":  {text: "category: a/b\nknowledge: {selector: Keeps}\nnamedBy: {uid: u, group: g, version: v, kind: k, namespace: s}", want: "missing"},
		"a label twice":            {text: "category: a/b\nknowledge: {selector: Keeps}\nnamedBy: {uid: u, group: g, version: v, kind: k, namespace: s, name: u}", want: "the same"},
		"what is no label":         {text: "category: a/b\nknowledge: {selector: Keeps}\nnamedBy: {uid: u, group: g, version: v, kind: k, namespace: s, name: n, found: [spec.a]}", want: "spec.a"},
		"what is no path":          {text: "category: a/b\nknowledge: {selector: Keeps}\nnamedBy: {uid: u, group: g, version: v, kind: k, namespace: s, name: n, found: ['[']}", want: "["},
		"twice":                    {text: "for: {kind: A}\nknowledge: {selector: Keeps}\n---\nfor: {kind: A}\nknowledge: {selector: Keeps}", want: "twice"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := load(fstest.MapFS{"builtin/a.yaml": {Data: []byte(tc.text)}})
			if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got error %v, want one with %q", err, tc.want)
			}
		})
	}
	if len(Kinds()) == 0 {
		t.Error("nothing is built in")
	}
}

func TestCompile(t *testing.T) {
	tests := map[string]struct {
		text string
		want []string
	}{
		"nothing": {text: "{}"},
		"paths": {
			text: "{settled: {generation: spec.generation, created: 'a..b'}, proves: ['['], steering: ['']}",
			want: []string{"knowledge.settled.generation", "knowledge.settled.created", "knowledge.proves[0]", "knowledge.steering[0]"},
		},
		"a convention and what it says": {
			text: "{settled: {convention: Deployment, conditions: [{type: Ready}]}}", want: []string{"knowledge.settled.convention"},
		},
		"children without a template": {
			text: "{children: [{kind: A, counts: [spec.n]}, {kind: B, upkeep: nothing goes on, atRest: true}]}",
			want: []string{"knowledge.children[0].template", "knowledge.children[1].upkeep"},
		},
		"an action outside of the status": {text: "{actions: [{path: spec.promote}]}", want: []string{"knowledge.actions[0].path"}},
		"a report outside of the status":  {text: "{reported: [status, spec.promote, '']}", want: []string{"knowledge.reported[1]", "knowledge.reported[2]"}},
		"bookkeeping of nothing":          {text: "{bookkeeping: [{operations: []}]}", want: []string{"knowledge.bookkeeping[0].operations"}},
		"a history without a resource": {
			text: "{history: {target: {}, of: {apiVersion: v1, resource: pods}}}", want: []string{"knowledge.history.target.resource"},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			_, errs := Compile(declared(t, tc.text), field.NewPath("knowledge"))
			var got []string
			for _, err := range errs {
				got = append(got, err.Field)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("fields with errors (-want +got):\n%s", diff)
			}
		})
	}
}

// What a policy leaves out is as it is built in.
func TestOver(t *testing.T) {
	deployment := BuiltIn(schema.GroupKind{Group: "apps", Kind: "Deployment"})
	given, errs := Compile(declared(t, "{proves: [spec.template], actions: [{path: status.go}]}"), nil)
	if len(errs) > 0 {
		t.Fatal(errs.ToAggregate())
	}
	got := given.Over(deployment)
	if len(got.Proves) != 1 || len(got.Actions) != 1 || got.Settled.Convention != v1alpha1.ConventionDeployment || !got.AnnotationsCount {
		t.Errorf("merged: %+v", got)
	}
	want := deployment.source.DeepCopy()
	want.Proves, want.Actions = given.source.Proves, given.source.Actions
	if diff := cmp.Diff(want, got.Source()); diff != "" {
		t.Errorf("declaration (-want +got):\n%s", diff)
	}
	if len(deployment.Proves) != 2 {
		t.Error("what is built in was changed")
	}
	if (*Kind)(nil).Over(deployment) != deployment {
		t.Error("what says nothing changes something")
	}
}

// Each field of a declaration is taken over.
func TestOverTakesEachField(t *testing.T) {
	fields := reflect.TypeFor[v1alpha1.Knowledge]()
	for i := range fields.NumField() {
		if setters[fieldName(i)] == nil {
			t.Errorf("%s is not taken over", fields.Field(i).Name)
		}
	}
}

// What a controller carries out otherwise than by its children cannot wait, in objects that it is about.
func TestWaits(t *testing.T) {
	known, errs := Compile(declared(t, "{cannotWait: [spec.history], cannotWaitWith: [{set: spec.claims, fields: [spec.replicas]}]}"), nil)
	if len(errs) > 0 {
		t.Fatal(errs.ToAggregate())
	}
	tests := map[string]struct {
		object, field string
		want          bool
	}{
		"any other field":            {object: "{spec: {claims: [a]}}", field: "spec.template", want: true},
		"a field that cannot":        {object: "{}", field: "spec.history"},
		"a part of one":              {object: "{}", field: "spec.history.limit"},
		"what has one":               {object: "{}", field: "spec"},
		"with what is set":           {object: "{spec: {claims: [a]}}", field: "spec.replicas"},
		"with a map that is set":     {object: "{spec: {claims: {a: b}}}", field: "spec.replicas"},
		"with a value that is set":   {object: "{spec: {claims: false}}", field: "spec.replicas"},
		"with what is not there":     {object: "{spec: {}}", field: "spec.replicas", want: true},
		"with what is null":          {object: "{spec: {claims: null}}", field: "spec.replicas", want: true},
		"with an empty list":         {object: "{spec: {claims: []}}", field: "spec.replicas", want: true},
		"with an empty map":          {object: "{spec: {claims: {}}}", field: "spec.replicas", want: true},
		"what decides, if it is set": {object: "{spec: {claims: [a]}}", field: "spec.claims", want: true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			path, err := change.ParsePath(tc.field)
			if err != nil {
				t.Fatal(err)
			}
			if got := known.Waits(object(t, tc.object), path); got != tc.want {
				t.Errorf("it waits: %t", got)
			}
		})
	}
}

// What a Service says proxies carry out at once, and nothing of it can wait.
func TestServiceCannotWait(t *testing.T) {
	tests := map[string]bool{
		"spec.selector": false, "spec.ports[0].targetPort": false, "spec.externalIPs": false, "spec": false, "metadata.labels[team]": true,
	}
	for field, want := range tests {
		if got := BuiltIn(schema.GroupKind{Kind: "Service"}).Waits(nil, change.MustParsePath(field)); got != want {
			t.Errorf("%s waits: %t", field, got)
		}
	}
}

func TestChanges(t *testing.T) {
	known, errs := Compile(declared(t, "{actions: [{path: status.promote}, {path: status.conditions, item: {type: Issuing}}]}"), nil)
	if len(errs) > 0 {
		t.Fatal(errs.ToAggregate())
	}
	tests := map[string]struct {
		old, updated string
		want         []string
	}{
		"nothing":             {old: "{status: {promote: true, conditions: [{type: Issuing}]}}", updated: "{status: {promote: true, conditions: [{type: Ready}, {type: Issuing}]}}"},
		"what is no action":   {old: "{status: {a: 1}}", updated: "{status: {a: 2, conditions: [{type: Ready}]}}"},
		"of a new status":     {old: "{}", updated: "{status: {promote: true}}", want: []string{"Insert status.promote"}},
		"of an item":          {old: "{status: {conditions: [{type: Ready}]}}", updated: "{status: {conditions: [{type: Ready}, {type: Issuing}]}}", want: []string{"Insert status.conditions[1]"}},
		"within an item":      {old: "{status: {conditions: [{type: Issuing, status: 'False'}]}}", updated: "{status: {conditions: [{type: Issuing, status: 'True'}]}}", want: []string{"Mutate status.conditions[0]"}},
		"that something goes": {old: "{status: {promote: true, conditions: [{type: Issuing}]}}", updated: "{status: {promote: null}}", want: []string{"Delete status.promote", "Delete status.conditions[0]"}},
		"to another value":    {old: "{status: {promote: true}}", updated: "{status: {promote: false}}", want: []string{"Mutate status.promote"}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, c := range known.Changes(object(t, tc.old), object(t, tc.updated)) {
				got = append(got, string(c.Verb)+" "+c.Path.String())
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("actions (-want +got):\n%s", diff)
			}
		})
	}
}

// What is reported changes with any field of a status, where it is all of that.
func TestReports(t *testing.T) {
	tests := map[string]struct {
		reported, old, updated string
		proves                 string
		inObject               bool
		want                   []string
	}{
		"nothing":                               {reported: "[status]", old: "{status: {a: 1}}", updated: "{spec: {a: 2}, status: {a: 1}}"},
		"all of it":                             {reported: "[status]", old: "{status: {a: 1, b: 1}}", updated: "{status: {b: 2, c: 1}}", want: []string{"Delete status.a", "Mutate status.b", "Insert status.c"}},
		"a status that is new":                  {reported: "[status]", old: "{}", updated: "{status: {a: {b: 1}}}", want: []string{"Insert status.a"}},
		"a status that goes":                    {reported: "[status]", old: "{status: {a: 1}}", updated: "{}", want: []string{"Delete status.a"}},
		"a field of it":                         {reported: "[status.a]", old: "{status: {a: {b: 1}}}", updated: "{status: {a: {b: 2}, c: 1}}", want: []string{"Mutate status.a"}},
		"another field":                         {reported: "[status.a]", old: "{status: {b: 1}}", updated: "{status: {b: 2}}"},
		"of what proves nothing, in the object": {reported: "[status.a]", inObject: true, old: "{status: {b: 1}}", updated: "{status: {b: 2}}"},
		"of a proof in the object":              {reported: "[status.a]", proves: "[spec.a]", inObject: true, old: "{status: {b: 1}}", updated: "{status: {b: 2}}", want: []string{"Mutate status.b"}},
		"of a proof elsewhere":                  {reported: "[status.a]", proves: "[spec.a]", old: "{status: {b: 1}}", updated: "{status: {b: 2}}"},
		"a status that is none":                 {reported: "[status]", old: "{status: 1}", updated: "{status: [2]}"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if tc.proves == "" {
				tc.proves = "[]"
			}
			known, errs := Compile(declared(t, "{reported: "+tc.reported+", proves: "+tc.proves+"}"), nil)
			if len(errs) > 0 {
				t.Fatal(errs.ToAggregate())
			}
			var got []string
			for _, c := range known.Reports(object(t, tc.old), object(t, tc.updated), tc.inObject) {
				got = append(got, string(c.Verb)+" "+c.Path.String())
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("changes (-want +got):\n%s", diff)
			}
		})
	}
}
