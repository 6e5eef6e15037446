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
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	admissionv1 "k8s.io/api/admission/v1"
	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/interception"
	"kausality.io/operator/test/stage"
)

// deploymentType is what the API server writes into each Deployment, and clients of Go
// types leave out.
var deploymentType = metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"}

// askingTheWebhook returns the ways of somebody who talks to the operator's port, and not to
// the API server.
func askingTheWebhook() []bypass {
	return []bypass{
		{"posting a review in an initiator's name to the webhook", func(ctx context.Context, s *scene) {
			was := s.deployment(ctx)
			was.TypeMeta = deploymentType
			is := was.DeepCopy()
			is.Generation++
			is.Spec.Template.Spec.Containers[0].Image = "forged"
			hook := shared.findHook(ctx)
			hook.forge(ctx, s.review(admissionv1.Update, "", was, is))

			By("making the change that was asked about")
			s.rogue.change(ctx, was, image("forged"))
			s.nothingFollows(ctx)
			s.rogue.change(ctx, was, image(s.d.Spec.Template.Spec.Containers[0].Image))
		}},
		{"posting a scale in an initiator's name to the webhook", func(ctx context.Context, s *scene) {
			d := s.deployment(ctx)
			scale := func(replicas int32) *autoscalingv1.Scale {
				return &autoscalingv1.Scale{
					TypeMeta:   metav1.TypeMeta{APIVersion: "autoscaling/v1", Kind: "Scale"},
					ObjectMeta: metav1.ObjectMeta{Namespace: d.Namespace, Name: d.Name, UID: d.UID, ResourceVersion: d.ResourceVersion},
					Spec:       autoscalingv1.ScaleSpec{Replicas: replicas},
				}
			}
			shared.findHook(ctx).forge(ctx, s.review(admissionv1.Update, "scale", scale(3), scale(7)))

			By("making the change that was asked about")
			s.rogue.change(ctx, d, replicas(7))
			s.nothingFollows(ctx)
			s.rogue.change(ctx, d, replicas(3))
		}},
		{"posting the deletion of a parent to the webhook", func(ctx context.Context, s *scene) {
			d := s.deployment(ctx)
			d.TypeMeta = deploymentType
			shared.findHook(ctx).forge(ctx, s.review(admissionv1.Delete, "", d, nil))
			s.nothingFollows(ctx)
		}},
		{"crowding the webhook with large requests", func(ctx context.Context, s *scene) {
			was := s.rs.DeepCopy()
			was.TypeMeta = metav1.TypeMeta{APIVersion: "apps/v1", Kind: "ReplicaSet"}
			was.Annotations["example.com/large"] = strings.Repeat("large ", 250_000)
			is := was.DeepCopy()
			is.Spec.Replicas = new(int32(9))
			review := s.review(admissionv1.Update, "", was, is)
			review.Request.Kind.Kind, review.Request.Resource.Resource, review.Request.Name = "ReplicaSet", "replicasets", was.Name
			review.Request.UserInfo = authenticationv1.UserInfo{Username: mallory}
			hook := shared.findHook(ctx)

			var crowd sync.WaitGroup
			for range crowdSize {
				crowd.Go(func() {
					defer GinkgoRecover()
					began := time.Now()
					code, body, err := hook.tryPost(ctx, hook.path, review)
					if err != nil {
						Expect(time.Since(began)).To(BeNumerically(">=", saidWithin), "cut off by %s", err)
						return
					}
					Expect(code).To(Equal(http.StatusOK))
					Expect(body).To(ContainSubstring(`"allowed":false`))
				})
			}
			for range 5 {
				refuse(s.rogue.try(ctx, s.rs.DeepCopy(), replicas(9)))
			}
			crowd.Wait()
		}},
		{"having another webhook change a child in a write of Kausality's own", func(ctx context.Context, s *scene) {
			stop := shared.mutateToo(ctx, afterOurs, s.ns, replicaSetsOnly, func(req admission.Request, obj *unstructured.Unstructured) {
				if req.Operation == admissionv1.Update {
					Expect(unstructured.SetNestedField(obj.Object, int64(9), "spec", "replicas")).To(Succeed())
				}
			})
			Eventually(ctx, func() error {
				return shared.serviceAccount(operatorUser).Patch(ctx, s.rs.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(`{}`)), client.DryRunAll)
			}).Should(MatchError(denied, "denied"), "what the other webhook changes passes as Kausality's own")
			s.nothingFollows(ctx)
			stop(ctx)
		}},
		{"keeping the API server out by connections without end", func(ctx context.Context, s *scene) {
			at := strings.TrimPrefix(shared.findHook(ctx).base, "https://")
			dialer := &net.Dialer{Timeout: quietMoment}
			var silent net.Conn
			for i := range manyConnections {
				conn, err := dialer.DialContext(ctx, "tcp", at)
				Expect(err).NotTo(HaveOccurred(), "connection %d", i)
				DeferCleanup(conn.Close)
				switch {
				case silent == nil:
					silent = conn
				case i%2 == 0:
					_, _ = conn.Write([]byte{0x16}) // Half of them begin to say something, and may be closed by now.
				}
			}
			for range 5 {
				refuse(s.rogue.try(ctx, s.rs.DeepCopy(), replicas(9)))
			}
			Expect(silent.SetReadDeadline(time.Now().Add(quietMoment))).To(Succeed())
			_, err := silent.Read(make([]byte, 1))
			Expect(err).To(SatisfyAll(HaveOccurred(), Not(MatchError(os.ErrDeadlineExceeded))), "the first connection was not closed for others")
		}},
	}
}

