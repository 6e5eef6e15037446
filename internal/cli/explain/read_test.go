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

package explain

import (
	"context"
	"errors"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/cli/cluster"
	"kausality.io/operator/internal/cli/clustertest"
	"kausality.io/operator/internal/cli/text"
	"kausality.io/operator/internal/record"
)

// TestReadOfAClaim reads what there is of a claim whose composite resource, which is in no namespace, is
// blocked: its record is in the operator's namespace. What may not be read is said.
func TestReadOfAClaim(t *testing.T) {
	claim := clustertest.MakeClaim(map[string]string{
		"kausality.io/allowances": `[{"relation":"Withheld","mutation":"spec.size","initiator":"mallory"},` +
			`{"apiGroup":"example.org","kind":"Composite","relation":"ControllerChild","mutation":"spec.zone","initiator":"alice"}]`,
		"kausality.io/Blocked": "Update of Composite x1 was denied: something is withheld.",
	})
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}
	const shown = `Claim/c1 in namespace shop, Steady

POLICIES FOR IT
  You may not read them: what follows is what the object itself says.

WHAT ITS LEDGER HAS
  KIND        ALLOWS                          BECAUSE
  Composite   change spec.zone of Composite   alice

WHY NOT MORE
  Withheld   the change of spec.size by mallory: it stands, but nothing follows from it, and no
             allowance counts meanwhile
             kubectl kausality approve -n shop claim.example.org/c1 --path 'spec.size'
  Blocked    Update of Composite x1 was denied: something is withheld.
             kubectl kausality why -n shop claim.example.org/c1
`
	composite := &v1alpha1.AllowanceRecord{
		ObjectMeta: metav1.ObjectMeta{Namespace: "kausality-system", Name: "x1"},
		Spec:       v1alpha1.AllowanceRecordSpec{TargetRef: v1alpha1.TargetReference{Group: clustertest.Claims.Group, Version: clustertest.Claims.Version, Kind: "Composite", Name: "x1", UID: "x1"}},
		Status:     v1alpha1.AllowanceRecordStatus{ParentUID: new(types.UID("c1")), Blocked: &v1alpha1.Blocked{Since: metav1.NewTime(now), Message: "Update of Claim c1 was denied."}},
	}
	for name, tc := range map[string]struct {
		// may reports whether a list in a namespace is allowed.
		may   func(list client.ObjectList, namespace string) bool
		below []Obstacle
		// notes has what each note contains.
		notes []string
		// page is what is shown above these, empty where that does not matter.
		page string
	}{
		"all may be read": {
			may: func(client.ObjectList, string) bool { return true },
			below: []Obstacle{{
				What: blockedBelowIt, Since: new(metav1.NewTime(now)), Message: "Composite/x1: Update of Claim c1 was denied.",
				Command: "kubectl kausality why composite.example.org/x1",
			}},
		},
		"only the namespace may be read": {
			may: func(list client.ObjectList, namespace string) bool {
				return !clustertest.IsRecords(list) || namespace != ""
			},
			notes: []string{"What is blocked below it, and is cluster-scoped or in another namespace, cannot be told: "},
		},
		"neither policies nor records may be read": {
			may: func(list client.ObjectList, _ string) bool {
				return !clustertest.IsPolicies(list) && !clustertest.IsRecords(list)
			},
			page: shown,
			notes: []string{
				"Which policies are for it, and what they allow to whom, cannot be told: ",
				"Pending grants, what is consumed, and what is blocked but not shown by the object, cannot be told: ",
				"What is blocked below it cannot be told: ",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := clustertest.WithClaims(t, tc.may, namespace, claim, composite)
			seen, err := read(t.Context(), c, cluster.Target{GVK: clustertest.Claims, Namespace: "shop", Name: "c1"})
			if err != nil {
				t.Fatal(err)
			}
			if diff := gocmp.Diff(tc.below, blockedBelow(seen.below)); diff != "" {
				t.Errorf("what is blocked below it (-want +got):\n%s", diff)
			}
			if tc.page != "" {
				report := build(seen)
				report.Notes = nil
				if diff := gocmp.Diff(tc.page, render(report, text.Terminal{Width: text.DefaultWidth}, now)); diff != "" {
					t.Errorf("explain (-want +got):\n%s", diff)
				}
			}
			if len(seen.notes) != len(tc.notes) {
				t.Fatalf("notes %q, want %q", seen.notes, tc.notes)
			}
			for i, want := range tc.notes {
				if !strings.Contains(seen.notes[i], want) {
					t.Errorf("a note says %q, want %q", seen.notes[i], want)
				}
			}
		})
	}
}

