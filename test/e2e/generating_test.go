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
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/test/controlplane"
)

// generatedPolicy makes ConfigMap made in namespace MADE from each ConfigMap trigger of NS, and keeps
// it so.
const generatedPolicy = `
metadata: {name: NS}
spec:
  evaluation: {synchronize: true}
  matchConstraints:
    namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: NS}}
    resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [configmaps]}]
  matchConditions: [{name: trigger, expression: object.metadata.name == 'trigger'}]
  variables: [{name: source, expression: "resource.Get('v1', 'configmaps', 'NS', 'source')"}]
  generate: [{expression: "generator.ApplyAll('MADE', WANTED)"}]`

// causing returns the AllowancePolicy for ConfigMaps by which a change of data changes one field of what a
// GeneratingPolicy makes.
func causing(made, field string) string {
	return strings.NewReplacer("MADE-RESOURCE", made, "FIELD", field).Replace(causingPolicy)
}

const causingPolicy = `
apiVersion: kausality.io/v1alpha1
kind: AllowancePolicy
metadata: {name: "configmap-NS"}
spec:
  for: {apiVersion: v1, kind: ConfigMap}
  namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: NS}}
  subjects:
  - {kind: Group, name: platform-team, mayInitiate: true}
  initializing:
    policies: [{target: &made {MADE-RESOURCE}, relation: ControllerChild, verbs: [Create]}]
  maintaining:
    policies: [{target: *made, relation: ControllerChild, verbs: [Create]}]
  deleting:
    policies: [{target: *made, relation: ControllerChild, verbs: [Delete]}]
  rules:
  - trigger: data
    policies: [{target: *made, relation: ControllerChild, mutations: [{jsonPath: FIELD}]}]
`

// generated is a ConfigMap that is made from another one.
type generated struct {
	cluster         *cluster
	ns, in          string
	policy          *v1alpha1.GeneratingPolicy
	owner, stranger *actor
	// file has the policy, where others are derived from it.
	file string
}

func configMap(ns, name, value string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name}, Data: map[string]string{"key": value}}
}

// letGenerate gives the account of GeneratingPolicies what it takes to make ConfigMaps and Deployments.
func (c *cluster) letGenerate(ctx context.Context) {
	GinkgoHelper()
	role := &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: "generate-for-tests", Labels: map[string]string{
			"rbac.kausality.io/aggregate-to-generator": "true", "rbac.kausality.io/aggregate-to-operator": "true",
		}},
		Rules: []rbacv1.PolicyRule{{APIGroups: []string{"", "apps"}, Resources: []string{"configmaps", "deployments"}, Verbs: []string{"get", "list", "watch", "create", "patch", "delete"}}},
	}
	Expect(client.IgnoreAlreadyExists(c.Create(ctx, role))).To(Succeed())
}

// newGenerated sets it up, with AllowancePolicies where they are given. What is wanted is CEL.
func (c *cluster) newGenerated(ctx context.Context, wanted, policies string) *generated {
	GinkgoHelper()
	c.letGenerate(ctx)
	g := &generated{
		cluster: c,
		ns:      c.newNamespaceFor(ctx, "generated"), in: c.newNamespaceFor(ctx, "generated"),
		owner: c.as(alice, platformTeam, "system:masters"), stranger: c.as(mallory, "system:masters"),
	}
	fill := strings.NewReplacer("NS", g.ns, "MADE", g.in, "WANTED", wanted)
	g.policy = &v1alpha1.GeneratingPolicy{}
	Expect(yaml.UnmarshalStrict([]byte(fill.Replace(generatedPolicy)), g.policy)).To(Succeed())
	g.policy.Labels = map[string]string{"spec": g.ns}
	switch policies {
	case "":
	case derivedPolicies:
		c.apply(ctx, g.derived(ctx)...)
	default:
		c.apply(ctx, parsePolicies(fill.Replace(policies))...)
	}
	g.create(ctx)
	return g
}

