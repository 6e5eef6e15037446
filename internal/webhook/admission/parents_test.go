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

package admission

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"kausality.io/operator/api/v1alpha1"
)

// TestTwoParents shows that each parent that policies are about bounds an object, but for
// one that is none for it.
func TestTwoParents(t *testing.T) {
	other := func(allowances ...v1alpha1.Allowance) *unstructured.Unstructured {
		obj := deployment(5, allowances...)
		obj.SetName("other")
		obj.SetUID("uid-other")
		return obj
	}
	child := func(replicas int64) *unstructured.Unstructured {
		obj := replicaSet(replicas)
		obj.SetOwnerReferences(append(obj.GetOwnerReferences(), metav1.OwnerReference{
			APIVersion: "apps/v1", Kind: "Deployment", Name: "other", UID: "uid-other",
		}))
		return obj
	}
	alone := func(replicas int64) *unstructured.Unstructured { return replicaSet(replicas) }
	may := mayScale("alice", 5)
	for name, tc := range map[string]struct {
		user          string
		before, after *unstructured.Unstructured
		first, second *unstructured.Unstructured
		ignored       string
		denied        string
		observed      []string
	}{
		"that both allow it": {
			user: deployer, before: child(3), after: child(5), first: deployment(5, may), second: other(may),
			observed: []string{"web", "other"},
		},
		"of which the second allows nothing": {
			user: deployer, before: child(3), after: child(5), first: deployment(5, may), second: other(),
			denied: "parent Deployment other", observed: []string{"other"},
		},
		"of which the first allows nothing": {
			user: deployer, before: child(3), after: child(5), first: deployment(5), second: other(may),
			denied: "parent Deployment web", observed: []string{"web"},
		},
		"of which the second is gone": {
			user: deployer, before: child(3), after: child(5), first: deployment(5, may), observed: []string{"web"},
		},
		"of which the first is gone": {
			user: deployer, before: child(3), after: child(5), second: other(), denied: "parent Deployment other", observed: []string{"other"},
		},
		"of which the second is none": {
			user: deployer, before: child(3), after: child(5), first: deployment(5, may), second: other(), ignored: "uid-other",
			observed: []string{"web"},
		},
		"of which a stranger gives it the second": {
			user: "mallory", before: alone(5), after: child(5), first: deployment(5), second: other(),
			denied: "adding metadata.ownerReferences[1] of", observed: []string{"web"},
		},
		"of which the controller of the second, which takes only what is nobody's, gives it the second": {
			user: deployer, before: alone(5), after: child(5), first: deployment(5), second: other(),
			denied: "adding metadata.ownerReferences[1] of", observed: []string{"web"},
		},
		"of which a stranger takes the second away": {
			user: "mallory", before: child(5), after: alone(5), first: deployment(5), second: other(),
			denied: "parent Deployment other", observed: []string{"other"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := &world{cached: map[string]*unstructured.Unstructured{}, records: map[types.UID]*v1alpha1.AllowanceRecord{}}
			for name, obj := range map[string]*unstructured.Unstructured{"web": tc.first, "other": tc.second} {
				if obj != nil {
					w.cached[key("Deployment", name)] = obj
				}
			}
			w.live = w.cached
			if tc.ignored != "" {
				w.ignored = map[types.UID][]string{tc.before.GetUID(): {tc.ignored}}
			}
			_, hook := w.hooks(t, deploymentPolicy, replicaSetPolicy)
			resp := hook.Handle(t.Context(), asking(t, tc.user, nil, tc.before, counted(tc.after)))
			if resp.Allowed != (tc.denied == "") || !resp.Allowed && !strings.Contains(resp.Result.Message, tc.denied) {
				t.Errorf("allowed = %v, want it denied for %q: %+v", resp.Allowed, tc.denied, resp.Result)
			}
			var got []string
			for _, o := range w.observed {
				if o.Decision != nil {
					got = append(got, o.Target.Name)
				}
			}
			if diff := cmp.Diff(tc.observed, got); diff != "" {
				t.Errorf("recorded for (-want +got):\n%s", diff)
			}
		})
	}
}

