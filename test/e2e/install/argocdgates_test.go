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

package install

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/test/stage"
)

// A managed resource of Crossplane that is in Git itself, without anybody who composes it. The spec is its provider.
const (
	bucketDefinition = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: buckets.cloud.example.org}
spec:
  group: cloud.example.org
  scope: Namespaced
  names: {kind: Bucket, listKind: BucketList, plural: buckets, singular: bucket, categories: [crossplane, managed]}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              forProvider: {type: object, properties: {size: {type: string}}}
              managementPolicies: {type: array, items: {type: string}, default: ["*"]}
          status: {type: object, x-kubernetes-preserve-unknown-fields: true}
`
	bucketPolicy = `
apiVersion: kausality.io/v1alpha1
kind: AllowancePolicy
metadata: {name: bucket}
spec:
  for: {apiGroup: cloud.example.org, apiVersion: v1, kind: Bucket}
  subjects:
  - {kind: ServiceAccount, namespace: argocd, name: argocd-application-controller, mayInitiate: true}
  initializing:
    policies:
    - &cloud {target: {external: {kind: Bucket}}, relation: External, verbs: [Create, Update]}
  rules:
  - trigger: spec.forProvider
    policies: [*cloud]
`
)

var bucketKind = schema.GroupVersionKind{Group: "cloud.example.org", Version: "v1", Kind: "Bucket"}

// bucketInGit returns the resource as it is in Git. policies are its management policies, nothing
// where Git leaves these out.
func bucketInGit(size, policies string) string {
	return fmt.Sprintf(`---
apiVersion: cloud.example.org/v1
kind: Bucket
metadata: {namespace: shop, name: photos}
spec:
  forProvider: {size: %q}
  %s
