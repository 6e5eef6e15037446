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
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/yaml"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/test/builders"
)

// movingChildren returns the ways to take a child away from what bounds it, or to give
// something to it.
func movingChildren() []bypass {
	const owners = "metadata.ownerReferences"
	return []bypass{
		{"taking the owner of a child away", func(ctx context.Context, s *scene) {
			refuse(s.rogue.try(ctx, s.rs.DeepCopy(), s.without()), owners)
		}},
		{"taking the owner of a child away through its status", func(ctx context.Context, s *scene) {
			refuse(s.rogue.Status().Patch(ctx, s.rs.DeepCopy(), client.RawPatch(types.StrategicMergePatchType, []byte(s.without()))), owners)
		}},
		{"taking the owner away and changing the child at once", func(ctx context.Context, s *scene) {
			rs := s.rs.DeepCopy()
			rs.ResourceVersion = ""
			rs.OwnerReferences, rs.Spec.Replicas = nil, new(int32(9))
			refuse(s.rogue.Update(ctx, rs), owners, "spec.replicas")
		}},
		{"naming another owner", func(ctx context.Context, s *scene) {
			rs := s.rs.DeepCopy()
			rs.ResourceVersion = ""
			rs.OwnerReferences[0].Name, rs.OwnerReferences[0].UID = "other", "00000000-0000-0000-0000-000000000000"
			refuse(s.rogue.Update(ctx, rs), owners)
		}},
		{"making another owner the controller", func(ctx context.Context, s *scene) {
			rs := s.rs.DeepCopy()
			rs.ResourceVersion = ""
			rs.OwnerReferences[0].Controller = new(false)
			rs.OwnerReferences = append(rs.OwnerReferences, metav1.OwnerReference{
				APIVersion: "v1", Kind: "ConfigMap", Name: "other", UID: "00000000-0000-0000-0000-000000000000", Controller: new(true),
			})
			refuse(s.rogue.Update(ctx, rs), owners)
		}},
		{"taking the owner of a child away as its controller", func(ctx context.Context, s *scene) {
			refuse(s.controller.try(ctx, s.rs.DeepCopy(), s.without()), owners)
		}},
		{"relabeling a child as its controller, to let go of it then", func(ctx context.Context, s *scene) {
			refuse(s.controller.try(ctx, s.rs.DeepCopy(), relabeled), "metadata.labels[app]")
		}},
		{"naming the owner of a child otherwise", func(ctx context.Context, s *scene) {
			refuse(s.rogue.reown(ctx, s.rs, "name", "other"), owners+"[0].name")
		}},
		{"naming the owner of a child otherwise as its controller", func(ctx context.Context, s *scene) {
			for field, value := range map[string]any{"name": "other", "kind": "Other", "apiVersion": "other.example.org/v1", "controller": false} {
				refuse(s.controller.reown(ctx, s.rs, field, value), owners+"[0]."+field)
			}
		}},
		{"naming the owner of a child as of another kind", func(ctx context.Context, s *scene) {
			refuse(s.rogue.reown(ctx, s.rs, "kind", "Other"), owners+"[0].kind")
		}},
		{"making the owner of a child control it no more", func(ctx context.Context, s *scene) {
			refuse(s.rogue.reown(ctx, s.rs, "controller", false), owners+"[0].controller")
		}},
		{"naming the owner of a child a second time, otherwise", func(ctx context.Context, s *scene) {
			// The second one may come before the first, and as of another kind.
			for _, change := range []func(o *metav1.OwnerReference){
				func(o *metav1.OwnerReference) { o.Name = "typo" },
				func(o *metav1.OwnerReference) { o.APIVersion, o.Kind = "v1", "ConfigMap" },
				func(o *metav1.OwnerReference) { o.APIVersion = "apps/v7" },
			} {
				second := *s.rs.OwnerReferences[0].DeepCopy()
				second.Controller, second.BlockOwnerDeletion = nil, nil
				change(&second)
				for i := range 2 {
					rs := s.rs.DeepCopy()
					rs.ResourceVersion = ""
					rs.OwnerReferences = slices.Insert(rs.OwnerReferences, i, second)
					refuse(s.rogue.Update(ctx, rs.DeepCopy()), owners)
					if second.APIVersion != "apps/v7" { // What it serves is up to a controller.
						refuse(s.controller.Update(ctx, rs), owners)
					}
				}
			}
		}},
		{"naming the owner of a child in a version that nobody serves", func(ctx context.Context, s *scene) {
			refuse(s.rogue.reown(ctx, s.rs, "apiVersion", "apps/v1beta1"), owners+"[0].apiVersion")
		}},
		{"creating a child that names its owner otherwise", func(ctx context.Context, s *scene) {
			child := s.another("web-rogue", "")
			child.OwnerReferences = []metav1.OwnerReference{*s.rs.OwnerReferences[0].DeepCopy()}
			child.OwnerReferences[0].Kind, child.OwnerReferences[0].Name = "Other", "other"
			refuse(s.rogue.Create(ctx, child), "creation of ReplicaSet web-rogue", "Deployment web")
		}},
		{"creating a child behind an owner that nobody governs", func(ctx context.Context, s *scene) {
			child := s.another("web-rogue", "")
			child.OwnerReferences = []metav1.OwnerReference{
				{APIVersion: "v1", Kind: "ConfigMap", Name: "kube-root-ca.crt", UID: shared.rootCA(ctx, s.ns), Controller: new(true)},
				*s.rs.OwnerReferences[0].DeepCopy(),
			}
			child.OwnerReferences[1].Controller = nil
			refuse(s.rogue.Create(ctx, child), "creation of ReplicaSet web-rogue", "Deployment web")
		}},
		{"creating a child behind an owner of one's own that has a policy", func(ctx context.Context, s *scene) {
			child := s.another("web-rogue", "")
			child.OwnerReferences = append(s.ownApp(ctx, true), *s.rs.OwnerReferences[0].DeepCopy())
			child.OwnerReferences[1].Controller = nil
			refuse(s.rogue.Create(ctx, child), "creation of ReplicaSet web-rogue", "Deployment web")
		}},
		{"giving a child another owner besides", func(ctx context.Context, s *scene) {
			other := shared.alice().deploy(ctx, builders.MakeDeployment(s.ns, "sharing").Replicas(1))
			besides := func(owners ...metav1.OwnerReference) *appsv1.ReplicaSet {
				rs := s.rs.DeepCopy()
				rs.ResourceVersion = ""
				rs.OwnerReferences = append(rs.OwnerReferences, owners...)
				return rs
			}
			refuse(s.rogue.Update(ctx, besides(s.ownApp(ctx, false)...)), owners+"[1]")
			// A Deployment's controller takes only what no controller has.
			refuse(s.controller.Update(ctx, besides(metav1.OwnerReference{
				APIVersion: "apps/v1", Kind: "Deployment", Name: other.Name, UID: other.UID,
			})), owners+"[1]")
		}},
		{"giving a child another owner besides that no policy is about", func(ctx context.Context, s *scene) {
			rs := s.rs.DeepCopy()
			rs.ResourceVersion = ""
			rs.OwnerReferences = append(rs.OwnerReferences, metav1.OwnerReference{
				APIVersion: "v1", Kind: "ConfigMap", Name: "kube-root-ca.crt", UID: shared.rootCA(ctx, s.ns),
			})
			refuse(s.rogue.Update(ctx, rs), owners+"[1]")
		}},
		{"putting another owner of a child first", func(ctx context.Context, s *scene) {
			l := newShared(ctx)
			refuse(l.swap(ctx, s.rogue), owners+"[1] of ConfigMap child", "Thing one")
			refuse(s.rogue.owners(ctx, l.child, l.child.OwnerReferences[1]), owners+"[0] of ConfigMap child", "Thing one")
			By("having its controller do so, which goes on then")
			l.controller.warned.take()
			Expect(l.swap(ctx, l.controller)).To(Succeed())
			Expect(l.controller.warned.take()).To(BeEmpty())
			refuse(l.controller.try(ctx, l.child.DeepCopy(), data("b")), "Thing other")
			for _, parent := range l.parents {
				Expect(l.owner.Patch(ctx, parent, merge(`{"spec":{"config":"b"}}`))).To(Succeed())
			}
			Expect(l.controller.try(ctx, l.child.DeepCopy(), data("b"))).To(Succeed())
		}},
		{"relabeling a child, so that its parent lets go of it", func(ctx context.Context, s *scene) {
			refuse(s.rogue.try(ctx, s.rs.DeepCopy(), relabeled), "metadata.labels[app]")
		}},
		{"relabeling a child through its status", func(ctx context.Context, s *scene) {
			refuse(s.rogue.Status().Patch(ctx, s.rs.DeepCopy(), client.RawPatch(types.StrategicMergePatchType, []byte(relabeled))), "metadata.labels[app]")
		}},
		{"freeing a Pod that is one of a set, to give it back changed", func(ctx context.Context, s *scene) {
			h := s.history(ctx, "freeing", "StatefulSet")
			refuse(s.rogue.try(ctx, shared.anyPod(ctx, h.ns), relabeled), "metadata.labels[app]", "StatefulSet web")
			h.intact(ctx)

			pod := s.pendingPod(ctx, "freeing-job", `
  maintaining:
    policies:
    - {target: {apiGroup: "", apiVersion: v1, resource: pods}, relation: ControllerChild, verbs: [Create, Delete]}
`, batchv1.NonIndexedCompletion)
			free := patch(`{"metadata":{"labels":{"` + batchv1.ControllerUidLabel + `":"free"}}}`)
			refuse(s.rogue.try(ctx, pod.DeepCopy(), free), "metadata.labels["+batchv1.ControllerUidLabel+"]", "Job report")
			s.stays(ctx, pod)
		}},
		{"giving a free object to a parent", func(ctx context.Context, s *scene) {
			free := s.another("free", "")
			free.OwnerReferences, free.Spec.Replicas = nil, new(int32(1))
			free.Labels = map[string]string{"app": "free"}
			free.Spec.Selector, free.Spec.Template.Labels = &metav1.LabelSelector{MatchLabels: free.Labels}, free.Labels
			Expect(s.rogue.Create(ctx, free)).To(Succeed())
			given := free.DeepCopy()
			given.ResourceVersion = ""
			given.OwnerReferences = s.rs.OwnerReferences
			refuse(s.rogue.Update(ctx, given), owners)
			// No policy is in effect for a ReplicaSet that is nobody's.
			var pods corev1.PodList
			Eventually(ctx, func(g Gomega) {
				g.Expect(shared.List(ctx, &pods, client.InNamespace(s.ns), client.MatchingLabels(free.Labels))).To(Succeed())
				g.Expect(pods.Items).To(HaveLen(1))
			}).Should(Succeed())
			pod := &pods.Items[0]
			Expect(metav1.IsControlledBy(pod, free)).To(BeTrue())
			pod.ResourceVersion = ""
			pod.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(s.rs, appsv1.SchemeGroupVersion.WithKind("ReplicaSet"))}
			refuse(s.rogue.Update(ctx, pod), owners, "ReplicaSet "+s.rs.Name)
		}},
		{"forging an owner that does not exist", func(ctx context.Context, s *scene) {
			orphan := s.another("orphan", "")
			orphan.OwnerReferences = []metav1.OwnerReference{*s.rs.OwnerReferences[0].DeepCopy()}
			orphan.OwnerReferences[0].UID = "00000000-0000-0000-0000-000000000000"
			orphan.Spec.Replicas = new(int32(0))
			s.rogue.warned.take()
			Expect(s.rogue.Create(ctx, orphan, client.DryRunAll)).To(Succeed())
			Expect(s.rogue.warned.take()).To(ContainSubstring("which does not exist; nothing bounds it"))
			Expect(orphan.Annotations).NotTo(HaveKey(replicaSetLedgerKey), "it was given something")
			orphan.OwnerReferences[0].APIVersion, orphan.OwnerReferences[0].Kind = "nogroup.example.org/v1", "Nope"
			orphan.ResourceVersion, orphan.UID = "", ""
			Expect(s.rogue.Create(ctx, orphan, client.DryRunAll)).To(Succeed())
			Expect(s.rogue.warned.take()).To(ContainSubstring("which does not exist, as Nope in nogroup.example.org/v1 is not served; it bounds nothing"))
		}},
	}
}

