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
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/types"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/record"
	"kausality.io/operator/test/builders"
	"kausality.io/operator/test/stage"
)

// records returns the records of an object, which may have lived more than once.
func (c *cluster) records(ctx context.Context, g Gomega, obj client.Object) []v1alpha1.AllowanceRecord {
	GinkgoHelper()
	return c.Records(ctx, g, obj)
}

// record returns the record of an object.
func (c *cluster) record(ctx context.Context, g Gomega, obj client.Object) v1alpha1.AllowanceRecord {
	GinkgoHelper()
	return c.Record(ctx, g, obj)
}

// recorded returns the record of an object, once it has one that says something.
func (c *cluster) recorded(ctx context.Context, obj client.Object) v1alpha1.AllowanceRecord {
	GinkgoHelper()
	return c.Recorded(ctx, obj)
}

// What the operator knows about an object can be read from its AllowanceRecord.
var _ = Describe("An AllowanceRecord", func() {
	var (
		ns    string
		owner *actor
	)
	BeforeEach(func(ctx SpecContext) {
		ns = shared.newNamespace(ctx)
		owner = shared.alice()
	})

	It("is none of what was not stored", func(ctx SpecContext) {
		d := owner.deploy(ctx, builders.MakeDeployment(ns, "web"))
		// ofDeployments are the records of all that were to have its name.
		ofDeployments := func(g Gomega) []v1alpha1.AllowanceRecord {
			GinkgoHelper()
			var list v1alpha1.AllowanceRecordList
			g.Expect(shared.List(ctx, &list, client.InNamespace(ns), client.MatchingLabels{record.LabelTargetKind: "Deployment"})).To(Succeed())
			return list.Items
		}
		for range 3 {
			Expect(shared.mallory().Create(ctx, builders.MakeDeployment(ns, "web").Obj())).To(MatchError(apierrors.IsAlreadyExists, "there already"))
		}
		Eventually(ctx, func(g Gomega) { g.Expect(ofDeployments(g)).To(HaveLen(4)) }).Should(Succeed())
		Expect(owner.Delete(ctx, d, client.PropagationPolicy(metav1.DeletePropagationForeground))).To(Succeed())
		Eventually(ctx, func() error { return shared.Get(ctx, client.ObjectKeyFromObject(d), d.DeepCopy()) }).Should(MatchError(apierrors.IsNotFound, "gone"))
		traced := func() {
			GinkgoHelper()
			out, err := owner.kausality(ctx, ns, "trace", "deployment/web")
			Expect(err).NotTo(HaveOccurred(), out)
			Expect(out).To(SatisfyAll(ContainSubstring("ago by alice: alice → Deployment/web (deleted)"), Not(ContainSubstring("mallory"))))
		}
		traced()

		By("a minute passing")
		Eventually(ctx, func(g Gomega) {
			all := ofDeployments(g)
			for i := range all {
				isTheirs := all[i].Spec.TargetRef.UID != d.UID
				Expect(isTheirs && all[i].Status.Phase != "").To(BeFalse(), "what never existed is %s", all[i].Status.Phase)
			}
			g.Expect(all).To(HaveLen(1))
		}).WithTimeout(2 * time.Minute).Should(Succeed())
		traced()
	}, stage.Long, SpecTimeout(specTimeout))

	// table is what kubectl prints, by target and column.
	table := func(ctx context.Context, g Gomega, with ...string) map[string]map[string]string {
		GinkgoHelper()
		out, err := shared.kubectl(ctx, append([]string{"get", "allowancerecords", "--namespace=" + ns}, with...)...)
		g.Expect(err).NotTo(HaveOccurred(), out)
		lines := strings.Split(strings.TrimSpace(out), "\n")
		header := lines[0]
		rows := map[string]map[string]string{}
		for _, line := range lines[1:] {
			row := map[string]string{}
			// Cells may be empty, so they are told by where their title is.
			for title := range strings.FieldsSeq(header) {
				if at := strings.Index(header, title); at < len(line) {
					row[title], _, _ = strings.Cut(line[at:], " ")
				}
			}
			rows[row["KIND"]+"/"+row["TARGET"]] = row
		}
		return rows
	}

	It("shows who may do what, and what was decided", func(ctx SpecContext) {
		d := owner.deploy(ctx, builders.MakeDeployment(ns, "web").Replicas(2))
		first := shared.newestReplicaSet(ctx, d)
		By("being in the middle of a rollout")
		owner.change(ctx, d, image("web:"+unready))
		shared.hasPods(ctx, ns, map[string]int{"web:1": 2, "web:" + unready: 1})
		rs := shared.newestReplicaSet(ctx, d)
		Eventually(ctx, func(g Gomega) {
			rows := table(ctx, g)
			g.Expect(rows).To(HaveKeyWithValue("Deployment/web", SatisfyAll(
				HaveKeyWithValue("PHASE", "Steady"),
				HaveKeyWithValue("ACTIVE", Not(Equal("0"))),
				HaveKeyWithValue("INITIATOR", alice),
				HaveKeyWithValue("DECISION", "Covered"),
				HaveKeyWithValue("DENIALS", "0"),
			)))
			g.Expect(rows).To(HaveKeyWithValue("ReplicaSet/"+rs.Name, SatisfyAll(
				HaveKeyWithValue("PHASE", "Initializing"),
				HaveKeyWithValue("INITIATOR", alice),
			)))
		}).Should(Succeed())
		Eventually(ctx, func(g Gomega) {
			rec := shared.record(ctx, g, d)
			g.Expect(rec.Status.Active).To(ConsistOf(toAny(ledgerOf(g, d, ledgerKey))...))
			g.Expect(rec.Status.LastDecision.Trace).NotTo(BeEmpty())
		}).Should(Succeed())

		By("being denied something")
		err := shared.mallory().try(ctx, rs, replicas(9))
		Expect(err).To(MatchError(denied, "denied"))
		Eventually(ctx, func(g Gomega) {
			g.Expect(table(ctx, g)).To(HaveKeyWithValue("Deployment/web", HaveKeyWithValue("DENIALS", "1")))
			denial := shared.record(ctx, g, d).Status.LastDenial
			g.Expect(denial).To(HaveValue(SatisfyAll(
				HaveField("Result", "Denied"), HaveField("User", mallory), HaveField("Operation", "Update"),
				HaveField("Kind", "ReplicaSet"), HaveField("Name", rs.Name), HaveField("Paths", []string{"spec.replicas"}))))
		}).Should(Succeed())

		By("being looked for")
		for selector, found := range map[string][]string{
			"spec.targetRef.kind=Deployment,spec.targetRef.name=web": {"Deployment/web"},
			"spec.targetRef.name=" + rs.Name:                         {"ReplicaSet/" + rs.Name},
			"status.initiator=" + alice:                              {"Deployment/web", "ReplicaSet/" + rs.Name, "ReplicaSet/" + first.Name},
			"status.initiator=" + mallory:                            nil,
		} {
			out, err := shared.kubectl(ctx, "get", "allowancerecords", "--namespace="+ns, "--field-selector="+selector,
				`--output=jsonpath={range .items[*]}{.spec.targetRef.kind}/{.spec.targetRef.name} {end}`)
			Expect(err).NotTo(HaveOccurred(), out)
			Expect(strings.Fields(out)).To(ConsistOf(toAny(found)...), selector)
		}
		Expect(table(ctx, Default, "--output=wide")).To(HaveKeyWithValue("Deployment/web", SatisfyAll(
			HaveKeyWithValue("WITHHELD", "0"), HaveKeyWithValue("USER", mallory), HaveKeyWithValue("LAST", "Denied"))))
		out, err := shared.kubectl(ctx, "describe", "allowancerecords", "--namespace="+ns)
		Expect(err).NotTo(HaveOccurred(), out)
		Expect(out).To(ContainSubstring("not allowed by its parent Deployment web"))

		By("being settled, which who watches it sees")
		watching, stop := context.WithCancel(ctx)
		watched := make(chan string, 1)
		go func() {
			out, _ := shared.kubectl(watching, "get", "allowancerecords", "--namespace="+ns, "--watch", // until it is stopped
				"--field-selector=spec.targetRef.kind=Deployment", `--output=jsonpath={.status.activeCount} `)
			watched <- out
		}()
		DeferCleanup(stop)
		owner.change(ctx, d, image("web:2"))
		shared.complete(ctx, d, "3")
		Eventually(ctx, func(g Gomega) {
			g.Expect(table(ctx, g)).To(HaveKeyWithValue("Deployment/web", SatisfyAll(
				HaveKeyWithValue("PHASE", "Steady"), HaveKeyWithValue("ACTIVE", "0"), HaveKeyWithValue("INITIATOR", alice))))
			status := shared.record(ctx, g, d).Status
			g.Expect(status.Blocked).To(BeNil())
			g.Expect(status.Active).To(BeEmpty())
			g.Expect(status.PendingGrants).To(BeEmpty())
			g.Expect(status.Consumed).To(BeEmpty())
		}).Should(Succeed())
		stop()
		var seen string
		Eventually(ctx, watched).Should(Receive(&seen))
		Expect(strings.Fields(seen)).To(SatisfyAll(ContainElement("0"), ContainElement(Not(Equal("0")))))

		By("being deleted")
		Expect(owner.Delete(ctx, d)).To(Succeed())
		told := func(event v1alpha1.HistoryEvent, with ...types.GomegaMatcher) types.GomegaMatcher {
			return ContainElement(SatisfyAll(append(with, HaveField("Event", event))...))
		}
		Eventually(ctx, func(g Gomega) {
			history := shared.record(ctx, g, d).Status.History
			g.Expect(history).To(SatisfyAll(
				told("Granted", HaveField("User", alice), HaveField("Operation", "Create"), HaveField("Paths", []string{"(created)"}),
					HaveField("Policies", Not(BeEmpty()))),
				told("Granted", HaveField("User", alice), HaveField("Paths", []string{"spec.template.spec.containers[0].image"}),
					HaveField("Message", ContainSubstring("ReplicaSet create"))),
				told("Exercised", HaveField("User", deploymentController), HaveField("Operation", "Create"), HaveField("Kind", "ReplicaSet"),
					HaveField("Names", ContainElement(rs.Name)), HaveField("Initiator", alice), HaveField("Trace", Not(BeEmpty()))),
				told("Consumed", HaveField("Initiator", alice), HaveField("Paths", []string{"spec.template.spec.containers[0].image"})),
				told("Denied", HaveField("User", mallory), HaveField("Operation", "Update"), HaveField("Names", []string{rs.Name}),
					HaveField("Paths", []string{"spec.replicas"}), HaveField("Message", ContainSubstring("not allowed by its parent Deployment web"))),
				told("Deleted", HaveField("User", alice), HaveField("Initiator", alice)),
			))
			g.Expect(slices.IsSortedFunc(history, func(a, b v1alpha1.HistoryEntry) int { return b.Time.Compare(a.Time.Time) })).To(BeTrue())
			g.Expect(shared.record(ctx, g, rs).Status.History).To(SatisfyAll(
				told("Granted", HaveField("User", deploymentController), HaveField("Initiator", alice), HaveField("Paths", []string{"(created)"})),
				told("Exercised", HaveField("Kind", "Pod"), HaveField("Operation", "Create"), HaveField("Initiator", alice)),
				told("Deleted", HaveField("Initiator", alice)),
			), "the ReplicaSet's")
		}).Should(Succeed())
	}, SpecTimeout(specTimeout))
})

func toAny[T any](in []T) []any {
	out := make([]any, 0, len(in))
	for _, v := range in {
		out = append(out, v)
	}
	return out
}
