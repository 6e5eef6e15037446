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

package main

import (
	"context"
	"fmt"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"kausality.io/operator/api/v1alpha1"
)

// world is an API group with parents and children of its own. They differ in nothing
// but in who is asked about them, so that one API server serves all of them in turn.
type world string

const (
	// nobody is asked.
	nobody world = "none"
	// bare webhooks are asked, which say yes at once; bareAgain is the same once more,
	// to see how far two equals are apart.
	bare      world = "bare"
	bareAgain world = "again"
	// kausality is asked.
	kausality world = "kausality"
)

var worlds = []world{nobody, bare, bareAgain, kausality}

func (w world) group() string { return string(w) + ".bench.example.org" }

func (w world) parents() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: w.group(), Version: "v1", Resource: "parents"}
}

func (w world) children() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: w.group(), Version: "v1", Resource: "children"}
}

// definitions returns the custom resources of the world.
func (w world) definitions() []client.Object {
	var out []client.Object
	for plural, kind := range map[string]string{"parents": "Parent", "children": "Child"} {
		out = append(out, &apiextensionsv1.CustomResourceDefinition{
			ObjectMeta: metav1.ObjectMeta{Name: plural + "." + w.group()},
			Spec: apiextensionsv1.CustomResourceDefinitionSpec{
				Group: w.group(), Scope: apiextensionsv1.NamespaceScoped,
				Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: plural, Singular: strings.ToLower(kind), Kind: kind, ListKind: kind + "List"},
				Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
					Name: "v1", Served: true, Storage: true,
					Subresources: &apiextensionsv1.CustomResourceSubresources{Status: &apiextensionsv1.CustomResourceSubresourceStatus{}},
					Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{
						Type: "object", XPreserveUnknownFields: new(true),
					}},
				}},
			},
		})
	}
	return out
}

// The people of all worlds.
const (
	initiator  = "alice"
	controller = "system:serviceaccount:bench:controller"
	stranger   = "mallory"
)

const policies = `
- metadata: {name: bench-parent}
  spec:
    for: {apiGroup: GROUP, apiVersion: v1, kind: Parent}
    subjects:
    - {kind: User, name: alice, mayInitiate: true}
    - {kind: ServiceAccount, name: controller, namespace: bench}
    consumption: {ttl: 24h}
    # Its parents never say that they have settled, and are initializing throughout.
    initializing:
      policies:
      - target: {apiGroup: GROUP, apiVersion: v1, resource: children}
        relation: ControllerChild
        verbs: [Create]
    rules:
    - trigger: spec.replicas
      policies:
      - target: {apiGroup: GROUP, apiVersion: v1, resource: children}
        relation: ControllerChild
        verbs: [Create]
        mutations: [{jsonPath: spec.replicas}]
- metadata: {name: bench-child}
  spec:
    for: {apiGroup: GROUP, apiVersion: v1, kind: Child}
    subjects:
    - {kind: User, name: alice, mayInitiate: true}
    consumption: {ttl: 24h}
    rules:
    - trigger: spec.replicas
      policies:
      - target: {apiGroup: GROUP, apiVersion: v1, resource: children}
        relation: ControllerChild
        mutations: [{jsonPath: spec.replicas}]
`

// benchPolicies returns the policies of the world that Kausality is asked in.
func benchPolicies() ([]v1alpha1.AllowancePolicy, error) {
	var out []v1alpha1.AllowancePolicy
	err := yaml.UnmarshalStrict([]byte(strings.ReplaceAll(policies, "GROUP", kausality.group())), &out)
	return out, err
}

// bareHooks ask the bare webhooks about the same requests as Kausality's are asked.
func bareHooks(url string, authority []byte) []client.Object {
	rules := []admissionregistrationv1.RuleWithOperations{{
		Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create, admissionregistrationv1.Update},
		Rule: admissionregistrationv1.Rule{
			APIGroups: []string{bare.group(), bareAgain.group()}, APIVersions: []string{"v1"}, Resources: []string{"*", "*/status"},
		},
	}}
	config := func(path string) admissionregistrationv1.WebhookClientConfig {
		return admissionregistrationv1.WebhookClientConfig{URL: new(url + path), CABundle: authority}
	}
	name, ignore := "bare.bench.example.org", ptr.To(admissionregistrationv1.Ignore)
	none := ptr.To(admissionregistrationv1.SideEffectClassNone)
	return []client.Object{
		&admissionregistrationv1.MutatingWebhookConfiguration{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Webhooks: []admissionregistrationv1.MutatingWebhook{{
				Name: name, ClientConfig: config(bareMutatePath), Rules: rules, FailurePolicy: ignore, SideEffects: none,
				AdmissionReviewVersions: []string{"v1"},
			}},
		},
		&admissionregistrationv1.ValidatingWebhookConfiguration{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Webhooks: []admissionregistrationv1.ValidatingWebhook{{
				Name: name, ClientConfig: config(barePath), Rules: rules, FailurePolicy: ignore, SideEffects: none,
				AdmissionReviewVersions: []string{"v1"},
			}},
		},
	}
}

// createAll creates objects, and names the one that cannot be.
func createAll(ctx context.Context, c client.Client, objects ...client.Object) error {
	for _, obj := range objects {
		if err := c.Create(ctx, obj); err != nil {
			return fmt.Errorf("creating %T %s: %w", obj, obj.GetName(), err)
		}
	}
	return nil
}
