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
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"net/http"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	batchv1 "k8s.io/api/batch/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/test/builders"
	"kausality.io/operator/test/controlplane"
)

// mistakingChildren returns the ways to have a controller take a child for another one, by the
// metadata that it tells its children apart by.
func mistakingChildren() []bypass {
	replacing := func(kind, other string) func(context.Context, *scene) {
		return func(ctx context.Context, s *scene) {
			h := s.history(ctx, "mistaking", kind)
			pod := shared.anyPod(ctx, h.ns)
			refuse(s.rogue.try(ctx, pod.DeepCopy(), `{"metadata":{"labels":{"controller-revision-hash":"rogue"`+patch(other)+`}}}`),
				"changing metadata.labels[controller-revision-hash]", kind+" web")
			s.stays(ctx, pod)
			Expect(s.rogue.try(ctx, pod, `{"metadata":{"labels":{"example.org/note":"mine"}}}`)).To(Succeed(), "other labels are anybody's")
		}
	}
	return []bypass{
		{"relabeling a Pod, so that its StatefulSet replaces it", replacing("StatefulSet", "")},
		{"relabeling a Pod, so that its DaemonSet replaces it", replacing("DaemonSet", `,"pod-template-generation":"9"`)},
		{"giving a Pod of a Job the index of another", func(ctx context.Context, s *scene) {
			pod := s.pendingPod(ctx, "indexed", "", batchv1.IndexedCompletion)
			refuse(s.rogue.try(ctx, pod.DeepCopy(), annotation(batchv1.JobCompletionIndexAnnotation, "7")),
				"changing metadata.annotations[batch.kubernetes.io/job-completion-index]", "Job report")
			refuse(s.rogue.try(ctx, pod.DeepCopy(), annotation(batchv1.JobIndexFailureCountAnnotation, "99")),
				"adding metadata.annotations[batch.kubernetes.io/job-index-failure-count]", "Job report")
			s.stays(ctx, pod)
		}},
		{"having a Deployment divide its replicas by what its ReplicaSets say", func(ctx context.Context, s *scene) {
			ns := shared.newNamespace(ctx)
			d := shared.alice().deploy(ctx, builders.MakeDeployment(ns, "web").Replicas(4))
			shared.alice().change(ctx, d, image("web:"+unready))
			shared.hasPods(ctx, ns, map[string]int{"web:1": 3, "web:" + unready: 2})
			for _, rs := range shared.replicaSets(ctx, Default, d) {
				for _, name := range []string{"max-replicas", "desired-replicas"} {
					refuse(s.rogue.try(ctx, rs.DeepCopy(), annotation("deployment.kubernetes.io/"+name, "1")),
						"changing metadata.annotations[deployment.kubernetes.io/"+name+"]", "Deployment web")
				}
			}
			audit := shared.watch(ns)
			shared.alice().change(ctx, d, replicas(8))
			shared.hasPods(ctx, ns, map[string]int{"web:1": 6, "web:" + unready: 4})
			shared.alice().change(ctx, d, image("web:3"))
			shared.hasPods(ctx, ns, map[string]int{"web:3": 8})
			Expect(audit.writes(controlplane.ByUser(deploymentController), controlplane.Refused(http.StatusForbidden))).To(BeEmpty(), "it keeps its books")
		}},
		{"renumbering the revisions of a Deployment", func(ctx context.Context, s *scene) {
			ns := shared.newNamespace(ctx)
			d := shared.alice().deploy(ctx, builders.MakeDeployment(ns, "web").Replicas(2))
			first := shared.newestReplicaSet(ctx, d)
			shared.alice().change(ctx, d, image("web:2"))
			shared.complete(ctx, d, "2")
			refuse(s.rogue.try(ctx, first.DeepCopy(), annotation(revisionKey, "2")),
				"changing metadata.annotations["+revisionKey+"]", "Deployment web")
			refuse(s.rogue.try(ctx, first.DeepCopy(), noAnnotation(revisionKey)), "metadata.annotations["+revisionKey+"]")
			Expect(s.rogue.try(ctx, first, annotation("example.org/note", "mine"))).To(Succeed(), "other annotations are anybody's")
			shared.alice().change(ctx, d, image("web:3"))
			shared.complete(ctx, d, "3")
			_, err := shared.alice().kubectl(ctx, "rollout", "undo", "deployment/web", "-n", ns, "--to-revision=2")
			Expect(err).NotTo(HaveOccurred())
			shared.complete(ctx, d, "4")
			shared.hasPods(ctx, ns, map[string]int{"web:2": 2})
		}},
		{"having a ReplicationController select others", func(ctx context.Context, s *scene) {
			policies := "selecting-" + s.ns
			ns := shared.newNamespaceFor(ctx, policies)
			shared.apply(ctx, ownPolicy(policies, "", "ReplicationController", `
  rules:
  - trigger: spec
    policies:
    - {target: {apiGroup: "", apiVersion: v1, resource: pods}, relation: ControllerChild, verbs: [Create, Delete]}
  consumption:
    when: object.status.observedGeneration >= allowance.generation && object.status.availableReplicas == object.spec.replicas
`))
			template := builders.MakeStatefulSet(ns, "web", 2).Spec.Template
			rc := &corev1.ReplicationController{
				ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "web"},
				Spec:       corev1.ReplicationControllerSpec{Replicas: new(int32(2)), Selector: template.Labels, Template: &template},
			}
			Expect(shared.alice().Create(ctx, rc)).To(Succeed())
			shared.hasPods(ctx, ns, map[string]int{"web:1": 2})
			shared.ended(ctx, rc)
			pod := shared.anyPod(ctx, ns)
			refuse(s.rogue.try(ctx, pod.DeepCopy(), relabeled), "metadata.labels[app]", "ReplicationController web")
			s.rogue.warned.take()
			s.rogue.change(ctx, rc, `{"spec":{"selector":{"app":"rogue"},"template":{"metadata":{"labels":{"app":"rogue"}}}}}`)
			Expect(s.rogue.warned.take()).To(ContainSubstring("spec.selector.app"))
			audit := shared.watch(ns)
			Eventually(ctx, audit.refusals).ShouldNot(BeEmpty(), "its controller does not let go of its Pods")
			s.stays(ctx, pod)
		}},
	}
}