// TestReferencesOfChildren shows which references of a child that a parent bounds people may write, and which
// controllers.
func TestReferencesOfChildren(t *testing.T) {
	const first = "metadata.ownerReferences[0]"
	owner := replicaSet(3).GetOwnerReferences()[0]
	besides := func(change func(*metav1.OwnerReference)) []metav1.OwnerReference {
		second := *owner.DeepCopy()
		second.Controller = nil
		change(&second)
		return []metav1.OwnerReference{owner, second}
	}
	older := *owner.DeepCopy()
	older.APIVersion = "apps/v1beta1"
	free := func(o *metav1.OwnerReference) {
		o.APIVersion, o.Kind, o.Name, o.UID = "v1", "ConfigMap", "mine", "uid-mine"
	}
	for name, tc := range map[string]struct {
		user, denied  string
		before, after []metav1.OwnerReference
	}{
		"an owner that no policy is about":                       {user: "mallory", after: besides(free), denied: "adding metadata.ownerReferences[1] of"},
		"the same as a controller":                               {user: deployer, after: besides(free)},
		"one that is taken away":                                 {user: "mallory", before: besides(free), after: []metav1.OwnerReference{owner}},
		"the same owner under another name":                      {user: "mallory", after: besides(func(o *metav1.OwnerReference) { o.Name = "typo" }), denied: "adding metadata.ownerReferences[1] of"},
		"the same as its controller, which does not select it":   {user: deployer, after: besides(func(o *metav1.OwnerReference) { o.Name = "typo" })},
		"the same owner twice":                                   {user: "mallory", after: besides(func(*metav1.OwnerReference) {})},
		"an owner in a version that nobody serves":               {user: "mallory", after: []metav1.OwnerReference{older}, denied: first + ".apiVersion"},
		"one that a controller may serve before it is heard of":  {user: deployer, after: []metav1.OwnerReference{older}},
		"an owner that had a version that nobody serves anymore": {user: "mallory", before: []metav1.OwnerReference{older}, after: []metav1.OwnerReference{owner}},
	} {
		t.Run(name, func(t *testing.T) {
			_, hook := strayWorld().hooks(t, deploymentPolicy, replicaSetPolicy)
			before, after := replicaSet(3), replicaSet(3)
			if tc.before != nil {
				before.SetOwnerReferences(tc.before)
			}
			after.SetOwnerReferences(tc.after)
			resp := hook.Handle(t.Context(), asking(t, tc.user, nil, before, after))
			if resp.Allowed != (tc.denied == "") || !resp.Allowed && !strings.Contains(resp.Result.Message, tc.denied) {
				t.Errorf("allowed = %v, want it denied for %q: %+v", resp.Allowed, tc.denied, resp.Result)
			}
		})
	}
}

// TestOrderOfParents shows that nothing adopts an object by the order in which that names its parents, and that no
// person puts another one of them in front who may not change what it says of the first.
func TestOrderOfParents(t *testing.T) {
	owner := func(name string) metav1.OwnerReference {
		return metav1.OwnerReference{APIVersion: "apps/v1", Kind: "Deployment", Name: name, UID: types.UID("uid-" + name)}
	}
	controls := func(o metav1.OwnerReference) metav1.OwnerReference {
		o.Controller = new(true)
		return o
	}
	loose := metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: "loose", UID: "uid-loose"}
	web, other, third := owner("web"), owner("other"), owner("third")
	const sharer, behind = "system:serviceaccount:default:sharer", "changing metadata.ownerReferences[1] of"
	for name, tc := range map[string]struct {
		user          string
		groups        []string
		before, after []metav1.OwnerReference
		replicas      int64
		reason        string
		denied        string
	}{
		"another one first": {user: "mallory", before: []metav1.OwnerReference{web, other}, after: []metav1.OwnerReference{other, web}, denied: behind},
		"another one first, of three": {
			user: "mallory", before: []metav1.OwnerReference{web, other, third}, after: []metav1.OwnerReference{third, web, other}, denied: behind,
		},
		"those behind the first":           {user: "mallory", before: []metav1.OwnerReference{web, other, third}, after: []metav1.OwnerReference{web, third, other}, reason: "Unchanged"},
		"one that nobody governs first":    {user: "mallory", before: []metav1.OwnerReference{web, loose}, after: []metav1.OwnerReference{loose, web}, reason: "Unchanged"},
		"one that nobody governs last":     {user: "mallory", before: []metav1.OwnerReference{loose, web}, after: []metav1.OwnerReference{web, loose}, reason: "Unchanged"},
		"the first twice":                  {user: "mallory", before: []metav1.OwnerReference{web, other}, after: []metav1.OwnerReference{web, other, web}, reason: "Unchanged"},
		"another one first by who may":     {user: "alice", groups: platformTeam, before: []metav1.OwnerReference{web, other}, after: []metav1.OwnerReference{other, web}, reason: "Maintaining"},
		"another one first by its sharer":  {user: sharer, before: []metav1.OwnerReference{web, other}, after: []metav1.OwnerReference{other, web}, reason: "Unchanged"},
		"another one first by controllers": {user: deployer, before: []metav1.OwnerReference{web, other}, after: []metav1.OwnerReference{other, web}, reason: "Unchanged"},
		"another one that controls it": {
			user: "mallory", before: []metav1.OwnerReference{web, other}, after: []metav1.OwnerReference{web, controls(other)}, denied: "metadata.ownerReferences[0] of",
		},
		"another one that controls it instead": {
			user: "mallory", before: []metav1.OwnerReference{controls(web), other}, after: []metav1.OwnerReference{web, controls(other)},
			denied: "metadata.ownerReferences[0].controller",
		},
		"another one that controls it, by its controller": {
			user: deployer, before: []metav1.OwnerReference{web, other}, after: []metav1.OwnerReference{web, controls(other)}, denied: "metadata.ownerReferences[1].controller",
		},
		"the first goes":                    {user: "mallory", before: []metav1.OwnerReference{web, other}, after: []metav1.OwnerReference{other}, denied: "removing metadata.ownerReferences[0] of"},
		"the first goes, by a collector":    {user: "system:serviceaccount:kube-system:generic-garbage-collector", before: []metav1.OwnerReference{web, other}, after: []metav1.OwnerReference{other}, reason: "Platform"},
		"the first goes, by who may":        {user: "alice", groups: platformTeam, before: []metav1.OwnerReference{web, other}, after: []metav1.OwnerReference{other}, reason: "Released"},
		"a new one comes along with that":   {user: deployer, before: []metav1.OwnerReference{web, other}, after: []metav1.OwnerReference{other, web, third}, denied: "adding metadata.ownerReferences[2]"},
		"a new one comes first, then those": {user: "mallory", before: []metav1.OwnerReference{web, other}, after: []metav1.OwnerReference{third, other, web}, denied: "metadata.ownerReferences[0]"},
		"what both allow, along with that": {
			user: deployer, before: []metav1.OwnerReference{web, other}, after: []metav1.OwnerReference{other, web}, replicas: 5, reason: "Covered",
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := &world{cached: map[string]*unstructured.Unstructured{}, records: map[types.UID]*v1alpha1.AllowanceRecord{}}
			for _, name := range []string{"web", "other", "third"} {
				parent := deployment(5, mayScale("alice", 5))
				parent.SetName(name)
				parent.SetUID(types.UID("uid-" + name))
				w.cached[key("Deployment", name)] = parent
			}
			w.live = w.cached
			before, after := replicaSet(3), replicaSet(max(tc.replicas, 3))
			before.SetOwnerReferences(tc.before)
			after.SetOwnerReferences(tc.after)
			_, hook := w.hooks(t, deploymentPolicy, replicaSetPolicy)
			resp := hook.Handle(t.Context(), asking(t, tc.user, tc.groups, before, after))
			if resp.Allowed != (tc.denied == "") || !resp.Allowed && !strings.Contains(resp.Result.Message, tc.denied) {
				t.Fatalf("allowed = %v, want it denied for %q: %+v", resp.Allowed, tc.denied, resp.Result)
			}
			if got := resp.AuditAnnotations[auditReason]; resp.Allowed && got != tc.reason {
				t.Errorf("allowed for the reason %q, want %q", got, tc.reason)
			}
			for uid, rec := range w.records {
				if len(rec.Status.Strays) > 0 {
					t.Errorf("a stray of %s", uid)
				}
			}
		})
	}
}

