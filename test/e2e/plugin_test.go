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
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/types"
	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"kausality.io/operator/test/builders"
)

// pluginBin is the plugin of kubectl, as it was built.
var pluginBin = filepath.Join(root, "bin", "kubectl-kausality")

// kausality runs the plugin as the actor and returns what it printed.
func (a *actor) kausality(ctx context.Context, namespace string, args ...string) (string, error) {
	args = append([]string{
		"--kubeconfig=" + a.cluster.Kubeconfig,
		"--cache-dir=" + filepath.Join(filepath.Dir(a.cluster.Kubeconfig), "kubectl"),
		"--namespace=" + namespace,
		"--as=" + a.user.UserName,
	}, args...)
	for _, group := range a.user.Groups {
		args = append(args, "--as-group="+group)
	}
	out, err := exec.CommandContext(ctx, pluginBin, args...).CombinedOutput()
	return string(out), err
}

// reads returns when the plugin prints what is wanted: records are written a moment
// after what they tell of.
func (a *actor) reads(ctx context.Context, namespace string, want types.GomegaMatcher, args ...string) {
	GinkgoHelper()
	Eventually(ctx, func(g Gomega) {
		out, err := a.kausality(ctx, namespace, args...)
		g.Expect(err).NotTo(HaveOccurred(), out)
		g.Expect(out).To(want)
	}).Should(Succeed())
}

// lines matches text that has these lines, one after the other, whatever else each
// of them has.
func lines(parts ...string) types.GomegaMatcher {
	quoted := make([]string, 0, len(parts))
	for _, part := range parts {
		quoted = append(quoted, `[^\n]*`+strings.NewReplacer("(", `\(`, ")", `\)`, "[", `\[`, "]", `\]`, ".", `\.`).Replace(part)+`[^\n]*`)
	}
	return MatchRegexp(strings.Join(quoted, `\n`))
}

