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

package kro

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	krov1alpha1 "github.com/kubernetes-sigs/kro/api/v1alpha1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"pgregory.net/rapid"
	"sigs.k8s.io/yaml"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/ledger"
	"kausality.io/operator/internal/policy"
)

// checkFits reports what of a policy exceeds what its definition has room for, and whether
// one write that changes every field earns more than a ledger has room for.
func checkFits(tb rapid.TB, p *v1alpha1.AllowancePolicy) {
	tb.Helper()
	atMost := func(what string, n, limit int) {
		if n > limit {
			tb.Errorf("%s: %d, at most %d", what, n, limit)
		}
	}
	entries := func(what string, of []v1alpha1.PolicyEntry) {
		atMost(what, len(of), 32)
		for _, e := range of {
			atMost(what+" mutations", len(e.Mutations), 32)
			for _, m := range e.Mutations {
				atMost(what+" path", len(m.JSONPath), 512)
			}
		}
	}
	spec := p.Spec
	if spec.Initializing != nil {
		entries("initializing", spec.Initializing.Policies)
	}
	if spec.Deleting != nil {
		entries("deleting", spec.Deleting.Policies)
	}
	if spec.Maintaining != nil {
		atMost("maintaining", len(spec.Maintaining.Policies), 32)
		for _, m := range spec.Maintaining.Policies {
			entries("maintaining", []v1alpha1.PolicyEntry{m.PolicyEntry})
		}
	}
	atMost("rules", len(spec.Rules), 64)
	var earned []v1alpha1.Allowance
	for _, r := range spec.Rules {
		atMost("trigger", len(r.Trigger), 512)
		entries("rule", r.Policies)
		hop := v1alpha1.TraceHop{Kind: spec.For.Kind, Name: strings.Repeat("n", 253), Generation: 1_000_000, Field: r.Trigger}
		allow := func(kind, mutation string, verbs []v1alpha1.MutationVerb) {
			earned = append(earned, v1alpha1.Allowance{APIGroup: "example.com", Kind: kind, Mutation: mutation, Verbs: verbs,
				Generation: 1_000_000, Initiator: strings.Repeat("u", 100), Trace: []v1alpha1.TraceHop{hop}})
		}
		if len(r.Policies) == 0 {
			allow(v1alpha1.Any, v1alpha1.Any, nil)
		}
		for _, e := range r.Policies {
			kind := e.Target.Resource
			for _, verb := range e.Verbs {
				switch {
				case verb != "Update":
					allow(kind, strings.ToLower(verb), nil)
				case len(e.Mutations) == 0:
					allow(kind, v1alpha1.Any, []v1alpha1.MutationVerb{"Insert", "Delete", "Mutate"})
				}
			}
			for _, m := range e.Mutations {
				allow(kind, m.JSONPath, m.Verbs)
			}
		}
	}
	if err := ledger.Ledger(nil).Merge(earned...).Check(); err != nil {
		tb.Errorf("one write that changes every field: %v", err)
	}
}

// wide returns a graph of many kinds with many fields, each made of a field of its own.
func wide(kinds, fields int, nested bool) *krov1alpha1.ResourceGraphDefinition {
	var spec, resources strings.Builder
	for k := range kinds {
		fmt.Fprintf(&resources, "  - id: r%d\n    template:\n      apiVersion: example.com/v1\n      kind: Kind%d\n      metadata: {name: fixed}\n      spec:\n", k, k)
		for f := range fields {
			name := fmt.Sprintf("f%dx%d", k, f)
			fmt.Fprintf(&spec, "      %s: string\n", name)
			at := fmt.Sprintf("        %s: ", name)
			if nested {
				at = fmt.Sprintf("        %s:\n          %s: ", strings.Repeat("deep", 20)+name, strings.Repeat("long", 60))
			}
			fmt.Fprintf(&resources, "%s${schema.spec.%s}\n", at, name)
		}
	}
	text := "apiVersion: kro.run/v1alpha1\nkind: ResourceGraphDefinition\nmetadata: {name: wide}\nspec:\n  schema:\n    apiVersion: v1\n    kind: Wide\n    spec:\n" +
		spec.String() + "  resources:\n" + resources.String()
	rgd := &krov1alpha1.ResourceGraphDefinition{}
	if err := yaml.Unmarshal([]byte(text), rgd); err != nil {
		panic(err)
	}
	return rgd
}

