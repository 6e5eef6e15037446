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
	"fmt"
	"os"
	"path/filepath"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/test/builders"
	"kausality.io/operator/test/pasted"
)

// forgedLedger allows anything to anybody, if it was true.
func forgedLedger(generation int64) string {
	GinkgoHelper()
	raw, err := yaml.Marshal([]v1alpha1.Allowance{{
		Kind: v1alpha1.Any, Mutation: v1alpha1.Any, Generation: generation, Initiator: alice,
		Trace: []v1alpha1.TraceHop{{Kind: "Deployment", Name: "web", Generation: generation, Field: "spec.replicas"}},
	}})
	Expect(err).NotTo(HaveOccurred())
	return string(raw)
}

// writeField writes a field of any name into the configuration of a Thing.
func writeField(ctx context.Context, who *actor, thing *unstructured.Unstructured, name, value string) {
	GinkgoHelper()
	raw, err := json.Marshal(map[string]any{"spec": map[string]any{"config": map[string]string{name: value}}})
	Expect(err).NotTo(HaveOccurred())
	Expect(who.Patch(ctx, thing, client.RawPatch(types.MergePatchType, raw))).To(Succeed())
}

// writingLedgers returns the ways to come by an allowance that nobody gave.
func writingLedgers() []bypass {
	// gained checks that the controller may do no more than before.
	gainedNothing := func(ctx context.Context, s *scene) {
		GinkgoHelper()
		refuse(s.controller.try(ctx, s.rs.DeepCopy(), replicas(9)), "allows nothing now")
	}
	return []bypass{
		{"writing a ledger", func(ctx context.Context, s *scene) {
			d := s.deployment(ctx)
			// The write itself makes the next generation of a Deployment.
			s.rogue.change(ctx, d, annotation(ledgerKey, forgedLedger(d.Generation+1)))
			Expect(d.Annotations).NotTo(HaveKey(ledgerKey))
			gainedNothing(ctx, s)
		}},
		{"writing a ledger for a generation to come", func(ctx context.Context, s *scene) {
			d := s.deployment(ctx)
			s.rogue.change(ctx, d, annotation(ledgerKey, forgedLedger(d.Generation+5)))
			Expect(d.Annotations).NotTo(HaveKey(ledgerKey))
			gainedNothing(ctx, s)
		}},
		{"writing a ledger through the status", func(ctx context.Context, s *scene) {
			d := s.deployment(ctx)
			Expect(s.rogue.Status().Patch(ctx, d, client.RawPatch(types.MergePatchType, []byte(annotation(ledgerKey, forgedLedger(d.Generation+1)))))).To(Succeed())
			Expect(d.Annotations).NotTo(HaveKey(ledgerKey))
			gainedNothing(ctx, s)
		}},
		{"creating an object with a ledger", func(ctx context.Context, s *scene) {
			d := builders.MakeDeployment(s.ns, "forged").Replicas(0).Annotation(ledgerKey, forgedLedger(1)).Obj()
			d.Spec.Selector.MatchLabels["app"], d.Spec.Template.Labels["app"] = "forged", "forged"
			Expect(s.rogue.Create(ctx, d)).To(Succeed())
			Expect(ledgerOf(Default, d, ledgerKey)).To(HaveEach(HaveField("Initiator", mallory)))
		}},
		{"removing a ledger, and what is withheld with it", func(ctx context.Context, s *scene) {
			d, _ := s.rollingOut(ctx, "removed")
			s.rogue.change(ctx, d, image("rogue:4"))
			held := d.Annotations[ledgerKey]
			s.rogue.change(ctx, d, noAnnotation(ledgerKey))
			Expect(d.Annotations).To(HaveKeyWithValue(ledgerKey, held))
			s.rogue.change(ctx, d, `{"metadata":{"annotations":null}}`)
			Expect(d.Annotations).To(HaveKeyWithValue(ledgerKey, held))
		}},
		{"copying the ledger of another object", func(ctx context.Context, s *scene) {
			other, _ := s.rollingOut(ctx, "copied")
			d := s.deployment(ctx)
			copied := ledgerOf(Default, other, ledgerKey)
			Expect(copied).NotTo(BeEmpty())
			for i := range copied {
				copied[i].Generation = d.Generation + 1 // as if it was for this object
			}
			raw, err := yaml.Marshal(copied)
			Expect(err).NotTo(HaveOccurred())
			s.rogue.change(ctx, d, annotation(ledgerKey, string(raw)))
			Expect(d.Annotations).NotTo(HaveKey(ledgerKey))
			gainedNothing(ctx, s)
		}},
		{"replacing an object by an old manifest of it", func(ctx context.Context, s *scene) {
			d, _ := s.rollingOut(ctx, "replayed")
			manifest := d.DeepCopy()
			manifest.APIVersion, manifest.Kind = "apps/v1", "Deployment"
			manifest.ResourceVersion, manifest.UID = "", ""
			raw, err := yaml.Marshal(manifest)
			Expect(err).NotTo(HaveOccurred())
			file := filepath.Join(GinkgoT().TempDir(), "old.yaml")
			Expect(os.WriteFile(file, raw, 0o600)).To(Succeed())
			shared.alice().change(ctx, d, image("replayed:3"))
			shared.rolledOut(ctx, d)
			Eventually(ctx, func(g Gomega) {
				g.Expect(shared.Get(ctx, client.ObjectKeyFromObject(d), d)).To(Succeed())
				g.Expect(d.Annotations).NotTo(HaveKey(ledgerKey))
			}).Should(Succeed())
			out, err := s.rogue.kubectl(ctx, "replace", "--filename="+file)
			Expect(err).NotTo(HaveOccurred(), out)
			Expect(shared.Get(ctx, client.ObjectKeyFromObject(d), d)).To(Succeed())
			Expect(ledgerOf(Default, d, ledgerKey)).To(HaveEach(HaveField("Relation", v1alpha1.RelationWithheld)), "what had ended came back")
		}},
		{"writing the ledger of a ReplicaSet", func(ctx context.Context, s *scene) {
			rs := s.rs.DeepCopy()
			s.rogue.change(ctx, rs, annotation(replicaSetLedgerKey, forgedLedger(rs.Generation+1)))
			Expect(rs.Annotations).NotTo(HaveKey(replicaSetLedgerKey))
			refuse(shared.serviceAccount(replicaSetController).try(ctx, s.pod(ctx), podImage("rogue")), "no rule allows that")
		}},
		{"writing a ReplicaSet's copy of its Deployment's ledger", func(ctx context.Context, s *scene) {
			rs := s.rs.DeepCopy()
			s.rogue.change(ctx, rs, annotation(ledgerKey, forgedLedger(rs.Generation+1)))
			refuse(shared.serviceAccount(replicaSetController).try(ctx, s.pod(ctx), podImage("rogue")), "no rule allows that")
			s.rogue.change(ctx, rs, noAnnotation(ledgerKey))
		}},
		{"writing a Deployment's ledger under the key of a ReplicaSet", func(ctx context.Context, s *scene) {
			d := s.deployment(ctx)
			s.rogue.change(ctx, d, annotation(replicaSetLedgerKey, forgedLedger(d.Generation)))
			Expect(d.Annotations).NotTo(HaveKey(replicaSetLedgerKey))
			gainedNothing(ctx, s)
		}},
		{"writing a ledger under the key that an object gets with an owner", func(ctx context.Context, s *scene) {
			const key = "deployment." + ledgerKey
			config := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: s.ns, Name: "keyed"}}
			Expect(shared.Create(ctx, config)).To(Succeed())
			// What is another object's is left where a controller puts it.
			controller := shared.as("system:serviceaccount:"+s.ns+":default", "system:masters")
			d := controller.deploy(ctx, builders.MakeDeployment(s.ns, "keyed").Replicas(0))
			controller.change(ctx, d, annotation(key, forgedLedger(d.Generation+1)))
			Expect(d.Annotations).To(HaveKey(key))
			controller.change(ctx, d, patch(fmt.Sprintf(`{"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":"keyed","uid":%q}]}}`, config.UID)))
			Expect(ledgerOf(Default, d, key)).NotTo(ContainElement(HaveField("Initiator", alice)), "it was believed")
			rs := shared.newestReplicaSet(ctx, d)
			refuse(s.controller.try(ctx, rs, `{"spec":{"minReadySeconds":7}}`), "Deployment keyed")
		}},
		{"approving without the right to", func(ctx context.Context, s *scene) {
			d := s.deployment(ctx)
			s.rogue.change(ctx, d, approve("*"))
			Expect(s.rogue.warned.take()).To(ContainSubstring("mallory may not approve"))
			Expect(d.Annotations).NotTo(HaveKey(v1alpha1.AnnotationApprove))
			gainedNothing(ctx, s)
		}},
		{"having an initiator run the name of a field", func(ctx context.Context, s *scene) {
			owner := shared.as(alice, platformTeam, "system:masters")
			c, thing := newThing(ctx, owner, map[string]any{"config": map[string]any{"a": "x"}, "port": int64(80)})
			Eventually(ctx, func() error { return c.reconcile(ctx, thing) }).Should(Succeed())
			shared.over(ctx, thing)
			for _, field := range []string{
				"$(touch${IFS}pwned)", "'; touch pwned; '", "`touch pwned`", "a\ntouch pwned", "\x1b[8m;touch pwned", "it's, \"b\"", "0", "[*]", "",
			} {
				By(fmt.Sprintf("running what the warning says about %q", field))
				s.rogue.warned.take()
				writeField(ctx, s.rogue, thing, field, "1")
				_, command, found := strings.Cut(s.rogue.warned.take(), " may approve it: ")
				Expect(found).To(BeTrue())
				args, err := pasted.Arguments(ctx, GinkgoT().TempDir(), command)
				Expect(err).NotTo(HaveOccurred())
				out, err := owner.kubectl(ctx, args...)
				Expect(err).NotTo(HaveOccurred(), out)
				shared.withholdsNothing(ctx, thing)

				By(fmt.Sprintf("running what the plugin says about %q", field))
				writeField(ctx, s.rogue, thing, field, "2")
				owner.reads(ctx, thing.GetNamespace(), Satisfy(func(text string) bool {
					_, command, found = strings.Cut(text, "kubectl kausality approve ")
					return found
				}), "why", thing.GroupVersionKind().GroupKind().String()+"/"+thing.GetName())
				command, _, _ = strings.Cut(command, "\n")
				args, err = pasted.Arguments(ctx, GinkgoT().TempDir(), "kubectl approve "+command)
				Expect(err).NotTo(HaveOccurred())
				out, err = owner.kausality(ctx, thing.GetNamespace(), append(args, "--yes")...)
				Expect(err).NotTo(HaveOccurred(), out)
				shared.withholdsNothing(ctx, thing)
			}
		}},
		{"approving all of an object as an initiator of a part of it", func(ctx context.Context, s *scene) {
			_, h := s.share(ctx)
			Expect(s.rogue.Patch(ctx, h, client.RawPatch(types.MergePatchType, fmt.Appendf(nil,
				`{"metadata":{"annotations":{%q:"spec"}},"spec":{"backup":{"schedule":"daily","size":100}}}`, v1alpha1.AnnotationApprove)))).To(Succeed())
			shared.withholding(ctx, h, "spec.backup.size")
			Expect(s.rogue.Patch(ctx, h, client.RawPatch(types.MergePatchType, []byte(approve("*"))))).To(Succeed())
			shared.withholding(ctx, h, "spec.backup.size")
		}},
		{"approving by a policy that only warns what another one withholds", func(ctx context.Context, s *scene) {
			const bea = "bea"
			d := s.underBoth(ctx, bea)
			who := shared.as(bea, "system:masters")
			s.rogue.change(ctx, d, image("web:rogue"))
			untouched := func() {
				GinkgoHelper()
				Expect(shared.Get(ctx, client.ObjectKeyFromObject(d), d)).To(Succeed())
				Expect(ledgerOf(Default, d, ledgerKey)).NotTo(ContainElement(SatisfyAll(
					HaveField("Initiator", bea), Not(HaveField("Relation", v1alpha1.RelationWithheld)))))
				Consistently(ctx, func(g Gomega) {
					g.Expect(shared.pods(ctx, g, d.Namespace)).To(Equal(map[string]int{"web:1": 2}))
				}).WithTimeout(quietMoment).Should(Succeed())
			}
			for _, what := range []string{v1alpha1.Any, "spec", "spec.template.spec.containers[0].image"} {
				By("approving " + what)
				who.warned.take()
				who.change(ctx, d, approve(what))
				Expect(who.warned.take()).To(SatisfyAll(ContainSubstring("stays withheld"),
					ContainSubstring(bea+" may not initiate all that follows from it"), Not(ContainSubstring("nothing follows from this change"))))
				untouched()
			}
			By("changing it")
			who.change(ctx, d, image("web:"+bea))
			Expect(who.warned.take()).To(ContainSubstring(bea + " may not initiate all that follows from it"))
			untouched()
			refused(who.scale(ctx, d, 3), bea+" may not initiate all that follows from it")
			Expect(shared.recorded(ctx, d).Status.History).NotTo(ContainElement(SatisfyAll(HaveField("User", bea),
				HaveField("Event", BeElementOf(v1alpha1.EventApproved, v1alpha1.EventGranted)))))

			shared.alice().change(ctx, d, approve(v1alpha1.Any))
			shared.hasPods(ctx, d.Namespace, map[string]int{"web:" + bea: 2})
		}},
		{"scaling the parent as a dry run first", func(ctx context.Context, s *scene) {
			scale := &autoscalingv1.Scale{ObjectMeta: metav1.ObjectMeta{Namespace: s.ns, Name: s.d.Name}, Spec: autoscalingv1.ScaleSpec{Replicas: 9}}
			Expect(shared.alice().SubResource("scale").Update(ctx, s.d.DeepCopy(), client.WithSubResourceBody(scale),
				client.DryRunAll)).To(Succeed())
			Expect(shared.recorded(ctx, s.d).Status.PendingGrants).To(BeEmpty())
			gainedNothing(ctx, s)
		}},
		{"scaling a child on, when a scale of the parent is done", func(ctx context.Context, s *scene) {
			keepPendingGrants(ctx, s)
			d := shared.alice().deploy(ctx, builders.MakeDeployment(s.ns, "scaled").Replicas(1))
			Expect(shared.alice().scale(ctx, d, 2)).To(Succeed())
			shared.complete(ctx, d, "1")
			rs := shared.newestReplicaSet(ctx, d)
			Expect(shared.recorded(ctx, d).Status.PendingGrants).NotTo(BeEmpty())
			Eventually(ctx, func() error {
				return s.controller.try(ctx, rs.DeepCopy(), replicas(9), client.DryRunAll)
			}).Should(MatchError(denied, "denied"))
			Expect(shared.recorded(ctx, d).Status.PendingGrants).NotTo(BeEmpty())
			refuse(s.controller.try(ctx, rs, replicas(9)), "spec.replicas")
		}},
		{"bringing back a number that was approved by a scale", func(ctx context.Context, s *scene) {
			keepPendingGrants(ctx, s)
			d := shared.alice().deploy(ctx, builders.MakeDeployment(s.ns, "returning").Replicas(1))
			has := func(size int32) func(Gomega) {
				return func(g Gomega) { g.Expect(shared.scales(ctx, g, d)).To(Equal([]int32{size})) }
			}
			s.rogue.change(ctx, d, replicas(2))
			shared.withholding(ctx, d, "spec.replicas")
			Expect(shared.alice().scale(ctx, d, 3)).To(Succeed())
			Eventually(ctx, has(3)).Should(Succeed())
			shared.alice().change(ctx, d, replicas(1))
			Eventually(ctx, has(1)).Should(Succeed())
			Expect(shared.recorded(ctx, d).Status.PendingGrants).NotTo(BeEmpty())

			s.rogue.warned.take()
			s.rogue.change(ctx, d, replicas(3))
			Expect(s.rogue.warned.take()).To(ContainSubstring("withheld"))
			Consistently(ctx, has(1)).WithTimeout(quietMoment).Should(Succeed())
		}},
	}
}

