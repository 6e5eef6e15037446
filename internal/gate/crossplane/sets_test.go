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

package crossplane

import (
	"testing"

	"github.com/crossplane/crossplane-runtime/v2/pkg/reconciler/managed"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/sets"
	"pgregory.net/rapid"
)

func runtimeOf(t *testing.T, text string) Runtime {
	t.Helper()
	if text == "" {
		return Runtime{}
	}
	r, err := ParseRuntime(text)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestOpen(t *testing.T) {
	all := []string{"*"}
	tests := map[string]struct {
		runtime     string
		verbs       []string
		ceiling     []string
		want        []string
		unsupported []string
	}{
		"nothing is open":                            {ceiling: all, want: []string{"Observe", "LateInitialize"}},
		"create":                                     {verbs: []string{"Create"}, ceiling: all, want: []string{"Observe", "Create", "LateInitialize"}},
		"update":                                     {verbs: []string{"Update"}, ceiling: all, want: []string{"Observe", "Update", "LateInitialize"}},
		"create and update":                          {verbs: []string{"Create", "Update"}, ceiling: all, want: []string{"Observe", "Create", "Update", "LateInitialize"}},
		"a ceiling without late initialization":      {verbs: []string{"Update"}, ceiling: []string{"Observe", "Create", "Update"}, want: []string{"Observe", "Update"}},
		"a ceiling that only observes":               {verbs: []string{"Create", "Update"}, ceiling: []string{"Observe"}, want: []string{"Observe"}},
		"a ceiling that pauses":                      {verbs: []string{"Update"}, ceiling: []string{}, want: []string{"Observe"}},
		"a ceiling without the verb":                 {verbs: []string{"Update"}, ceiling: []string{"Observe", "Create", "LateInitialize"}, want: []string{"Observe", "LateInitialize"}},
		"closed before late initialization alone":    {runtime: "v1.19.2", ceiling: all, want: []string{"Observe"}},
		"update before late initialization with it":  {runtime: "v1.19.2", verbs: []string{"Update"}, ceiling: all, want: []string{"Observe", "Update"}},
		"update before there was a set without more": {runtime: "v1.18.0", verbs: []string{"Update"}, ceiling: all, want: []string{"Observe"}, unsupported: []string{"Update"}},
		"create and update, old":                     {runtime: "v1.14.0", verbs: []string{"Create", "Update"}, ceiling: all, want: []string{"Observe", "Create", "Update", "LateInitialize"}},
		"create, old":                                {runtime: "v1.14.0", verbs: []string{"Create"}, ceiling: all, want: []string{"Observe", "Create", "LateInitialize"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			set, unsupported := runtimeOf(t, tt.runtime).open(sets.New(tt.verbs...), limitOf(tt.ceiling))
			if diff := cmp.Diff(tt.want, listOf(set)); diff != "" {
				t.Errorf("set (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.unsupported, unsupported); diff != "" {
				t.Errorf("unsupported (-want +got):\n%s", diff)
			}
		})
	}
}

func TestDeletion(t *testing.T) {
	tests := map[string]struct {
		runtime string
		ceiling []string
		want    []string
	}{
		"delete":                  {ceiling: []string{"*"}, want: []string{"Observe", "Delete"}},
		"a ceiling without":       {ceiling: []string{"Observe", "Create", "Update", "LateInitialize"}, want: []string{"Observe", "LateInitialize"}},
		"nothing is created then": {runtime: "1.14", ceiling: []string{"*"}, want: []string{"Observe", "Create", "Delete"}},
		"not so old":              {runtime: "1.15", ceiling: []string{"*"}, want: []string{"Observe", "Delete"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			set, _ := runtimeOf(t, tt.runtime).deletion(limitOf(tt.ceiling))
			if diff := cmp.Diff(tt.want, listOf(set)); diff != "" {
				t.Errorf("set (-want +got):\n%s", diff)
			}
		})
	}
}

func TestParseRuntime(t *testing.T) {
	if _, err := ParseRuntime("newest"); err == nil {
		t.Error("what is no version was taken for one")
	}
}

// olderSets are the sets that versions of crossplane-runtime accept, as their own
// sources list them, but for those of the version that this module is built with.
var olderSets = map[string][]sets.Set[xpv2.ManagementAction]{
	"v1.14.0": baseSets,
	"v1.15.0": with(baseSets, "Observe Delete"),
	"v1.16.0": with(baseSets, "Observe Delete"),
	"v1.19.0": with(with(baseSets, "Observe Delete"), "Observe Update"),
}

var baseSets = []sets.Set[xpv2.ManagementAction]{
	sets.New[xpv2.ManagementAction]("*"),
	sets.New[xpv2.ManagementAction]("Observe", "Create", "Update", "LateInitialize", "Delete"),
	sets.New[xpv2.ManagementAction]("Observe"),
	sets.New[xpv2.ManagementAction](),
	sets.New[xpv2.ManagementAction]("Observe", "Create", "Update", "Delete"),
	sets.New[xpv2.ManagementAction]("Observe", "Create", "Update", "LateInitialize"),
	sets.New[xpv2.ManagementAction]("Observe", "Create", "Update"),
	sets.New[xpv2.ManagementAction]("Observe", "Create", "Delete", "LateInitialize"),
	sets.New[xpv2.ManagementAction]("Observe", "Create", "LateInitialize"),
	sets.New[xpv2.ManagementAction]("Observe", "Create", "Delete"),
	sets.New[xpv2.ManagementAction]("Observe", "Create"),
}

// resolver returns what a provider with a version of crossplane-runtime asks about its
// management policies.
func resolver(runtime string, policies []string) managed.ManagementPoliciesChecker {
	list := make(xpv2.ManagementPolicies, 0, len(policies))
	for _, p := range policies {
		list = append(list, xpv2.ManagementAction(p))
	}
	if older, ok := olderSets[runtime]; ok {
		return managed.NewManagementPoliciesResolver(true, list, managed.WithSupportedManagementPolicies(older))
	}
	return managed.NewManagementPoliciesResolver(true, list)
}

// TestAcceptance tries all sets with both: ours to know what a provider accepts, and
// the provider's own.
func TestAcceptance(t *testing.T) {
	for _, runtime := range []string{"", "v1.14.0", "v1.15.0", "v1.16.0", "v1.19.0", "v1.20.0", "v2.0.0"} {
		for bits := range 1 << len(actions) {
			set := sets.New[string]()
			for i, action := range actions {
				if bits&(1<<i) != 0 {
					set.Insert(action)
				}
			}
			if set.Len() == 0 {
				continue // it pauses, and is never written
			}
			want := resolver(runtime, listOf(set)).Validate() == nil
			if got := runtimeOf(t, runtime).accepts(set); got != want {
				t.Errorf("runtime %q accepts %v: %t, want %t", runtime, listOf(set), got, want)
			}
		}
	}
}

// TestSetsAreAccepted draws verbs and ceilings: whatever they are, the provider
// accepts the set, and does with it what the verbs and the ceiling let through, and
// nothing else.
func TestSetsAreAccepted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		runtime := rapid.SampledFrom([]string{"", "v1.14.0", "v1.15.0", "v1.16.0", "v1.19.0"}).Draw(t, "runtime")
		r := Runtime{}
		if runtime != "" {
			r, _ = ParseRuntime(runtime)
		}
		verbs := sets.New(rapid.SliceOfDistinct(rapid.SampledFrom([]string{"Create", "Update"}), rapid.ID).Draw(t, "verbs")...)
		ceiling := limitOf(rapid.SliceOfDistinct(rapid.SampledFrom(append([]string{"*"}, actions...)), rapid.ID).Draw(t, "ceiling"))

		set, unsupported := r.open(verbs, ceiling)
		does := resolver(runtime, listOf(set))
		if err := does.Validate(); err != nil {
			t.Fatal(err)
		}
		if does.IsPaused() || !set.Has(actionObserve) {
			t.Fatalf("%v does not even observe", listOf(set))
		}
		opens := verbs.Intersection(ceiling).Difference(sets.New(unsupported...))
		if does.ShouldCreate() != opens.Has(actionCreate) || does.ShouldUpdate() != opens.Has(actionUpdate) || does.ShouldDelete() {
			t.Fatalf("%v for verbs %v under %v", listOf(set), sets.List(verbs), sets.List(ceiling))
		}
		if does.ShouldLateInitialize() && !ceiling.Has(actionLateInitialize) {
			t.Fatalf("%v initializes late, which the ceiling %v does not let through", listOf(set), sets.List(ceiling))
		}

		set, unsupported = r.deletion(ceiling)
		does = resolver(runtime, listOf(set))
		if err := does.Validate(); err != nil {
			t.Fatal(err)
		}
		if does.ShouldDelete() != ceiling.Has(actionDelete) || does.ShouldUpdate() || len(unsupported) > 0 {
			t.Fatalf("%v to delete under %v", listOf(set), sets.List(ceiling))
		}
	})
}

// with returns the sets and one more, whose actions are separated by a space.
func with(all []sets.Set[xpv2.ManagementAction], last string) []sets.Set[xpv2.ManagementAction] {
	set := sets.New[xpv2.ManagementAction]()
	for _, action := range actions {
		if last == "Observe "+action {
			set.Insert(actionObserve, xpv2.ManagementAction(action))
		}
	}
	return append(append([]sets.Set[xpv2.ManagementAction]{}, all...), set)
}