// create creates the policy until the end of the spec, and waits until it is accepted.
func (g *generated) create(ctx context.Context) {
	GinkgoHelper()
	Expect(g.owner.Create(ctx, g.policy)).To(Succeed())
	DeferCleanup(func(ctx context.Context) {
		Expect(client.IgnoreNotFound(g.cluster.Delete(ctx, g.policy))).To(Succeed())
		Eventually(func() bool {
			return apierrors.IsNotFound(g.cluster.Get(ctx, client.ObjectKeyFromObject(g.policy), g.policy))
		}).WithContext(ctx).Should(BeTrue())
	})
	Eventually(g.status).WithContext(ctx).Should(HaveField("Conditions", ContainElement(
		And(HaveField("Type", v1alpha1.ConditionAccepted), HaveField("Status", metav1.ConditionTrue)))))
}

// derivedPolicies stands for what the plugin derives from the GeneratingPolicy.
const derivedPolicies = "derived"

// derived returns what the plugin derives. That for GeneratingPolicies is for this one alone.
func (g *generated) derived(ctx context.Context) []*v1alpha1.AllowancePolicy {
	GinkgoHelper()
	written, err := yaml.Marshal(map[string]any{
		"apiVersion": v1alpha1.GroupVersion.String(), "kind": v1alpha1.KindGeneratingPolicy,
		"metadata": map[string]any{"name": g.policy.Name, "labels": g.policy.Labels}, "spec": g.policy.Spec,
	})
	Expect(err).NotTo(HaveOccurred())
	g.file = filepath.Join(GinkgoT().TempDir(), "policy.yaml")
	Expect(os.WriteFile(g.file, written, 0o600)).To(Succeed())
	out, err := exec.CommandContext(ctx, pluginBin, "derive", "-f", g.file, "--initiator", "group:"+platformTeam).Output()
	Expect(err).NotTo(HaveOccurred())
	policies := parsePolicies(string(out))
	for _, p := range policies {
		if p.Spec.For.Kind == v1alpha1.KindGeneratingPolicy {
			p.Spec.ObjectSelector = &metav1.LabelSelector{MatchLabels: g.policy.Labels}
		}
	}
	return policies
}

func (g *generated) status(ctx context.Context) v1alpha1.GeneratingPolicyStatus {
	p := &v1alpha1.GeneratingPolicy{}
	if g.cluster.Get(ctx, client.ObjectKeyFromObject(g.policy), p) != nil {
		return v1alpha1.GeneratingPolicyStatus{}
	}
	return p.Status
}

// made is the value of what was made, and "gone" where it is not there.
func (g *generated) made(ctx context.Context) string {
	found := &corev1.ConfigMap{}
	if err := g.cluster.Get(ctx, client.ObjectKey{Namespace: g.in, Name: "made"}, found); err != nil {
		return "gone"
	}
	return found.Data["key"]
}

func set(ctx context.Context, who *actor, ns, name, value string) error {
	return who.Patch(ctx, configMap(ns, name, ""), client.RawPatch(types.MergePatchType, []byte(`{"data": {"key": "`+value+`"}}`)))
}

const madeFromTrigger = `{'apiVersion': 'v1', 'kind': 'ConfigMap', 'metadata': {'name': 'made'}, 'data': {'key': object.data.key}}`

// setGenerated makes a ConfigMap from alice's trigger, which a policy for ConfigMaps bounds.
func setGenerated(ctx context.Context) *generated {
	GinkgoHelper()
	g := shared.newGenerated(ctx, madeFromTrigger, causing("apiVersion: v1, resource: configmaps", "data"))
	Expect(g.owner.Create(ctx, configMap(g.ns, "trigger", "one"))).To(Succeed())
	Eventually(g.made).WithContext(ctx).Should(Equal("one"))
	return g
}

