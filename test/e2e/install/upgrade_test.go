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
	"flag"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/test/builders"
	"kausality.io/operator/test/controlplane"
	"kausality.io/operator/test/stage"
)

// previous is the source tree of the previous release, with its operator beside it.
var previous = flag.String("previous", filepath.Join(root, "bin", "previous", "tree"), "the sources of the previous release, as \"make previous-operator\" has them")

// afterEnd is how long a review that was in flight when an operator ended may take to come back:
// for as long the API server waits for an answer.
const afterEnd = 5 * time.Second

// release is a version of the operator.
type release struct {
	binary string
	// install are the commands that install it, or go up or back to it.
	install []string
	// drops reports whether it answers no reviews that are in flight when it is told to end. The
	// previous release does not; whoever goes up from it has that once for each replica.
	drops bool
}

// moment is a time during which an operator ended that drops what is in flight.
type moment struct{ from, to time.Time }

func (m moment) has(at time.Time) bool { return !at.Before(m.from) && !at.After(m.to) }

var _ = Describe("An upgrade from the previous release, and back again", Label("upgrade"), Ordered, func() {
	var (
		w              *world
		web, stuck     *appsv1.Deployment
		operators      []*controlplane.Operator
		running        release
		before, target release
		started        int
		began          time.Time
		dropped        []moment
	)
	start := func(ctx context.Context) *controlplane.Operator {
		GinkgoHelper()
		started++
		return w.run(ctx, fmt.Sprintf("%s-%d", controlplane.DefaultOperatorName, started), running.binary)
	}
	// end ends an operator of a release in an orderly way.
	end := func(o *controlplane.Operator, of release) {
		GinkgoHelper()
		from := time.Now()
		w.stop(o)
		if of.drops {
			dropped = append(dropped, moment{from: from, to: time.Now().Add(afterEnd)})
		}
	}
	whileDropping := func(at time.Time) bool {
		return slices.ContainsFunc(dropped, func(m moment) bool { return m.has(at) })
	}

	BeforeAll(func(ctx SpecContext) {
		w = newWorld(ctx)
		before = release{binary: filepath.Join(filepath.Dir(*previous), "manager"), install: previousInstall(), drops: true}
		target = release{binary: *operatorBin, install: documented("Another version")}
		running = before
		for _, command := range running.install {
			w.sh(ctx, command)
		}
		operators = []*controlplane.Operator{start(ctx), start(ctx)}
		web, stuck = w.live(ctx, v1alpha1.FailurePolicyIgnore)
		began = time.Now()
	}, NodeTimeout(specTimeout))

	// becomes applies what a release installs, and replaces the replicas one by one, under load and
	// in the middle of a rollout, which goes on while there is one replica of each release.
	becomes := func(ctx context.Context, next release) {
		GinkgoHelper()
		last := running
		slow := w.halfDone(ctx, fmt.Sprintf("slow-%d", started))
		ledgers, records := w.ledgers(ctx), w.records(ctx)
		l := w.underLoad(ctx, web)
		l.goesOn(ctx)
		for _, command := range next.install {
			w.sh(ctx, command)
		}
		l.goesOn(ctx)
		running = next
		for i, old := range operators {
			operators[i] = start(ctx)
			end(old, last)
			l.goesOn(ctx)
			w.advance(ctx, slow, int32(3+i))
		}
		wrongs := l.end()
		GinkgoWriter.Println("answered by nobody:", len(wrongs))
		for _, each := range wrongs {
			Expect(whileDropping(each.at)).To(BeTrue(), "%s at %s: %v", each.who, each.at, each.err)
			Expect(each.who).To(Equal(stage.MalloryName), "%v", each.err)
			Expect(each.err).NotTo(HaveOccurred(), "nobody is refused for it")
		}
		Expect(len(wrongs)).To(BeNumerically("<=", len(operators)*2*askers), "more than were asked at a time")

		By("keeping ledgers, records, and what is withheld")
		keepsLedgers(w.ledgers(ctx), ledgers)
		keepsRecords(w.records(ctx), records)
		Expect(w.withheld(ctx, stuck)).To(BeNumerically(">", 0))

		By("completing what was half done")
		w.becomeReady(ctx, slow)
		Expect(w.Delete(ctx, slow)).To(Succeed())
		policies := &v1alpha1.AllowancePolicyList{}
		Expect(w.List(ctx, policies)).To(Succeed())
		Expect(policies.Items).NotTo(BeEmpty())
		for i := range policies.Items {
			w.Enforced(ctx, &policies.Items[i], settled)
		}
	}

	It("loses nothing and denies nobody on the way up", func(ctx SpecContext) {
		becomes(ctx, target)
	}, SpecTimeout(specTimeout))

	It("loses nothing and denies nobody on the way back", func(ctx SpecContext) {
		becomes(ctx, before)
	}, SpecTimeout(specTimeout))

	It("goes up again, and lets go on what was withheld all the time", func(ctx SpecContext) {
		becomes(ctx, target)
		w.sh(ctx, "kubectl kausality approve --namespace "+w.namespace+" deployment/stuck --yes --as alice --as-group "+stage.PlatformTeam)
		Eventually(ctx, func(g Gomega) { g.Expect(w.withheld(ctx, stuck)).To(BeZero()) }).Should(Succeed())
		w.change(ctx, w.Alice(), stuck, imageOf("stuck:4"))
		w.rolledOut(ctx, stuck)
		Expect(*stuck.Spec.Replicas).To(BeEquivalentTo(5))

		By("nobody having been refused meanwhile who acts for others, and nothing having passed unjudged")
		// What is withheld is refused to the controller until somebody approves it.
		withheld := func(event *auditv1.Event) bool {
			return event.ResponseStatus != nil && strings.HasPrefix(event.ObjectRef.Name, stuck.Name) && strings.Contains(event.ResponseStatus.Message, " is withheld")
		}
		controllers := func(event *auditv1.Event) bool {
			return strings.HasPrefix(stage.UserOf(event), "system:serviceaccount:kube-system:") && event.ObjectRef != nil && event.ObjectRef.Namespace == w.namespace && !withheld(event)
		}
		unjudged := func(event *auditv1.Event) bool {
			return controlplane.FailedOpen(event) && !whileDropping(event.StageTimestamp.Time)
		}
		witness := stage.WholeLog(w.AuditLog, controlplane.Since(began))
		Expect(witness.Requests(controllers)).NotTo(BeEmpty())
		var lines []string
		for _, event := range slices.Concat(
			witness.Requests(controllers, controlplane.Refused(http.StatusForbidden)),
			witness.Requests(unjudged),
		) {
			lines = append(lines, stage.DescribeEvent(&event))
		}
		Expect(lines).To(BeEmpty())
	}, SpecTimeout(specTimeout))
})