// TestJoiningParent shows who gives a child of a Deployment a parent besides.
func TestJoiningParent(t *testing.T) {
	const namer = "system:serviceaccount:shop:app-controller"
	appPolicy := func(knowledge string) string {
		return `
metadata: {name: app}
spec:
  for: {apiGroup: example.com, apiVersion: v1alpha1, kind: WebApp}
  validationActions: [Deny]
` + knowledge + `
  subjects:
  - {kind: User, name: mallory, mayInitiate: true}
  - {kind: ServiceAccount, namespace: shop, name: app-controller}
  rules:
  - trigger: spec
    policies: [{target: {apiGroup: apps, apiVersion: v1, resource: replicasets}, relation: ControllerChild, verbs: ["*"]}]
`
	}
	const joining = "adding metadata.ownerReferences[1] of"
	for name, tc := range map[string]struct {
		user, knowledge, denied string
	}{
		"its controller": {user: namer},
		"its controller, which keeps what it selects":   {user: namer, knowledge: "  knowledge: {selector: Keeps}", denied: joining},
		"its controller, which adopts what it selects":  {user: namer, knowledge: "  knowledge: {selector: Adopts}"},
		"the controller of another kind":                {user: deployer, denied: joining},
		"somebody who may initiate on that parent only": {user: "mallory", denied: joining},
	} {
		t.Run(name, func(t *testing.T) {
			app := webApp("own")
			app.SetNamespace("default")
			w := strayWorld()
			w.cached[key("WebApp", "own")] = app
			_, hook := w.hooks(t, deploymentPolicy, replicaSetPolicy, appPolicy(tc.knowledge))
			after := replicaSet(3)
			after.SetOwnerReferences(append(after.GetOwnerReferences(), metav1.OwnerReference{
				APIVersion: "example.com/v1alpha1", Kind: "WebApp", Name: "own", UID: app.GetUID(),
			}))
			resp := hook.Handle(t.Context(), asking(t, tc.user, nil, replicaSet(3), after))
			if resp.Allowed != (tc.denied == "") || !resp.Allowed && !strings.Contains(resp.Result.Message, tc.denied) {
				t.Errorf("allowed = %v, want it denied for %q: %+v", resp.Allowed, tc.denied, resp.Result)
			}
		})
	}
}
