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

package integration

import (
	"context"
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/internal/eventrecorder"
)

// The recorder of client-go takes events for one that differ in their notes only.
var _ = Describe("Notices", func() {
	It("become one Event for each that is different, on parent and child", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		parent, child := deploymentWith(ctx, namespace, "parent"), deploymentWith(ctx, namespace, "child")
		clients, err := kubernetes.NewForConfig(cluster.ConfigAs(operatorUser, "system:masters"))
		Expect(err).NotTo(HaveOccurred())
		broadcaster := events.NewBroadcaster(&events.EventSinkImpl{Interface: clients.EventsV1()})
		DeferCleanup(broadcaster.Shutdown)
		recording, stop := context.WithCancel(context.WithoutCancel(ctx))
		DeferCleanup(stop)
		Expect(broadcaster.StartRecordingToSinkWithContext(recording)).To(Succeed())
		board := eventrecorder.NewBoard(broadcaster.NewRecorder(scheme, "kausality"), clock.RealClock{})
		about, below := targetOf(parent, deployments), targetOf(child, deployments)
		post := func(reason, text string) {
			board.Post(eventrecorder.Notice{Reason: reason, Action: "Update", Text: text, About: about, Child: &below})
		}
		for range 15 {
			post(eventrecorder.Denied, "mallory was refused")
		}
		post(eventrecorder.Denied, "bob was refused")
		post(eventrecorder.BreakGlass, `carol broke the glass for the reason "fire"`)
		post(eventrecorder.BreakGlass, `dave broke the glass for the reason "water"`)

		notesOn := func(g Gomega, obj client.Object) []string {
			var list eventsv1.EventList
			g.Expect(k8s.List(ctx, &list, client.InNamespace(namespace))).To(Succeed())
			var notes []string
			for _, e := range list.Items {
				if e.Regarding.UID == obj.GetUID() {
					notes = append(notes, e.Reason+": "+e.Note)
				}
			}
			return notes
		}
		all := ConsistOf(
			"Denied: mallory was refused", "Denied: bob was refused",
			`BreakGlass: carol broke the glass for the reason "fire"`, `BreakGlass: dave broke the glass for the reason "water"`,
		)
		Eventually(ctx, func(g Gomega) {
			g.Expect(notesOn(g, parent)).To(all)
			g.Expect(notesOn(g, child)).To(all)
		}).Should(Succeed())

		By("posting more than anybody could read")
		for i := range 100 {
			post(eventrecorder.Denied, fmt.Sprint("attempt ", i))
		}
		Eventually(ctx, func(g Gomega) { g.Expect(notesOn(g, parent)).To(HaveLen(25)) }).Should(Succeed())
		Consistently(ctx, func(g Gomega) { g.Expect(notesOn(g, parent)).To(HaveLen(25)) }).Should(Succeed())
	})
})
