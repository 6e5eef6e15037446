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

package controllers

import (
	"path/filepath"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/test/controllers"
	"kausality.io/operator/test/pages"
	"kausality.io/operator/test/stage"
)

// runbook is the page that says how to upgrade.
var runbook = filepath.Join(root, "docs", "upgrading.md")

var _ = Describe("The runbook for graphs of kro", Label(controllers.Kro.Name), func() {
	It("goes as the page says, command by command, one instance first", func(ctx SpecContext) {
		graph := serve(ctx, "RunbookApp")
		governs(ctx, graph, "")
		s := setScene(ctx, false)
		web, other := s.instance(ctx, "RunbookApp", "web"), s.instance(ctx, "RunbookApp", "other")
		s.remembers(ctx, web, "runbookapp-r00001")
		s.remembers(ctx, other, "runbookapp-r00001")
		const section = "A graph of kro"
		steps := stage.Commands(runbook, section)
		Expect(steps).To(HaveLen(3))

		By("preparing it")
		written, err := pages.Section(runbook, section, "yaml")
		Expect(err).NotTo(HaveOccurred())
		page := &v1alpha1.UpgradeAllowance{}
		Expect(yaml.UnmarshalStrict([]byte(written[0]), page)).To(Succeed())
		agreed := agreeTo(ctx, func(spec *v1alpha1.UpgradeAllowanceSpec) {
			page.Spec.Policies = spec.Policies
			*spec = page.Spec
		})
		run := func(commands string) string {
			GinkgoHelper()
			return shared.RunShell(ctx, s.namespace, strings.NewReplacer("webapp-replicas", agreed.Name, "webapp", "runbookapp").Replace(commands))
		}
		run(steps[0])

		By("editing the graph")
		s.look()
		editTemplate(ctx, graph, "${schema.spec.replicas + 1}", "spec", "replicas")
		serving(ctx, graph)
		Expect(run(steps[1])).To(ContainSubstring("runbookapp-r00002"))
		s.replicas(ctx, "web", 2)
		s.carriedOut(ctx, web)
		s.refusedFor(ctx, other)
		s.has(ctx, "other", "web:1", 1)

		By("going on with all of them, and cleaning up")
		run(steps[2])
		s.replicas(ctx, "other", 2)
		s.carriedOut(ctx, other)
		Expect(shared.Get(ctx, client.ObjectKeyFromObject(agreed), agreed)).To(MatchError(apierrors.IsNotFound, "not found"))
	}, SpecTimeout(6*time.Minute))
})
