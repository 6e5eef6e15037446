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

package catalog

import (
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/access"
	"kausality.io/operator/internal/controller/controllertest"
	"kausality.io/operator/internal/discovery"
	"kausality.io/operator/internal/policy"
)

func adoptedAt(p *v1alpha1.AllowancePolicy, generation int64) v1alpha1.AllowancePolicy {
	out := *p.DeepCopy()
	out.Status.AdoptedGeneration = generation
	return out
}

// generations returns the policies of a list by name and generation.
func generations(policies []*policy.Policy) map[string]int64 {
	out := map[string]int64{}
	for _, p := range policies {
		out[p.Name] = p.Generation
	}
	return out
}

func TestCatalog(t *testing.T) {
	first := controllertest.Bounding(controllertest.Initiated(controllertest.PolicyFor("Deployment")), "apps", "replicasets")
	second := first.DeepCopy()
	second.Generation = 2
	recreated := second.DeepCopy()
	recreated.UID = "another"
	unserved := controllertest.PolicyFor("Widget")

	type step struct {
		policies []v1alpha1.AllowancePolicy
		adopted  bool // marked adopted afterwards
	}
	for name, tc := range map[string]struct {
		steps    []step
		active   map[string]int64
		usable   map[string]int64
		baseline map[string]int64
	}{
		"not adopted yet": {
			steps:  []step{{policies: []v1alpha1.AllowancePolicy{adoptedAt(first, 0)}}},
			usable: map[string]int64{"Deployment": 1},
		},
		"adopted": {
			steps:    []step{{policies: []v1alpha1.AllowancePolicy{adoptedAt(first, 1)}}},
			active:   map[string]int64{"Deployment": 1},
			usable:   map[string]int64{"Deployment": 1},
			baseline: map[string]int64{"Deployment": 1},
		},
		"adopted, and the watch does not know yet": {
			steps: []step{
				{policies: []v1alpha1.AllowancePolicy{adoptedAt(first, 0)}, adopted: true},
				{policies: []v1alpha1.AllowancePolicy{adoptedAt(first, 0)}},
			},
			active:   map[string]int64{"Deployment": 1},
			usable:   map[string]int64{"Deployment": 1},
			baseline: map[string]int64{"Deployment": 1},
		},
		"changed: active at once, compared with what was adopted": {
			steps: []step{
				{policies: []v1alpha1.AllowancePolicy{adoptedAt(first, 1)}},
				{policies: []v1alpha1.AllowancePolicy{adoptedAt(second, 1)}},
			},
			active:   map[string]int64{"Deployment": 2},
			usable:   map[string]int64{"Deployment": 2},
			baseline: map[string]int64{"Deployment": 1},
		},
		"changed while nobody looked": {
			steps:    []step{{policies: []v1alpha1.AllowancePolicy{adoptedAt(second, 1)}}},
			active:   map[string]int64{"Deployment": 2},
			usable:   map[string]int64{"Deployment": 2},
			baseline: map[string]int64{"Deployment": 2},
		},
		"recreated": {
			steps: []step{
				{policies: []v1alpha1.AllowancePolicy{adoptedAt(first, 1)}},
				{policies: []v1alpha1.AllowancePolicy{adoptedAt(recreated, 0)}},
			},
			usable: map[string]int64{"Deployment": 2},
		},
		"deleted": {
			steps: []step{{policies: []v1alpha1.AllowancePolicy{adoptedAt(first, 1)}}, {}},
		},
		"kind not served": {
			steps: []step{{policies: []v1alpha1.AllowancePolicy{adoptedAt(unserved, 1)}}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			active := &policy.Active{}
			catalog := New(active)
			for _, s := range tc.steps {
				catalog.compile(s.policies, controllertest.ServedKinds(), false)
				if s.adopted {
					entry, _ := catalog.Get(s.policies[0].Name)
					catalog.MarkAdopted(entry.Policy)
				}
			}
			for what, got := range map[string]struct {
				policies []*policy.Policy
				want     map[string]int64
			}{
				"active":   {active.Index().Policies(), tc.active},
				"usable":   {catalog.Usable(), tc.usable},
				"baseline": {catalog.Baseline(), tc.baseline},
			} {
				want := got.want
				if want == nil {
					want = map[string]int64{}
				}
				if diff := cmp.Diff(want, generations(got.policies)); diff != "" {
					t.Errorf("%s (-want +got):\n%s", what, diff)
				}
			}
		})
	}
}

