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
	"bytes"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/cli/cluster"
	"kausality.io/operator/internal/cli/exit"
	"kausality.io/operator/internal/cli/text"
)

// TestWhyEverywhere has what waits told of all namespaces, each object with its own, and of one namespace
// without, as it is said there.
func TestWhyEverywhere(t *testing.T) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{v1alpha1.AddToScheme, corev1.AddToScheme, appsv1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	refused := recordOf("web", v1alpha1.AllowanceRecordStatus{History: []v1alpha1.HistoryEntry{denialOf(time.Minute, "Create", "web-2", "create")}})
	refused.Namespace = "shop"
	held := recordOf("accounts", v1alpha1.AllowanceRecordStatus{Active: []v1alpha1.Allowance{
		{Relation: v1alpha1.RelationWithheld, Mutation: "spec.paused", Initiator: "eve", Generation: 2},
	}})
	held.Namespace, held.Spec.TargetRef.Namespace = "bank", "bank"
	scoped := recordOf("fleet", v1alpha1.AllowanceRecordStatus{History: []v1alpha1.HistoryEntry{denialOf(time.Hour, "Create", "fleet-2", "create")}})
	scoped.Namespace, scoped.Spec.TargetRef.Namespace = "kausality-system", ""
	generating := &v1alpha1.GeneratingPolicy{ObjectMeta: metav1.ObjectMeta{Name: "registry"}}
	generating.Status.Failures = []v1alpha1.GeneratingFailure{{
		Reason: "Conflicting", Message: "it is there", Object: &v1alpha1.GeneratingReference{Kind: "Secret", Namespace: "bank", Name: "registry"},
	}}
	for namespace, want := range map[string][]string{
		metav1.NamespaceAll: {
			"Withheld  Deployment/accounts in namespace bank",
			"create of ReplicaSet/web-2 in namespace shop",
			"create of ReplicaSet/fleet-2",
			"Conflicting  Secret/registry in namespace bank",
		},
		"shop": {"create of ReplicaSet/web-2"},
		"bank": {"Withheld  Deployment/accounts", "Conflicting  Secret/registry in namespace bank"},
	} {
		c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(
			&refused, &held, &scoped, generating,
			&appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "bank", Name: "accounts", UID: held.Spec.TargetRef.UID}},
			&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "bank"}},
		).Build()
		report, err := findOf(t.Context(), &cluster.Cluster{Client: c, Namespace: namespace}, nil)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for line := range strings.Lines(render(report, text.Terminal{Width: text.DefaultWidth}, false, now)) {
			if line = strings.TrimSpace(line); strings.HasPrefix(line, "Withheld") || strings.HasPrefix(line, "Conflicting") {
				got = append(got, line)
			} else if _, what, ok := strings.Cut(line, "ago  "); ok {
				got = append(got, what)
			}
		}
		if diff := gocmp.Diff(want, got); diff != "" {
			t.Errorf("namespace %q (-want +got):\n%s", namespace, diff)
		}
	}
}

// TestWhyOfAnObjectEverywhere has who asks about an object and about everything told to choose.
func TestWhyOfAnObjectEverywhere(t *testing.T) {
	var out bytes.Buffer
	cmd := Command(genericclioptions.NewConfigFlags(false), genericiooptions.IOStreams{In: &out, Out: &out, ErrOut: &out})
	cmd.SetArgs([]string{"deployment/web", "-A"})
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	if err := cmd.ExecuteContext(t.Context()); exit.Code(err) != exit.Usage || !strings.Contains(err.Error(), "either the object or -A") {
		t.Errorf("%v, want that one of both is left out", err)
	}
}
