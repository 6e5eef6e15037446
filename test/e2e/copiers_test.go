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
	"maps"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/test/builders"
	"kausality.io/operator/test/stage"
)

// countedKey is what a copier counts its writes of an object by, so that none of them
// is without effect: Argo Rollouts keeps a history of revisions in the same way.
const countedKey = "copier.example.org/writes"

// copier is a controller that wants annotations of two objects to be as it says, and
// has no patience: it looks at them again and again, and writes what differs.
type copier struct {
	*actor
	writes atomic.Int64
	stop   context.CancelFunc
	done   chan struct{}
}

// start has it begin, until the spec ends or stop is called.
func (c *copier) start(ctx context.Context, sync func(context.Context) error) {
	ctx, c.stop = context.WithCancel(ctx)
	c.done = make(chan struct{})
	go func() {
		defer close(c.done)
		pace := time.NewTicker(20 * time.Millisecond) // as fast as a queue lets a controller be
		defer pace.Stop()
		for ctx.Err() == nil {
			if err := sync(ctx); err != nil && !apierrors.IsConflict(err) && ctx.Err() == nil {
				GinkgoLogr.Info("The copier failed", "error", err.Error())
			}
			<-pace.C
		}
	}()
	DeferCleanup(func() {
		c.stop()
		<-c.done
	})
}

// have writes an object whose annotations want to be others.
func (c *copier) have(ctx context.Context, obj *unstructured.Unstructured, want map[string]string) error {
	if maps.Equal(obj.GetAnnotations(), want) {
		return nil
	}
	n, _ := strconv.Atoi(want[countedKey]) // none at first
	want[countedKey] = strconv.Itoa(n + 1)
	obj.SetAnnotations(want)
	c.writes.Add(1)
	return c.Update(ctx, obj)
}

// copies returns the annotations of an object along with all of another one.
func copies(onto, from *unstructured.Unstructured) map[string]string {
	out := maps.Clone(onto.GetAnnotations())
	if out == nil {
		out = map[string]string{}
	}
	for key, value := range from.GetAnnotations() {
		if key != countedKey {
			out[key] = value
		}
	}
	return out
}

// onlyKnown returns the annotations of an object that are not ours.
func onlyKnown(obj *unstructured.Unstructured) map[string]string {
	out := map[string]string{}
	for key, value := range obj.GetAnnotations() {
		if !strings.Contains(key, "kausality.io/") {
			out[key] = value
		}
	}
	return out
}