func TestFits(t *testing.T) {
	for _, tc := range []struct {
		kinds, fields int
		nested, notes bool
	}{
		{1, 1, false, false},
		{1, 32, false, false},
		{1, 33, false, false},
		{1, 70, false, true},
		{4, 20, true, true},
		{20, 20, false, true},
		{31, 1, false, false},
		{33, 1, false, true},
		{70, 3, true, true},
	} {
		t.Run(fmt.Sprintf("%d kinds with %d fields, nested %t", tc.kinds, tc.fields, tc.nested), func(t *testing.T) {
			d, err := Derive(wide(tc.kinds, tc.fields, tc.nested), Options{})
			if err != nil {
				t.Fatal(err)
			}
			checkFits(t, d.Policy)
			if got := len(d.Notes) > 0; got != tc.notes {
				t.Errorf("notes: %v", d.Notes)
			}
			reached := map[string]bool{}
			for _, r := range d.Policy.Spec.Rules {
				for _, e := range r.Policies {
					reached[e.Target.Resource] = true
				}
				if len(r.Policies) == 0 {
					return // Anything.
				}
			}
			if len(reached) != tc.kinds {
				t.Errorf("rules name %d of %d kinds", len(reached), tc.kinds)
			}
		})
	}
}

// labeled returns a graph of a Secret with many labels and little data, each made of a field of its
// own.
func labeled(labels, data int) *krov1alpha1.ResourceGraphDefinition {
	rgd := wide(0, 0, false)
	var spec, secret strings.Builder
	secret.WriteString("apiVersion: v1\nkind: Secret\nmetadata:\n  name: fixed\n  labels:\n")
	for i := range labels {
		fmt.Fprintf(&spec, "l%d: string\n", i)
		fmt.Fprintf(&secret, "    l%d: ${schema.spec.l%d}\n", i, i)
	}
	secret.WriteString("stringData:\n")
	for i := range data {
		fmt.Fprintf(&spec, "d%d: string\n", i)
		fmt.Fprintf(&secret, "  d%d: ${schema.spec.d%d}\n", i, i)
	}
	for text, into := range map[string]*runtime.RawExtension{spec.String(): &rgd.Spec.Schema.Spec, secret.String(): {}} {
		raw, err := yaml.YAMLToJSON([]byte(text))
		if err != nil {
			panic(err)
		}
		into.Raw = raw
		if into != &rgd.Spec.Schema.Spec {
			rgd.Spec.Resources = []*krov1alpha1.Resource{{ID: "secret", Template: *into}}
		}
	}
	return rgd
}

// TestLabelsAllowNothingElse has who may change a label not allowed anything else for want of room.
func TestLabelsAllowNothingElse(t *testing.T) {
	for labels, bounded := range map[int]bool{20: true, 60: false} {
		d, err := Derive(labeled(labels, 3), Options{})
		if err != nil {
			t.Fatal(err)
		}
		checkFits(t, d.Policy)
		var data, metadata int
		for _, r := range d.Policy.Spec.Rules {
			if len(r.Policies) == 0 {
				t.Errorf("%d labels: %s allows anything", labels, r.Trigger)
			}
			for _, e := range r.Policies {
				if len(e.Mutations) != 1 {
					t.Errorf("%d labels: %s allows %v of %s", labels, r.Trigger, e.Mutations, e.Target.Resource)
					continue
				}
				switch path := e.Mutations[0].JSONPath; {
				case strings.HasPrefix(path, "data"):
					data++
				case strings.HasPrefix(path, "metadata.labels"):
					metadata++
				default:
					t.Errorf("%d labels: %s allows %s", labels, r.Trigger, path)
				}
			}
		}
		if data != 3 || (metadata == labels) != bounded || (metadata == 0) == bounded || (len(d.Notes) == 0) != bounded {
			t.Errorf("%d labels: rules for %d fields and %d labels; notes %v", labels, data, metadata, d.Notes)
		}
	}
}

func TestFitsWhatever(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d, err := Derive(wide(rapid.IntRange(1, 40).Draw(t, "kinds"), rapid.IntRange(1, 12).Draw(t, "fields"), rapid.Bool().Draw(t, "nested")), Options{})
		if err != nil {
			t.Fatal(err)
		}
		checkFits(t, d.Policy)
	})
}