// TestReadOfAHiddenParent reads what there is of an object whose parent may not be read.
func TestReadOfAHiddenParent(t *testing.T) {
	scheme := clustertest.Scheme(t, corev1.AddToScheme, appsv1.AddToScheme)
	rs := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "rs", OwnerReferences: []metav1.OwnerReference{{
		APIVersion: "apps/v1", Kind: "Deployment", Name: "web", UID: "web", Controller: new(true),
	}}}}
	mapper := apimeta.NewDefaultRESTMapper([]schema.GroupVersion{appsv1.SchemeGroupVersion})
	mapper.Add(appsv1.SchemeGroupVersion.WithKind("Deployment"), apimeta.RESTScopeNamespace)
	c := cluster.New(fake.NewClientBuilder().WithScheme(scheme).WithRESTMapper(mapper).WithObjects(rs).WithInterceptorFuncs(interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
			if obj.GetObjectKind().GroupVersionKind().Kind == "Deployment" {
				return apierrors.NewForbidden(schema.GroupResource{Group: "apps", Resource: "deployments"}, key.Name, errors.New("no"))
			}
			return c.Get(ctx, key, obj, opts...)
		},
	}).Build(), "shop", nil)
	seen, err := read(t.Context(), c, cluster.Target{GVK: appsv1.SchemeGroupVersion.WithKind("ReplicaSet"), Namespace: "shop", Name: "rs"})
	if err != nil {
		t.Fatal(err)
	}
	page := render(build(seen), text.Terminal{Width: text.DefaultWidth}, now)
	if !strings.Contains(page, "You may not read its parent.") || !strings.Contains(page, "What holds for it as a child of Deployment/web cannot be told: ") {
		t.Errorf("it does not say what it could not read:\n%s", page)
	}
}

// ownedBy returns a ReplicaSet, and what it calls its owner, which has the UID of Deployment web.
func ownedBy(apiVersion, kind, name string) *appsv1.ReplicaSet {
	return &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "rs", UID: "rs", OwnerReferences: []metav1.OwnerReference{{
		APIVersion: apiVersion, Kind: kind, Name: name, UID: "web", Controller: new(true),
	}}}}
}

// bounding returns a policy by which objects of a kind bound what they own of another one.
func bounding(kind, children string) *v1alpha1.AllowancePolicy {
	return &v1alpha1.AllowancePolicy{
		ObjectMeta: metav1.ObjectMeta{Name: strings.ToLower(kind)},
		Spec: v1alpha1.AllowancePolicySpec{
			For:      v1alpha1.ParentKind{APIGroup: "apps", APIVersion: "v1", Kind: kind},
			Subjects: []v1alpha1.PolicySubject{{Subject: v1alpha1.Subject{Kind: v1alpha1.SubjectGroup, Name: "platform-team"}, MayInitiate: true}},
			Rules: []v1alpha1.Rule{{Trigger: "spec", Policies: []v1alpha1.PolicyEntry{{
				Target:   v1alpha1.Target{APIGroup: new("apps"), APIVersion: "v1", Resource: children},
				Relation: v1alpha1.RelationControllerChild, Mutations: []v1alpha1.FieldMutation{{JSONPath: "spec"}},
			}}}},
		},
		Status: v1alpha1.AllowancePolicyStatus{AdoptedGeneration: 1},
	}
}

// workloads is a cluster that serves Deployments and ReplicaSets, and refuses the lists that may does not allow.
func workloads(t *testing.T, may func(list client.ObjectList, namespace string) bool, objects ...client.Object) *cluster.Cluster {
	t.Helper()
	mapper := apimeta.NewDefaultRESTMapper([]schema.GroupVersion{appsv1.SchemeGroupVersion, corev1.SchemeGroupVersion})
	for _, kind := range []string{"Deployment", "ReplicaSet"} {
		mapper.Add(appsv1.SchemeGroupVersion.WithKind(kind), apimeta.RESTScopeNamespace)
	}
	mapper.Add(corev1.SchemeGroupVersion.WithKind("Namespace"), apimeta.RESTScopeRoot)
	unserved := interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
			if kind := obj.GetObjectKind().GroupVersionKind(); !kind.Empty() {
				if _, err := mapper.RESTMapping(kind.GroupKind(), kind.Version); err != nil {
					return err
				}
			}
			return c.Get(ctx, key, obj, opts...)
		},
		List: clustertest.Listing(may).List,
	}
	of := func(field func(v1alpha1.TargetReference) string) client.IndexerFunc {
		return func(o client.Object) []string { return []string{field(o.(*v1alpha1.AllowanceRecord).Spec.TargetRef)} } //nolint:errcheck,forcetypeassert // they are those of records
	}
	return cluster.New(fake.NewClientBuilder().WithScheme(clustertest.Scheme(t, corev1.AddToScheme, appsv1.AddToScheme)).WithRESTMapper(mapper).
		WithObjects(objects...).WithStatusSubresource().WithInterceptorFuncs(unserved).
		WithIndex(&v1alpha1.AllowanceRecord{}, "spec.targetRef.kind", of(func(ref v1alpha1.TargetReference) string { return ref.Kind })).
		WithIndex(&v1alpha1.AllowanceRecord{}, "spec.targetRef.name", of(func(ref v1alpha1.TargetReference) string { return ref.Name })).
		Build(), "shop", clustertest.Serving(appsv1.SchemeGroupVersion))
}

