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
	"os"
	"path/filepath"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/test/builders"
)

// misreporting returns the ways to have something done by a status that others act upon.
func misreporting() []bypass {
	return []bypass{
		{"having something else applied, by the status of its source", func(ctx context.Context, s *scene) {
			ns := applyFlux(ctx, s.ns)
			owner := shared.as(alice, platformTeam, "system:masters")
			for who, reports := range map[string]struct {
				kind           schema.GroupVersionKind
				report, theirs string
				field          string
			}{
				"system:serviceaccount:flux-system:source-controller": {
					gitRepository, `{"artifact":{"url":"http://source/1.tar.gz"}}`, `{"artifact":{"url":"http://rogue/1.tar.gz"}}`, "status.artifact",
				},
				"system:serviceaccount:flux-system:kustomize-controller": {
					kustomization, `{"inventory":{"entries":[]}}`, `{"inventory":{"entries":[{"id":"shop_web_apps_Deployment","v":"v1"}]}}`, "status.inventory",
				},
			} {
				obj := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"interval": "1h"}}}
				obj.SetGroupVersionKind(reports.kind)
				obj.SetNamespace(ns)
				obj.SetName("shop")
				Expect(owner.Create(ctx, obj)).To(Succeed())
				reporter := shared.as(who, "system:masters")
				Expect(reporter.patchStatus(ctx, obj, reports.report)).To(Succeed())
				for _, status := range []string{reports.theirs, "null"} {
					Expect(s.rogue.patchStatus(ctx, obj, status)).To(MatchError(And(
						ContainSubstring("the change of "+reports.field+" of "+reports.kind.Kind+" shop was refused"), ContainSubstring("mallory may not initiate it"))))
				}
				robot := shared.as("system:serviceaccount:"+ns+":default", "system:serviceaccounts", "system:masters")
				Expect(robot.patchStatus(ctx, obj, reports.theirs)).To(MatchError(denied, "denied"))
				By("who may doing so, by which nothing is allowed")
				Expect(owner.patchStatus(ctx, obj, reports.theirs)).To(Succeed())
				Expect(reporter.patchStatus(ctx, obj, reports.report)).To(Succeed())
			}
		}},
		{"choosing what lost Pods of a StatefulSet are made of, by its status", func(ctx context.Context, s *scene) {
			h := s.history(ctx, "choosing", "StatefulSet")
			set := builders.MakeStatefulSet(h.ns, "web", 2)
			for _, status := range []string{`{"currentRevision":"web-rogue"}`, `{"updateRevision":"web-rogue"}`} {
				Expect(s.rogue.patchStatus(ctx, set, status)).To(MatchError(denied, "denied"))
			}
			Expect(s.rogue.patchStatus(ctx, set, `{"observedGeneration":1}`)).To(Succeed(), "what nobody acts upon")
			h.intact(ctx)
		}},
		{"having what works scaled down, by the status of what replaces it", func(ctx context.Context, s *scene) {
			d, old := s.rollingOut(ctx, "reported")
			fresh, before := shared.newestReplicaSet(ctx, d), old.Spec
			for _, status := range []string{`{"readyReplicas":1}`, `{"readyReplicas":1,"availableReplicas":1}`, `{"replicas":4}`} {
				Expect(s.rogue.patchStatus(ctx, fresh.DeepCopy(), status)).To(MatchError(denied, "denied"))
			}
			Consistently(ctx, func(g Gomega) {
				g.Expect(shared.Get(ctx, client.ObjectKeyFromObject(old), old)).To(Succeed())
				g.Expect(old.Spec).To(Equal(before))
			}).WithTimeout(quietMoment).Should(Succeed())
		}},
		{"having a run repeated, or replaced, by the status of a CronJob", func(ctx context.Context, s *scene) {
			policies := "repeating-" + s.ns
			ns := shared.newNamespaceFor(ctx, policies)
			shared.apply(ctx, forOwn(policies, documented("allowancepolicy.md", "cronjob"))...)
			cron := builders.MakeCronJob(ns, "nightly", "0 3 1 1 *")
			Expect(shared.alice().Create(ctx, cron)).To(Succeed())
			for _, status := range []string{
				`{"lastScheduleTime":"2000-01-01T03:00:00Z"}`,
				`{"active":[{"apiVersion":"batch/v1","kind":"Job","namespace":"` + ns + `","name":"theirs"}]}`,
			} {
				Expect(s.rogue.patchStatus(ctx, cron.DeepCopy(), status)).To(MatchError(denied, "denied"))
			}
		}},
		{"reporting that what is withheld is carried out, in the object itself", func(ctx context.Context, s *scene) {
			group := shared.defineThings(ctx, func(definition *apiextensionsv1.CustomResourceDefinition) {
				definition.Spec.Versions[0].Subresources = nil
			})
			policies := thingPolicies(group)
			policies[0].Spec.Knowledge = knownThings()
			policies[0].Spec.Knowledge.Proves = []string{"spec"}
			shared.apply(ctx, policies...)
			ns := shared.newNamespace(ctx)
			owner := shared.as(alice, platformTeam, "system:masters")
			controller := &thingController{shared.as(thingControllerUser, "system:masters"), ns, reportNothing}
			thing := builders.MakeThing(group, ns, "app")
			thing.Object["spec"] = map[string]any{"config": "a", "port": int64(80)}
			Expect(owner.Create(ctx, thing)).To(Succeed())
			Expect(controller.reconcile(ctx, thing)).To(Succeed())
			Expect(controller.Patch(ctx, thing, client.RawPatch(types.MergePatchType, []byte(`{"status":{"phase":"Healthy","observedGeneration":"2"}}`)))).To(Succeed())
			shared.over(ctx, thing)

			s.rogue.warned.take()
			s.rogue.setThing(ctx, thing, `{"config":"theirs"}`)
			Expect(s.rogue.warned.take()).To(ContainSubstring("withheld"))
			for _, report := range []string{
				`{"status":{"observedGeneration":"4"}}`, `{"spec":{"config":"more"},"status":{"observedGeneration":"4"}}`, `{"status":null}`,
			} {
				Expect(s.rogue.Patch(ctx, thing, client.RawPatch(types.MergePatchType, []byte(report)))).To(MatchError(denied, "denied"))
			}
			owner.setThing(ctx, thing, `{"port":81}`)
			Expect(controller.reconcile(ctx, thing)).To(MatchError(ContainSubstring("spec.config by mallory is withheld")))
		}},
		{"reporting by a version that alone has a status", func(ctx context.Context, s *scene) {
			group := shared.defineThings(ctx, func(definition *apiextensionsv1.CustomResourceDefinition) {
				second := *definition.Spec.Versions[0].DeepCopy()
				second.Name, second.Storage = "v2", false
				definition.Spec.Versions[0].Subresources = nil
				definition.Spec.Versions = append(definition.Spec.Versions, second)
			})
			policies := thingPolicies(group)
			policies[0].Spec.Knowledge = knownThings()
			policies[0].Spec.Knowledge.Reported = []string{"status.chosen"}
			shared.apply(ctx, policies...)
			thing := builders.MakeThing(group, shared.newNamespace(ctx), "app")
			thing.Object["spec"] = map[string]any{"config": "a", "port": int64(80)}
			Expect(shared.as(alice, platformTeam, "system:masters").Create(ctx, thing)).To(Succeed())
			thing.SetAPIVersion(group + "/v2")
			Expect(s.rogue.patchStatus(ctx, thing.DeepCopy(), `{"chosen":"theirs"}`)).To(MatchError(ContainSubstring("the change of status.chosen of Thing app was refused")))
			Expect(s.rogue.patchStatus(ctx, thing.DeepCopy(), `{"phase":"Healthy"}`)).To(Succeed(), "what nobody acts upon")
			Expect(shared.as(thingControllerUser, "system:masters").patchStatus(ctx, thing.DeepCopy(), `{"chosen":"ours"}`)).To(Succeed())
		}},
	}
}

