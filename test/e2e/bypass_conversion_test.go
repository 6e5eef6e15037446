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

package e2e

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/test/builders"
)

const (
	// olderVersion is the version of Things that a conversion webhook converts: what spec.config
	// is in v1 it has as spec.settings, and spec.port as an annotation.
	olderVersion = "v1beta1"
	// portAnnotation is that annotation.
	portAnnotation = "things.example.org/port"
)

// movedPolicy is for Things in namespace NS.
const movedPolicy = `
apiVersion: kausality.io/v1alpha1
kind: AllowancePolicy
metadata: {name: moved-NS}
spec:
  for: {apiGroup: GROUP, apiVersion: v1, kind: Thing}
  namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: NS}}
  subjects:
  - {kind: Group, name: platform-team, mayInitiate: true}
  - {kind: ServiceAccount, namespace: NS, name: controller}
  initializing: {policies: &all [{target: {apiVersion: v1, resource: configmaps}, relation: ControllerChild, verbs: ["*"]}]}
  rules:
  - {trigger: spec.config, policies: *all}
  - {trigger: spec.color, policies: *all}
`

// converting returns the ways of somebody who writes in another version than policies name, of a
// kind that a conversion webhook converts.
func converting() []bypass {
	older := func(child client.Object) *unstructured.Unstructured {
		obj := &unstructured.Unstructured{}
		obj.SetGroupVersionKind(child.GetObjectKind().GroupVersionKind().GroupKind().WithVersion(olderVersion))
		obj.SetNamespace(child.GetNamespace())
		obj.SetName(child.GetName())
		return obj
	}
	return []bypass{
		{"writing through a version that a webhook converts", func(ctx context.Context, s *scene) {
			child := s.converted(ctx, "converted", &converter{})
			s.denied(ctx, older(child), client.RawPatch(types.MergePatchType, []byte(`{"spec":{"settings":"rogue"}}`)), "changing spec.config of Thing child")
		}},
		{"hiding a field in what a webhook converts", func(ctx context.Context, s *scene) {
			child := s.converted(ctx, "hidden", &converter{})
			s.denied(ctx, older(child), client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"annotations":{"`+portAnnotation+`":"9090"}}}`)),
				"changing spec.port of Thing child")
			s.denied(ctx, older(child), client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"annotations":null}}`)), "spec.port of Thing child")
		}},
		{"having a policy moved to a version in which what is withheld has another name", func(ctx context.Context, _ *scene) {
			group := shared.defineThings(ctx, (&converter{}).serve("v1"))
			ns := shared.newNamespaceFor(ctx, "moved")
			policy := parsePolicies(strings.NewReplacer("NS", ns, "GROUP", group).Replace(movedPolicy))[0]
			shared.apply(ctx, policy)
			owner, stranger := shared.as(alice, platformTeam, "system:masters"), shared.as(mallory, "system:masters")
			controller := shared.as("system:serviceaccount:"+ns+":controller", "system:masters")
			thing := builders.MakeThing(group, ns, "app")
			thing.Object["spec"] = map[string]any{"config": "a", "color": "red"}
			Expect(owner.Create(ctx, thing)).To(Succeed())
			change := func(who *actor, obj *unstructured.Unstructured, patch string) error {
				return who.Patch(ctx, obj, client.RawPatch(types.MergePatchType, []byte(patch)))
			}
			makes := func() error {
				child := configMap(ns, "child", "rogue")
				Expect(controllerutil.SetControllerReference(thing, child, shared.Scheme())).To(Succeed())
				return controller.Create(ctx, child, client.DryRunAll)
			}
			Expect(change(stranger, thing.DeepCopy(), `{"spec":{"config":"rogue"}}`)).To(Succeed())
			Expect(change(owner, thing, `{"spec":{"color":"blue"}}`)).To(Succeed())
			refuse(makes(), "withheld")

			By("moving the policy")
			base := policy.DeepCopy()
			policy.Spec.For.APIVersion = olderVersion
			policy.Spec.Rules[0].Trigger = "spec.settings"
			Expect(owner.Patch(ctx, policy, client.MergeFrom(base))).To(Succeed())
			shared.enforced(ctx, policy, effectTimeout)
			Consistently(makes).WithContext(ctx).WithTimeout(quietMoment).Should(MatchError(ContainSubstring("withheld")))
			Expect(change(owner, older(thing), `{"spec":{"color":"green"}}`)).To(Succeed())
			refuse(makes(), "withheld")

			By("having what it is now approved")
			Expect(change(owner, older(thing), `{"metadata":{"annotations":{"`+v1alpha1.AnnotationApprove+`":"*"}}}`)).To(Succeed())
			Eventually(makes).WithContext(ctx).Should(Succeed())
		}},
		{"adding a policy for another version of the kind", func(ctx context.Context, s *scene) {
			first, parent := s.guarded(ctx, "for")
			other := ownPolicy("other-"+s.ns, first.Spec.For.APIGroup, "Thing", refusing("spec.settings"))
			other.Spec.For.APIVersion = olderVersion
			s.conflicting(ctx, other)
			s.holdsConfig(ctx, older(parent))
			By("having both name the other version")
			changed := first.DeepCopy()
			changed.Spec.For.APIVersion, changed.Spec.Rules = olderVersion, other.Spec.Rules
			Expect(shared.Patch(ctx, changed, client.MergeFrom(first))).To(Succeed())
			shared.enforced(ctx, changed, time.Minute)
			shared.enforced(ctx, other, time.Minute)
		}},
		{"adding a policy that bounds another version of the kind", func(ctx context.Context, s *scene) {
			first, parent := s.guarded(ctx, "target")
			s.conflicting(ctx, ownPolicy("bounding-"+s.ns, "", "ConfigMap", `
  rules:
  - trigger: data
    policies:
    - {target: {apiGroup: `+first.Spec.For.APIGroup+`, apiVersion: `+olderVersion+`, resource: things}, relation: ControllerChild}
`))
			s.holdsConfig(ctx, older(parent))
		}},
		{"writing while nobody converts", func(ctx context.Context, s *scene) {
			webhook := &converter{}
			child := s.converted(ctx, "unconverted", webhook)
			webhook.down.Store(true)
			err := s.rogue.Patch(ctx, older(child), client.RawPatch(types.MergePatchType, []byte(`{"spec":{"settings":"rogue"}}`)))
			Expect(err).To(MatchError(ContainSubstring("conversion webhook for")))
			s.denied(ctx, child, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"config":"rogue"}}`)), "changing spec.config of Thing child")
		}},
	}
}

// refusing returns a rule about a field, whose changes are refused where they have no cause.
func refusing(field string) string {
	return `
  uncausedChanges: Refuse
  rules:
  - trigger: ` + field + `
    policies:
    - {target: {apiVersion: v1, resource: configmaps}, relation: ControllerChild}
`
}

// guarded makes an object of a kind with a conversion webhook, and a policy for it in v1.
func (s *scene) guarded(ctx context.Context, name string) (*v1alpha1.AllowancePolicy, *unstructured.Unstructured) {
	GinkgoHelper()
	group := shared.defineThings(ctx, (&converter{}).serve("v1"))
	policies := name + "-guarded-" + s.ns
	ns := shared.newNamespaceFor(ctx, policies)
	parent := builders.MakeThing(group, ns, "guarded")
	parent.Object["spec"] = map[string]any{"config": "a", "port": "80"}
	Expect(shared.as(alice, platformTeam, "system:masters").Create(ctx, parent)).To(Succeed())
	p := ownPolicy(policies, group, "Thing", "  consumption: {ttl: 1s} # what is new may finish what it is doing as long"+refusing("spec.config"))
	shared.apply(ctx, p)
	return p, parent
}

// conflicting applies a policy that names another version than one in effect, and waits until
// it says so.
func (s *scene) conflicting(ctx context.Context, p *v1alpha1.AllowancePolicy) {
	GinkgoHelper()
	Expect(shared.Create(ctx, p)).To(Succeed())
	DeferCleanup(func(ctx context.Context) error { return client.IgnoreNotFound(shared.Delete(ctx, p)) })
	Eventually(ctx, func(g Gomega) {
		live := &v1alpha1.AllowancePolicy{}
		g.Expect(shared.Get(ctx, client.ObjectKeyFromObject(p), live)).To(Succeed())
		accepted := apimeta.FindStatusCondition(live.Status.Conditions, v1alpha1.ConditionAccepted)
		g.Expect(accepted).NotTo(BeNil())
		g.Expect(accepted.Reason).To(Equal(v1alpha1.ReasonConflicted), accepted.Message)
	}).Should(Succeed())
}

// holdsConfig checks that a change of what is spec.config in v1 is refused in another version.
func (s *scene) holdsConfig(ctx context.Context, parent *unstructured.Unstructured) {
	GinkgoHelper()
	Eventually(ctx, func() error {
		return s.rogue.Patch(ctx, parent.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(`{"spec":{"settings":"rogue"}}`)), client.DryRunAll)
	}).Should(MatchError(ContainSubstring("spec.config")))
	refused(s.rogue.Patch(ctx, parent.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(`{"spec":{"settings":"rogue"}}`))), "spec.config")
}

// converted makes a child of a kind with a conversion webhook.
func (s *scene) converted(ctx context.Context, name string, webhook *converter) *unstructured.Unstructured {
	GinkgoHelper()
	group := shared.defineThings(ctx, webhook.serve("v1"))
	child := builders.MakeThing(group, "", "")
	child.Object["spec"] = map[string]any{"config": "a", "port": "80"}
	s.bounded(ctx, name, child, "{apiGroup: "+group+", apiVersion: v1, resource: things}")
	return child
}

// converter is a conversion webhook of Things.
type converter struct {
	down atomic.Bool
	// loses is true where it forgets ports.
	loses bool
}

// serve starts the webhook, which ends with the spec, and has a definition use it.
func (c *converter) serve(storage string) func(*apiextensionsv1.CustomResourceDefinition) {
	GinkgoHelper()
	server := httptest.NewUnstartedServer(c)
	server.Config.ErrorLog = quietLog()
	server.StartTLS()
	DeferCleanup(server.Close)
	return func(definition *apiextensionsv1.CustomResourceDefinition) {
		spec := &definition.Spec
		older := *spec.Versions[0].DeepCopy()
		older.Name = olderVersion
		spec.Versions = append(spec.Versions, older)
		for i := range spec.Versions {
			spec.Versions[i].Storage = spec.Versions[i].Name == storage
		}
		spec.Conversion = &apiextensionsv1.CustomResourceConversion{
			Strategy: apiextensionsv1.WebhookConverter,
			Webhook: &apiextensionsv1.WebhookConversion{
				ConversionReviewVersions: []string{"v1"},
				ClientConfig: &apiextensionsv1.WebhookClientConfig{
					URL:      &server.URL,
					CABundle: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}),
				},
			},
		}
	}
}

// ServeHTTP implements http.Handler.
func (c *converter) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	review := &apiextensionsv1.ConversionReview{}
	if c.down.Load() || json.NewDecoder(r.Body).Decode(review) != nil || review.Request == nil {
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	review.Response = &apiextensionsv1.ConversionResponse{UID: review.Request.UID, Result: metav1.Status{Status: metav1.StatusSuccess}}
	for _, raw := range review.Request.Objects {
		obj := &unstructured.Unstructured{}
		if err := json.Unmarshal(raw.Raw, &obj.Object); err != nil {
			review.Response.Result = metav1.Status{Status: metav1.StatusFailure, Message: err.Error()}
			break
		}
		convert(obj, review.Request.DesiredAPIVersion)
		if c.loses {
			unstructured.RemoveNestedField(obj.Object, "metadata", "annotations", portAnnotation)
		}
		converted, err := obj.MarshalJSON()
		if err != nil {
			review.Response.Result = metav1.Status{Status: metav1.StatusFailure, Message: err.Error()}
			break
		}
		review.Response.ConvertedObjects = append(review.Response.ConvertedObjects, runtime.RawExtension{Raw: converted})
	}
	review.Request = nil
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(review) //nolint:errchkjson // What is raw was encoded before; and the API server may have gone.
}

// convert makes a Thing one of another version.
func convert(obj *unstructured.Unstructured, apiVersion string) {
	if obj.GetAPIVersion() == apiVersion {
		return
	}
	wasOlder := obj.GroupVersionKind().Version == olderVersion
	obj.SetAPIVersion(apiVersion)
	spec, ok := obj.Object["spec"].(map[string]any)
	if !ok {
		return
	}
	annotations := obj.GetAnnotations()
	if wasOlder {
		rename(spec, "settings", "config")
		if port, ok := annotations[portAnnotation]; ok {
			spec["port"] = port
			delete(annotations, portAnnotation)
			obj.SetAnnotations(annotations)
		}
		return
	}
	rename(spec, "config", "settings")
	if port, ok := spec["port"].(string); ok {
		if annotations == nil {
			annotations = map[string]string{}
		}
		annotations[portAnnotation] = port
		obj.SetAnnotations(annotations)
		delete(spec, "port")
	}
}

func rename(fields map[string]any, from, to string) {
	if value, ok := fields[from]; ok {
		fields[to] = value
		delete(fields, from)
	}
}
