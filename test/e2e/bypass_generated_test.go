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
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/test/controlplane"
)

// object returns what was made.
func (g *generated) object(ctx context.Context) *corev1.ConfigMap {
	GinkgoHelper()
	found := &corev1.ConfigMap{}
	Expect(g.cluster.Get(ctx, client.ObjectKey{Namespace: g.in, Name: "made"}, found)).To(Succeed())
	return found
}

// mark merges into the metadata of what was made.
func (g *generated) mark(ctx context.Context, who *actor, metadata string) error {
	return who.Patch(ctx, configMap(g.in, "made", ""), client.RawPatch(types.MergePatchType, []byte(`{"metadata":`+metadata+`}`)))
}

// createdPolicy makes ConfigMap made in namespace MADE that names who created an object with the label
// trigger-of: NS.
const createdPolicy = `
metadata: {name: NS}
spec:
  evaluation: {synchronize: true, generateExisting: true}
  matchConstraints:
    objectSelector: {matchLabels: {trigger-of: NS}}
    resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [RESOURCE]}]
  generate:
  - expression: |
      generator.ApplyAll('MADE', {'apiVersion': 'v1', 'kind': 'ConfigMap', 'metadata': {'name': 'made'}, 'data': {'key': request.userInfo.username}})`

// newCreated sets up what createdPolicy makes, without the policy.
func (c *cluster) newCreated(ctx context.Context, resource string) *generated {
	GinkgoHelper()
	c.letGenerate(ctx)
	role := &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: "generate-for-creations", Labels: map[string]string{
			"rbac.kausality.io/aggregate-to-generator": "true", "rbac.kausality.io/aggregate-to-operator": "true",
		}},
		Rules: []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"namespaces", "pods"}, Verbs: []string{"get", "list", "watch"}}},
	}
	Expect(client.IgnoreAlreadyExists(c.Create(ctx, role))).To(Succeed())
	g := &generated{
		cluster: c, ns: c.newNamespaceFor(ctx, "created"), in: c.newNamespaceFor(ctx, "created"),
		owner: c.as(alice, platformTeam, "system:masters"), stranger: c.as(mallory, "system:masters"),
		policy: &v1alpha1.GeneratingPolicy{},
	}
	Expect(yaml.UnmarshalStrict([]byte(strings.NewReplacer("NS", g.ns, "MADE", g.in, "RESOURCE", resource).Replace(createdPolicy)), g.policy)).To(Succeed())
	return g
}

// createNoted creates an object as alice once the API server asks who creates it.
func (g *generated) createNoted(ctx context.Context, object client.Object, options ...client.CreateOption) {
	GinkgoHelper()
	if object.GetLabels() == nil {
		object.SetLabels(map[string]string{"trigger-of": g.ns})
	}
	Eventually(func() map[string]string {
		probe, _ := object.DeepCopyObject().(client.Object)
		Expect(g.owner.Create(ctx, probe, client.DryRunAll)).To(Succeed())
		return probe.GetAnnotations()
	}).WithContext(ctx).Should(HaveKey(v1alpha1.AnnotationRequests))
	Expect(g.owner.Create(ctx, object, options...)).To(Succeed())
	if _, isNamespace := object.(*corev1.Namespace); isNamespace {
		DeferCleanup(func(ctx context.Context) error { return g.cluster.Delete(ctx, object) })
	}
}

// forged returns notes that say that mallory asked for an object, and carol changed it.
func (g *generated) forged() map[string]string {
	return map[string]string{
		v1alpha1.AnnotationChangedBy: "carol",
		v1alpha1.AnnotationNoted:     "1.00",
		v1alpha1.AnnotationRequests:  fmt.Sprintf(`{%q:{"operation":"CREATE","userInfo":{"username":%q}}}`, g.policy.Name, mallory),
	}
}

// notesOf returns the notes on an object.
func notesOf(object client.Object) map[string]string {
	out := map[string]string{}
	for _, key := range []string{v1alpha1.AnnotationChangedBy, v1alpha1.AnnotationNoted, v1alpha1.AnnotationRequests} {
		out[key] = object.GetAnnotations()[key]
	}
	return out
}