// setCloned makes a clone of alice's source, which the policies bound that the plugin derives.
func setCloned(ctx context.Context) *generated {
	GinkgoHelper()
	g := shared.newGenerated(ctx, "variables.source.setField('metadata.name', 'made')", derivedPolicies)
	Expect(g.owner.Create(ctx, configMap(g.ns, "source", "one"))).To(Succeed())
	Expect(g.owner.Create(ctx, configMap(g.ns, "trigger", ""))).To(Succeed())
	Eventually(g.made).WithContext(ctx).Should(Equal("one"))
	return g
}

// waits checks that the policy is refused what it wants, for a reason that has a text in it, and that what
// was made still has a value.
func (g *generated) waits(ctx context.Context, value, why string) {
	GinkgoHelper()
	Eventually(g.status).WithContext(ctx).Should(HaveField("Failures", ContainElement(And(
		HaveField("Reason", "Refused"), HaveField("Message", ContainSubstring(why))))))
	Expect(g.made(ctx)).To(Equal(value))
}

var _ = Describe("What a GeneratingPolicy made", func() {
	It("is a child of its trigger", func(ctx SpecContext) {
		g := setGenerated(ctx)

		By("having an initiator change the trigger")
		Expect(set(ctx, g.owner, g.ns, "trigger", "two")).To(Succeed())
		Eventually(g.made).WithContext(ctx).Should(Equal("two"))

		By("having a stranger change it by hand")
		Expect(set(ctx, g.stranger, g.in, "made", "stranger")).To(MatchError(ContainSubstring("is not allowed by its parent ConfigMap trigger")))
		Expect(g.stranger.Delete(ctx, configMap(g.in, "made", ""))).To(MatchError(ContainSubstring("deletion of ConfigMap made")))

		By("having a stranger change the trigger")
		Expect(set(ctx, g.stranger, g.ns, "trigger", "three")).To(Succeed())
		g.waits(ctx, "two", "by "+mallory+" is withheld")

		By("approving that")
		out, err := g.owner.kausality(ctx, g.ns, "approve", "configmap/trigger", "--yes")
		Expect(err).NotTo(HaveOccurred(), out)
		Eventually(g.made).WithContext(ctx).Should(Equal("three"))

		By("losing what was made")
		lost := configMap(g.in, "made", "")
		g.owner.change(ctx, lost, annotation(v1alpha1.AnnotationBreakGlass, v1alpha1.BreakGlassDelete+" it is to be lost"))
		Expect(g.owner.Delete(ctx, lost)).To(Succeed())
		Eventually(g.made).WithContext(ctx).Should(Equal("three"))

		By("having the trigger deleted")
		Expect(g.owner.Delete(ctx, configMap(g.ns, "trigger", ""))).To(Succeed())
		Eventually(g.made).WithContext(ctx).Should(Equal("gone"))
	})

	DescribeTable("is refused without what it holds being told", func(ctx SpecContext, with, field string) {
		const value = "hunter2"
		g := shared.newGenerated(ctx, `{'apiVersion': 'v1', 'kind': 'ConfigMap', 'metadata': {'name': 'made'}, `+with+`}`, "")
		Expect(g.owner.Create(ctx, configMap(g.ns, "source", value))).To(Succeed())
		Expect(g.owner.Create(ctx, configMap(g.ns, "trigger", "one"))).To(Succeed())
		Eventually(g.status).WithContext(ctx).Should(HaveField("Failures", ContainElement(HaveField("Message", ContainSubstring(field)))))
		Eventually(g.status).WithContext(ctx).Should(HaveField("Conditions", ContainElement(
			And(HaveField("Type", v1alpha1.ConditionEnforced), HaveField("Message", ContainSubstring(field))))))
		status, err := yaml.Marshal(g.status(ctx))
		Expect(err).NotTo(HaveOccurred())
		Expect(string(status)).NotTo(ContainSubstring(value))
	},
		Entry("a map where a string belongs", `'data': {'key': variables.source.data}`, "data.key has a value of another type: expected string"),
		Entry("a list where a string belongs", `'data': {'key': [variables.source.data.key]}`, "data.key has a value of another type: expected string"),
		Entry("a string where a boolean belongs", `'immutable': variables.source.data.key`, "immutable has a value of another type: expected boolean"),
		Entry("a string where a map belongs", `'data': variables.source.data.key`, "data has a value of another type: expected map"),
		Entry("a string where bytes belong", `'binaryData': {'key': variables.source.data.key}`, "illegal base64 data"),
	)

	It("says whose changes led to it, without any AllowancePolicy", func(ctx SpecContext) {
		const fromBoth = `{'apiVersion': 'v1', 'kind': 'ConfigMap', 'metadata': {'name': 'made'},
			'data': {'key': object.data.key + (has(variables.source.data) ? variables.source.data.key : '')}}`
		g := shared.newGenerated(ctx, strings.Join(strings.Fields(fromBoth), " "), "")
		bob := shared.as("bob", "system:masters")
		origin := func(parts ...string) {
			GinkgoHelper()
			matchers := make([]OmegaMatcher, len(parts))
			for i, part := range parts {
				matchers[i] = ContainSubstring(part)
			}
			Eventually(func() string {
				out, err := g.owner.kausality(ctx, g.in, "trace", "configmap/made")
				if err != nil {
					return err.Error()
				}
				return out
			}).WithContext(ctx).Should(And(matchers...))
		}
		// What came before the API server heard of the policy names no user.
		Eventually(func() error {
			probe := configMap(g.ns, "trigger", "one")
			if err := g.owner.Create(ctx, probe, client.DryRunAll); err != nil {
				return err
			}
			if by := probe.Annotations[v1alpha1.AnnotationChangedBy]; by != alice {
				return fmt.Errorf("changed by %q", by)
			}
			return nil
		}).WithContext(ctx).Should(Succeed())
		Expect(g.owner.Create(ctx, configMap(g.ns, "trigger", "one"))).To(Succeed())
		Eventually(g.made).WithContext(ctx).Should(Equal("one"))
		origin("GeneratingPolicy/"+g.ns+", changed by "+alice, "for ConfigMap/trigger in namespace "+g.ns+", changed by "+alice)

		By("explaining that it is put back")
		out, err := g.owner.kausality(ctx, g.in, "explain", "configmap/made")
		Expect(err).NotTo(HaveOccurred(), out)
		Expect(out).To(ContainSubstring("GeneratingPolicy/" + g.ns + " made it, and puts it back"))
		out, err = g.owner.kausality(ctx, g.in, "explain", "configmap/made", "-o", "json")
		Expect(err).NotTo(HaveOccurred(), out)
		Expect(out).To(ContainSubstring(`"kept": true`))

		By("having somebody else make what is read, and nobody forge who did")
		source := configMap(g.ns, "source", "+s")
		source.Annotations = map[string]string{v1alpha1.AnnotationChangedBy: "forged"}
		Expect(bob.Create(ctx, source)).To(Succeed())
		Eventually(g.made).WithContext(ctx).Should(Equal("one+s"))
		origin("because of ConfigMap/source in namespace "+g.ns+", changed by bob", "for ConfigMap/trigger in namespace "+g.ns+", changed by "+alice)
		unread := configMap(g.ns, "unread", "x")
		Expect(bob.Create(ctx, unread)).To(Succeed())
		Expect(unread.Annotations).NotTo(HaveKey(v1alpha1.AnnotationChangedBy))

		By("having the trigger gone")
		Expect(g.owner.Patch(ctx, g.policy, client.RawPatch(types.MergePatchType, []byte(`{"spec": {"evaluation": {"synchronize": false}}}`)))).To(Succeed())
		Eventually(g.status).WithContext(ctx).Should(HaveField("Conditions", ContainElement(
			And(HaveField("Type", v1alpha1.ConditionAccepted), HaveField("ObservedGeneration", int64(2))))))
		Expect(g.owner.Delete(ctx, configMap(g.ns, "trigger", ""))).To(Succeed())
		origin("ConfigMap/trigger in namespace "+g.ns+" (gone), changed by "+alice, "ConfigMap/source in namespace "+g.ns+", changed by bob")
	})

	It("follows the request by which its trigger came to be as it is", func(ctx SpecContext) {
		g := shared.newGenerated(ctx, `{'apiVersion': 'v1', 'kind': 'ConfigMap', 'metadata': {'name': 'made'}, 'data': {'key': request.userInfo.username + ' ' + request.operation}}`, "")
		bob := shared.as("bob", "system:masters")
		Expect(g.owner.Patch(ctx, g.policy, client.RawPatch(types.MergePatchType, []byte(`{"spec": {"matchConditions": [
			{"name": "trigger", "expression": "object.metadata.name == 'trigger'"},
			{"name": "asks", "expression": "request.userInfo.username != '`+mallory+`' && oldObject.data.key != object.data.key"}]}}`)))).To(Succeed())
		Eventually(g.status).WithContext(ctx).Should(HaveField("Conditions", ContainElement(
			And(HaveField("Type", v1alpha1.ConditionAccepted), HaveField("ObservedGeneration", int64(2))))))
		Eventually(func(asserting Gomega) {
			probe := configMap(g.ns, "trigger", "one")
			asserting.Expect(g.owner.Create(ctx, probe, client.DryRunAll)).To(Succeed())
			asserting.Expect(probe.Annotations).To(HaveKey(v1alpha1.AnnotationRequests))
		}).WithContext(ctx).Should(Succeed())
		stays := func(value string) {
			GinkgoHelper()
			Consistently(g.made).WithContext(ctx).WithTimeout(quietMoment).Should(Equal(value))
		}

		By("having somebody create it whom the policy does not ask about")
		Expect(g.stranger.Create(ctx, configMap(g.ns, "trigger", "one"))).To(Succeed())
		stays("gone")

		By("having somebody change it whom it does")
		out, err := g.owner.kausality(ctx, g.ns, "can", "configmap/trigger", "--field", "data.key", "--set", "two")
		Expect(err).NotTo(HaveOccurred(), out)
		Expect(out).To(ContainSubstring("ConfigMap/made"))
		Expect(set(ctx, g.owner, g.ns, "trigger", "two")).To(Succeed())
		Eventually(g.made).WithContext(ctx).Should(Equal(alice + " UPDATE"))

		By("changing it as somebody else, or something else, or the note of the request")
		Expect(set(ctx, g.stranger, g.ns, "trigger", "three")).To(Succeed())
		for _, change := range []string{
			`{"metadata": {"labels": {"a": "b"}}}`,
			`{"metadata": {"annotations": {"` + v1alpha1.AnnotationRequests + `": null}}}`,
			`{"metadata": {"annotations": {"` + v1alpha1.AnnotationRequests + `": "{\"` + g.policy.Name + `\": {\"userInfo\": {\"username\": \"forged\"}}}"}}}`,
		} {
			Expect(bob.Patch(ctx, configMap(g.ns, "trigger", ""), client.RawPatch(types.MergePatchType, []byte(change)))).To(Succeed())
		}
		stays(alice + " UPDATE")

		By("losing what was made, after the next request")
		Expect(set(ctx, bob, g.ns, "trigger", "four")).To(Succeed())
		Eventually(g.made).WithContext(ctx).Should(Equal("bob UPDATE"))
		Expect(g.owner.Delete(ctx, configMap(g.in, "made", ""))).To(Succeed())
		Eventually(g.made).WithContext(ctx).Should(Equal("bob UPDATE"))

		By("having the trigger deleted")
		Expect(g.owner.Delete(ctx, configMap(g.ns, "trigger", ""))).To(Succeed())
		Eventually(g.made).WithContext(ctx).Should(Equal("gone"))
	})

	It("is bounded by its source and its policy with what the plugin derives", func(ctx SpecContext) {
		g := setCloned(ctx)
		out, err := g.owner.kausality(ctx, g.ns, "derive", "-f", g.file, "--diff")
		Expect(err).NotTo(HaveOccurred(), out)

		By("having a stranger change the source, and then an initiator")
		Expect(set(ctx, g.stranger, g.ns, "source", "stranger")).To(Succeed())
		g.waits(ctx, "one", "by "+mallory+" is withheld")
		Expect(set(ctx, g.owner, g.ns, "source", "two")).To(Succeed())
		Eventually(g.made).WithContext(ctx).Should(Equal("two"))

		By("having a stranger change the policy, and an initiator approve that")
		generate := `{"spec": {"generate": [{"expression": "generator.ApplyAll('` + g.in + `', variables.source.setField('metadata.name', 'made').setField('data.key', 'three'))"}]}}`
		Expect(g.stranger.Patch(ctx, g.policy, client.RawPatch(types.MergePatchType, []byte(generate)))).To(Succeed())
		g.waits(ctx, "two", "by "+mallory+" is withheld")
		out, err = g.owner.kausality(ctx, g.ns, "approve", "generatingpolicy/"+g.policy.Name, "--yes")
		Expect(err).NotTo(HaveOccurred(), out)
		Eventually(g.made).WithContext(ctx).Should(Equal("three"))
	})

	It("passes the chain on where it has children of its own", func(ctx SpecContext) {
		const deployment = `{'apiVersion': 'apps/v1', 'kind': 'Deployment', 'metadata': {'name': 'made'}, 'spec': {
			'selector': {'matchLabels': {'app': 'made'}}, 'template': {'metadata': {'labels': {'app': 'made'}},
			'spec': {'containers': [{'name': 'web', 'image': 'example.org/web:' + object.data.key}]}}}}`
		shared.apply(ctx, shared.samplePoliciesFor(ctx, "generated")...)
		g := shared.newGenerated(ctx, strings.Join(strings.Fields(deployment), " "), causing("apiGroup: apps, apiVersion: v1, resource: deployments", "spec.template"))
		audit := shared.watch(g.in)
		// replicaSets tells why each was created.
		replicaSets := func() []string {
			var out []string
			for _, event := range audit.writes(controlplane.Succeeded, controlplane.ByVerb("create"), controlplane.ByUser(deploymentController)) {
				if event.ObjectRef.Resource == "replicasets" {
					out = append(out, causeOf(&event))
				}
			}
			return out
		}
		ledTo := MatchRegexp(`^\w+: ` + alice + ` -> ConfigMap/trigger in ` + g.ns + ` .* -> Deployment/made `)
		Expect(g.owner.Create(ctx, configMap(g.ns, "trigger", "one"))).To(Succeed())
		Eventually(replicaSets).WithContext(ctx).Should(ConsistOf(ledTo))

		By("having an initiator change the trigger")
		made := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: g.in, Name: "made"}}
		Expect(shared.Get(ctx, client.ObjectKeyFromObject(made), made)).To(Succeed())
		made.SetGroupVersionKind(appsv1.SchemeGroupVersion.WithKind("Deployment"))
		shared.over(ctx, made)
		Expect(set(ctx, g.owner, g.ns, "trigger", "two")).To(Succeed())
		Eventually(replicaSets).WithContext(ctx).Should(ConsistOf(ledTo, And(HavePrefix("Covered: "), ledTo)))

		By("having a stranger change it")
		Expect(set(ctx, g.stranger, g.ns, "trigger", "three")).To(Succeed())
		Eventually(g.status).WithContext(ctx).Should(HaveField("Failures", ContainElement(HaveField("Message", ContainSubstring("by "+mallory+" is withheld")))))
		Expect(replicaSets()).To(HaveLen(2))
	})
})