// previousInstall returns the commands by which "make deploy" of the previous release installs it.
func previousInstall() []string {
	GinkgoHelper()
	at, err := filepath.Abs(*previous)
	Expect(err).NotTo(HaveOccurred())
	return []string{"bin/kustomize build " + filepath.Join(at, "config", "default") + " | kubectl apply --server-side --force-conflicts -f -"}
}

// halfDone has Alice begin a rollout of four Pods, and waits until it is with the second. Its Pods
// become ready only where a spec says so.
func (w *world) halfDone(ctx context.Context, name string) *appsv1.Deployment {
	GinkgoHelper()
	d := builders.MakeDeployment(w.namespace, name).Replicas(4).Obj()
	Expect(w.Alice().Create(ctx, d)).To(Succeed())
	w.rolledOut(ctx, d)
	w.change(ctx, w.Alice(), d, `{"spec":{"strategy":{"rollingUpdate":{"maxSurge":1,"maxUnavailable":0}},
"template":{"spec":{"containers":[{"name":"`+builders.Container+`","image":"slow:`+neverReady+`"}]}}}}`)
	w.newest(ctx, d)
	w.advance(ctx, d, 2)
	return d
}

// advance lets a rollout come to its updated-th Pod, by having those before it become ready.
func (w *world) advance(ctx context.Context, d *appsv1.Deployment, updated int32) {
	GinkgoHelper()
	Eventually(ctx, func(g Gomega) {
		w.haveReady(ctx, g, d, int(updated)-1)
		g.Expect(w.Get(ctx, client.ObjectKeyFromObject(d), d)).To(Succeed())
		g.Expect(d.Status.UpdatedReplicas).To(Equal(updated))
		g.Expect(d.Status.AvailableReplicas).To(BeNumerically(">=", *d.Spec.Replicas))
	}).WithTimeout(settled).Should(Succeed())
	Expect(d.Status.Replicas).To(BeNumerically(">", d.Status.UpdatedReplicas), "the rollout is over")
}

// becomeReady lets a rollout complete.
func (w *world) becomeReady(ctx context.Context, d *appsv1.Deployment) {
	GinkgoHelper()
	Eventually(ctx, func(g Gomega) {
		w.haveReady(ctx, g, d, int(*d.Spec.Replicas))
		g.Expect(w.Get(ctx, client.ObjectKeyFromObject(d), d)).To(Succeed())
		g.Expect(d.Status.UpdatedReplicas).To(Equal(*d.Spec.Replicas))
		g.Expect(d.Status.AvailableReplicas).To(Equal(*d.Spec.Replicas))
		g.Expect(d.Status.Replicas).To(Equal(*d.Spec.Replicas))
	}).WithTimeout(settled).Should(Succeed())
}

