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
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	krov1alpha1 "github.com/kubernetes-sigs/kro/api/v1alpha1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/derive/draft"
	"kausality.io/operator/internal/policy"
)

// unboundedSteady returns the kinds of children of a graph, and former ones, that a policy does not bound
// while a parent is steady, and that no note says so of.
func unboundedSteady(tb testing.TB, rgd *krov1alpha1.ResourceGraphDefinition, d *draft.Derivation, former ...schema.GroupVersionKind) []string {
	tb.Helper()
	anyKind := func(r schema.GroupVersionResource) (schema.GroupVersionKind, bool) {
		return r.GroupVersion().WithKind(r.Resource), true
	}
	compiled, errs := policy.Compile(d.Policy, anyKind)
	if len(errs) > 0 {
		tb.Fatalf("the policy is wrong: %v", errs)
	}
	var out []string
	for _, kind := range append(Kinds(&rgd.Spec), former...) {
		resource := guessed(kind).Resource
		told := false
		for _, n := range d.Notes {
			told = told || n.Lost && strings.HasPrefix(n.Message, resource+" are left out") && strings.Contains(n.Message, "they are not bounded")
		}
		if !compiled.BoundsIn(v1alpha1.PhaseSteady, schema.GroupKind{Group: kind.Group, Kind: resource}) && !told {
			out = append(out, resource)
		}
	}
	return out
}

func guessed(kind schema.GroupVersionKind) schema.GroupVersionResource {
	return (&builder{Draft: draft.New("")}).resource(&node{kind: kind})
}

// TestBounded has each kind of children bounded while an instance is steady, whatever reaches it.
func TestBounded(t *testing.T) {
	graphs := graphsIn(t, "testdata")
	for _, kinds := range []int{1, 31, 33, 70} {
		graphs["wide"] = wide(kinds, 1, false)
		graphs["many"] = wide(kinds, 0, false)
		for name, rgd := range graphs {
			d, err := Derive(rgd, Options{})
			if err != nil {
				t.Fatal(err)
			}
			checkFits(t, d.Policy)
			if got := unboundedSteady(t, rgd, d); len(got) > 0 {
				t.Errorf("%s, %d kinds: nobody bounds %v", name, kinds, got)
			}
		}
	}
}

// TestFormer has kinds bounded that a graph has no more, which allows nothing of them but that they go with
// what is new or deleted.
func TestFormer(t *testing.T) {
	text, err := os.ReadFile("testdata/webapp.yaml")
	if err != nil {
		t.Fatal(err)
	}
	before := readRGD(t, string(text))
	after := before.DeepCopy()
	after.Spec.Resources = after.Spec.Resources[:1]
	service := schema.GroupVersionKind{Version: "v1", Kind: "Service"}
	deployment := schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}
	d, err := Derive(after, Options{Former: []schema.GroupVersionResource{guessed(service), deployment, guessed(service)}})
	if err != nil {
		t.Fatal(err)
	}
	if got := unboundedSteady(t, after, d, service); len(got) > 0 {
		t.Errorf("nobody bounds %v", got)
	}
	of := func(entries []v1alpha1.PolicyEntry) []string {
		var out []string
		for _, e := range entries {
			if e.Target.Resource == "services" {
				says := slices.Clone(e.Verbs)
				for _, m := range e.Mutations {
					says = append(says, m.JSONPath)
				}
				out = append(out, strings.Join(says, " "))
			}
		}
		return out
	}
	if d.Policy.Spec.Maintaining == nil {
		t.Fatal("nothing is named for steady parents")
	}
	var maintaining []v1alpha1.PolicyEntry
	for _, m := range d.Policy.Spec.Maintaining.Policies {
		maintaining = append(maintaining, m.PolicyEntry)
	}
	got := map[string][]string{"initializing": of(d.Policy.Spec.Initializing.Policies), "maintaining": of(maintaining), "deleting": of(d.Policy.Spec.Deleting.Policies)}
	want := map[string][]string{"initializing": {"Delete"}, "maintaining": {"Update metadata.uid"}, "deleting": {"Delete"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("services (-want +got):\n%s", diff)
	}

	// What follows a graph without a cluster does not know what was: that is no difference.
	fresh, err := Derive(after, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if lines := draft.Differences(fresh.Policy, d.Policy); len(lines) > 0 {
		t.Errorf("it differs: %q", lines)
	}
	missing := []string{"+ deleting: Delete services", "+ initializing: Delete services", "+ maintaining: services are bounded, and nothing of them is allowed"}
	if diff := cmp.Diff(missing, draft.Differences(d.Policy, fresh.Policy)); diff != "" {
		t.Errorf("what does not bound them (-want +got):\n%s", diff)
	}
}