`, size, policies)
}

// bucket returns the resource, and what its provider may do.
func (w *world) bucket(ctx context.Context, g Gomega) (bucket *unstructured.Unstructured, policies []string) {
	GinkgoHelper()
	bucket = &unstructured.Unstructured{}
	bucket.SetGroupVersionKind(bucketKind)
	g.Expect(w.Get(ctx, client.ObjectKey{Namespace: "shop", Name: "photos"}, bucket)).To(Succeed())
	policies, _, err := unstructured.NestedStringSlice(bucket.Object, "spec", "managementPolicies")
	g.Expect(err).NotTo(HaveOccurred())
	return bucket, policies
}

// provides writes the status of a provider that has applied everything.
func (w *world) provides(ctx context.Context) {
	GinkgoHelper()
	Eventually(ctx, func(g Gomega) {
		bucket, _ := w.bucket(ctx, g)
		condition := func(kind, reason string) map[string]any {
			return map[string]any{
				"type": kind, "status": "True", "reason": reason, "observedGeneration": bucket.GetGeneration(),
				"lastTransitionTime": time.Now().UTC().Format(time.RFC3339),
			}
		}
		size, _, err := unstructured.NestedString(bucket.Object, "spec", "forProvider", "size")
		g.Expect(err).NotTo(HaveOccurred())
		bucket.Object["status"] = map[string]any{
			"atProvider": map[string]any{"size": size},
			"conditions": []any{condition("Synced", "ReconcileSuccess"), condition("Ready", "Available")},
		}
		g.Expect(w.Status().Update(ctx, bucket)).To(Succeed())
	}).Should(Succeed())
}

var _ = Describe("Argo CD", Label("argo-cd"), func() {
	DescribeTable("sees no difference, whether a gate is open or closed",
		func(ctx SpecContext, flags ...string) {
			w := newWorld(ctx)
			a := w.argoCD(ctx, flags)
			a.push("kausality", w.build(ctx, "config/default"))
			a.sync(ctx, "kausality")
			operators := w.runAll(ctx)
			DeferCleanup(func() { forget(operators) })
			files := GinkgoT().TempDir()
			for name, text := range map[string]string{"definition.yaml": bucketDefinition, "policy.yaml": bucketPolicy} {
				Expect(os.WriteFile(filepath.Join(files, name), []byte(text), 0o600)).To(Succeed())
			}
			w.sh(ctx, "kubectl apply -f "+filepath.Join(files, "definition.yaml"))
			w.sh(ctx, "kubectl wait --for=condition=Established crd/buckets.cloud.example.org")
			w.sh(ctx, "kubectl create clusterrole buckets --verb=get,patch,update --resource=buckets.cloud.example.org")
			w.sh(ctx, "kubectl create clusterrolebinding buckets --clusterrole=buckets --user="+stage.MalloryName)
			w.sh(ctx, "kubectl kausality access -f "+filepath.Join(files, "policy.yaml")+" | kubectl apply -f -")
			a.push("policies", bucketPolicy)
			Eventually(ctx, func(g Gomega) {
				out, err := w.try(ctx, a.command("sync", "policies"))
				g.Expect(err).NotTo(HaveOccurred(), out)
			}).WithTimeout(settled).Should(Succeed())
			w.Enforced(ctx, &v1alpha1.AllowancePolicy{ObjectMeta: metav1.ObjectMeta{Name: "bucket"}}, settled)

			is := func(policies ...string) {
				GinkgoHelper()
				Eventually(ctx, func(g Gomega) {
					_, may := w.bucket(ctx, g)
					g.Expect(may).To(Equal(policies))
				}).Should(Succeed())
				Expect(a.outOfSync(ctx, "cloud")).To(BeEmpty())
			}
			// The operator writes the status a moment after the gate has opened or closed.
			rests := func() {
				GinkgoHelper()
				Eventually(ctx, func(g Gomega) {
					before, _ := w.bucket(ctx, g)
					a.sync(ctx, "cloud")
					after, _ := w.bucket(ctx, g)
					g.Expect(after.GetResourceVersion()).To(Equal(before.GetResourceVersion()), "written to by a sync for which there is nothing to do")
				}).Should(Succeed())
			}
			By("creating it")
			a.push("cloud", team+bucketInGit("1", ""))
			a.sync(ctx, "cloud")
			is("Observe", "Create", "Update", "LateInitialize")
			rests()
			w.provides(ctx)
			is("Observe", "LateInitialize")
			rests()

			By("changing it in Git")
			a.push("cloud", team+bucketInGit("2", ""))
			a.sync(ctx, "cloud")
			is("Observe", "Create", "Update", "LateInitialize")
			rests()
			w.provides(ctx)
			is("Observe", "LateInitialize")
			rests()

			By("healing what a stranger has changed")
			bucket, _ := w.bucket(ctx, Default)
			theirs := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"forProvider":{"size":"theirs"},"managementPolicies":["*"]}}`))
			Expect(w.Mallory().Patch(ctx, bucket, theirs)).To(Succeed())
			_, may := w.bucket(ctx, Default)
			Expect(may).To(Equal([]string{"Observe", "LateInitialize"}))
			Expect(a.outOfSync(ctx, "cloud")).To(ContainSubstring("photos"))
			a.sync(ctx, "cloud")
			is("Observe", "Create", "Update", "LateInitialize")
			w.provides(ctx)
			is("Observe", "LateInitialize")
			rests()

			By("having Git say what the operator says")
			a.push("cloud", team+bucketInGit("2", `managementPolicies: ["*"]`))
			a.sync(ctx, "cloud")
			_, may = w.bucket(ctx, Default)
			Expect(may).To(Equal([]string{"Observe", "LateInitialize"}), "it is Git's no more than anybody's")
			rests()
			// What a dry run of server-side apply says is what admission makes of it.
			stays := ContainSubstring("photos")
			if len(flags) > 0 {
				stays = BeEmpty()
			}
			Expect(a.outOfSync(ctx, "cloud")).To(stays, "docs/gitops.md says what to do")
		},
		Entry("by client-side apply, as is its default", SpecTimeout(2*specTimeout)),
		Entry("with ServerSideApply=true and ServerSideDiff=true", SpecTimeout(2*specTimeout), "-server-side"),
	)
})