// sharedChild is a child of two Things, of which none controls it.
type sharedChild struct {
	owner, controller *actor
	parents           []*unstructured.Unstructured
	child             *corev1.ConfigMap
}

// newShared makes a child of two Things that have settled.
func newShared(ctx context.Context) *sharedChild {
	GinkgoHelper()
	group := defineThings(ctx)
	ns := shared.newNamespaceFor(ctx, "shared")
	shared.apply(ctx, parsePolicies(strings.NewReplacer("NS", ns, "GROUP", group).Replace(movedPolicy))...)
	l := &sharedChild{
		owner:      shared.as(alice, platformTeam, "system:masters"),
		controller: shared.as("system:serviceaccount:"+ns+":controller", "system:masters"),
		child:      configMap(ns, "child", "a"),
	}
	for _, name := range []string{"one", "other"} {
		parent := builders.MakeThing(group, ns, name)
		parent.Object["spec"] = map[string]any{"config": "a"}
		Expect(l.owner.Create(ctx, parent)).To(Succeed())
		Expect(controllerutil.SetOwnerReference(parent, l.child, shared.Scheme())).To(Succeed())
		l.parents = append(l.parents, parent)
	}
	Expect(l.controller.Create(ctx, l.child)).To(Succeed())
	for _, parent := range l.parents {
		Expect(reportObserved(ctx, l.controller, parent)).To(Succeed())
		shared.over(ctx, parent)
	}
	return l
}

