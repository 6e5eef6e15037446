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

package controllers

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/test/controllers"
	"kausality.io/operator/test/controlplane"
	"kausality.io/operator/test/stage"
)

// repository is what source-controller serves of a repository: an archive of manifests,
// which the status of a GitRepository names.
type repository struct {
	scene  *scene
	object *unstructured.Unstructured
	server *httptest.Server

	mu       sync.Mutex
	archives map[string][]byte
}

// newRepository makes an empty one, which goes with the spec.
func newRepository(ctx context.Context, s *scene) *repository {
	GinkgoHelper()
	r := &repository{scene: s, archives: map[string][]byte{}}
	r.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, asked *http.Request) {
		r.mu.Lock()
		defer r.mu.Unlock()
		content, ok := r.archives[asked.URL.Path]
		if !ok {
			http.NotFound(w, asked)
			return
		}
		_, _ = w.Write(content)
	}))
	DeferCleanup(r.server.Close)
	r.object = s.object(`
apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata: {name: shop}
spec: {interval: 1h, url: "https://git.example.org/shop"}
`)
	Expect(s.alice.Create(ctx, r.object)).To(Succeed())
	return r
}

// push makes a file with some content all that there is.
func (r *repository) push(ctx context.Context, content string) {
	GinkgoHelper()
	var archive bytes.Buffer
	zipped := gzip.NewWriter(&archive)
	files := tar.NewWriter(zipped)
	Expect(files.WriteHeader(&tar.Header{Name: "shop.yaml", Mode: 0o600, Size: int64(len(content))})).To(Succeed())
	_, err := files.Write([]byte(content))
	Expect(err).NotTo(HaveOccurred())
	Expect(files.Close()).To(Succeed())
	Expect(zipped.Close()).To(Succeed())
	digest := sha256.Sum256(archive.Bytes())
	revision := hex.EncodeToString(digest[:])
	path := "/" + revision + ".tar.gz"
	r.mu.Lock()
	r.archives[path] = archive.Bytes()
	r.mu.Unlock()
	mergeStatus(ctx, r.scene.alice, r.object, fmt.Sprintf(`{"status":{"observedGeneration":%d,
		"artifact":{"digest":"sha256:%s","path":%q,"url":%q,"revision":"main@sha256:%s","lastUpdateTime":%q},
		"conditions":[{"type":"Ready","status":"True","reason":"Succeeded","message":"stored","lastTransitionTime":%q}]}}`,
		r.object.GetGeneration(), revision, path, r.server.URL+path, revision, time.Now().UTC().Format(time.RFC3339), time.Now().UTC().Format(time.RFC3339)))
}

// kustomization applies what is in it, and looks again each few seconds.
func (s *scene) kustomization() *unstructured.Unstructured {
	GinkgoHelper()
	return s.object(`
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: shop}
spec:
  interval: 5s
  prune: true
  path: ./
  targetNamespace: ` + s.namespace + `
  sourceRef: {kind: GitRepository, name: shop}
`)
}

// shop returns what is in the repository: a Deployment of an image, or nothing of note.
func shop(image string) string {
	if image == "" {
		return "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: note}\n"
	}
	return `
apiVersion: apps/v1
kind: Deployment
metadata: {name: shop}
spec:
  replicas: 2
  selector: {matchLabels: {app: shop}}
  template:
    metadata: {labels: {app: shop}}
    spec: {containers: [{name: shop, image: "` + image + `"}]}
`
}

// applied waits until what is in the repository is there, with Pods by image.
func (s *scene) applied(ctx context.Context, r *repository, kustomization *unstructured.Unstructured, pods map[string]int) {
	GinkgoHelper()
	Eventually(ctx, func(g Gomega) {
		live(ctx, g, r.object)
		revision, _, _ := unstructured.NestedString(r.object.Object, "status", "artifact", "revision")
		live(ctx, g, kustomization)
		at, _, _ := unstructured.NestedString(kustomization.Object, "status", "lastAppliedRevision")
		g.Expect(at).To(Equal(revision), "%v", stage.Condition(kustomization, "Ready"))
		g.Expect(s.pods(ctx, g)).To(Equal(pods))
	}).WithTimeout(within).Should(Succeed())
}

// delivering is what people do with a repository.
func delivering(ctx context.Context, s *scene) {
	GinkgoHelper()
	source := newRepository(ctx, s)
	source.push(ctx, shop("shop:1"))
	flux := s.kustomization()
	Expect(s.alice.Create(ctx, flux)).To(Succeed())
	s.applied(ctx, source, flux, map[string]int{"shop:1": 2})
	By("pushing another image")
	source.push(ctx, shop("shop:2"))
	s.applied(ctx, source, flux, map[string]int{"shop:2": 2})
	By("losing a Pod")
	evict(ctx, s.mallory, s.anyPod(ctx))
	s.applied(ctx, source, flux, map[string]int{"shop:2": 2})
	By("taking it out of the repository")
	source.push(ctx, shop(""))
	s.applied(ctx, source, flux, map[string]int{})
	Expect(s.alice.Delete(ctx, flux)).To(Succeed())
	shared.Gone(ctx, flux)
}