// pendingPod makes a Job whose Pods no node takes, under a policy of its own with more sections than
// the one for what is new, and returns one of the Pods.
func (s *scene) pendingPod(ctx context.Context, name, sections string, mode batchv1.CompletionMode) *corev1.Pod {
	GinkgoHelper()
	policies := name + "-" + s.ns
	ns := shared.newNamespaceFor(ctx, policies)
	shared.apply(ctx, ownPolicy(policies, batchv1.GroupName, "Job", `
  initializing:
    policies:
    - {target: {apiGroup: "", apiVersion: v1, resource: pods}, relation: ControllerChild, verbs: [Create]}
`+sections))
	job := builders.MakeJob(ns, "report", 2, 2)
	job.Spec.CompletionMode = &mode
	job.Spec.Template.Spec.NodeSelector = map[string]string{"example.org/none": "such"}
	Expect(shared.alice().Create(ctx, job)).To(Succeed())
	shared.hasPods(ctx, ns, map[string]int{"report:1": 2})
	return shared.anyPod(ctx, ns)
}

// stays checks that a Pod is left alone, and its parent's.
func (s *scene) stays(ctx context.Context, pod *corev1.Pod) {
	GinkgoHelper()
	Consistently(ctx, func(g Gomega) {
		now := &corev1.Pod{}
		g.Expect(shared.Get(ctx, client.ObjectKeyFromObject(pod), now)).To(Succeed())
		g.Expect(now.UID).To(Equal(pod.UID))
		g.Expect(now.DeletionTimestamp).To(BeNil())
		g.Expect(now.OwnerReferences).To(Equal(pod.OwnerReferences))
	}).WithTimeout(quietMoment).Should(Succeed())
}