// swap has somebody put the second owner of the child first.
func (l *sharedChild) swap(ctx context.Context, who *actor) error {
	return who.owners(ctx, l.child, l.child.OwnerReferences[1], l.child.OwnerReferences[0])
}

// data sets what a ConfigMap has.
func data(value string) patch { return patch(fmt.Sprintf(`{"data":{"key":%q}}`, value)) }

// reown tries to set a field of the first owner of an object.
func (a *actor) reown(ctx context.Context, obj client.Object, field string, value any) error {
	raw, err := json.Marshal([]map[string]any{{"op": "replace", "path": "/metadata/ownerReferences/0/" + field, "value": value}})
	if err != nil {
		return err
	}
	copied, _ := obj.DeepCopyObject().(client.Object)
	return a.Patch(ctx, copied, client.RawPatch(types.JSONPatchType, raw))
}

const relabeled = patch(`{"metadata":{"labels":{"app":"rogue"}}}`)

// without takes the Deployment away from the owners of its ReplicaSet.
func (s *scene) without() patch {
	return patch(fmt.Sprintf(`{"metadata":{"ownerReferences":[{"$patch":"delete","uid":%q}]}}`, s.d.UID))
}

// usingAllowances returns the ways to use allowances that are not there, or are not
// for that.
func usingAllowances() []bypass {
	return []bypass{
		{"acting as the controller, without an allowance", func(ctx context.Context, s *scene) {
			refuse(s.controller.try(ctx, s.rs.DeepCopy(), replicas(9)), "allows nothing now")
		}},
		{"a service account of the same name elsewhere", func(ctx context.Context, s *scene) {
			namesake := shared.as(serviceaccount.MakeUsername(s.ns, "replicaset-controller"), "system:masters")
			refuse(namesake.Delete(ctx, s.pod(ctx)), "deletion of Pod")
		}},
		{"using an allowance that is somebody else's to use", func(ctx context.Context, s *scene) {
			_, old := s.rollingOut(ctx, "stolen")
			refuse(s.rogue.try(ctx, old, replicas(0)), "spec.replicas")
		}},
		{"changing another field than an allowance covers", func(ctx context.Context, s *scene) {
			_, old := s.rollingOut(ctx, "narrow")
			refuse(s.controller.try(ctx, old, `{"spec":{"minReadySeconds":7}}`), "spec.minReadySeconds", "only ")
		}},
		{"using an allowance for something else than it is for", func(ctx context.Context, s *scene) {
			_, old := s.rollingOut(ctx, "verbs")
			refuse(s.controller.Delete(ctx, old), "deletion of ReplicaSet "+old.Name)
		}},
		{"using an allowance on the child of another parent", func(ctx context.Context, s *scene) {
			s.rollingOut(ctx, "mine")
			refuse(s.controller.try(ctx, s.rs.DeepCopy(), replicas(9)), "Deployment web")
		}},
		{"reviving an allowance by reporting an older status", func(ctx context.Context, s *scene) {
			d := s.d.DeepCopy()
			Expect(s.rogue.Status().Patch(ctx, d, client.RawPatch(types.MergePatchType, []byte(`{"status":{"observedGeneration":0,"updatedReplicas":0}}`)))).To(Succeed())
			refuse(s.controller.try(ctx, s.rs.DeepCopy(), replicas(9)), "allows nothing now")
			shared.rolledOut(ctx, d)
		}},
		{"reviving an allowance by losing a Pod", func(ctx context.Context, s *scene) {
			Expect(shared.serviceAccount("system:serviceaccount:kube-system:pod-garbage-collector").Delete(ctx, s.pod(ctx))).To(Succeed())
			refuse(s.controller.try(ctx, s.rs.DeepCopy(), replicas(9)), "allows nothing now")
			shared.rolledOut(ctx, s.d.DeepCopy())
		}},
		{"breaking the glass without the right to", func(ctx context.Context, s *scene) {
			refuse(shared.mallory().try(ctx, s.rs.DeepCopy(), breaking("rogue", 9)), "spec.replicas")
		}},
		{"breaking the glass for a change by a reason for a deletion", func(ctx context.Context, s *scene) {
			refuse(s.rogue.try(ctx, s.rs.DeepCopy(), breaking("delete: later", 9)), "spec.replicas")
		}},
		{"breaking the glass for a deletion by somebody else's reason", func(ctx context.Context, s *scene) {
			pod := s.pod(ctx)
			s.rogue.change(ctx, pod, annotation("pod."+v1alpha1.AnnotationBreakGlass, "delete: later"))
			refuse(shared.mallory().Delete(ctx, pod), "deletion of Pod")
			s.rogue.change(ctx, pod, noAnnotation("pod."+v1alpha1.AnnotationBreakGlass))
		}},
		{"breaking the glass for a deletion without a reason", func(ctx context.Context, s *scene) {
			pod := s.pod(ctx)
			for _, text := range []string{"delete:", "delete:  "} {
				s.rogue.warned.take()
				s.rogue.change(ctx, pod, annotation("pod."+v1alpha1.AnnotationBreakGlass, text))
				Expect(s.rogue.warned.take()).To(ContainSubstring("no glass of Pod " + pod.Name + " is broken without a reason"))
				Expect(pod.Annotations).NotTo(HaveKey("pod." + v1alpha1.AnnotationBreakGlass))
				refuse(s.rogue.Delete(ctx, pod), "deletion of Pod")
			}
		}},
	}
}