// TestReadOfARenamedParent reads what there is of an object that calls its owner otherwise than it is called: an owner
// is who has the UID.
func TestReadOfARenamedParent(t *testing.T) {
	web := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "web"}}
	rec := &v1alpha1.AllowanceRecord{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "deployment-web", Labels: map[string]string{record.LabelTargetUID: "web"}},
		Spec: v1alpha1.AllowanceRecordSpec{TargetRef: v1alpha1.TargetReference{
			Group: "apps", Version: "v1", Kind: "Deployment", Namespace: "shop", Name: "web", UID: "web",
		}},
	}
	all := func(client.ObjectList, string) bool { return true }
	onlyHere := func(list client.ObjectList, namespace string) bool {
		return clustertest.IsPolicies(list) || clustertest.IsRecords(list) && namespace != ""
	}
	const bounds, unbound = "Its parent is Deployment/web, Steady", "does not exist: nothing bounds it."
	for name, tc := range map[string]struct {
		rs   *appsv1.ReplicaSet
		more []client.Object
		may  func(client.ObjectList, string) bool
		want []string
	}{
		"as it is called":                     {ownedBy("apps/v1", "Deployment", "web"), []client.Object{web}, all, []string{bounds}},
		"by a version that is not served":     {ownedBy("apps/v9", "Deployment", "web"), []client.Object{web}, all, []string{bounds}},
		"by another name":                     {ownedBy("apps/v1", "Deployment", "zzz"), []client.Object{web}, all, []string{bounds}},
		"by another group":                    {ownedBy("nogroup.example.com/v1", "Deployment", "web"), []client.Object{web}, all, []string{bounds}},
		"by another kind":                     {ownedBy("apps/v1", "Nope", "web"), []client.Object{web}, all, []string{bounds}},
		"by another group, with a record":     {ownedBy("nogroup.example.com/v1", "Deployment", "web"), []client.Object{web, rec}, onlyHere, []string{bounds}},
		"it is gone":                          {ownedBy("apps/v1", "Deployment", "web"), nil, all, []string{unbound}},
		"nobody can tell whether it is there": {ownedBy("apps/v1", "Deployment", "zzz"), []client.Object{web}, onlyHere, []string{"You may not read its parent.", "There is no Deployment/zzz"}},
	} {
		t.Run(name, func(t *testing.T) {
			namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}
			objects := append([]client.Object{namespace, tc.rs.DeepCopy(), bounding("Deployment", "replicasets")}, tc.more...)
			seen, err := read(t.Context(), workloads(t, tc.may, objects...), cluster.Target{GVK: appsv1.SchemeGroupVersion.WithKind("ReplicaSet"), Namespace: "shop", Name: "rs"})
			if err != nil {
				t.Fatal(err)
			}
			page := strings.Join(strings.Fields(render(build(seen), text.Terminal{Width: text.DefaultWidth}, now)), " ")
			for _, want := range tc.want {
				if !strings.Contains(page, want) {
					t.Errorf("explain does not say %q:\n%s", want, page)
				}
			}
		})
	}
}

// TestReadOfACircle reads what there is of an object that owns its own parent: the parent bounds it as any other would.
func TestReadOfACircle(t *testing.T) {
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}
	rs := ownedBy("apps/v1", "Deployment", "web")
	web := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "web", OwnerReferences: []metav1.OwnerReference{{
		APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "rs", UID: "rs", Controller: new(true),
	}}}}
	below := bounding("Deployment", "replicasets") // It only goes on with what begins at the ReplicaSet.
	below.Spec.Subjects[0].MayInitiate = false
	c := workloads(t, func(client.ObjectList, string) bool { return true }, namespace, rs, web, below, bounding("ReplicaSet", "deployments"))
	seen, err := read(t.Context(), c, cluster.Target{GVK: appsv1.SchemeGroupVersion.WithKind("ReplicaSet"), Namespace: "shop", Name: "rs"})
	if err != nil {
		t.Fatal(err)
	}
	want := Bound{Kind: "ReplicaSet", Policies: []string{"deployment"}, Action: v1alpha1.ActionDeny}
	if diff := gocmp.Diff(want, build(seen).AsChild.Bound); diff != "" {
		t.Errorf("what holds for it as a child (-want +got):\n%s", diff)
	}
}