// patch changes an object by merging.
func patch(ctx context.Context, who *stage.Actor, object *unstructured.Unstructured, text string) error {
	return who.Patch(ctx, object, client.RawPatch(types.MergePatchType, []byte(text)))
}

var deploymentKind = schema.GroupVersionKind{Group: appsv1.GroupName, Version: "v1", Kind: "Deployment"}

var _ = Describe("Flux", Label(controllers.KustomizeController.Name), func() {
	It("does its work, with not many more writes", func(ctx SpecContext) {
		compare(ctx, controllers.KustomizeController.Name, delivering)
	}, SpecTimeout(2*specTimeout))

	It("applies what those say who may", func(ctx SpecContext) {
		s := setScene(ctx, true)
		source := newRepository(ctx, s)
		source.push(ctx, shop("shop:1"))
		flux := s.kustomization()
		Expect(s.alice.Create(ctx, flux)).To(Succeed())
		s.applied(ctx, source, flux, map[string]int{"shop:1": 2})
		s.quiet(ctx)
		refused(patch(ctx, s.mallory, source.object, `{"spec":{"url":"https://git.example.org/theirs"}}`))
		refused(patch(ctx, s.mallory, flux, `{"spec":{"path":"./theirs"}}`))
		refused(s.mallory.Delete(ctx, source.object))
		for object, status := range map[*unstructured.Unstructured]string{
			source.object: `{"status":{"artifact":{"url":"http://theirs.example.org","revision":"theirs"}}}`,
			flux:          `{"status":{"inventory":{"entries":[{"id":"` + s.namespace + `_theirs__Secret","v":"v1"}]}}}`,
		} {
			refused(s.mallory.Status().Patch(ctx, object.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(status))))
		}
		Expect(patch(ctx, s.mallory, flux, `{"metadata":{"annotations":{"reconcile.fluxcd.io/requestedAt":"now"}}}`)).To(Succeed(), "it changes nothing")
		merge(ctx, s.bob, source.object, `{"spec":{"url":"https://git.example.org/moved"}}`)
		source.push(ctx, shop("shop:2"))
		s.applied(ctx, source, flux, map[string]int{"shop:2": 2})
		Expect(describe(s.Writes(stage.Failed, controlplane.ByUser(controllers.KustomizeController.User())))).To(BeEmpty())
	}, SpecTimeout(specTimeout))

	It("carries out what is in the repository, and nothing of a stranger's", func(ctx SpecContext) {
		s := setScene(ctx, true)
		source := newRepository(ctx, s)
		source.push(ctx, shop("shop:1"))
		flux := s.kustomization()
		Expect(s.alice.Create(ctx, flux)).To(Succeed())
		s.applied(ctx, source, flux, map[string]int{"shop:1": 2})
		s.caused("pods", controllers.KustomizeController.User(), "create")

		By("pushing another image")
		s.look()
		source.push(ctx, shop("shop:2"))
		s.applied(ctx, source, flux, map[string]int{"shop:2": 2})
		s.caused("pods", controllers.KustomizeController.User(), "create", "delete")

		By("changing what it has applied, as a stranger")
		s.look()
		deployment := s.ref(deploymentKind, "shop")
		merge(ctx, s.mallory, deployment, `{"spec":{"template":{"spec":{"containers":[{"name":"shop","image":"shop:theirs"}]}}}}`)
		Expect(s.mallory.Warned.Take()).To(ContainSubstring("withheld"))
		Eventually(ctx, func(g Gomega) {
			live(ctx, g, deployment)
			g.Expect(fmt.Sprint(deployment.Object["spec"])).NotTo(ContainSubstring("theirs"), "it is not put back")
		}).WithTimeout(within).Should(Succeed())
		Eventually(ctx, func(g Gomega) {
			live(ctx, g, deployment)
			g.Expect(stage.WithheldOf(deployment)).To(BeEmpty())
		}).Should(Succeed())
		Expect(s.pods(ctx, Default)).To(Equal(map[string]int{"shop:2": 2}))
		Expect(describe(s.Writes(controlplane.OfResource("", "pods"), controlplane.OfSubresource(""), controlplane.ByVerb("create")))).To(BeEmpty())

		By("being at rest: it applies again and again, and nothing is written")
		s.quiet(ctx)
		s.look()
		Consistently(ctx, func() []string { return describe(s.counted().Where(notStatus)) }).WithTimeout(3 * quietMoment).Should(BeEmpty())
	}, SpecTimeout(specTimeout))
})