// breaking scales a ReplicaSet and breaks the glass for it.
func breaking(reason string, n int32) patch {
	return patch(fmt.Sprintf(`{"metadata":{"annotations":{"%sbreak-glass":%q}},"spec":{"replicas":%d}}`,
		v1alpha1.ReplicaSetAnnotationPrefix, reason, n))
}

// changingParents returns the ways to have the controllers do it, by changes of the
// parent that are not the requester's to start.
func changingParents() []bypass {
	// untouched tells whether no Pod of a Deployment has another image than before.
	// Its controller has tried to change that.
	untouched := func(ctx context.Context, s *scene, audit witness, name, image string) {
		audit.tries(ctx, deploymentController, "Deployment "+name)
		Consistently(ctx, func(g Gomega) {
			g.Expect(shared.pods(ctx, g, s.ns)).NotTo(HaveKey(image), "%s was rolled out", name)
		}).WithTimeout(quietMoment).Should(Succeed())
	}
	return []bypass{
		{"changing the parent", func(ctx context.Context, s *scene) {
			before := s.d.Spec.Template.Spec.Containers[0].Image
			audit := shared.watch(s.ns)
			s.rogue.change(ctx, s.d.DeepCopy(), image("rogue:1"))
			untouched(ctx, s, audit, "web", "rogue:1")
			s.rogue.change(ctx, s.d.DeepCopy(), image(before))
		}},
		{"changing the parent in the middle of somebody's rollout", func(ctx context.Context, s *scene) {
			d, _ := s.rollingOut(ctx, "midway")
			audit := shared.watch(s.ns)
			s.rogue.change(ctx, d, image("rogue:2"))
			untouched(ctx, s, audit, "midway", "rogue:2")
		}},
		{"adding an empty securityContext to a template", func(ctx context.Context, s *scene) {
			d, _ := s.rollingOut(ctx, "hollow")
			audit := shared.watch(s.ns)
			s.rogue.change(ctx, d, patch(fmt.Sprintf(`{"spec":{"template":{"spec":{"containers":[{"name":%q,"securityContext":{}}]}}}}`, builders.Container)))
			audit.tries(ctx, deploymentController, "Deployment hollow")
			Consistently(ctx, func(g Gomega) {
				g.Expect(shared.Get(ctx, client.ObjectKeyFromObject(d), d)).To(Succeed())
				g.Expect(ledgerOf(g, d, ledgerKey)).To(ContainElement(And(
					HaveField("Relation", v1alpha1.RelationWithheld),
					HaveField("Mutation", "spec.template.spec.containers[0].securityContext"),
				)), "nothing says that it waits")
				var pods corev1.PodList
				g.Expect(shared.List(ctx, &pods, client.InNamespace(s.ns), client.MatchingLabels(d.Spec.Selector.MatchLabels))).To(Succeed())
				g.Expect(pods.Items).NotTo(BeEmpty())
				for _, pod := range pods.Items {
					g.Expect(pod.Spec.Containers[0].SecurityContext).To(BeNil(), "%s was rolled out", d.Name)
				}
			}).WithTimeout(quietMoment).Should(Succeed())
		}},
		{"changing what is for others in a field that one adds or removes whole", func(ctx context.Context, s *scene) {
			owner, h := s.share(ctx)
			s.rogue.setThing(ctx, h, `{"backup":{"schedule":"daily","size":100}}`)
			shared.withholding(ctx, h, "spec.backup.size")
			s.rogue.setThing(ctx, h, `{"backup":{"size":null}}`)
			shared.withholdsNothing(ctx, h)
			Expect(ledgerOf(Default, h, ledgerKey)).To(ContainElement(HaveField("Initiator", mallory)), "what is hers allows nothing")
			owner.setThing(ctx, h, `{"backup":{"size":1}}`)
			s.rogue.setThing(ctx, h, `{"backup":null}`)
			shared.withholding(ctx, h, "spec.backup")
		}},
		{"having the items of a list trade places and values at once", func(ctx context.Context, s *scene) {
			const before, traded = `{"components":[{"name":"front","image":"front:1","size":1},{"name":"back","image":"back:1","size":1}]}`,
				`{"components":[{"name":"back","image":"front:1","size":%d},{"name":"front","image":"back:1","size":%[1]d}]}`
			_, h := s.sharing(ctx, before, "components[*].image", "components[*].size")
			s.rogue.setThing(ctx, h, fmt.Sprintf(traded, 1))
			shared.withholding(ctx, h, "spec.components")
			s.rogue.setThing(ctx, h, before)
			shared.withholdsNothing(ctx, h)
			s.rogue.setThing(ctx, h, fmt.Sprintf(traded, 2))
			shared.withholding(ctx, h, "spec.components")
		}},
		{"changing an annotation where a policy names all of them", func(ctx context.Context, s *scene) {
			group := defineThings(ctx)
			ns := shared.newNamespaceFor(ctx, group)
			shared.apply(ctx, ownPolicy(group, group, "Thing", `
  rules:
  - {trigger: "metadata.annotations[*]", policies: [{target: {apiGroup: "", apiVersion: v1, resource: configmaps}, relation: ControllerChild, verbs: ["*"]}]}
`))
			h := builders.MakeThing(group, ns, "db")
			h.SetAnnotations(map[string]string{"example.org/class": "small"})
			owner := shared.as(alice, platformTeam, "system:masters")
			Expect(owner.Create(ctx, h)).To(Succeed())
			reportDone(ctx, owner, h)
			shared.over(ctx, h)
			Expect(s.rogue.Patch(ctx, h, client.RawPatch(types.MergePatchType, []byte(annotation("example.org/class", "large"))))).To(Succeed())
			shared.withholding(ctx, h, "metadata.annotations[example.org/class]")
		}},
		{"scaling the parent", func(ctx context.Context, s *scene) {
			refused(s.rogue.scale(ctx, s.d, 9), "spec.replicas of Deployment web was refused")
		}},
		{"giving the parent an owner of one's own", func(ctx context.Context, s *scene) {
			before := s.d.Spec.Template.Spec.Containers[0].Image
			owner := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: s.ns, Name: "rogue"}}
			Expect(s.rogue.Create(ctx, owner)).To(Succeed())
			d := s.d.DeepCopy()
			audit := shared.watch(s.ns)
			s.rogue.change(ctx, d, patch(fmt.Sprintf(`{"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":"rogue","uid":%q,"controller":true}]}}`, owner.UID)),
				image("rogue:3"))
			untouched(ctx, s, audit, "web", "rogue:3")
			s.rogue.change(ctx, d, image(before), patch(`{"metadata":{"ownerReferences":null}}`))
		}},
		{"giving the parent an owner of one's own that has a policy", func(ctx context.Context, s *scene) {
			d := s.labeled(ctx)
			policies := "leaving-" + s.ns
			own := ownPolicy(policies, "", "ConfigMap", `
  rules:
  - {trigger: data, policies: [{target: {apiGroup: apps, apiVersion: v1, resource: deployments}, relation: ControllerChild, verbs: ["*"]}]}
`)
			own.Name = d.Namespace + "-app"
			own.Spec.NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: d.Namespace}}
			own.Spec.Subjects = []v1alpha1.PolicySubject{{Subject: v1alpha1.Subject{Kind: "User", Name: mallory}, MayInitiate: true}}
			shared.apply(ctx, own)
			app := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: d.Namespace, Name: "app"}}
			Expect(s.rogue.Create(ctx, app)).To(Succeed())
			attached := patch(fmt.Sprintf(`{"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":"app","uid":%q}]}}`, app.UID))
			refused(s.rogue.try(ctx, d, attached), "is for who may initiate on it")
			refused(s.rogue.Status().Patch(ctx, d, client.RawPatch(types.StrategicMergePatchType, []byte(attached))), "is for who may initiate on it")
			behind := patch(fmt.Sprintf(`{"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":"kube-root-ca.crt","uid":%q},{"apiVersion":"v1","kind":"ConfigMap","name":"app","uid":%q}]}}`,
				shared.rootCA(ctx, d.Namespace), app.UID))
			refused(s.rogue.try(ctx, d, behind), "is for who may initiate on it")
			robot := shared.as("system:serviceaccount:"+d.Namespace+":default", "system:serviceaccounts", "system:masters")
			refused(robot.try(ctx, d, attached), "is for who may initiate on it")
			Expect(shared.alice().try(ctx, d, attached, client.DryRunAll)).To(Succeed())
		}},
		{"leaving the policy by a label", func(ctx context.Context, s *scene) {
			d := s.labeled(ctx)
			refused(s.rogue.try(ctx, d, `{"metadata":{"labels":{"traced":null}}}`), "would leave AllowancePolicy")
		}},
		{"leaving a policy as an initiator of another", func(ctx context.Context, s *scene) {
			d := s.labeled(ctx)
			s.joint(ctx, d, "")
			refused(s.rogue.try(ctx, d, `{"metadata":{"labels":{"traced":null}}}`), "would leave AllowancePolicy")
			Expect(shared.alice().try(ctx, d, `{"metadata":{"labels":{"traced":null}}}`, client.DryRunAll)).To(Succeed())
		}},
		{"entering a policy of one's own by a label", func(ctx context.Context, s *scene) {
			d := s.labeled(ctx)
			s.joint(ctx, d, "  objectSelector: {matchLabels: {rogue: 'yes'}}\n")
			refused(s.rogue.try(ctx, d, `{"metadata":{"labels":{"rogue":"yes"}}}`), "would come under another AllowancePolicy")
			Expect(shared.alice().try(ctx, d, `{"metadata":{"labels":{"rogue":"yes"}}}`, client.DryRunAll)).To(Succeed())
		}},
		{"changing an object as it comes under its policy by a label", func(ctx context.Context, s *scene) {
			d := s.labeled(ctx)
			shared.alice().change(ctx, d, replicas(1))
			shared.ended(ctx, d)
			audit := shared.watch(d.Namespace)
			entering := func(value string) patch {
				return patch(fmt.Sprintf(`{"metadata":{"labels":{"traced":"yes"}},"spec":{"template":{"spec":{"containers":[{"name":%q,"image":%q}]}}}}`, builders.Container, value))
			}
			shared.alice().change(ctx, d, `{"metadata":{"labels":{"traced":null}}}`)
			s.rogue.warned.take()
			s.rogue.change(ctx, d, entering("web:theirs"))
			Expect(s.rogue.warned.take()).To(ContainSubstring("withheld"))
			shared.withholding(ctx, d, "spec.template.spec.containers[0].image")
			shared.alice().change(ctx, d, replicas(2))
			audit.tries(ctx, deploymentController, "Deployment "+d.Name)
			Expect(shared.pods(ctx, Default, d.Namespace)).NotTo(HaveKey("web:theirs"))

			By("changing it so as an initiator")
			shared.alice().change(ctx, d, approve("*"))
			shared.hasPods(ctx, d.Namespace, map[string]int{"web:theirs": 2})
			shared.ended(ctx, d)
			shared.alice().change(ctx, d, `{"metadata":{"labels":{"traced":null}}}`)
			shared.alice().change(ctx, d, entering("web:2"))
			shared.hasPods(ctx, d.Namespace, map[string]int{"web:2": 2})
		}},
		{"having an initiator make a child of what is withheld", func(ctx context.Context, s *scene) {
			policies := "copying-" + s.ns
			ns := shared.newNamespaceFor(ctx, policies)
			shared.apply(ctx, append(forOwn(policies, documented("allowancepolicy.md", "cronjob")), ownPolicy(policies, batchv1.GroupName, "Job", `
  rules:
  - {trigger: spec, policies: [{target: {apiVersion: v1, resource: pods}, relation: ControllerChild, verbs: ["*"]}]}
`))...)
			owner, cron := shared.alice(), builders.MakeCronJob(ns, "nightly", "0 3 1 1 *")
			Expect(owner.Create(ctx, cron)).To(Succeed())
			s.rogue.warned.take()
			s.rogue.change(ctx, cron, patch(fmt.Sprintf(
				`{"spec":{"jobTemplate":{"spec":{"template":{"spec":{"containers":[{"name":%q,"image":"theirs"}]}}}}}}`, builders.Container)))
			Expect(s.rogue.warned.take()).To(ContainSubstring("withheld"))
			refused(owner.Create(ctx, runByHand(cron, "by-hand")), "Job by-hand", "withheld")
			owner.change(ctx, cron, approve("*"))
			Expect(owner.Create(ctx, runByHand(cron, "by-hand"))).To(Succeed())
		}},
	}
}

