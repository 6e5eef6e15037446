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
	"maps"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/test/builders"
)

const (
	// revisionKey is the annotation with the revision of a Deployment.
	revisionKey = "deployment.kubernetes.io/revision"
	// ledgerKey is the annotation with the ledger of a Deployment.
	ledgerKey = v1alpha1.AnnotationAllowances
	// replicaSetLedgerKey is that with the ledger of a ReplicaSet of a Deployment;
	// what such a ReplicaSet has under ledgerKey is its Deployment's.
	replicaSetLedgerKey = v1alpha1.ReplicaSetAnnotationPrefix + "allowances"
	// unready is in images of containers that never become ready.
	unready = "never-ready"
)

// A change of a Deployment, as a strategic merge patch.
type patch string

func replicas(n int32) patch {
	return patch(fmt.Sprintf(`{"spec":{"replicas":%d}}`, n))
}

func image(image string) patch {
	return patch(fmt.Sprintf(`{"spec":{"template":{"spec":{"containers":[{"name":%q,"image":%q}]}}}}`, builders.Container, image))
}

func paused(paused bool) patch {
	return patch(fmt.Sprintf(`{"spec":{"paused":%t}}`, paused))
}

func annotation(key, value string) patch {
	raw, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": map[string]string{key: value}}})
	Expect(err).NotTo(HaveOccurred())
	return patch(raw)
}

func noAnnotation(key string) patch {
	return patch(fmt.Sprintf(`{"metadata":{"annotations":{%q:null}}}`, key))
}

func approve(paths string) patch { return annotation(v1alpha1.AnnotationApprove, paths) }

// change makes changes of an object, one after the other.
func (a *actor) change(ctx context.Context, obj client.Object, patches ...patch) {
	GinkgoHelper()
	for _, p := range patches {
		Expect(a.try(ctx, obj, p)).To(Succeed())
	}
}

// try makes a change of an object.
func (a *actor) try(ctx context.Context, obj client.Object, p patch, opts ...client.PatchOption) error {
	return a.Patch(ctx, obj, client.RawPatch(types.StrategicMergePatchType, []byte(p)), opts...)
}

// update makes a change of an object as it is now, as a whole, and again where somebody
// else was faster to write.
func (a *actor) update(ctx context.Context, obj client.Object, mutate func()) error {
	return retry.RetryOnConflict(retry.DefaultRetry, func() error {
		if err := a.Get(ctx, client.ObjectKeyFromObject(obj), obj); err != nil {
			return err
		}
		mutate()
		return a.Update(ctx, obj)
	})
}

// scale sets the replicas of an object through its scale sub-resource.
func (a *actor) scale(ctx context.Context, obj client.Object, n int32) error {
	return a.SubResource("scale").Update(ctx, obj, client.WithSubResourceBody(&autoscalingv1.Scale{
		ObjectMeta: metav1.ObjectMeta{Namespace: obj.GetNamespace(), Name: obj.GetName()},
		Spec:       autoscalingv1.ScaleSpec{Replicas: n},
	}))
}

// deploy creates a Deployment in the name of the actor, and returns it when it is
// complete.
func (a *actor) deploy(ctx context.Context, b *builders.DeploymentBuilder) *appsv1.Deployment {
	GinkgoHelper()
	d := b.Obj()
	Expect(a.Create(ctx, d)).To(Succeed())
	a.cluster.complete(ctx, d, "1")
	return d
}

// complete returns when the Deployment is of the given revision and there is
// nothing left to do, neither for its controllers nor for the operator.
func (c *cluster) complete(ctx context.Context, d *appsv1.Deployment, revision string) {
	GinkgoHelper()
	Eventually(ctx, func(g Gomega) {
		g.Expect(c.Get(ctx, client.ObjectKeyFromObject(d), d)).To(Succeed())
		expectRolledOut(g, d)
		g.Expect(d.Annotations).To(HaveKeyWithValue(revisionKey, revision))
		g.Expect(d.Annotations).NotTo(HaveKey(ledgerKey), "the Deployment still has a ledger")
		all := c.replicaSets(ctx, g, d)
		g.Expect(all).NotTo(BeEmpty())
		for _, rs := range all {
			g.Expect(rs.Annotations).NotTo(HaveKey(replicaSetLedgerKey), "ReplicaSet %s still has a ledger", rs.Name)
		}
	}).Should(Succeed())
}

// rolledOut returns when the controllers have nothing left to do for the
// Deployment.
func (c *cluster) rolledOut(ctx context.Context, d *appsv1.Deployment) {
	GinkgoHelper()
	Eventually(ctx, func(g Gomega) {
		g.Expect(c.Get(ctx, client.ObjectKeyFromObject(d), d)).To(Succeed())
		expectRolledOut(g, d)
	}).Should(Succeed())
}

