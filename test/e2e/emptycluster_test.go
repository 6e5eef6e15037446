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
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/interception"
	"kausality.io/operator/internal/record"
	"kausality.io/operator/test/builders"
	"kausality.io/operator/test/controlplane"
	"kausality.io/operator/test/stage"
)

// An operator that is away because the cluster is not up yet must not keep it from coming
// up, whatever policies say.
var _ = Describe("An empty cluster with policies that fail closed", stage.Long, func() {
	const governed = "e2e.example.org/governed"
	refused := MatchError(ContainSubstring("failed calling webhook"))

	It("comes up without the operator: its agents, what no such policy selects, and the operator", func(ctx SpecContext) {
		cp, installed := startCluster(ctx, controlplane.Options{})
		c := connect(cp)
		policies := c.samplePoliciesFor(ctx, "none")
		for _, p := range policies {
			p.Spec.NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{governed: "true"}}
		}
		everywhere := readPolicies("daemonset", strings.NewReplacer())
		policies = append(policies, everywhere...)
		for _, p := range policies {
			p.Spec.FailurePolicy = v1alpha1.FailurePolicyFail
		}
		ns := c.MakeNamespace(ctx, nil)
		inGoverned := c.MakeNamespace(ctx, map[string]string{governed: "true"})

		By("installing everything at once: policies, and what they are about")
		installing := installWhile(ctx, c, inGoverned, func() { c.apply(ctx, policies[0]) })
		c.apply(ctx, policies[1:]...)
		for _, d := range installing {
			Eventually(ctx, func(g Gomega) { g.Expect(c.replicaSets(ctx, g, d)).To(HaveLen(1)) }).Should(Succeed(), "of Deployment %s", d.Name)
		}

		Expect(installed.Kill()).To(Succeed())
		Eventually(ctx, func() error {
			return c.Create(ctx, builders.MakeDeployment(inGoverned, "probe").Obj(), client.DryRunAll)
		}).Should(refused)

		By("starting the agent of each node, in a namespace of its own")
		agent := daemonSet(ns, "agent", "system-node-critical")
		Expect(c.Create(ctx, agent)).To(Succeed())
		c.onEachNode(ctx, agent)
		By("replacing it")
		agent.Spec.Template.Spec.Containers[0].Image = "agent:2"
		Eventually(ctx, func(g Gomega) {
			g.Expect(c.Get(ctx, client.ObjectKeyFromObject(agent), agent)).To(Succeed())
			agent.Spec.Template.Spec.Containers[0].Image = "agent:2"
			g.Expect(c.Update(ctx, agent)).To(Succeed())
		}).Should(Succeed())
		c.onEachNode(ctx, agent)

		By("starting what no policy selects that fails closed, and the operator")
		for _, d := range []*appsv1.Deployment{
			builders.MakeDeployment(ns, "web").Replicas(2).Obj(),
			restricted(builders.MakeDeployment(controlplane.OperatorNamespace, "controller-manager").Replicas(2).Obj()),
		} {
			Expect(c.Create(ctx, d)).To(Succeed())
			c.rolledOut(ctx, d)
		}
		By("starting what is critical where everything else waits")
		critical := builders.MakeDeployment(inGoverned, "dns").Replicas(2).Obj()
		critical.Spec.Template.Spec.PriorityClassName = "system-cluster-critical"
		Expect(c.Create(ctx, critical)).To(Succeed())
		c.rolledOut(ctx, critical)
		Expect(c.Create(ctx, builders.MakeDeployment(inGoverned, "web").Obj())).To(refused)
		Expect(c.Create(ctx, daemonSet(ns, "other", ""))).To(refused)
		change := critical.DeepCopy()
		Expect(c.Get(ctx, client.ObjectKeyFromObject(change), change)).To(Succeed())
		change.Spec.Template.Spec.PriorityClassName = ""
		Expect(c.Update(ctx, change)).To(refused)

		By("asking the API server what the alerts ask")
		counted, err := c.RunKubectl(ctx, "get", "--raw", "/metrics")
		Expect(err).NotTo(HaveOccurred())
		Expect(counted).To(MatchRegexp(`(?m)^apiserver_admission_webhook_fail_open_count\{name="verdict-spared[-0-9]*\.kausality\.io",type="validating"\} [1-9]`))
		Expect(counted).To(MatchRegexp(`(?m)^apiserver_admission_webhook_rejection_count\{error_type="calling_webhook_error",name="(grant|verdict)-fail[-0-9]*\.kausality\.io",.*\} [1-9]`))

		By("the operator being back")
		Expect(installed.Restart(ctx)).To(Succeed())
		Expect(c.Create(ctx, daemonSet(ns, "other", ""))).To(Succeed())
		d := builders.MakeDeployment(inGoverned, "web").Obj()
		Expect(c.Create(ctx, d)).To(Succeed())
		c.rolledOut(ctx, d)
	}, SpecTimeout(startTimeout+specTimeout))
})