// runByHand returns what kubectl create job --from makes of a CronJob.
func runByHand(cron *batchv1.CronJob, name string) *batchv1.Job {
	return &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: cron.Namespace, Name: name, Annotations: map[string]string{"cronjob.kubernetes.io/instantiate": "manual"},
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(cron, batchv1.SchemeGroupVersion.WithKind("CronJob"))},
		},
		Spec: cron.Spec.JobTemplate.Spec,
	}
}

// ownApp returns an object of the rogue's, under a policy of the rogue's that lets everything
// through while it is new, as an owner of ReplicaSets.
func (s *scene) ownApp(ctx context.Context, controller bool) []metav1.OwnerReference {
	GinkgoHelper()
	own := ownPolicy("app-"+s.ns, "", "ConfigMap", `
  rules:
  - {trigger: data, policies: [{target: {apiGroup: apps, apiVersion: v1, resource: replicasets}, relation: ControllerChild, verbs: ["*"]}]}
`)
	own.Spec.NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: s.ns}}
	own.Spec.Subjects = []v1alpha1.PolicySubject{{Subject: v1alpha1.Subject{Kind: "User", Name: mallory}, MayInitiate: true}}
	shared.apply(ctx, own)
	app := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: s.ns, GenerateName: "app-"}}
	Expect(s.rogue.Create(ctx, app)).To(Succeed())
	return []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: app.Name, UID: app.UID, Controller: &controller}}
}

