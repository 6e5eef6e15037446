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
			denied: "parent Deployment other", observed: []string{"web", "other"},
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