func TestCatalogCompilesOnce(t *testing.T) {
	catalog := New(&policy.Active{})
	policies := []v1alpha1.AllowancePolicy{adoptedAt(controllertest.PolicyFor("Deployment"), 1)}
	compile := func(recompile bool) *policy.Policy {
		catalog.compile(policies, controllertest.ServedKinds(), recompile)
		entry, _ := catalog.Get("Deployment")
		if entry.Adopted != entry.Policy {
			t.Error("the adopted generation is not the one that was compiled last")
		}
		return entry.Policy
	}
	first := compile(false)
	if compile(false) != first {
		t.Error("compile() compiled a generation twice")
	}
	if compile(true) == first {
		t.Error("compile() did not compile again for other kinds")
	}
}

// TestViewIsOfOneMoment shows that a policy is the same in all of a view while it is compiled
// again and again: what it is not found in counts it out of its own objects.
func TestViewIsOfOneMoment(t *testing.T) {
	catalog := New(&policy.Active{})
	policies := []v1alpha1.AllowancePolicy{adoptedAt(controllertest.PolicyFor("Deployment"), 1)}
	catalog.compile(policies, controllertest.ServedKinds(), false)
	if _, ok := catalog.View("ReplicaSet"); ok {
		t.Error("View() of a policy that is not known")
	}
	const compiled = 1000
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range compiled {
			catalog.compile(policies, controllertest.ServedKinds(), true)
		}
	}()
	for seen := map[*policy.Policy]bool{}; ; {
		view, _ := catalog.View("Deployment")
		for name, index := range map[string]*policy.Index{"usable": view.Usable, "in effect": view.InEffect} {
			if !slices.Contains(index.Policies(), view.Policy) {
				t.Fatalf("after %d compilations the policy is not among those that are %s", len(seen), name)
			}
		}
		seen[view.Policy] = true
		select {
		case <-done:
			return
		default:
		}
	}
}

// onlyDeployments can be read.
type onlyDeployments struct{ HolderWatcher }

func (onlyDeployments) Watches(kind schema.GroupKind) bool { return kind.Kind == "Deployment" }

func (onlyDeployments) Failing(schema.GroupKind) bool { return true }

// unwatchableKinds can be made, and not listed.
type unwatchableKinds struct{ controllertest.Kinds }

func (k unwatchableKinds) ByKind(kind schema.GroupVersionKind) (discovery.Resource, bool) {
	resource, served := k.Kinds.ByKind(kind)
	resource.Unwatchable = kind.Kind == "ReplicaSet"
	return resource, served
}

func TestCatalogLeavesOutWhatCannotBeWatched(t *testing.T) {
	active := &policy.Active{}
	catalog := New(active)
	catalog.compile([]v1alpha1.AllowancePolicy{
		adoptedAt(controllertest.PolicyFor("Deployment"), 1), adoptedAt(controllertest.PolicyFor("ReplicaSet"), 1),
	}, unwatchableKinds{controllertest.ServedKinds()}, false)
	entry, _ := catalog.Get("ReplicaSet")
	if entry.Served || !entry.Unwatchable || entry.Active {
		t.Errorf("served %t, unwatchable %t, active %t", entry.Served, entry.Unwatchable, entry.Active)
	}
	for name, policies := range map[string][]*policy.Policy{"usable": catalog.Usable(), "active": active.Index().Policies()} {
		if len(policies) != 1 || policies[0].Name != "Deployment" {
			t.Errorf("%s policies: %v, want that for Deployments only", name, policies)
		}
	}
}