var (
	gitRepository = schema.GroupVersionKind{Group: "source.toolkit.fluxcd.io", Version: "v1", Kind: "GitRepository"}
	kustomization = schema.GroupVersionKind{Group: "kustomize.toolkit.fluxcd.io", Version: "v1", Kind: "Kustomization"}
)

// applyFlux defines what Flux works on, without Flux, and returns a namespace under the
// sample policies for it.
func applyFlux(ctx context.Context, name string) (namespace string) {
	GinkgoHelper()
	define(ctx, gitRepository, "gitrepositories")
	define(ctx, kustomization, "kustomizations")
	text, err := os.ReadFile(filepath.Join(root, "config", "samples", "controllers", "kustomize-controller", "policies.yaml"))
	Expect(err).NotTo(HaveOccurred())
	policies := "flux-" + name
	all := slices.DeleteFunc(parsePolicies(string(text)), func(p *v1alpha1.AllowancePolicy) bool { return p.Spec.For.Kind == "Deployment" })
	shared.apply(ctx, forOwn(policies, all)...)
	return shared.newNamespaceFor(ctx, policies)
}

// define defines a kind in namespaces, which takes any field.
func define(ctx context.Context, kind schema.GroupVersionKind, plural string) {
	GinkgoHelper()
	definition := builders.ThingDefinition(kind.Group)
	definition.Name = plural + "." + kind.Group
	definition.Spec.Names = apiextensionsv1.CustomResourceDefinitionNames{
		Plural: plural, Singular: strings.ToLower(kind.Kind), Kind: kind.Kind, ListKind: kind.Kind + "List",
	}
	Expect(shared.Create(ctx, definition)).To(Succeed())
	DeferCleanup(func(ctx context.Context) error { return shared.Delete(ctx, definition) })
}