// manyConnections is how many connections somebody opens, over which little is said.
const manyConnections = 4000

// saidWithin is how long somebody may take to say what is asked, before being cut off. Many large
// reviews at once take longer where the machine is busy.
const saidWithin = 10 * time.Second

// crowdSize is how many large reviews are posted at once.
const crowdSize = 64

// nothingFollows checks that what was asked about outside of the API server has changed
// nothing, below the Deployment and in its record.
func (s *scene) nothingFollows(ctx context.Context) {
	GinkgoHelper()
	Consistently(ctx, func(g Gomega) {
		rs := &appsv1.ReplicaSet{}
		g.Expect(shared.Get(ctx, client.ObjectKeyFromObject(s.rs), rs)).To(Succeed())
		g.Expect(rs.Spec).To(Equal(s.rs.Spec))
		g.Expect(shared.newestReplicaSet(ctx, s.d).UID).To(Equal(s.rs.UID))
		var records v1alpha1.AllowanceRecordList
		g.Expect(shared.List(ctx, &records, client.InNamespace(s.ns))).To(Succeed())
		g.Expect(records.Items).NotTo(BeEmpty())
		for _, rec := range records.Items {
			if rec.Spec.TargetRef.UID != s.d.UID && rec.Spec.TargetRef.UID != s.rs.UID {
				continue // Others have been here.
			}
			g.Expect(rec.Status.PendingGrants).To(BeEmpty())
			g.Expect(rec.Status.Deletion).To(BeNil())
		}
	}, quietMoment).Should(Succeed())
}

// review returns what the API server asks about a request of alice's for the Deployment.
func (s *scene) review(operation admissionv1.Operation, subresource string, before, after runtime.Object) *admissionv1.AdmissionReview {
	GinkgoHelper()
	request := &admissionv1.AdmissionRequest{
		UID:         "7d3c1b3e-6c11-4d06-9a35-0d4c1f9a7f10",
		Kind:        metav1.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"},
		Resource:    metav1.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"},
		SubResource: subresource,
		Namespace:   s.ns,
		Name:        s.d.Name,
		Operation:   operation,
		UserInfo:    authenticationv1.UserInfo{Username: alice, Groups: []string{stage.PlatformTeam, "system:authenticated"}},
		OldObject:   rawObject(before),
	}
	if after != nil {
		request.Object = rawObject(after)
	}
	return &admissionv1.AdmissionReview{
		TypeMeta: metav1.TypeMeta{APIVersion: admissionv1.SchemeGroupVersion.String(), Kind: "AdmissionReview"},
		Request:  request,
	}
}

// forge posts a review to both hooks, without the key, with keys that were never one, and
// with what other places of the request could carry, and checks that nobody judges it.
func (h *hook) forge(ctx context.Context, review *admissionv1.AdmissionReview) {
	GinkgoHelper()
	Expect(h.path).To(HavePrefix(interception.ValidatePath+"/"), "the API server shows a key")
	key := strings.TrimPrefix(h.path, interception.ValidatePath+"/")
	for _, base := range []string{interception.MutatePath, interception.ValidatePath} {
		for _, path := range []string{
			base, base + "/", base + "/" + strings.Repeat("0", len(key)), base + "/" + key[:len(key)-1], base + "/" + key + "0",
			base + "/" + key + "/", base + "/x/" + key, base + "?key=" + key, base + "/" + strings.ToUpper(key) + "%00",
		} {
			code, body := h.post(ctx, path, review)
			Expect(code).To(Equal(http.StatusNotFound), path)
			Expect(body).To(Equal("404 page not found\n"), path)
		}
	}
}
