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
	"os"
	"path/filepath"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/authentication/user"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/test/stage"
)

// runbook is the page that says how to upgrade, and upgradeSample what it begins with.
var (
	runbook       = filepath.Join(root, "docs", "upgrading.md")
	upgradeSample = filepath.Join(root, "config", "samples", "upgrades", "kausality_v1alpha1_upgradeallowance_composition.yaml")
)

var _ = Describe("The runbook for Compositions", stage.Long, func() {
	It("goes as the page says, command by command, one namespace first", func(ctx SpecContext) {
		const group = "runbook.example.org"
		d := provideUpgraded(ctx, group, databaseKind, true)
		ns := d.database.GetNamespace()
		// Other specs have Compositions, databases and UpgradeAllowances as well.
		var revision string
		run := func(commands string) string {
			GinkgoHelper()
			return shared.RunShell(ctx, ns, strings.NewReplacer("databases.example.com", "databases."+group, "databases-backup-window", group,
				"patch database main", "patch databases."+group+" main", "REVISION", revision).Replace(commands))
		}
		steps := stage.Commands(runbook, "A Composition or Function")
		Expect(steps).To(HaveLen(4))

		By("looking at what a provider has, before it is upgraded itself")
		for _, commands := range stage.Commands(runbook, "A provider") {
			Expect(run(commands)).To(SatisfyAll(ContainSubstring(d.instance.GetName()), ContainSubstring("POLICIES"), ContainSubstring("SYNCED")))
		}

		By("preparing it")
		sample, err := os.ReadFile(upgradeSample)
		Expect(err).NotTo(HaveOccurred())
		agreed := &v1alpha1.UpgradeAllowance{}
		Expect(yaml.UnmarshalStrict([]byte(strings.ReplaceAll(string(sample), "databases.example.com", "databases."+group)), agreed)).To(Succeed())
		agreed.Name = group
		Expect(shared.As("greta", user.SystemPrivilegedGroup).Create(ctx, agreed)).To(Succeed())
		DeferCleanup(func(ctx context.Context) error { return client.IgnoreNotFound(shared.Delete(ctx, agreed)) })
		run(steps[0])

		By("upgrading a database in a namespace that is not its turn yet")
		audit := shared.WatchObjects(d.objects()...)
		revision = shared.recompose(ctx, databaseKind, group, `[{"op":"add","path":"RESOURCES/0/base/spec/forProvider/backupWindow","value":"`+window+`"}]`)
		Expect(run(steps[1])).To(ContainSubstring(revision))
		Eventually(ctx, func(g Gomega) {
			g.Expect(shared.Get(ctx, client.ObjectKeyFromObject(d.composite), d.composite)).To(Succeed())
			g.Expect(d.composite.GetAnnotations()).To(HaveKey(v1alpha1.ConditionBlocked))
		}).Should(Succeed())
		Expect(audit.Refusals(crossplaneUser)).To(ContainElement(ContainSubstring("UpgradeAllowance " + group + " does not let it through: it does not select Database main")))
		Expect(run(steps[2])).To(ContainSubstring(group))

		By("having its turn, of which Crossplane does not hear unless it is woken")
		Expect(shared.Patch(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns}}, merge(`{"metadata":{"labels":{"stage":"canary"}}}`))).To(Succeed())
		d.instanceGets(ctx, Equal(window), retriedAtOnce)

		By("cleaning up")
		run(steps[3])
		Expect(shared.Get(ctx, client.ObjectKeyFromObject(agreed), agreed)).To(MatchError(apierrors.IsNotFound, "not found"))
		Expect(shared.Get(ctx, client.ObjectKeyFromObject(d.instance), d.instance)).To(Succeed())
		Expect(windowOf(d.instance)).To(Equal(window), "what has passed stays")
	}, SpecTimeout(2*specTimeout))
})
