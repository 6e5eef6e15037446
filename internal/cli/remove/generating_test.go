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
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/cli/output"
)

func generatingPolicy(name string, finalizers ...string) *v1alpha1.GeneratingPolicy {
	return &v1alpha1.GeneratingPolicy{ObjectMeta: metav1.ObjectMeta{Name: name, UID: "u", Finalizers: finalizers}}
}

// TestWithoutGenerating deletes policies whether or not an operator could let them go, and leaves finalizers of others.
func TestWithoutGenerating(t *testing.T) {
	ended := generatingPolicy("ended", v1alpha1.FinalizerGenerating)
	ended.DeletionTimestamp = new(metav1.Now())
	kept := generatingPolicy("kept", v1alpha1.FinalizerGenerating, "example.org/theirs")
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	written := 0
	c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(generatingPolicy("held", v1alpha1.FinalizerGenerating), generatingPolicy("free"), ended, kept).
		WithInterceptorFuncs(interceptor.Funcs{
			Delete: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.DeleteOption) error {
				// An operator puts its finalizer back before the first deletion.
				written++
				if written == 1 {
					p := &v1alpha1.GeneratingPolicy{}
					if err := c.Get(ctx, client.ObjectKeyFromObject(obj), p); err != nil {
						return err
					}
					p.Finalizers = append(p.Finalizers, v1alpha1.FinalizerGenerating)
					if err := c.Update(ctx, p); err != nil {
						return err
					}
				}
				asked := (&client.DeleteOptions{}).ApplyOptions(opts)
				there := &v1alpha1.GeneratingPolicy{}
				if err := c.Get(ctx, client.ObjectKeyFromObject(obj), there); err != nil {
					return err
				}
				if asked.Preconditions == nil || *asked.Preconditions.ResourceVersion != there.ResourceVersion {
					return apierrors.NewConflict(v1alpha1.GroupVersion.WithResource("generatingpolicies").GroupResource(), obj.GetName(), nil)
				}
				return c.Delete(ctx, obj)
			},
		}).Build()
	if err := withoutGenerating(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	var left v1alpha1.GeneratingPolicyList
	if err := c.List(t.Context(), &left); err != nil {
		t.Fatal(err)
	}
	got := map[string][]string{}
	for i := range left.Items {
		got[left.Items[i].Name] = left.Items[i].Finalizers
	}
	if diff := cmp.Diff(map[string][]string{"kept": {"example.org/theirs"}}, got); diff != "" {
		t.Errorf("what is left (-want +got):\n%s", diff)
	}
}

// TestRunWithGenerating leaves policies where nobody has them deleted, and says what becomes of what they made.
func TestRunWithGenerating(t *testing.T) {
	const told = "By --delete-policies these go, and what they made stays as it is: GeneratingPolicy/p. Deleted"
	for name, tc := range map[string]struct {
		opts    options
		says    string
		problem string
		left    int
	}{
		"a dry run":              {opts: options{dryRun: true}, says: told, left: 1},
		"without their end":      {opts: options{yes: true}, problem: "1 GeneratingPolicies are there", left: 1},
		"with --delete-policies": {opts: options{yes: true, deletePolicies: true}, says: told},
	} {
		t.Run(name, func(t *testing.T) {
			streams, _, out, _ := genericiooptions.NewTestIOStreams()
			tc.opts.out, tc.opts.timeout = output.NewFlags(), lookInterval
			c := clusterOf(t, "", generatingPolicy("p", v1alpha1.FinalizerGenerating))
			err := tc.opts.run(t.Context(), c, streams)
			if (err != nil) != (tc.problem != "") || err != nil && !strings.Contains(err.Error(), tc.problem) {
				t.Errorf("it fails with %v, want %q", err, tc.problem)
			}
			if said := strings.Join(strings.Fields(out.String()), " "); !strings.Contains(said, tc.says) {
				t.Errorf("it says: %s", said)
			}
			policies, err := generatingPolicies(t.Context(), c)
			if err != nil || len(policies) != tc.left {
				t.Errorf("%d policies are left, want %d: %v", len(policies), tc.left, err)
			}
		})
	}
}

// TestAllFindsLabels takes the label off what has nothing else of Kausality, and no status.
func TestAllFindsLabels(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := networkingv1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	made := &networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{
		Namespace: "shop", Name: "default-deny", Labels: map[string]string{v1alpha1.LabelGeneratedBy: "p"},
	}}
	c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(made).Build()
	gvk := networkingv1.SchemeGroupVersion.WithKind("NetworkPolicy")
	objects, err := (&remover{client: c}).all(t.Context(), []kind{{gvk: gvk}})
	want := []Object{{Group: gvk.Group, Kind: gvk.Kind, Namespace: "shop", Name: "default-deny", Left: Left{Labels: []string{v1alpha1.LabelGeneratedBy}}}}
	if diff := cmp.Diff(want, objects); diff != "" || err != nil {
		t.Errorf("what was taken back (-want +got):\n%s, %v", diff, err)
	}
	after := &unstructured.Unstructured{}
	after.SetGroupVersionKind(gvk)
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(made), after); err != nil || len(after.GetLabels()) > 0 {
		t.Errorf("labels = %v: %v", after.GetLabels(), err)
	}
}