// Whoever was refused, owns something, or looks for a cause afterwards, asks with one
// command.
var _ = Describe("The kubectl plugin", func() {
	const imagePath = "spec.template.spec.containers[0].image"

	It("tells of a rollout, of a refusal, of a withheld change and its approval, and of a root that is gone", func(ctx SpecContext) {
		ns := shared.newNamespace(ctx)
		owner, stranger, reader := shared.alice(), shared.mallory(), shared.as("reader", "system:masters")
		d := owner.deploy(ctx, builders.MakeDeployment(ns, "web").Replicas(2))
		before := shared.newestReplicaSet(ctx, d)
		owner.change(ctx, d, image("web:2"))
		shared.complete(ctx, d, "2")
		rs := shared.newestReplicaSet(ctx, d)
		var pod string
		Eventually(ctx, func(g Gomega) {
			p := shared.anyPod(ctx, ns)
			g.Expect(metav1.IsControlledBy(p, rs)).To(BeTrue())
			pod = p.Name
		}).Should(Succeed())

		By("tracing the rollout, from its root and from a Pod")
		reader.reads(ctx, ns, SatisfyAll(
			ContainSubstring("Deployment/web in namespace "+ns+", Steady\n"),
			lines("alice, ", "└── Deployment/web  "+imagePath+", generation 2", "ReplicaSet/"+rs.Name),
			ContainSubstring("ReplicaSet/"+before.Name+"  spec.replicas"),
			lines("alice, ", "└── Deployment/web  (created), generation 1"),
			Not(ContainSubstring("unknown cause")),
			Not(ContainSubstring("\x1b")),
		), "trace", "deployment/web")
		reader.reads(ctx, ns, lines("alice, ", "└── Deployment/web  "+imagePath, "    └── ReplicaSet/"+rs.Name, "        └── Pod/"+pod+"  created"),
			"trace", "pod/"+pod)

		By("looking for what was changed lately, not knowing where")
		reader.reads(ctx, ns, SatisfyAll(
			MatchRegexp(`ago +alice +Deployment/web +`+regexp.QuoteMeta(imagePath)+` +2 ReplicaSet, [3-9] Pod\n`),
			MatchRegexp(`ago +alice +Deployment/web +\(created\) +1 ReplicaSet, 2 Pod\n`),
		), "trace")

		By("telling why somebody was refused")
		Expect(stranger.Delete(ctx, rs)).To(MatchError(denied, "denied"))
		reader.reads(ctx, ns, SatisfyAll(
			lines("Refused", "asked by      "+mallory, "not covered   delete", "bounded by    Deployment/web"),
			ContainSubstring("no rule of deployment"),
		), "why", "replicaset", rs.Name)
		reader.reads(ctx, ns, ContainSubstring("\nkind: Refusals\n"), "why", "--output=yaml")

		By("explaining what waits, and who can do something about it")
		stranger.change(ctx, d, image("web:3"))
		out, err := reader.kausality(ctx, ns, "why", "deployment/web")
		Expect(err).NotTo(HaveOccurred(), out)
		Expect(out).To(ContainSubstring("Withheld"), "the record is not written yet, and the object says it")
		for _, command := range []string{"why", "explain"} {
			reader.reads(ctx, ns, SatisfyAll(
				ContainSubstring("Withheld"), ContainSubstring(imagePath), ContainSubstring(mallory), ContainSubstring("Group "+platformTeam),
				MatchRegexp(regexp.QuoteMeta("kubectl kausality approve -n "+ns+" deployment/web --path '"+imagePath+"@")+"[0-9a-f]{12}'"),
			), command, "deployment/web")
		}
		reader.reads(ctx, ns, ContainSubstring("You are alice, and may initiate changes of it."),
			"explain", "deployment/web", "--as=alice", "--as-group="+platformTeam, "--as-group=system:masters")

		By("approving it, which only an initiator can, and only who confirms does")
		out, err = stranger.kausality(ctx, ns, "approve", "deployment/web", "--yes")
		Expect(err).To(HaveOccurred())
		Expect(out).To(ContainSubstring("error: nothing is approved: " + mallory + " may not approve"))
		const shown = `
  -   withheld: spec.template.spec.containers[0].image   by mallory
  +   create ReplicaSet                                  by alice
  +   change spec.replicas of ReplicaSet                 by alice
`
		out, err = owner.kausality(ctx, ns, "approve", "deployment/web")
		Expect(err).To(HaveOccurred())
		Expect(out).To(SatisfyAll(ContainSubstring(shown), ContainSubstring("it was not confirmed")))
		Expect(shared.pods(ctx, Default, ns)).To(Equal(map[string]int{"web:2": 2}))
		out, err = owner.kausality(ctx, ns, "approve", "deployment/web", "--yes")
		Expect(err).NotTo(HaveOccurred(), out)
		Expect(out).To(Equal("Approved " + imagePath + " of Deployment/web\n" + shown))
		shared.complete(ctx, d, "3")
		Expect(shared.pods(ctx, Default, ns)).To(Equal(map[string]int{"web:3": 2}))

		By("tracing what is gone with its root, from records only")
		Expect(owner.Delete(ctx, d, client.PropagationPolicy(metav1.DeletePropagationForeground))).To(Succeed())
		Eventually(ctx, func() bool {
			return apierrors.IsNotFound(shared.Get(ctx, client.ObjectKeyFromObject(d), &appsv1.Deployment{}))
		}).Should(BeTrue())
		reader.reads(ctx, ns, SatisfyAll(
			MatchRegexp(`ago +alice +Deployment/web +\(deleted\) +\d ReplicaSet, 2 Pod\n`),
			MatchRegexp(`ago +mallory \(may not initiate it\) +Deployment/web +`+regexp.QuoteMeta(imagePath)+` +nothing\n`),
			MatchRegexp(`ago +alice +Deployment/web +`+regexp.QuoteMeta(imagePath)+` +2 ReplicaSet, [3-9] Pod\n`),
		), "trace")
		reader.reads(ctx, ns, SatisfyAll(
			lines("Deployment/web in namespace "+ns+", gone", "Deleted"),
			lines("alice, ", "└── Deployment/web  (deleted)", "ReplicaSet/"),
			ContainSubstring("mallory (may not initiate it)"),
		), "trace", "deployment/web")
		reader.reads(ctx, ns, SatisfyAll(
			ContainSubstring("ago by alice: alice → Deployment/web (deleted)"),
			lines("alice, ", "└── Deployment/web  "+imagePath, "ReplicaSet/"+rs.Name),
		), "trace", "replicaset/"+rs.Name)
		reader.reads(ctx, ns, lines("└── Deployment/web  "+imagePath, "ReplicaSet/"+rs.Name, "Pod/"+pod+"  created (gone)"), "trace", "pod/"+pod)
	}, SpecTimeout(specTimeout))

	It("approves on a ReplicaSet of a Deployment, and says what to do where it cannot help", func(ctx SpecContext) {
		ns := shared.newNamespace(ctx)
		owner := shared.alice()
		rs := shared.newestReplicaSet(ctx, owner.deploy(ctx, builders.MakeDeployment(ns, "web")))

		out, err := owner.kausality(ctx, ns, "approve", "rs/"+rs.Name, "--path=spec.replicas", "--dry-run", "--output=yaml")
		Expect(err).NotTo(HaveOccurred(), out)
		report := struct {
			DryRun bool
			Added  []struct{ Kind, Mutation, Initiator string }
		}{}
		Expect(yaml.Unmarshal([]byte(out), &report)).To(Succeed())
		Expect(report.DryRun).To(BeTrue())
		Expect(report.Added).To(ContainElement(SatisfyAll(HaveField("Kind", "Pod"), HaveField("Mutation", "create"), HaveField("Initiator", alice))))
		Expect(shared.Get(ctx, client.ObjectKeyFromObject(rs), rs)).To(Succeed())
		Expect(rs.Annotations).NotTo(HaveKey(replicaSetLedgerKey), "a dry run left a ledger")

		for args, want := range map[string]string{
			"approve rs/" + rs.Name:                         "name what to approve with --path",
			"approve serviceaccount/default --path=secrets": "no webhook took the request",
			"trace deployment/nope":                         "no AllowanceRecord tells of it",
			"explain deployment/nope":                       "kubectl kausality trace -n " + ns + " deployment/nope",
			"explain nothing/web":                           "see kubectl api-resources",
			"why web":                                       "give KIND/NAME",
		} {
			out, err := owner.kausality(ctx, ns, strings.Fields(args)...)
			Expect(err).To(HaveOccurred(), args)
			Expect(out).To(SatisfyAll(HavePrefix("error: "), ContainSubstring(want)), args)
		}

		By("completing the names of objects")
		completion := exec.CommandContext(ctx, pluginBin, "__complete", "--kubeconfig="+shared.Kubeconfig, "--namespace="+ns, "trace", "deployment/w")
		text, err := completion.Output()
		Expect(err).NotTo(HaveOccurred())
		Expect(string(text)).To(HavePrefix("deployment/web\n"))
	}, SpecTimeout(specTimeout))
})