// reportingFalsely returns the ways to have what is withheld count as carried out.
func reportingFalsely() []bypass {
	return []bypass{
		{"reporting that what is withheld is carried out", func(ctx context.Context, s *scene) {
			ns := shared.newNamespace(ctx)
			d := shared.alice().deploy(ctx, builders.MakeDeployment(ns, "web").Replicas(2))
			shared.alice().change(ctx, d, `{"spec":{"paused":true}}`)
			s.rogue.change(ctx, d, image("web:rogue"))
			// Once its controller has said what is so: before, it may say so itself meanwhile.
			Eventually(ctx, func(g Gomega) {
				g.Expect(shared.Get(ctx, client.ObjectKeyFromObject(d), d)).To(Succeed())
				g.Expect(d.Status).To(And(HaveField("ObservedGeneration", d.Generation), HaveField("UpdatedReplicas", BeZero())))
			}).Should(Succeed())
			base := d.DeepCopy()
			d.Status.ObservedGeneration = d.Generation
			d.Status.UpdatedReplicas, d.Status.Replicas, d.Status.ReadyReplicas, d.Status.AvailableReplicas = 2, 2, 2, 2
			err := s.rogue.Status().Patch(ctx, d.DeepCopy(), client.MergeFrom(base))
			Expect(err).To(MatchError(denied, "denied"))
			Expect(err).To(MatchError(ContainSubstring("that is for its controller to say")))
			shared.alice().change(ctx, d, `{"spec":{"paused":false}}`)
			Consistently(ctx, func(g Gomega) { g.Expect(shared.pods(ctx, g, ns)).To(Equal(map[string]int{"web:1": 2})) }).
				WithTimeout(quietMoment).Should(Succeed())
		}},
	}
}

// letGoBySubresource returns the ways to take the owner of a child away by sub-resources that
// take the whole object, of kinds that are in no namespace.
func letGoBySubresource() []bypass {
	return []bypass{
		{"taking the owner of a child away through its finalization", func(ctx context.Context, s *scene) {
			role := s.outside(ctx, "finalizing", `{apiVersion: v1, resource: namespaces}`)
			ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "finalizing-", OwnerReferences: ownedBy(role)}}
			Expect(s.powerful().Create(ctx, ns)).To(Succeed())
			without := ns.DeepCopy()
			without.ResourceVersion, without.OwnerReferences = "", nil
			refuse(s.rogue.SubResource("finalize").Update(ctx, without), "metadata.ownerReferences", "ClusterRole "+role.Name)
		}},
		{"taking the owner of a child away through its approval", func(ctx context.Context, s *scene) {
			role := s.outside(ctx, "approving", `{apiGroup: certificates.k8s.io, apiVersion: v1, resource: certificatesigningrequests}`)
			csr := &certificatesv1.CertificateSigningRequest{
				ObjectMeta: metav1.ObjectMeta{GenerateName: "approving-", OwnerReferences: ownedBy(role)},
				Spec: certificatesv1.CertificateSigningRequestSpec{
					Request: certificateRequest(), SignerName: "example.org/none", Usages: []certificatesv1.KeyUsage{certificatesv1.UsageDigitalSignature},
				},
			}
			Expect(s.powerful().Create(ctx, csr)).To(Succeed())
			without := csr.DeepCopy()
			without.OwnerReferences = nil
			refuse(s.rogue.SubResource("approval").Update(ctx, without), "metadata.ownerReferences", "ClusterRole "+role.Name)
			approved := csr.DeepCopy()
			approved.Status.Conditions = []certificatesv1.CertificateSigningRequestCondition{{
				Type: certificatesv1.CertificateApproved, Status: corev1.ConditionTrue, Reason: "Asked", Message: "approved",
			}}
			Expect(s.rogue.SubResource("approval").Update(ctx, approved)).To(Succeed(), "approving is anybody's whom RBAC lets")
		}},
	}
}

