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
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"kausality.io/operator/api/v1alpha1"
)

// What ran before is noted once, when an UpgradeAllowance is accepted.
var _ = Describe("What an upgrade is of", func() {
	It("can be taken back, and nothing added of which nobody knows what was there before", func(ctx SpecContext) {
		u := agreement("of")
		u.Spec.Triggers = []v1alpha1.UpgradeTrigger{v1alpha1.UpgradeOfController, v1alpha1.UpgradeOfComposition}
		apply(ctx, u)
		u.Spec.Triggers = u.Spec.Triggers[1:]
		Expect(k8s.Update(ctx, u)).To(Succeed())

		for _, triggers := range [][]v1alpha1.UpgradeTrigger{
			{v1alpha1.UpgradeOfComposition, v1alpha1.UpgradeOfFunction}, {v1alpha1.UpgradeOfController}, nil,
		} {
			u.Spec.Triggers = triggers
			Expect(k8s.Update(ctx, u)).To(MatchError(apierrors.IsInvalid, "invalid"), "%v", triggers)
		}
	})
})