// TestViewFollows shows that what is kept between two views follows what becomes of the policies.
func TestViewFollows(t *testing.T) {
	catalog := New(&policy.Active{})
	catalog.reviewed = true
	first, second := adoptedAt(controllertest.PolicyFor("Deployment"), 0), adoptedAt(controllertest.PolicyFor("ReplicaSet"), 0)
	check := func(what string, usable, inEffect map[string]int64) {
		t.Helper()
		view, ok := catalog.View(first.Name)
		if !ok {
			t.Fatal("the policy is not known")
		}
		if diff := cmp.Diff([]map[string]int64{usable, inEffect}, []map[string]int64{generations(view.Usable.Policies()), generations(view.InEffect.Policies())}); diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
	}
	none := map[string]int64{}
	catalog.compile([]v1alpha1.AllowancePolicy{first, second}, controllertest.ServedKinds(), false)
	check("before the first review", none, none)
	entry, other := catalog.entries[first.Name], catalog.entries[second.Name]
	lacking := []access.Need{{Resource: "replicasets", Verb: "get"}}
	catalog.review(map[*policy.Policy][]access.Need{entry.Policy: nil, other.Policy: lacking})
	check("one of them lacks rights", map[string]int64{"Deployment": 1}, none)
	catalog.review(map[*policy.Policy][]access.Need{entry.Policy: nil, other.Policy: nil})
	both := map[string]int64{"Deployment": 1, "ReplicaSet": 1}
	check("both may be read", both, none)
	catalog.MarkAdopted(entry.Policy)
	check("one is adopted", both, map[string]int64{"Deployment": 1})
	first.Generation = 2
	catalog.compile([]v1alpha1.AllowancePolicy{first}, controllertest.ServedKinds(), false)
	check("it is changed, and the other one gone", map[string]int64{"Deployment": 2}, map[string]int64{"Deployment": 2})
}

func TestCatalogTellsOfChanges(t *testing.T) {
	catalog := New(&policy.Active{})
	changes := catalog.Changes()
	queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
	defer queue.ShutDown()
	if err := catalog.Source().Start(t.Context(), queue); err != nil {
		t.Fatal(err)
	}
	expect := func(what string, want ...string) {
		t.Helper()
		var got []string
		for queue.Len() > 0 {
			request, _ := queue.Get()
			queue.Done(request)
			got = append(got, request.Name)
		}
		slices.Sort(got)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: requests (-want +got):\n%s", what, diff)
		}
		told := false
		select {
		case <-changes:
			told = true
		default:
		}
		if told != (len(want) > 0) {
			t.Errorf("%s: an event on Changes(): %t", what, told)
		}
	}

	if catalog.Known() {
		t.Error("Known() before anything was compiled")
	}
	both := []v1alpha1.AllowancePolicy{adoptedAt(controllertest.PolicyFor("Deployment"), 0), adoptedAt(controllertest.PolicyFor("ReplicaSet"), 0)}
	catalog.compile(both, controllertest.ServedKinds(), false)
	expect("two policies", "Deployment", "ReplicaSet")
	catalog.compile(both, controllertest.ServedKinds(), false)
	expect("nothing new")
	catalog.compile(both, controllertest.ServedKinds(), true)
	expect("other kinds are served", "Deployment", "ReplicaSet")
	catalog.watched(onlyDeployments{})
	expect("a kind is cached", "Deployment", "ReplicaSet")
	if !catalog.Watches(schema.GroupKind{Group: "apps", Kind: "Deployment"}) || catalog.Watches(schema.GroupKind{Group: "apps", Kind: "ReplicaSet"}) {
		t.Error("Watches() does not know what is cached")
	}
	if catalog.Fails(schema.GroupKind{Group: "apps", Kind: "Deployment"}) || !catalog.Fails(schema.GroupKind{Group: "apps", Kind: "ReplicaSet"}) {
		t.Error("Fails() does not know what cannot be read")
	}
	catalog.compile(both[:1], controllertest.ServedKinds(), false)
	expect("one is gone", "Deployment")
	catalog.compile(both[:1], &updatedKinds{Kinds: controllertest.ServedKinds(), err: errors.New("the API server is away")}, false)
	expect("something cannot be asked about", "Deployment")
	if catalog.Known() {
		t.Error("Known() although something cannot be asked about")
	}
	catalog.compile(both[:1], controllertest.ServedKinds(), false)
	expect("it can be", "Deployment")
	if !catalog.Known() {
		t.Error("Known() does not follow the kinds")
	}
}