// joint is a policy for a Deployment that lets the rogue initiate.
func (s *scene) joint(ctx context.Context, d *appsv1.Deployment, selector string) {
	GinkgoHelper()
	policies := "leaving-" + s.ns
	Expect(d.Namespace).NotTo(Equal(s.ns))
	p := ownPolicy(policies, "apps", "Deployment", selector+`
  rules:
  - {trigger: spec.paused, policies: [{target: {apiGroup: apps, apiVersion: v1, resource: replicasets}, relation: ControllerChild, verbs: ["*"]}]}
`)
	p.Name = d.Namespace + "-joint"
	p.Spec.NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: d.Namespace}}
	p.Spec.Subjects = []v1alpha1.PolicySubject{{Subject: v1alpha1.Subject{Kind: "User", Name: mallory}, MayInitiate: true}}
	shared.apply(ctx, p)
}

// share returns an object of which mallory may change the schedule of its backup, and nothing
// else, and who may change its size. Both fields are about the same children.
func (s *scene) share(ctx context.Context) (owner *actor, object *unstructured.Unstructured) {
	GinkgoHelper()
	return s.sharing(ctx, `{"engine":"postgres"}`, "backup.size", "backup.schedule")
}

// sharing does it for an object with a spec, of which one field is the owner's and one the stranger's.
func (s *scene) sharing(ctx context.Context, spec, owners, strangers string) (owner *actor, object *unstructured.Unstructured) {
	GinkgoHelper()
	group := defineThings(ctx)
	ns := shared.newNamespaceFor(ctx, group)
	rule := func(field string) string {
		return fmt.Sprintf(`
  rules:
  - {trigger: "spec.%s", policies: [{target: {apiGroup: "", apiVersion: v1, resource: configmaps}, relation: ControllerChild, verbs: ["*"]}]}
`, field)
	}
	own, others := ownPolicy(group, group, "Thing", rule(owners)), ownPolicy(group, group, "Thing", rule(strangers))
	others.Name += "-others"
	others.Spec.Subjects = []v1alpha1.PolicySubject{{Subject: v1alpha1.Subject{Kind: "User", Name: mallory}, MayInitiate: true}}
	shared.apply(ctx, own, others)
	owner = shared.as(alice, platformTeam, "system:masters")
	object = builders.MakeThing(group, ns, "db")
	var fields map[string]any
	Expect(yaml.Unmarshal([]byte(spec), &fields)).To(Succeed())
	object.Object["spec"] = fields
	Expect(owner.Create(ctx, object)).To(Succeed())
	reportDone(ctx, owner, object)
	shared.over(ctx, object)
	return owner, object
}

// labeled returns a Deployment that a policy selects by its label.
func (s *scene) labeled(ctx context.Context) *appsv1.Deployment {
	policies := "leaving-" + s.ns
	ns := shared.newNamespaceFor(ctx, policies)
	shared.apply(ctx, ownPolicy(policies, "apps", "Deployment", `
  objectSelector: {matchLabels: {traced: "yes"}}
  rules:
  - {trigger: spec, policies: [{target: {apiGroup: apps, apiVersion: v1, resource: replicasets}, relation: ControllerChild, verbs: ["*"]}]}
`))
	d := builders.MakeDeployment(ns, "web").Replicas(0).Obj()
	d.Labels = map[string]string{"traced": "yes"}
	Expect(shared.alice().Create(ctx, d)).To(Succeed())
	return d
}