func TestPolicyName(t *testing.T) {
	long, other := strings.Repeat("a", 250), strings.Repeat("a", 249)+"b"
	if got := PolicyName("webapp"); got != "kro-webapp" {
		t.Errorf("PolicyName() = %q", got)
	}
	if a, b := PolicyName(long), PolicyName(other); len(a) > 253 || len(b) > 253 || a == b {
		t.Errorf("PolicyName() = %q and %q", a, b)
	}
}

// TestSameBytes derives each graph several times: maps are walked in another order each time.
func TestSameBytes(t *testing.T) {
	for name, rgd := range graphsIn(t, "testdata") {
		first := ""
		for range 5 {
			d, err := Derive(rgd, Options{})
			if err != nil {
				t.Fatal(err)
			}
			checkFits(t, d.Policy)
			switch got := shownGolden(t, d); {
			case first == "":
				first = got
			case got != first:
				t.Errorf("%s: another derivation (-first +now):\n%s", name, cmp.Diff(first, got))
			}
		}
	}
}

func TestRefused(t *testing.T) {
	const head = "apiVersion: kro.run/v1alpha1\nkind: ResourceGraphDefinition\nmetadata: {name: x}\nspec:\n"
	const schemaOf = "  schema: {apiVersion: v1, kind: X, spec: {a: string}}\n  resources:\n"
	for name, tc := range map[string]struct{ text, want string }{
		"no kind of instances":     {"  schema: {apiVersion: v1}\n", "it says no kind and version of instances"},
		"a resource without an id": {schemaOf + "  - template: {apiVersion: v1, kind: Pod}\n", "spec.resources[0]: it has no id"},
		"a resource without kind":  {schemaOf + "  - {id: p, template: {apiVersion: v1}}\n", `resource "p": it says no apiVersion and kind`},
		"two of an id": {schemaOf + "  - {id: p, template: {apiVersion: v1, kind: Pod}}\n  - {id: p, template: {apiVersion: v1, kind: Pod}}\n",
			`another resource has the id "p"`},
		"an unknown name": {schemaOf + "  - {id: p, template: {apiVersion: v1, kind: Pod, spec: {a: '${other.spec}'}}}\n",
			`resource "p": spec.a: ${other.spec}: "other" is neither a resource of the graph nor an iterator`},
		"no expression": {schemaOf + "  - {id: p, template: {apiVersion: v1, kind: Pod, spec: {a: '${schema.}'}}}\n", "${schema.} cannot be parsed"},
		"the status of the instance": {schemaOf + "  - {id: p, template: {apiVersion: v1, kind: Pod, spec: {a: '${schema.status.a}'}}}\n",
			"schema.status.a is no field that expressions may be about"},
		"a circle": {schemaOf + "  - {id: p, template: {apiVersion: v1, kind: Pod, spec: {a: '${q.spec.a}'}}}\n" +
			"  - {id: q, template: {apiVersion: v1, kind: Pod, spec: {a: '${p.spec.a}'}}}\n", "it depends on itself"},
		"a condition that is no expression": {schemaOf + "  - {id: p, includeWhen: [yes], template: {apiVersion: v1, kind: Pod}}\n", "only standalone expressions"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Derive(readRGD(t, head+tc.text), Options{})
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("Derive() = %v, want %q", err, tc.want)
			}
		})
	}
}

// FuzzDerive derives from whatever: it says what is wrong, and what it derives is sound
// in form and fits.
func FuzzDerive(f *testing.F) {
	files, err := filepath.Glob("testdata/*.yaml")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		if !strings.Contains(file, "golden") {
			f.Add(string(text))
		}
	}
	f.Fuzz(func(t *testing.T, text string) {
		rgd := &krov1alpha1.ResourceGraphDefinition{}
		if yaml.Unmarshal([]byte(text), rgd) != nil {
			return
		}
		d, err := Derive(rgd, Options{})
		if err != nil {
			return
		}
		checkFits(t, d.Policy)
		anyKind := func(r schema.GroupVersionResource) (schema.GroupVersionKind, bool) {
			return r.GroupVersion().WithKind(r.Resource), true
		}
		if _, errs := policy.Compile(d.Policy, anyKind); len(errs) > 0 {
			t.Errorf("the policy is wrong: %v", errs)
		}
	})
}