// Nobody here has seen the controllers that the next user has (D10).
var _ = Describe("A controller that copies annotations", func() {
	var (
		thing, part *unstructured.Unstructured
		owner       *actor
		operated    *thingController
		copying     *copier
	)
	BeforeEach(func(ctx SpecContext) {
		group := defineThings(ctx)
		shared.apply(ctx, thingPolicies(group)...)
		ns := shared.newNamespace(ctx)
		owner = shared.as(alice, platformTeam, "system:masters")
		controller := shared.as(thingControllerUser, "system:masters")
		operated, copying = &thingController{controller, ns, reportObserved}, &copier{actor: controller}
		thing, part = builders.MakeThing(group, ns, "app"), builders.MakeThing(group, ns, "app-part")
		thing.Object["spec"] = map[string]any{"config": "a", "port": int64(80), "part": true}
		Expect(owner.Create(ctx, thing)).To(Succeed())
		Expect(operated.reconcile(ctx, thing)).To(Succeed())
		Expect(operated.reconcile(ctx, part)).To(Succeed())
	})

	// read reads both.
	read := func(ctx context.Context, c client.Reader) error {
		for _, obj := range []*unstructured.Unstructured{thing, part} {
			if err := c.Get(ctx, client.ObjectKeyFromObject(obj), obj); err != nil {
				return err
			}
		}
		return nil
	}
	// down copies from the parent to the child.
	down := func(ctx context.Context, parent, child *unstructured.Unstructured) error {
		return copying.have(ctx, child, copies(child, parent))
	}
	// each syncs objects of its own.
	each := func(steps ...func(ctx context.Context, parent, child *unstructured.Unstructured) error) func(context.Context) error {
		parent, child := thing.DeepCopy(), part.DeepCopy()
		return func(ctx context.Context) error {
			for _, step := range steps {
				for _, obj := range []*unstructured.Unstructured{parent, child} {
					if err := copying.Get(ctx, client.ObjectKeyFromObject(obj), obj); err != nil {
						return err
					}
				}
				if err := step(ctx, parent, child); err != nil {
					return err
				}
			}
			return nil
		}
	}
	// rests returns when nothing was written for a while: the operator writes some moments
	// after the controllers, and what it writes is copied.
	rests := func(ctx context.Context) {
		GinkgoHelper()
		before := int64(-1)
		Eventually(ctx, func() bool {
			now := copying.writes.Load()
			defer func() { before = now }()
			return now == before
		}).WithPolling(quietMoment).Should(BeTrue(), "it writes without an end")
	}

	for name, steps := range map[string][]func(ctx context.Context, parent, child *unstructured.Unstructured) error{
		"onto what it makes": {down},
		"both ways": {down, func(ctx context.Context, parent, child *unstructured.Unstructured) error {
			return copying.have(ctx, parent, copies(parent, child))
		}},
	} {
		It("has nothing to write at rest: "+name, func(ctx SpecContext) {
			copying.start(context.WithoutCancel(ctx), each(steps...))
			rests(ctx)

			By("changing what it copies from")
			owner.setThing(ctx, thing, `{"config":"b"}`)
			rests(ctx)
			Eventually(ctx, func() error { return operated.reconcile(ctx, thing) }).Should(Succeed())
			rests(ctx)
			Expect(read(ctx, shared)).To(Succeed())
			Expect(ledgerOf(Default, part, stage.LedgerKey(part))).To(HaveEach(
				HaveField("Trace", HaveExactElements(HaveField("Name", thing.GetName()), HaveField("Name", part.GetName())))), "the ledger is another object's")
			Eventually(ctx, func() error { return operated.reconcile(ctx, part) }).Should(Succeed())
			rests(ctx)
			Expect(read(ctx, shared)).To(Succeed())
			config, _, _ := unstructured.NestedString(part.Object, "spec", "config")
			Expect(config).To(Equal("b"), "what was caused is not carried out")
			Expect(stage.LedgerKey(part)).NotTo(Equal(ledgerKey))

			By("withholding a change of it")
			stranger := shared.as(mallory, "system:masters")
			stranger.setThing(ctx, thing, `{"config":"theirs"}`)
			rests(ctx)
			Expect(operated.reconcile(ctx, thing)).To(MatchError(ContainSubstring("spec.config by mallory is withheld")))
			stranger.setThing(ctx, thing, `{"config":"b"}`)
			rests(ctx)
		}, SpecTimeout(2*specTimeout))
	}

	It("over what says that an object is blocked is told to people, and the record says it", Label(labelControllers), func(ctx SpecContext) {
		shared.as(mallory, "system:masters").setThing(ctx, thing, `{"config":"theirs"}`)
		Expect(operated.reconcile(ctx, thing)).To(MatchError(ContainSubstring("withheld")))
		Eventually(ctx, func(g Gomega) {
			g.Expect(read(ctx, shared)).To(Succeed())
			g.Expect(thing.GetAnnotations()[v1alpha1.ConditionBlocked]).NotTo(BeEmpty())
		}).Should(Succeed())
		copying.start(context.WithoutCancel(ctx), each(func(ctx context.Context, parent, _ *unstructured.Unstructured) error {
			return copying.have(ctx, parent, onlyKnown(parent))
		}))

		shown := func(g Gomega) {
			g.Expect(read(ctx, shared)).To(Succeed())
			g.Expect(thing.GetAnnotations()[v1alpha1.ConditionBlocked]).To(BeEmpty())
		}
		Eventually(ctx, shown).WithTimeout(markedWithin).Should(Succeed())
		Consistently(ctx, shown).WithTimeout(quietMoment).Should(Succeed())
		Expect(shared.record(ctx, Default, thing).Status.Blocked).NotTo(BeNil())
		Expect(stage.WithheldOf(thing)).To(Equal([]string{"spec.config"}), "a controller that writes often has what is withheld away")
	}, SpecTimeout(2*specTimeout))

	It("of its own alone is told to people, and the ledger stays", func(ctx SpecContext) {
		owner.setThing(ctx, thing, `{"config":"b"}`)
		Expect(operated.reconcile(ctx, thing)).To(Succeed())
		Expect(read(ctx, shared)).To(Succeed())
		Expect(ledgerOf(Default, part, stage.LedgerKey(part))).NotTo(BeEmpty())
		copying.start(context.WithoutCancel(ctx), each(func(ctx context.Context, _, child *unstructured.Unstructured) error {
			return copying.have(ctx, child, onlyKnown(child))
		}))

		Eventually(ctx, func(g Gomega) {
			var events eventsv1.EventList
			g.Expect(shared.List(ctx, &events, client.InNamespace(part.GetNamespace()))).To(Succeed())
			g.Expect(events.Items).To(ContainElement(SatisfyAll(
				HaveField("Reason", "WriteLoop"), HaveField("Regarding.Name", part.GetName()), HaveField("Note", ContainSubstring("write over each other")))))
			g.Expect(read(ctx, shared)).To(Succeed())
			g.Expect(stage.Condition(part, v1alpha1.ConditionAffected)).To(BeEmpty())
		}).WithTimeout(markedWithin).Should(Succeed())
		Expect(ledgerOf(Default, part, stage.LedgerKey(part))).NotTo(BeEmpty(), "a controller that writes often has the ledger away")
	}, SpecTimeout(2*specTimeout))
})
