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

package why

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/yaml"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/cli/cluster"
	"kausality.io/operator/internal/cli/clustertest"
	"kausality.io/operator/internal/cli/text"
	"kausality.io/operator/internal/policy"
)

// teams are policies for Deployments of which not all are for each.
const teams = `
metadata: {name: deployment}
spec:
  for: {apiGroup: apps, apiVersion: v1, kind: Deployment}
  subjects: [{kind: Group, name: platform-team, mayInitiate: true}]
  rules:
  - trigger: spec
    policies: [{target: {apiGroup: apps, apiVersion: v1, resource: replicasets}, relation: ControllerChild, verbs: [Create]}]
---
metadata: {name: tagged}
spec:
  for: {apiGroup: apps, apiVersion: v1, kind: Deployment}
  objectSelector: {matchLabels: {tagged: "yes"}}
  subjects: [{kind: User, name: bob, mayInitiate: true}]
  rules:
  - trigger: spec
    policies: [{target: {apiGroup: apps, apiVersion: v1, resource: replicasets}, relation: ControllerChild, verbs: [Create]}]
---
metadata: {name: shops}
spec:
  for: {apiGroup: apps, apiVersion: v1, kind: Deployment}
  namespaceSelector: {matchLabels: {shops: "yes"}}
  subjects: [{kind: User, name: bea, mayInitiate: true}]
  rules:
  - trigger: spec
    policies: [{target: {apiGroup: apps, apiVersion: v1, resource: replicasets}, relation: ControllerChild, verbs: [Create]}]
---
metadata: {name: labels}
spec:
  for: {apiGroup: apps, apiVersion: v1, kind: Deployment}
  subjects: [{kind: User, name: carol, mayInitiate: true}]
  rules:
  - trigger: metadata.labels
    policies: [{target: {apiGroup: apps, apiVersion: v1, resource: replicasets}, relation: ControllerChild, verbs: [Create]}]
`

func compiled(t *testing.T, documents string) cluster.Policies {
	t.Helper()
	var all []*policy.Policy
	for document := range strings.SplitSeq(documents, "---\n") {
		p := &v1alpha1.AllowancePolicy{}
		if err := yaml.UnmarshalStrict([]byte(document), p); err != nil {
			t.Fatal(err)
		}
		one, errs := policy.Compile(p, func(gvr schema.GroupVersionResource) (schema.GroupVersionKind, bool) {
			if gvr.Resource == "deployments" {
				return gvr.GroupVersion().WithKind("Deployment"), true
			}
			return gvr.GroupVersion().WithKind("ReplicaSet"), true
		})
		if len(errs) > 0 {
			t.Fatal(errs.ToAggregate())
		}
		all = append(all, one)
	}
	return cluster.Policies{Index: policy.NewIndex(all)}
}

func standing(labels, ofNamespace map[string]string) live {
	obj := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"replicas": int64(20)}}}
	obj.SetGroupVersionKind(schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"})
	obj.SetNamespace("shop")
	obj.SetName("web")
	obj.SetLabels(labels)
	return live{obj: obj, chain: []policy.Holder{{
		Kind: schema.GroupKind{Group: "apps", Kind: "Deployment"}, Labels: labels, NamespaceLabels: ofNamespace,
	}}}
}

// TestWhoOfAnObject names those who may by the policies that are in effect for the object as it is.
func TestWhoOfAnObject(t *testing.T) {
	yes := map[string]string{"tagged": "yes", "shops": "yes"}
	deployment := recordOf("web", v1alpha1.AllowanceRecordStatus{
		Active: []v1alpha1.Allowance{{Relation: v1alpha1.RelationWithheld, Mutation: "spec.replicas", Initiator: "mallory"}},
		Strays: []v1alpha1.StrayChild{{APIVersion: "apps/v1", Kind: "ReplicaSet", Namespace: "shop", Name: "mine"}},
		History: []v1alpha1.HistoryEntry{
			{Time: before(time.Minute), Event: v1alpha1.EventRefused, Operation: "Update", User: "bea", Policies: []string{"deployment"}, Paths: []string{"spec.replicas"}},
			denialOf(time.Minute, "Delete", "old", "delete"),
		},
	})
	ended := *deployment.DeepCopy()
	ended.Status.EndedAt = new(before(0))
	const team = "Group platform-team"
	type said struct{ Withheld, Refused, Strays []string }
	for name, tc := range map[string]struct {
		rec  v1alpha1.AllowanceRecord
		live live
		want said
	}{
		"not those of policies that do not select it": {
			rec: deployment, live: standing(nil, map[string]string{}), want: said{[]string{team}, []string{team}, []string{team, "User carol"}},
		},
		"those of a policy that selects it": {
			rec: deployment, live: standing(yes, map[string]string{}),
			want: said{[]string{team, "User bob"}, []string{team, "User bob"}, []string{team, "User bob", "User carol"}},
		},
		"those of a policy that selects its namespace": {
			rec: deployment, live: standing(nil, yes),
			want: said{[]string{team, "User bea"}, []string{team, "User bea"}, []string{team, "User bea", "User carol"}},
		},
		"those of all policies, where it cannot be read": {
			rec: deployment,
			want: said{
				[]string{team, "User bea", "User bob"}, []string{team, "User bea", "User bob"}, []string{team, "User bea", "User bob", "User carol"},
			},
		},
		"nobody, where it is gone":            {rec: deployment, live: live{gone: true}},
		"nobody, where its record has an end": {rec: ended, live: standing(nil, map[string]string{})},
	} {
		t.Run(name, func(t *testing.T) {
			report := collect([]v1alpha1.AllowanceRecord{tc.rec}, scene{
				Policies: compiled(t, teams), look: func(v1alpha1.TargetReference) live { return tc.live },
			}, nil)
			var got said
			for _, w := range report.Withheld {
				got.Withheld = w.Initiators
			}
			for _, r := range report.Refusals {
				if r.Event == v1alpha1.EventRefused {
					got.Refused = r.Initiators
				} else if r.Strays != nil {
					got.Strays = r.Strays.Initiators
				}
			}
			if diff := gocmp.Diff(tc.want, got); diff != "" {
				t.Errorf("who may (-want +got):\n%s", diff)
			}
		})
	}
}