func expectRolledOut(g Gomega, d *appsv1.Deployment) {
	want := ptr.Deref(d.Spec.Replicas, 1)
	s := d.Status
	g.Expect(s.ObservedGeneration).To(Equal(d.Generation), "observedGeneration of %s", d.Name)
	g.Expect([]int32{s.Replicas, s.UpdatedReplicas, s.AvailableReplicas, s.UnavailableReplicas}).
		To(Equal([]int32{want, want, want, 0}), "replicas, updated, available and unavailable of %s", d.Name)
}

// replicaSets returns the ReplicaSets of a Deployment, the newest revision last.
func (c *cluster) replicaSets(ctx context.Context, g Gomega, d *appsv1.Deployment) []appsv1.ReplicaSet {
	GinkgoHelper()
	var list appsv1.ReplicaSetList
	g.Expect(c.List(ctx, &list, client.InNamespace(d.Namespace))).To(Succeed())
	owned := slices.DeleteFunc(list.Items, func(rs appsv1.ReplicaSet) bool { return !metav1.IsControlledBy(&rs, d) })
	slices.SortFunc(owned, func(a, b appsv1.ReplicaSet) int { return revisionOf(&a) - revisionOf(&b) })
	return owned
}

func revisionOf(obj client.Object) int {
	var n int
	_, err := fmt.Sscan(obj.GetAnnotations()[revisionKey], &n)
	if err != nil {
		return 0 // The Deployment controller has yet to number it.
	}
	return n
}

// newestReplicaSet returns the ReplicaSet of the newest revision of a Deployment.
func (c *cluster) newestReplicaSet(ctx context.Context, d *appsv1.Deployment) *appsv1.ReplicaSet {
	GinkgoHelper()
	var rs appsv1.ReplicaSet
	Eventually(ctx, func(g Gomega) {
		owned := c.replicaSets(ctx, g, d)
		g.Expect(owned).NotTo(BeEmpty())
		rs = owned[len(owned)-1]
	}).Should(Succeed())
	return &rs
}

// pods returns the Pods in a namespace that are there to stay, by their image.
func (c *cluster) pods(ctx context.Context, g Gomega, namespace string) map[string]int {
	GinkgoHelper()
	var list corev1.PodList
	g.Expect(c.List(ctx, &list, client.InNamespace(namespace))).To(Succeed())
	byImage := map[string]int{}
	for i := range list.Items {
		if pod := &list.Items[i]; pod.DeletionTimestamp == nil {
			byImage[pod.Spec.Containers[0].Image]++
		}
	}
	return byImage
}

// hasPods returns when these Pods are in the namespace, and no others.
func (c *cluster) hasPods(ctx context.Context, namespace string, want map[string]int) {
	GinkgoHelper()
	Eventually(ctx, func(g Gomega) { g.Expect(c.pods(ctx, g, namespace)).To(Equal(want)) }).Should(Succeed())
}

// scales returns the sizes of the ReplicaSets of a Deployment, the newest revision
// last.
func (c *cluster) scales(ctx context.Context, g Gomega, d *appsv1.Deployment) []int32 {
	GinkgoHelper()
	var sizes []int32
	for _, rs := range c.replicaSets(ctx, g, d) {
		sizes = append(sizes, ptr.Deref(rs.Spec.Replicas, 1))
	}
	return sizes
}

// ledgerOf reads the ledger under an annotation of an object.
func ledgerOf(g Gomega, obj client.Object, key string) []v1alpha1.Allowance {
	GinkgoHelper()
	text, ok := obj.GetAnnotations()[key]
	if !ok {
		return nil
	}
	var ledger []v1alpha1.Allowance
	g.Expect(yaml.UnmarshalStrict([]byte(text), &ledger)).To(Succeed())
	return ledger
}

// way returns a trace in words: who, and which field of what.
func way(a v1alpha1.Allowance) string {
	hops := []string{a.Initiator}
	for _, hop := range a.Trace {
		name := hop.Name
		if hop.Namespace != "" {
			name += " in " + hop.Namespace
		}
		hops = append(hops, fmt.Sprintf("%s/%s %s", hop.Kind, name, hop.Field))
	}
	return strings.Join(hops, " -> ")
}

func keysOf(m map[string]string) []string {
	return slices.Sorted(maps.Keys(m))
}

// anyPod returns a Pod in a namespace.
func (c *cluster) anyPod(ctx context.Context, namespace string) *corev1.Pod {
	GinkgoHelper()
	var list corev1.PodList
	Expect(c.List(ctx, &list, client.InNamespace(namespace), client.Limit(1))).To(Succeed())
	Expect(list.Items).NotTo(BeEmpty())
	return &list.Items[0]
}
