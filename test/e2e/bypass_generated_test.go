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
	"fmt"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

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
	}
}