// underBoth makes a Deployment under the sample policies and one that only warns, by which another user may
// initiate all of its spec.
func (s *scene) underBoth(ctx context.Context, user string) *appsv1.Deployment {
	GinkgoHelper()
	policies := "lenient-" + s.ns
	lenient := ownPolicy(policies, appsv1.GroupName, "Deployment", `
  validationActions: [Warn]
  rules:
  - trigger: spec
    policies:
    - {target: {apiGroup: apps, apiVersion: v1, resource: replicasets}, relation: ControllerChild, verbs: ["*"]}
`)
	lenient.Spec.Subjects = []v1alpha1.PolicySubject{{Subject: v1alpha1.Subject{Kind: v1alpha1.SubjectUser, Name: user}, MayInitiate: true}}
	ns := shared.newNamespaceFor(ctx, policies)
	shared.apply(ctx, append(shared.samplePoliciesFor(ctx, policies), lenient)...)
	return shared.alice().deploy(ctx, builders.MakeDeployment(ns, "web").Replicas(2))
}

// keepPendingGrants prevents the operator from removing pending grants from the records of the scene,
// until the end of the spec.
func keepPendingGrants(ctx context.Context, s *scene) {
	GinkgoHelper()
	By("having records keep what they say of scales")
	probe := func(ctx context.Context) error {
		return s.rogue.Create(ctx, configMap(s.ns, "probe", ""), client.DryRunAll)
	}
	// The API server goes on for a moment after the policy is gone, and others use the namespace.
	DeferCleanup(func(ctx context.Context) { Eventually(ctx, func() error { return probe(ctx) }).Should(Succeed()) })
	shared.validateToo(ctx, s.ns, "object.kind != 'ConfigMap' && ('pendingGrants' in object.status || !('pendingGrants' in oldObject.status))", "kept",
		requests(admissionregistrationv1.Update, v1alpha1.GroupVersion.Group, v1alpha1.GroupVersion.Version, "allowancerecords/status"),
		requests(admissionregistrationv1.Create, "", "v1", "configmaps"))
	Eventually(ctx, func() error { return probe(ctx) }).Should(MatchError(ContainSubstring("kept")))
}