// installWhile has an initiator create Deployments, faster than their controller gets to them, while
// policies come into effect, and returns them. Those that came just after the API server had been told,
// and that it did not ask about yet, are not among them: they are withheld (D20).
func installWhile(ctx context.Context, c *cluster, namespace string, apply func()) []*appsv1.Deployment {
	GinkgoHelper()
	const each, before, most = 40 * time.Millisecond, 20, 200
	owner := c.alice()
	made := make(chan *appsv1.Deployment, most)
	installing, stop := context.WithCancel(ctx)
	go func() {
		defer GinkgoRecover()
		defer close(made)
		ticker := time.NewTicker(each)
		defer ticker.Stop()
		for i := 0; i < most && installing.Err() == nil; i++ {
			d := builders.MakeDeployment(namespace, fmt.Sprint("installed-", i)).Replicas(0).Obj()
			Expect(owner.Create(ctx, d)).To(Succeed())
			made <- d
			<-ticker.C
		}
	}()
	Eventually(ctx, func() int { return len(made) }).Should(BeNumerically(">=", before))
	apply()
	stop()

	configurations := controlplane.OfResource("admissionregistration.k8s.io", "mutatingwebhookconfigurations")
	told := stage.WholeLog(c.AuditLog).Writes(configurations, func(event *auditv1.Event) bool { return event.ObjectRef.Name == interception.DefaultName })[0]
	config := &metav1.PartialObjectMetadata{}
	Expect(json.Unmarshal(told.ResponseObject.Raw, config)).To(Succeed())
	var all []*appsv1.Deployment
	for d := range made {
		if _, granted := d.Annotations[v1alpha1.AnnotationAllowances]; granted || record.ChangeOf(d).Before(record.WriteOf(config)) {
			all = append(all, d)
		}
	}
	return all
}

// daemonSet runs a Pod on each node, under a priority.
func daemonSet(ns, name, priority string) *appsv1.DaemonSet {
	labels := map[string]string{"app": name}
	return &appsv1.DaemonSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name},
		Spec: appsv1.DaemonSetSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{PriorityClassName: priority, Containers: []corev1.Container{{Name: "main", Image: name + ":1"}}},
			},
		},
	}
}

// restricted gives a Deployment what the operator's namespace asks of Pods.
func restricted(d *appsv1.Deployment) *appsv1.Deployment {
	spec := &d.Spec.Template.Spec
	spec.SecurityContext = &corev1.PodSecurityContext{
		RunAsNonRoot: new(true), SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
	}
	for i := range spec.Containers {
		spec.Containers[i].SecurityContext = &corev1.SecurityContext{
			AllowPrivilegeEscalation: new(false), Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
		}
	}
	return d
}

// onEachNode waits until each node has a Pod as the DaemonSet wants it.
func (c *cluster) onEachNode(ctx context.Context, ds *appsv1.DaemonSet) {
	GinkgoHelper()
	Eventually(ctx, func(g Gomega) {
		g.Expect(c.Get(ctx, client.ObjectKeyFromObject(ds), ds)).To(Succeed())
		g.Expect(ds.Status.ObservedGeneration).To(Equal(ds.Generation))
		g.Expect(ds.Status.DesiredNumberScheduled).NotTo(BeZero())
		g.Expect(ds.Status.UpdatedNumberScheduled).To(Equal(ds.Status.DesiredNumberScheduled))
		g.Expect(ds.Status.NumberAvailable).To(Equal(ds.Status.DesiredNumberScheduled))
	}).Should(Succeed())
}