// haveReady makes Pods of the newest template ready, as a kubelet does, until there are that many.
func (w *world) haveReady(ctx context.Context, g Gomega, d *appsv1.Deployment, count int) {
	pods := &corev1.PodList{}
	g.Expect(w.List(ctx, pods, client.InNamespace(d.Namespace), client.MatchingLabels(d.Spec.Selector.MatchLabels))).To(Succeed())
	for i := range pods.Items {
		p := &pods.Items[i]
		if p.Spec.Containers[0].Image != d.Spec.Template.Spec.Containers[0].Image || !p.DeletionTimestamp.IsZero() || p.Status.Phase != corev1.PodRunning {
			continue
		}
		count--
		if count < 0 || slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
			return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
		}) {
			continue
		}
		g.Expect(w.Status().Patch(ctx, p, client.RawPatch(types.StrategicMergePatchType,
			[]byte(`{"status":{"conditions":[{"type":"Ready","status":"True"},{"type":"ContainersReady","status":"True"}]}}`)))).To(Succeed())
	}
}

// ledgers returns the annotations of Kausality on the objects of the team.
func (w *world) ledgers(ctx context.Context) map[string]map[string]string {
	GinkgoHelper()
	out := map[string]map[string]string{}
	add := func(obj client.Object) {
		for key, value := range obj.GetAnnotations() {
			if domain, _, _ := strings.Cut(key, "/"); domain == v1alpha1.GroupVersion.Group || strings.HasSuffix(domain, "."+v1alpha1.GroupVersion.Group) {
				if out[obj.GetName()] == nil {
					out[obj.GetName()] = map[string]string{}
				}
				out[obj.GetName()][key] = value
			}
		}
	}
	deployments, sets := &appsv1.DeploymentList{}, &appsv1.ReplicaSetList{}
	Expect(w.List(ctx, deployments, client.InNamespace(w.namespace))).To(Succeed())
	Expect(w.List(ctx, sets, client.InNamespace(w.namespace))).To(Succeed())
	for i := range deployments.Items {
		add(&deployments.Items[i])
	}
	for i := range sets.Items {
		add(&sets.Items[i])
	}
	return out
}

// keepsLedgers expects that what stands still has what it had before: the ledger of the rollout that
// cannot complete, and what was approved of its Deployment.
func keepsLedgers(after, before map[string]map[string]string) {
	GinkgoHelper()
	kept := 0
	for name, annotations := range before {
		if !strings.HasPrefix(name, "stuck") {
			continue
		}
		for key, value := range annotations {
			Expect(after[name]).To(HaveKeyWithValue(key, value), name)
			kept++
		}
	}
	Expect(kept).NotTo(BeZero())
}

// keepsRecords expects that records are the same objects, have forgotten nothing that was refused,
// and that those of what stands still say what they said.
func keepsRecords(after, before map[string]v1alpha1.AllowanceRecord) {
	GinkgoHelper()
	still := 0
	for name, was := range before {
		Expect(after).To(HaveKey(name))
		is := after[name]
		Expect(is.UID).To(Equal(was.UID), name)
		Expect(is.Spec.TargetRef).To(Equal(was.Spec.TargetRef), name)
		Expect(is.Status.Denials).To(BeNumerically(">=", was.Status.Denials), name)
		if !strings.HasPrefix(was.Spec.TargetRef.Name, "stuck") {
			continue
		}
		still++
		Expect(is.Status.Phase).To(Equal(was.Status.Phase), name)
		Expect(is.Status.ActiveCount).To(Equal(was.Status.ActiveCount), name)
		Expect(is.Status.WithheldCount).To(Equal(was.Status.WithheldCount), name)
		Expect(is.Status.Initiator).To(Equal(was.Status.Initiator), name)
		Expect(len(is.Status.History)).To(BeNumerically(">=", len(was.Status.History)), name)
	}
	Expect(still).NotTo(BeZero())
}

// records returns the AllowanceRecords of the team by name.
func (w *world) records(ctx context.Context) map[string]v1alpha1.AllowanceRecord {
	GinkgoHelper()
	list, out := &v1alpha1.AllowanceRecordList{}, map[string]v1alpha1.AllowanceRecord{}
	Expect(w.List(ctx, list, client.InNamespace(w.namespace))).To(Succeed())
	for _, record := range list.Items {
		out[record.Name] = record
	}
	Expect(out).NotTo(BeEmpty())
	return out
}

// withheld returns how much of an object is withheld, by its record.
func (w *world) withheld(ctx context.Context, d *appsv1.Deployment) int32 {
	GinkgoHelper()
	for _, record := range w.records(ctx) {
		if record.Spec.TargetRef.Kind == "Deployment" && record.Spec.TargetRef.Name == d.Name {
			return record.Status.WithheldCount
		}
	}
	Fail("no record of Deployment " + d.Name)
	return 0
}
