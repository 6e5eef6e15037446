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

package crossplane

import (
	"context"
	"flag"
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// slowness is how long the function thinks about a database of slowGroup.
const slowness = time.Second

// overtaking is how many changes come while others are composed: a handful on
// everybody's way, and many where it is asked for.
var overtaking = flag.Int("overtaking", 8, "how many changes there are while composite resources are composed of an older spec")

// overtakingTimeout bounds each of them. One takes two seconds, its database included.
const overtakingTimeout = 10 * time.Second

// The cost of a write is what Crossplane's circuit breaker makes of it: it counts every
// change of a composite resource and of what that is composed of, and stops looking
// when there are too many.
var _ = Describe("The writes that follow from changes", func() {
	It("are at most twice as many as without policies, and keep the circuit breaker closed", func(ctx SpecContext) {
		const resized = 5
		writes := func(group string) int {
			GinkgoHelper()
			audit := shared.Watch()
			db := shared.create(ctx, group, claimKind)
			for i := range resized {
				Expect(shared.initiator().Patch(ctx, db.database, approvedResize(fmt.Sprintf("db.t3.%d", i)))).To(Succeed())
			}
			shared.has(ctx, db.instance, fmt.Sprintf("db.t3.%d", resized-1))
			if group == governedGroup {
				shared.steady(ctx, db)
			}
			shared.quiet(ctx, db.objects()...)
			shared.Becomes(ctx, db.composite, "Responsive")
			return len(changes(audit, unseen(db.composite))) + len(changes(audit, unseen(db.instance)))
		}
		without, with := writes(plainGroup), writes(governedGroup)
		AddReportEntry("writes", fmt.Sprintf("%d with policies, %d without", with, without))
		Expect(with).To(BeNumerically("<=", 2*without))
	}, SpecTimeout(2*specTimeout))

	// The circuit breaker counts for each database, so that there are many of them.
	It("are all there, though composite resources are composed of an older spec meanwhile", func(ctx SpecContext) {
		initiator := shared.initiator()
		var all []*governed
		for range *overtaking / 2 {
			all = append(all, shared.create(ctx, slowGroup, claimKind))
		}
		var objects []*unstructured.Unstructured
		for _, db := range all {
			objects = append(objects, db.database, db.composite, db.instance)
		}
		audit := shared.WatchObjects(objects...) // Others are refused things all the time.
		for _, db := range all {
			Expect(initiator.Patch(ctx, db.database, approvedResize("db.t3.first"))).To(Succeed())
			// The function thinks about that one when the next one comes.
			shared.compositeBecomes(ctx, db, "db.t3.first")
			Expect(initiator.Patch(ctx, db.database, approvedResize(large))).To(Succeed())
		}
		for _, db := range all {
			shared.has(ctx, db.instance, large)
		}
		Expect(audit.Refusals(crossplaneUser)).To(BeEmpty())
	}, SpecTimeout(2*specTimeout+time.Duration(*overtaking)*overtakingTimeout))
})

// unseen returns an object of which no version was seen.
func unseen(object *unstructured.Unstructured) *unstructured.Unstructured {
	object = object.DeepCopy()
	object.SetResourceVersion("")
	return object
}

// slowDown makes the function think about each database of a group for a while.
func (w *world) slowDown(ctx context.Context, group string, delay time.Duration) {
	GinkgoHelper()
	composition := &unstructured.Unstructured{}
	composition.SetGroupVersionKind(schema.GroupVersionKind{Group: "apiextensions.crossplane.io", Version: "v1", Kind: "Composition"})
	composition.SetName("xdatabases." + group)
	Expect(w.Patch(ctx, composition, client.RawPatch(types.JSONPatchType,
		fmt.Appendf(nil, `[{"op":"add","path":"/spec/pipeline/0/input/delay","value":%q}]`, delay)))).To(Succeed())
}

// compositeBecomes waits until the composite resource is asked to have a size.
func (w *world) compositeBecomes(ctx context.Context, d *governed, size string) {
	GinkgoHelper()
	Eventually(ctx, func(g Gomega) {
		g.Expect(w.Get(ctx, client.ObjectKeyFromObject(d.composite), d.composite)).To(Succeed())
		got, _, _ := unstructured.NestedString(d.composite.Object, "spec", "size")
		g.Expect(got).To(Equal(size))
	}).WithPolling(20 * time.Millisecond).Should(Succeed())
}
