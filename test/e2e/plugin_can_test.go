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
	"os"
	"path/filepath"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"kausality.io/operator/test/builders"
)

// What is asked in advance must be what happens, and must itself change nothing.
var _ = Describe("The question what would happen", func() {
	It("is answered for who may initiate, who may not, and who is refused, and then that happens", func(ctx SpecContext) {
		ns := shared.newNamespace(ctx)
		owner, stranger := shared.alice(), shared.mallory()
		d := owner.deploy(ctx, builders.MakeDeployment(ns, "web").Replicas(2))
		shared.rolledOut(ctx, d)
		rs := shared.newestReplicaSet(ctx, d)
		Expect(shared.Get(ctx, client.ObjectKeyFromObject(d), d)).To(Succeed())
		ask := func(a *actor, args ...string) string {
			GinkgoHelper()
			out, err := a.kausality(ctx, ns, append([]string{"can"}, args...)...)
			Expect(err).NotTo(HaveOccurred(), out)
			return out
		}

		By("asking for an initiator")
		Expect(ask(owner, "deployment/web", "--field", "spec.replicas", "--set", "5")).To(SatisfyAll(
			HavePrefix("Yes: alice may change spec.replicas of Deployment/web in namespace "),
			lines("└── Deployment/web  spec.replicas", "    └── ReplicaSet/"+rs.Name+"  change spec.replicas",
				"        ├── a Pod  create (possible)", "        ├── Pod/"+rs.Name+"-", "        └── Pod/"+rs.Name+"-"),
		))
		rollout := ask(owner, "deployment/web", "--field", "spec.template.spec.containers[0].image", "--set", "web:2")
		Expect(rollout).To(lines("    ├── a ReplicaSet  create", "    │   └── a Pod  create (possible)",
			"    └── ReplicaSet/"+rs.Name+"  change spec.replicas"))
		Expect(ask(owner, "deployment/web", "--field", "spec.revisionHistoryLimit", "--set", "3")).To(ContainSubstring("triggers no rule"))
		Expect(ask(owner, "deployment/web", "--field", "spec.replicas", "--set", "2")).To(ContainSubstring("nothing would change"))

		By("asking for others")
		Expect(ask(stranger, "deployment/web", "--field", "spec.replicas", "--set", "5")).To(SatisfyAll(
			HavePrefix("Withheld: mallory may change spec.replicas"), ContainSubstring("Group "+platformTeam), Not(ContainSubstring("└──")),
		))
		Expect(ask(stranger, "rs/"+rs.Name, "--field", "spec.replicas", "--set", "0")).To(SatisfyAll(
			HavePrefix("Refused: mallory may not change spec.replicas"), ContainSubstring("is not allowed by its parent Deployment web"),
		))

		By("asking with a changed object, and as data")
		wanted := d.DeepCopy()
		wanted.SetGroupVersionKind(appsv1.SchemeGroupVersion.WithKind("Deployment"))
		wanted.Spec.Replicas, wanted.ManagedFields = new(int32(7)), nil
		text, err := yaml.Marshal(wanted)
		Expect(err).NotTo(HaveOccurred())
		file := filepath.Join(GinkgoT().TempDir(), "web.yaml")
		Expect(os.WriteFile(file, text, 0o600)).To(Succeed())
		report := struct {
			Outcome, User string
			Paths         []string
			Granted       []struct{ Kind, Mutation string }
			Follows       []struct {
				Name string
				Next []struct{ Possible bool }
			}
		}{}
		Expect(yaml.Unmarshal([]byte(ask(owner, "-f", file, "-o", "json")), &report)).To(Succeed())
		Expect(report.Outcome).To(Equal("Initiates"))
		Expect(report.User).To(Equal(alice))
		Expect(report.Paths).To(Equal([]string{"spec.replicas"}))
		Expect(report.Granted).To(HaveLen(1))
		Expect(report.Follows).To(HaveLen(1))
		Expect(report.Follows[0].Name).To(Equal(rs.Name))
		Expect(report.Follows[0].Next).NotTo(BeEmpty())
		Expect(report.Follows[0].Next).To(HaveEach(HaveField("Possible", true)))

		wanted.Name = "new"
		wanted.ResourceVersion, wanted.UID, wanted.Annotations = "", "", nil
		text, err = yaml.Marshal(wanted)
		Expect(err).NotTo(HaveOccurred())
		Expect(os.WriteFile(file, text, 0o600)).To(Succeed())
		Expect(ask(owner, "-f", file)).To(SatisfyAll(
			HavePrefix("Yes: alice may create Deployment/new"), lines("└── Deployment/new  (created)", "    └── a ReplicaSet  create"),
		))

		By("having changed nothing")
		Expect(apierrors.IsNotFound(shared.Get(ctx, client.ObjectKey{Namespace: ns, Name: "new"}, &appsv1.Deployment{}))).To(BeTrue())
		now := &appsv1.Deployment{}
		Expect(shared.Get(ctx, client.ObjectKeyFromObject(d), now)).To(Succeed())
		Expect(now.Generation).To(Equal(d.Generation))
		Expect(now.Annotations).To(Equal(d.Annotations))

		By("doing it")
		owner.change(ctx, d, replicas(5))
		shared.rolledOut(ctx, d)
		Expect(shared.scales(ctx, Default, d)).To(Equal([]int32{5}))
	}, SpecTimeout(specTimeout))

	It("is not answered without an object and a change", func(ctx SpecContext) {
		ns := shared.newNamespace(ctx)
		for args, want := range map[string]string{
			"deployment/web":                                              "what would change?",
			"--field=spec.replicas --set=1":                               "which object?",
			"deployment/web --field=spec.replicas":                        "each field needs its value",
			"deployment/web --field=spec.replicas --set=1 -f web.yaml":    "not both",
			"deployment/web -f web.yaml":                                  "which object?",
			"deployment/web --field=spec.replicas --set=1":                `deployments.apps "web" not found`,
			"configmap/kube-root-ca.crt --field=data[ --set=1":            "--field: path",
			"configmap/kube-root-ca.crt --field=data.x --set={":           "neither a YAML value nor a JSON value",
			"configmap/kube-root-ca.crt --field=data.x --set=y -o=nosuch": "is none of",
		} {
			out, err := shared.alice().kausality(ctx, ns, append([]string{"can"}, strings.Fields(args)...)...)
			Expect(err).To(HaveOccurred(), args)
			Expect(out).To(SatisfyAll(HavePrefix("error: "), ContainSubstring(want)), args)
		}
	}, SpecTimeout(specTimeout))
})
