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

package interception

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/policy"
)

func TestDeputyHooks(t *testing.T) {
	failing := specFor("apps/v1/Deployment", "apps/v1/replicasets")
	failing.FailurePolicy = v1alpha1.FailurePolicyFail
	somewhere := *failing.DeepCopy()
	somewhere.NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"team": "a"}}
	const autoscalers, scaledObjects = "deputy-horizontalpodautoscalers", "deputy-scaledobjects"
	tests := map[string]struct {
		policies []*policy.Policy
		want     []string
	}{
		"no policy": {},
		"nothing that can be scaled": {
			policies: []*policy.Policy{forKind(t, "/v1/ConfigMap", "/v1/pods")},
		},
		"a parent that can be scaled": {
			policies: []*policy.Policy{forKind(t, "apps/v1/Deployment", "/v1/pods")},
			want:     []string{autoscalers + ".kausality.io Ignore", scaledObjects + ".kausality.io Ignore"},
		},
		"a child that can be scaled": {
			policies: []*policy.Policy{forKind(t, "/v1/ConfigMap", "apps/v1/deployments")},
			want:     []string{autoscalers + ".kausality.io Ignore", scaledObjects + ".kausality.io Ignore"},
		},
		"one policy that fails": {
			policies: []*policy.Policy{forKind(t, "apps/v1/Deployment", "/v1/pods"), compile(t, failing)},
			want:     []string{autoscalers + "-fail.kausality.io Fail", scaledObjects + "-fail.kausality.io Fail"},
		},
		"one policy that fails in some namespaces": {
			policies: []*policy.Policy{compile(t, somewhere)},
			want: []string{
				autoscalers + ".kausality.io Ignore", autoscalers + "-fail.kausality.io Fail",
				scaledObjects + ".kausality.io Ignore", scaledObjects + "-fail.kausality.io Fail",
			},
		},
		"a policy that names autoscalers: the other hook asks": {
			policies: []*policy.Policy{forKind(t, "apps/v1/Deployment", "autoscaling/v2/horizontalpodautoscalers")},
			want:     []string{scaledObjects + ".kausality.io Ignore"},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			var got []string
			if desired := Render(inputOf(tc.policies...)); desired.Validating != nil {
				for _, w := range desired.Validating.Webhooks {
					if isDeputy(w.Name) {
						got = append(got, w.Name+" "+string(*w.FailurePolicy))
					}
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("hooks (-want +got):\n%s", diff)
			}
		})
	}
}

func TestDeputyConditions(t *testing.T) {
	autoscaler := func(kind string, most int32) *autoscalingv2.HorizontalPodAutoscaler {
		return &autoscalingv2.HorizontalPodAutoscaler{
			TypeMeta:   metav1.TypeMeta{APIVersion: "autoscaling/v2", Kind: "HorizontalPodAutoscaler"},
			ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "name"},
			Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
				ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: kind, Name: "web"}, MaxReplicas: most,
			},
		}
	}
	labeled := autoscaler("Deployment", 3)
	labeled.Labels, labeled.Status.CurrentReplicas = map[string]string{"tool": "again"}, 2
	kind := autoscalingv2.SchemeGroupVersion.WithKind("HorizontalPodAutoscaler")
	scaledObject := schema.GroupVersionKind{Group: "keda.sh", Version: "v1alpha1", Kind: "ScaledObject"}
	scaled := func(reference, annotations map[string]any) map[string]any {
		return map[string]any{
			"apiVersion": "keda.sh/v1alpha1", "kind": "ScaledObject",
			"metadata": map[string]any{"name": "name", "annotations": annotations}, "spec": map[string]any{"scaleTargetRef": reference},
		}
	}
	named := map[string]any{"name": "web"}
	tests := map[string]struct {
		request request
		want    bool
	}{
		"one for a kind that policies name": {
			request: request{kind: kind, operation: admission.Create, object: autoscaler("Deployment", 3)}, want: true,
		},
		"one for that kind in lower case": {
			request: request{kind: kind, operation: admission.Create, object: autoscaler("deployment", 3)}, want: true,
		},
		"one for another kind": {
			request: request{kind: kind, operation: admission.Create, object: autoscaler("Thing", 3)},
		},
		"a change": {
			request: request{kind: kind, operation: admission.Update, object: autoscaler("Deployment", 4), old: autoscaler("Deployment", 3)}, want: true,
		},
		"a change of labels and status": {
			request: request{kind: kind, operation: admission.Update, object: labeled, old: autoscaler("Deployment", 3)},
		},
		"one that is pointed at it": {
			request: request{kind: kind, operation: admission.Update, object: autoscaler("Deployment", 3), old: autoscaler("Thing", 3)}, want: true,
		},
		"a ScaledObject that leaves the kind out": {
			request: request{kind: scaledObject, operation: admission.Create, object: custom(scaled(named, nil))}, want: true,
		},
		"a ScaledObject for another kind": {
			request: request{kind: scaledObject, operation: admission.Create, object: custom(scaled(map[string]any{"kind": "Thing", "name": "web"}, nil))},
		},
		"a ScaledObject without a spec": {
			request: request{kind: scaledObject, operation: admission.Create, object: custom(map[string]any{})}, want: true,
		},
		"a ScaledObject that is paused": {
			request: request{
				kind: scaledObject, operation: admission.Update, old: custom(scaled(named, nil)),
				object: custom(scaled(named, map[string]any{"autoscaling.keda.sh/paused-replicas": "0"})),
			},
			want: true,
		},
		"a ScaledObject with another annotation": {
			request: request{
				kind: scaledObject, operation: admission.Update, old: custom(scaled(named, nil)),
				object: custom(scaled(named, map[string]any{"tool": "again"})),
			},
		},
	}
	hooks := Render(inputOf(forKind(t, "apps/v1/Deployment", "apps/v1/replicasets"))).Validating.Webhooks
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			at := slices.IndexFunc(hooks, func(w admissionregistrationv1.ValidatingWebhook) bool {
				return isDeputy(w.Name) && w.Rules[0].APIGroups[0] == tc.request.kind.Group
			})
			for _, converted := range []bool{false, true} {
				if got := called(t, hooks[at].MatchConditions, tc.request.attributes(t, converted)); got != tc.want {
					t.Errorf("the hook is called: %t, want %t (converted: %t)", got, tc.want, converted)
				}
			}
		})
	}
}
