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
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	admissionv1 "k8s.io/api/admission/v1"
	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"kausality.io/operator/test/builders"
	"kausality.io/operator/test/controlplane"
	"kausality.io/operator/test/stage"
)

const (
	// largeCrowd is how many reviews of 3 MB are posted at once by one client, and slowCrowd
	// how many clients send small ones, a byte a second. One sends a large one like that.
	largeCrowd, slowCrowd = 256, 16
	// halfLarge and halfSmall are how large each of the two objects of such reviews is.
	halfLarge, halfSmall = 1_500_000, 30_000
)

// What asks for a lot must not end the operator: without it everything would pass. What is small is
// answered in time as far as the machine has any: nothing else runs beside it.
var _ = Describe("An operator that is crowded", Serial, stage.Long, func() {
	It("stays below its limit on memory, and answers what is small", func(ctx SpecContext) {
		limit, env := manifestLimits()
		cp := startControlPlane(ctx, controlplane.Options{})
		_, err := controlplane.InstallOperator(ctx, cp, controlplane.OperatorOptions{Binary: *operatorBin, Overlay: *operatorSetup, Env: env})
		Expect(err).NotTo(HaveOccurred())
		c := connect(cp)
		c.applySamplePolicies(ctx)
		ns := c.newNamespace(ctx)
		d := c.alice().deploy(ctx, builders.MakeDeployment(ns, "web").Replicas(2))
		rs := c.newestReplicaSet(ctx, d)
		rogue := c.mallory()
		refuse(rogue.try(ctx, rs.DeepCopy(), replicas(9)))
		review, small := reviewOf(rs, halfLarge), reviewOf(rs, halfSmall)
		hook := c.findHook(ctx)

		By("many clients beginning to ask, a byte a second")
		slow, stop := context.WithCancel(ctx)
		var clients sync.WaitGroup
		for range slowCrowd {
			clients.Go(func() { hook.dribble(slow, small) })
		}
		clients.Go(func() { hook.dribble(slow, review) })
		By("one client asking a lot at once")
		var answered, busy, cut atomic.Int64
		for range largeCrowd {
			clients.Go(func() {
				defer GinkgoRecover()
				defer answered.Add(1)
				code, body, err := hook.tryPost(ctx, hook.path, json.RawMessage(review))
				if err != nil || code == http.StatusBadRequest {
					Expect(body).To(Or(BeEmpty(), ContainSubstring("reading a review")))
					cut.Add(1) // It took too long to send, on a machine that has no time for it.
					return
				}
				Expect(code).To(Equal(http.StatusOK))
				Expect(body).To(ContainSubstring(`"allowed":false`))
				if strings.Contains(body, `"code":429`) {
					busy.Add(1)
				}
			})
		}
		slowest, asked := time.Duration(0), 0
		for answered.Load() < largeCrowd {
			began := time.Now()
			refuse(rogue.try(ctx, rs.DeepCopy(), replicas(9)))
			slowest = max(slowest, time.Since(began))
			asked++
		}
		stop()
		clients.Wait()
		peak := peakMemory(cp, controlplane.DefaultOperatorName)
		GinkgoWriter.Printf("%d large reviews were posted, %d answered that there is no room, %d cut off; %d small ones meanwhile, the slowest in %s; at most %d MiB of memory\n",
			largeCrowd, busy.Load(), cut.Load(), asked, slowest, peak>>20)
		Expect(asked).To(BeNumerically(">", 5))
		Expect(cut.Load()).To(BeNumerically("<", largeCrowd/2))
		Expect(peak).To(BeNumerically("<", limit))
	}, SpecTimeout(startTimeout+specTimeout))
})

// reviewOf returns what the API server would ask about a stranger's change of a ReplicaSet that is
// twice as large as that.
func reviewOf(rs *appsv1.ReplicaSet, half int) []byte {
	GinkgoHelper()
	was := rs.DeepCopy()
	was.TypeMeta = metav1.TypeMeta{APIVersion: "apps/v1", Kind: "ReplicaSet"}
	was.Annotations["example.com/large"] = strings.Repeat("x", half)
	is := was.DeepCopy()
	is.Spec.Replicas = new(int32(9))
	review, err := json.Marshal(&admissionv1.AdmissionReview{
		TypeMeta: metav1.TypeMeta{APIVersion: admissionv1.SchemeGroupVersion.String(), Kind: "AdmissionReview"},
		Request: &admissionv1.AdmissionRequest{
			UID:       "7d3c1b3e-6c11-4d06-9a35-0d4c1f9a7f10",
			Kind:      metav1.GroupVersionKind{Group: "apps", Version: "v1", Kind: "ReplicaSet"},
			Resource:  metav1.GroupVersionResource{Group: "apps", Version: "v1", Resource: "replicasets"},
			Namespace: rs.Namespace, Name: rs.Name, Operation: admissionv1.Update,
			UserInfo:  authenticationv1.UserInfo{Username: mallory},
			OldObject: rawObject(was), Object: rawObject(is),
		},
	})
	Expect(err).NotTo(HaveOccurred())
	return review
}

// dribble asks as the API server does, a byte a second, again and again until it is stopped.
func (h *hook) dribble(ctx context.Context, review []byte) {
	for ctx.Err() == nil {
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, h.base+h.path, &dribbling{ctx, bytes.NewReader(review)})
		if err != nil {
			return
		}
		request.ContentLength = int64(len(review))
		request.Header.Set("Content-Type", "application/json")
		if response, err := h.client.Do(request); err == nil {
			_ = response.Body.Close()
		}
	}
}

// dribbling is read a byte a second.
type dribbling struct {
	ctx  context.Context //nolint:containedctx // It is that of the request.
	rest io.Reader
}

// Read implements io.Reader.
func (d *dribbling) Read(p []byte) (int, error) {
	select {
	case <-time.After(time.Second):
		return d.rest.Read(p[:min(len(p), 1)])
	case <-d.ctx.Done():
		return 0, d.ctx.Err()
	}
}

// manifestLimits returns what the manifest gives the operator: how many bytes, and what it is told
// about that in its environment.
func manifestLimits() (limit int64, env []string) {
	GinkgoHelper()
	raw, err := os.ReadFile(filepath.Join(root, "config", "manager", "manager.yaml"))
	Expect(err).NotTo(HaveOccurred())
	d := &appsv1.Deployment{}
	Expect(yaml.Unmarshal(raw, d)).To(Succeed())
	container := d.Spec.Template.Spec.Containers[0]
	for _, e := range container.Env {
		if e.Value != "" {
			env = append(env, e.Name+"="+e.Value)
		}
	}
	return container.Resources.Limits.Memory().Value(), env
}

var highWater = regexp.MustCompile(`(?m)^VmHWM:\s+(\d+) kB$`)

// peakMemory returns how many bytes of memory a process had at most.
func peakMemory(cp *controlplane.ControlPlane, name string) int64 {
	GinkgoHelper()
	for _, member := range cp.Status() {
		if member.Name != name {
			continue
		}
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", member.PID))
		Expect(err).NotTo(HaveOccurred())
		said := highWater.FindSubmatch(status)
		Expect(said).To(HaveLen(2))
		kilobytes, err := strconv.ParseInt(string(said[1]), 10, 64)
		Expect(err).NotTo(HaveOccurred())
		return kilobytes << 10
	}
	Fail("there is no process " + name)
	return 0
}