// changingGenerated returns the ways in which somebody who may not initiate might change what a
// GeneratingPolicy made.
func changingGenerated() []bypass {
	from := fmt.Sprintf("metadata.annotations[%s]", v1alpha1.AnnotationGeneratedFrom)
	by := fmt.Sprintf("metadata.labels[%s]", v1alpha1.LabelGeneratedBy)
	return []bypass{
		{"changing what a GeneratingPolicy made", func(ctx context.Context, _ *scene) {
			g := setGenerated(ctx)
			refuse(set(ctx, g.stranger, g.in, "made", "theirs"), "data")
			refuse(set(ctx, g.owner, g.in, "made", "by hand"), "data")
			refuse(g.stranger.Delete(ctx, configMap(g.in, "made", "")))
			Expect(g.made(ctx)).To(Equal("one"))
		}},
		{"changing it as the account of the policy", func(ctx context.Context, _ *scene) {
			g := setGenerated(ctx)
			as := shared.as(controlplane.GeneratorUser, "system:masters")
			refuse(set(ctx, g.stranger, g.in, "made", "theirs"), "data")
			refuse(set(ctx, as, g.in, "made", "theirs"), "data")
			refuse(as.Delete(ctx, configMap(g.in, "made", "")))
		}},
		{"taking the marks off what a GeneratingPolicy made", func(ctx context.Context, _ *scene) {
			g := setGenerated(ctx)
			refuse(g.mark(ctx, g.stranger, fmt.Sprintf(`{"annotations":{%q:null}}`, v1alpha1.AnnotationGeneratedFrom)), from)
			refuse(g.mark(ctx, g.stranger, `{"annotations":null}`), from)
			refuse(g.mark(ctx, g.stranger, fmt.Sprintf(`{"labels":{%q:null}}`, v1alpha1.LabelGeneratedBy)), by)
			refuse(g.mark(ctx, g.stranger, fmt.Sprintf(`{"annotations":{%q:"{}"}}`, v1alpha1.AnnotationGeneratedFrom)), from)

			By("taking them off and changing it at once")
			freed := g.object(ctx)
			freed.Labels, freed.Annotations, freed.Data["key"] = nil, nil, "theirs"
			refuse(g.stranger.Update(ctx, freed), from)
			Expect(g.made(ctx)).To(Equal("one"))
		}},
		{"having somebody's trigger say that a GeneratingPolicy made it", func(ctx context.Context, _ *scene) {
			g := setGenerated(ctx)
			made, trigger := g.object(ctx), configMap(g.ns, "trigger", "")
			Expect(shared.Get(ctx, client.ObjectKeyFromObject(trigger), trigger)).To(Succeed())
			says := strings.NewReplacer(string(made.UID), string(trigger.UID), made.Namespace, trigger.Namespace, `"made"`, `"trigger"`).
				Replace(made.Annotations[v1alpha1.AnnotationGeneratedFrom])
			trigger.Annotations = map[string]string{v1alpha1.AnnotationGeneratedFrom: says}
			trigger.Labels = map[string]string{v1alpha1.LabelGeneratedBy: made.Labels[v1alpha1.LabelGeneratedBy]}
			refuse(g.stranger.Update(ctx, trigger), from)
			Expect(set(ctx, g.owner, g.ns, "trigger", "two")).To(Succeed())
			Eventually(g.made).WithContext(ctx).Should(Equal("two"))
		}},
		{"adding a trigger of one's own for what another one made", func(ctx context.Context, _ *scene) {
			g := setGenerated(ctx)
			Expect(g.owner.Patch(ctx, g.policy, client.RawPatch(types.MergePatchType, []byte(
				`{"spec":{"matchConditions":[{"name":"trigger","expression":"object.metadata.name.startsWith('trigger')"}]}}`)))).To(Succeed())
			Expect(g.stranger.Create(ctx, configMap(g.ns, "trigger-of-theirs", "theirs"))).To(Succeed())
			Eventually(func() string { return g.object(ctx).Annotations[v1alpha1.AnnotationGeneratedFrom] }).WithContext(ctx).
				Should(ContainSubstring("trigger-of-theirs"))
			Expect(g.made(ctx)).To(Equal("one"), "the first trigger decides")

			By("being left as the only one")
			Expect(g.stranger.Delete(ctx, configMap(g.ns, "trigger", ""))).To(Succeed())
			g.waits(ctx, "one", "data")
		}},
		{"changing what an object is made from", func(ctx context.Context, _ *scene) {
			g := setGenerated(ctx)
			Expect(set(ctx, g.stranger, g.ns, "trigger", "theirs")).To(Succeed())
			g.waits(ctx, "one", "by "+mallory+" is withheld")
		}},
		{"changing what an object is a clone of", func(ctx context.Context, _ *scene) {
			g := setCloned(ctx)
			Expect(set(ctx, g.stranger, g.ns, "source", "theirs")).To(Succeed())
			g.waits(ctx, "one", "by "+mallory+" is withheld")
		}},
		{"changing the GeneratingPolicy", func(ctx context.Context, _ *scene) {
			g := setCloned(ctx)
			Expect(g.stranger.Patch(ctx, g.policy, client.RawPatch(types.MergePatchType, []byte(
				`{"spec":{"generate":[{"expression":"generator.ApplyAll('`+g.in+`', variables.source.setField('metadata.name', 'made').setField('data.key', 'theirs'))"}]}}`)))).To(Succeed())
			g.waits(ctx, "one", "by "+mallory+" is withheld")
		}},
		{"having a GeneratingPolicy find no trigger any more", func(ctx context.Context, _ *scene) {
			g := setGenerated(ctx)
			Expect(g.stranger.Patch(ctx, g.policy, client.RawPatch(types.MergePatchType, []byte(
				`{"spec":{"matchConditions":[{"name":"trigger","expression":"object.metadata.name == 'none'"}]}}`)))).To(Succeed())
			g.waits(ctx, "one", "deletion of ConfigMap made")
		}},
		{"relabeling the namespace of a trigger", func(ctx context.Context, _ *scene) {
			g := setGenerated(ctx)
			Expect(g.owner.Patch(ctx, g.policy, client.RawPatch(types.MergePatchType, []byte(
				`{"spec":{"matchConstraints":{"namespaceSelector":{"matchLabels":{"kubernetes.io/metadata.name":"`+g.ns+`"},"matchExpressions":[{"key":"leave","operator":"DoesNotExist"}]}}}}`)))).To(Succeed())
			Eventually(g.status).WithContext(ctx).Should(HaveField("Conditions", ContainElement(
				And(HaveField("Type", v1alpha1.ConditionEnforced), HaveField("ObservedGeneration", int64(2)), HaveField("Status", BeEquivalentTo("True"))))))
			Expect(g.stranger.Patch(ctx, &corev1.Namespace{ObjectMeta: configMap("", g.ns, "").ObjectMeta}, client.RawPatch(types.MergePatchType,
				[]byte(`{"metadata":{"labels":{"leave":"yes"}}}`)))).To(Succeed())
			g.waits(ctx, "one", "deletion of ConfigMap made")
		}},
		{"wanting what another GeneratingPolicy made", func(ctx context.Context, _ *scene) {
			g := setGenerated(ctx)
			other := g.policy.DeepCopy()
			other.Name, other.ResourceVersion, other.UID = g.policy.Name+"-other", "", ""
			other.Finalizers = nil
			other.Spec.Generate[0].Expression = `generator.ApplyAll('` + g.in + `', {'apiVersion': 'v1', 'kind': 'ConfigMap', 'metadata': {'name': 'made'}, 'data': {'key': 'theirs'}})`
			other.Spec.Evaluation.GenerateExisting = true
			Expect(g.stranger.Create(ctx, other)).To(Succeed())
			DeferCleanup(func(ctx context.Context) error { return client.IgnoreNotFound(shared.Delete(ctx, other)) })
			theirs := &generated{cluster: shared, policy: other}
			Eventually(theirs.status).WithContext(ctx).Should(HaveField("Failures", ContainElement(HaveField("Reason", "Conflicting"))))
			Expect(g.made(ctx)).To(Equal("one"))
		}},
		{"saying through a sub-resource who asked for a trigger", func(ctx context.Context, _ *scene) {
			g := shared.newCreated(ctx, "namespaces")
			g.create(ctx)
			trigger := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: g.ns + "-trigger", Labels: map[string]string{"trigger-of": g.ns}}}
			g.createNoted(ctx, trigger)
			Eventually(g.made).WithContext(ctx).Should(Equal(alice))
			noted := notesOf(trigger)

			says, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": g.forged()}})
			Expect(err).NotTo(HaveOccurred())
			Expect(g.stranger.Status().Patch(ctx, trigger.DeepCopy(), client.RawPatch(types.MergePatchType, says))).To(Succeed())
			finalized := trigger.DeepCopy()
			Expect(shared.Get(ctx, client.ObjectKeyFromObject(trigger), finalized)).To(Succeed())
			finalized.Annotations = g.forged()
			Expect(g.stranger.SubResource("finalize").Update(ctx, finalized)).To(Succeed())
			Expect(shared.Get(ctx, client.ObjectKeyFromObject(trigger), trigger)).To(Succeed())
			Expect(notesOf(trigger)).To(Equal(noted))
			Consistently(g.made).WithContext(ctx).WithTimeout(quietMoment).Should(Equal(alice))
			out, err := g.owner.kausality(ctx, g.in, "trace", "configmap/made")
			Expect(err).NotTo(HaveOccurred(), out)
			Expect(out).To(And(ContainSubstring("changed by "+alice), Not(ContainSubstring("carol"))))
		}},
		{"saying in a Binding who asked for a Pod", func(ctx context.Context, _ *scene) {
			g := shared.newCreated(ctx, "pods")
			g.create(ctx)
			pod := &corev1.Pod{
				ObjectMeta: metav1.ObjectMeta{Namespace: g.ns, Name: "trigger", Labels: map[string]string{"trigger-of": g.ns}},
				Spec:       corev1.PodSpec{SchedulerName: "none", Containers: []corev1.Container{{Name: "c", Image: "registry.example/c:1"}}},
			}
			g.createNoted(ctx, pod)
			Eventually(g.made).WithContext(ctx).Should(Equal(alice))
			noted := notesOf(pod)
			binding := &corev1.Binding{ObjectMeta: metav1.ObjectMeta{Name: pod.Name, Annotations: g.forged()}, Target: corev1.ObjectReference{Kind: "Node", Name: "node-of-nobody"}}
			binding.Annotations["else"] = "merged"
			Expect(g.stranger.SubResource("binding").Create(ctx, pod.DeepCopy(), binding)).To(Succeed())
			Expect(shared.Get(ctx, client.ObjectKeyFromObject(pod), pod)).To(Succeed())
			Expect(pod.Annotations).To(HaveKeyWithValue("else", "merged"))
			Expect(notesOf(pod)).To(Equal(noted))
			Consistently(g.made).WithContext(ctx).WithTimeout(quietMoment).Should(Equal(alice))
		}},
		{"saying who asked for a trigger where nobody asks who it is", func(ctx context.Context, _ *scene) {
			g := shared.newCreated(ctx, "configmaps")
			theirs := configMap(g.ns, "theirs", "one")
			theirs.Annotations, theirs.Labels = g.forged(), map[string]string{"trigger-of": g.ns}
			Expect(g.stranger.Create(ctx, theirs)).To(Succeed())
			g.create(ctx)
			g.createNoted(ctx, configMap(g.ns, "probe", ""), client.DryRunAll)
			By("having somebody change what has the notes from before the policy")
			Expect(set(ctx, g.owner, g.ns, "theirs", "two")).To(Succeed())
			Consistently(g.made).WithContext(ctx).WithTimeout(quietMoment).Should(Equal("gone"))

			By("writing it in a namespace about which nobody is ever asked")
			hidden := configMap("kausality-system", g.ns, "one")
			hidden.Annotations, hidden.Labels = g.forged(), theirs.Labels
			Expect(g.stranger.Create(ctx, hidden)).To(Succeed())
			DeferCleanup(func(ctx context.Context) error { return shared.Delete(ctx, hidden) })
			Consistently(g.made).WithContext(ctx).WithTimeout(quietMoment).Should(Equal("gone"))

			By("having an initiator create one")
			ours := configMap(g.ns, "ours", "one")
			ours.Labels = theirs.Labels
			Expect(g.owner.Create(ctx, ours)).To(Succeed())
			Eventually(g.made).WithContext(ctx).Should(Equal(alice))
		}},
	}
}
