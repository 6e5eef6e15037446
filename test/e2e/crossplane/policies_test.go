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

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"kausality.io/operator/test/stage"
)

// applySamplePolicies applies those of config/samples/crossplane, which are about the
// databases that are offered from the beginning.
func (w *world) applySamplePolicies(ctx context.Context) {
	GinkgoHelper()
	out, err := w.RunKubectl(ctx, "kustomize", samples)
	Expect(err).NotTo(HaveOccurred(), out)
	root := w.As("root", "system:masters")
	for _, p := range stage.ParsePolicies(out) {
		Expect(root.Create(ctx, p)).To(Succeed())
		w.Enforced(ctx, p, startTimeout)
	}
	Expect(root.Warned.Take()).NotTo(ContainSubstring("never match"))
}