// outside makes a parent in no namespace, whose policy lets children of a resource be
// created.
func (s *scene) outside(ctx context.Context, name, target string) *rbacv1.ClusterRole {
	GinkgoHelper()
	shared.apply(ctx, ownPolicy(name+"-"+s.ns, rbacv1.GroupName, "ClusterRole", `
  objectSelector: {matchLabels: {example.com/case: `+name+`}}
  initializing:
    policies: [{target: `+target+`, relation: ControllerChild, verbs: [Create]}]
`))
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{GenerateName: name + "-", Labels: map[string]string{"example.com/case": name}}}
	Expect(s.powerful().Create(ctx, role)).To(Succeed())
	DeferCleanup(func(ctx SpecContext) { Expect(shared.Delete(ctx, role)).To(Succeed()) })
	return role
}

// powerful returns alice with all rights of RBAC.
func (s *scene) powerful() *actor { return shared.as(alice, platformTeam, "system:masters") }

func ownedBy(role *rbacv1.ClusterRole) []metav1.OwnerReference {
	return []metav1.OwnerReference{{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: "ClusterRole", Name: role.Name, UID: role.UID}}
}

// certificateRequest returns a request for a certificate that an API server takes.
func certificateRequest() []byte {
	GinkgoHelper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	Expect(err).NotTo(HaveOccurred())
	der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{Subject: pkix.Name{CommonName: "nobody"}}, key)
	Expect(err).NotTo(HaveOccurred())
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der})
}

// What the platform does with objects that it did not make, refused, never ends (D3).
var _ = Describe("What the platform fills in", func() {
	It("passes in children of any parent", func(ctx SpecContext) {
		const policies = "filled"
		ns := shared.newNamespaceFor(ctx, policies)
		shared.apply(ctx, ownPolicy(policies, rbacv1.GroupName, "Role", `
  initializing:
    policies:
    - {target: {apiVersion: v1, resource: persistentvolumeclaims}, relation: ControllerChild, verbs: [Create]}
    - {target: {apiVersion: v1, resource: secrets}, relation: ControllerChild, verbs: [Create]}
`))
		alice := shared.as(alice, platformTeam, "system:masters")
		role := &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "owner"}}
		Expect(alice.Create(ctx, role)).To(Succeed())
		owners := []metav1.OwnerReference{{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: "Role", Name: role.Name, UID: role.UID}}
		audit := shared.watch(ns)

		By("binding a volume claim")
		claim := builders.MakeVolumeClaim(ns, "data")
		claim.OwnerReferences = owners
		volume := builders.MakeVolumeFor(claim)
		Expect(shared.Create(ctx, volume)).To(Succeed())
		DeferCleanup(func(ctx SpecContext) { Expect(shared.Delete(ctx, volume)).To(Succeed()) })
		Expect(alice.Create(ctx, claim)).To(Succeed())
		Eventually(ctx, func(g Gomega) {
			g.Expect(shared.Get(ctx, client.ObjectKeyFromObject(claim), claim)).To(Succeed())
			g.Expect(claim.Spec.VolumeName).To(Equal(volume.Name))
			g.Expect(claim.Status.Phase).To(Equal(corev1.ClaimBound))
		}).Should(Succeed())

		By("filling in a token")
		token := &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: ns, Name: "token", OwnerReferences: owners, Annotations: map[string]string{corev1.ServiceAccountNameKey: "default"},
			},
			Type: corev1.SecretTypeServiceAccountToken,
		}
		Expect(alice.Create(ctx, token)).To(Succeed())
		Eventually(ctx, func(g Gomega) {
			g.Expect(shared.Get(ctx, client.ObjectKeyFromObject(token), token)).To(Succeed())
			g.Expect(token.Data).To(HaveKey(corev1.ServiceAccountTokenKey))
		}).Should(Succeed())
		Expect(audit.refusals()).To(BeEmpty())
		refuse(shared.mallory().Patch(ctx, token, client.RawPatch(types.MergePatchType, []byte(`{"data":{"token":null}}`))), "data[token]", "Role owner")
	}, SpecTimeout(specTimeout))
})