// twoVersions serve Deployments in another version, too.
func twoVersions() controllertest.Kinds {
	kinds := controllertest.ServedKinds()
	kinds[schema.GroupVersionKind{Group: "apps", Version: "v2", Kind: "Deployment"}] = "deployments"
	return kinds
}

func TestCatalogOfTwoVersions(t *testing.T) {
	named := func(name, version string, generation int64) *v1alpha1.AllowancePolicy {
		p := controllertest.Bounding(controllertest.Initiated(controllertest.PolicyFor("Deployment")), "apps", "replicasets")
		p.Name, p.UID, p.Generation, p.Spec.For.APIVersion = name, types.UID(name), generation, version
		return p
	}
	for name, tc := range map[string]struct {
		// steps are the policies that there are, one after the other.
		steps [][]v1alpha1.AllowancePolicy
		want  map[string]int64
	}{
		"a new one names another version": {
			steps: [][]v1alpha1.AllowancePolicy{{adoptedAt(named("z", "v1", 1), 1), adoptedAt(named("a", "v2", 1), 0)}},
			want:  map[string]int64{"z": 1},
		},
		"the older one is changed": {
			steps: [][]v1alpha1.AllowancePolicy{
				{adoptedAt(named("a", "v1", 1), 1), adoptedAt(named("z", "v1", 1), 1)},
				{adoptedAt(named("a", "v2", 2), 1), adoptedAt(named("z", "v1", 1), 1)},
			},
			want: map[string]int64{"z": 1},
		},
		"both are changed": {
			steps: [][]v1alpha1.AllowancePolicy{
				{adoptedAt(named("a", "v1", 1), 1), adoptedAt(named("z", "v1", 1), 1)},
				{adoptedAt(named("a", "v2", 2), 1), adoptedAt(named("z", "v1", 1), 1)},
				{adoptedAt(named("a", "v2", 2), 1), adoptedAt(named("z", "v2", 2), 1)},
			},
			want: map[string]int64{"a": 2, "z": 2},
		},
		"the only one is changed": {
			steps: [][]v1alpha1.AllowancePolicy{{adoptedAt(named("a", "v1", 1), 1)}, {adoptedAt(named("a", "v2", 2), 1)}},
			want:  map[string]int64{"a": 2},
		},
		"the one that stood is deleted": {
			steps: [][]v1alpha1.AllowancePolicy{
				{adoptedAt(named("a", "v1", 1), 1), adoptedAt(named("z", "v2", 2), 1)},
				{adoptedAt(named("z", "v2", 2), 1)},
			},
			want: map[string]int64{"z": 2},
		},
	} {
		t.Run(name, func(t *testing.T) {
			active := &policy.Active{}
			catalog := New(active)
			for _, policies := range tc.steps {
				catalog.compile(policies, twoVersions(), false)
			}
			for what, got := range map[string][]*policy.Policy{"active": active.Index().Policies(), "usable": catalog.Usable()} {
				if diff := cmp.Diff(tc.want, generations(got)); diff != "" {
					t.Errorf("%s (-want +got):\n%s", what, diff)
				}
			}
		})
	}
}