// TestWhyOfConditionsAndOfWhatIsGone says which condition is in the way of an approval, and gives no advice about what
// is gone.
func TestWhyOfConditionsAndOfWhatIsGone(t *testing.T) {
	held := recordOf("web", v1alpha1.AllowanceRecordStatus{
		Active: []v1alpha1.Allowance{{Relation: v1alpha1.RelationWithheld, Mutation: "spec.replicas", Initiator: "alice"}},
	})
	refused := recordOf("web", v1alpha1.AllowanceRecordStatus{History: []v1alpha1.HistoryEntry{{
		Time: before(time.Minute), Event: v1alpha1.EventRefused, Operation: "Update", User: "alice", Policies: []string{"deployment"}, Paths: []string{"spec.replicas"},
	}}})
	denied := recordOf("web", v1alpha1.AllowanceRecordStatus{
		Blocked: &v1alpha1.Blocked{Since: before(time.Minute)},
		History: []v1alpha1.HistoryEntry{denialOf(time.Minute, "Create", "web-1", "create")},
	})
	few := standing(nil, map[string]string{})
	few.obj.Object["spec"] = map[string]any{"replicas": int64(2)}
	const withheld = `Withheld  Deployment/web
  changed    spec.replicas
  by         alice
  effect     the change stands; nothing follows from it until it is approved, changed again or taken
             back
`
	for name, tc := range map[string]struct {
		rec  v1alpha1.AllowanceRecord
		live live
		want string
	}{
		"a change that does not meet a condition": {
			rec: held, live: standing(nil, map[string]string{}),
			want: withheld + `  not met    object.spec.replicas < 10 (AllowancePolicy deployment): nobody can approve it before
             that holds of Deployment/web. Change it so that it does, and approve then
  approval   by Group platform-team
  command    kubectl kausality approve -n shop deployment/web --path 'spec.replicas'
`,
		},
		"one that meets it": {
			rec: held, live: few,
			want: withheld + `  approval   by Group platform-team
  command    kubectl kausality approve -n shop deployment/web --path 'spec.replicas'
`,
		},
		"what was refused has to meet it": {
			rec: refused, live: few,
			want: `Refused 60s ago  update of Deployment/web
  asked by     alice
  of           spec.replicas
  refused by   AllowancePolicy deployment
  allowed to   Group platform-team, if object.spec.replicas < 10 (AllowancePolicy deployment)
`,
		},
		"what was refused of something that is gone": {
			rec: refused, live: live{gone: true},
			want: `Refused 60s ago  update of Deployment/web
  asked by     alice
  of           spec.replicas
  refused by   AllowancePolicy deployment
  now          Deployment/web is gone
`,
		},
		"what was denied of a child of something that is gone": {
			rec: denied, live: live{gone: true},
			want: `Refused 60s ago  create of ReplicaSet/web-1
  asked by      mallory
  not covered   create
  bounded by    Deployment/web, through AllowancePolicy deployment; it is gone since, and bounds
                nothing any more
`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			report := collect([]v1alpha1.AllowanceRecord{tc.rec}, scene{
				Policies: policies(t), look: func(v1alpha1.TargetReference) live { return tc.live },
			}, nil)
			if diff := gocmp.Diff(tc.want, render(report, text.Terminal{Width: text.DefaultWidth}, false, now)); diff != "" {
				t.Errorf("why (-want +got):\n%s", diff)
			}
		})
	}
}

// TestLooking reads an object that a record is about, which may be another of its name by now.
func TestLooking(t *testing.T) {
	web := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "1"}}
	c := &cluster.Cluster{Client: fake.NewClientBuilder().WithScheme(clustertest.Scheme(t, appsv1.AddToScheme, corev1.AddToScheme)).WithObjects(
		web, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop", Labels: map[string]string{"shops": "yes"}}},
	).WithInterceptorFuncs(interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
			if key.Name == "hidden" {
				return apierrors.NewForbidden(schema.GroupResource{Resource: "deployments"}, key.Name, errors.New("no"))
			}
			return c.Get(ctx, key, obj, opts...)
		},
	}).Build()}
	look := looking(t.Context(), c, compiled(t, teams), &seen{})
	for name, tc := range map[string]struct {
		name         string
		uid          types.UID
		exists, gone bool
	}{
		"as it is":                 {name: "web", uid: "1", exists: true},
		"another one of its name":  {name: "web", uid: "2", gone: true},
		"nothing of its name":      {name: "nope", uid: "1", gone: true},
		"one that may not be read": {name: "hidden", uid: "1"},
	} {
		t.Run(name, func(t *testing.T) {
			ref := recordOf(tc.name, v1alpha1.AllowanceRecordStatus{}).Spec.TargetRef
			ref.UID = tc.uid
			got := look(ref)
			if exists := got.obj != nil; exists != tc.exists || got.gone != tc.gone {
				t.Errorf("exists: %t, gone: %t", exists, got.gone)
			}
			if got.obj != nil && (len(got.chain) != 1 || got.chain[0].NamespaceLabels["shops"] != "yes") {
				t.Errorf("its chain is %v", got.chain)
			}
		})
	}
}
