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

package remove

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	fakediscovery "k8s.io/client-go/discovery/fake"
	clienttesting "k8s.io/client-go/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/cli/cluster"
	"kausality.io/operator/internal/cli/output"
)

// TestRunSaysWhatFollows has something withheld and refused, of which removing lets go, and objects that stay.
func TestRunSaysWhatFollows(t *testing.T) {
	const followed = `Kausality keeps the controllers of 2 objects from carrying something out. They do it as soon as
nothing is in their way any more: what is not wanted has to be taken back before.
  OBJECT                NAMESPACE   WITHHELD OR REFUSED
  Deployment.apps/web   shop        withheld: spec.template; refused last: Create of Pod p-1
  ReplicaSet.apps/rs    shop        refused last: Delete of Pod web-1-a
`
	const stays = `These stay, and do nothing without Kausality; they go with their CustomResourceDefinitions:
UpgradeAllowance/v2.
`
	const objects = `  OBJECT                NAMESPACE   WHAT
  Deployment.apps/web   shop        annotations kausality.io/allowances; conditions
                                    kausality.io/Blocked
  ReplicaSet.apps/rs    shop        annotations replicaset.kausality.io/Blocked
`
	const question = "Take back what Kausality has left on all objects of the cluster? --dry-run shows it. [y/N] "
	for name, tc := range map[string]struct {
		opts   options
		answer string
		// unpoliced is true where no policy is for the kinds any more, and clean where there is nothing of Kausality.
		unpoliced, clean bool
		// forbidden is the kind of lists that are refused.
		forbidden string
		out, err  string
		problem   string
	}{
		"a dry run": {
			opts: options{dryRun: true}, out: "Would be taken back from 2 objects:\n" + objects + followed + stays,
		},
		"nobody is asked": {
			opts: options{yes: true, deletePolicies: true}, out: "Taken back from 2 objects:\n" + objects + followed + stays,
		},
		"somebody says yes": {
			opts: options{deletePolicies: true}, answer: "y\n", out: "Taken back from 2 objects:\n" + objects, err: followed + stays + question,
		},
		"somebody says no": {answer: "n\n", err: followed + stays + question, problem: "not confirmed"},
		"without policies nothing is kept from anybody": {
			opts: options{dryRun: true}, unpoliced: true, out: "Would be taken back from 2 objects:\n" + objects + stays,
		},
		"nothing is there": {opts: options{dryRun: true}, clean: true, out: "Nothing is left on any object.\n"},
		"nothing is there that can be read": {
			opts: options{dryRun: true}, clean: true, forbidden: "ReplicaSetList", problem: "something may be left",
			out: "Nothing is left on the objects that could be read. Others may have something.\n",
		},
		"not all can be read, and somebody is asked": {
			answer: "n\n", clean: true, forbidden: "ReplicaSetList", err: "Not all objects could be read: there may be more.\n" + question, problem: "not confirmed",
		},
		"UpgradeAllowances may not be read": {
			opts: options{dryRun: true}, clean: true, forbidden: "UpgradeAllowanceList",
			out: "Nothing is left on any object.\nWhether objects of kind UpgradeAllowance are there cannot be told: forbidden: no\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			var there []client.Object
			if !tc.clean {
				there = append(there, leftBehind(!tc.unpoliced)...)
			}
			streams, in, out, errOut := genericiooptions.NewTestIOStreams()
			in.WriteString(tc.answer)
			tc.opts.out, tc.opts.timeout = output.NewFlags(), lookInterval
			err := tc.opts.run(t.Context(), clusterOf(t, tc.forbidden, there...), streams)
			if told := err != nil; told != (tc.problem != "") || told && !strings.Contains(err.Error(), tc.problem) {
				t.Errorf("it fails with %v, want %q", err, tc.problem)
			}
			for _, each := range []struct {
				of   *bytes.Buffer
				want string
			}{{out, tc.out}, {errOut, tc.err}} {
				if diff := cmp.Diff(each.want, each.of.String()); diff != "" {
					t.Errorf("it says (-want +got):\n%s", diff)
				}
			}
		})
	}
}

// leftBehind returns objects on which something is left, of which a policy may be for the kinds, and an
// UpgradeAllowance.
func leftBehind(policed bool) []client.Object {
	rs := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "rs", Annotations: map[string]string{
		"replicaset.kausality.io/Blocked": "Delete of Pod web-1-a was denied: no allowance covers it.",
	}, OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "Deployment", Name: "web", UID: "web", Controller: new(true)}}}}
	web := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", Annotations: map[string]string{
			"kausality.io/allowances": `[{"relation":"Withheld","mutation":"spec.template","initiator":"mallory"}]`,
		}},
		Status: appsv1.DeploymentStatus{Conditions: []appsv1.DeploymentCondition{{
			Type: v1alpha1.ConditionBlocked, Message: "Create of Pod p-1 was denied: a change that is withheld has to be approved.",
		}}},
	}
	out := []client.Object{rs, web, &v1alpha1.UpgradeAllowance{ObjectMeta: metav1.ObjectMeta{Name: "v2"}}}
	for _, kind := range []string{"Deployment", "ReplicaSet"} {
		if policed {
			out = append(out, &v1alpha1.AllowancePolicy{
				ObjectMeta: metav1.ObjectMeta{Name: strings.ToLower(kind)},
				Spec:       v1alpha1.AllowancePolicySpec{For: v1alpha1.ParentKind{APIGroup: "apps", APIVersion: "v1", Kind: kind}},
			})
		}
	}
	return out
}

// clusterOf returns a cluster that serves Deployments and ReplicaSets, and refuses lists of a kind.
func clusterOf(t *testing.T, forbidden string, objects ...client.Object) *cluster.Cluster {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{v1alpha1.AddToScheme, appsv1.AddToScheme, admissionregistrationv1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	mapper := apimeta.NewDefaultRESTMapper(nil)
	for kind := range scheme.AllKnownTypes() {
		mapper.Add(kind, apimeta.RESTScopeNamespace)
	}
	served := &fakediscovery.FakeDiscovery{Fake: &clienttesting.Fake{Resources: []*metav1.APIResourceList{{
		GroupVersion: "apps/v1",
		APIResources: []metav1.APIResource{
			{Name: "deployments", Kind: "Deployment", Namespaced: true, Verbs: []string{"list", "patch"}},
			{Name: "deployments/status", Kind: "Deployment", Namespaced: true, Verbs: []string{"patch"}},
			{Name: "replicasets", Kind: "ReplicaSet", Namespaced: true, Verbs: []string{"list", "patch"}},
		},
	}}}}
	return cluster.New(fake.NewClientBuilder().WithScheme(scheme).WithRESTMapper(mapper).WithStatusSubresource(&appsv1.Deployment{}).
		WithObjects(objects...).WithInterceptorFuncs(interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			if list.GetObjectKind().GroupVersionKind().Kind == forbidden && forbidden != "" {
				return apierrors.NewForbidden(schema.GroupResource{}, "", errors.New("no"))
			}
			return c.List(ctx, list, opts...)
		},
	}).Build(), "shop", served)
}
