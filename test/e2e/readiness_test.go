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
	"net/http"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

// A replica that is not ready is asked nothing: where none is, nobody can write.
var _ = Describe("An operator that is ready", func() {
	It("stays so", func(ctx SpecContext) {
		const probes = 100
		for range probes {
			request, err := http.NewRequestWithContext(ctx, http.MethodGet, shared.ReadyURL, http.NoBody)
			Expect(err).NotTo(HaveOccurred())
			response, err := http.DefaultClient.Do(request)
			Expect(err).NotTo(HaveOccurred())
			Expect(response).To(HaveHTTPStatus(http.StatusOK))
			Expect(response.Body.Close()).To(Succeed())
		}
	}, SpecTimeout(specTimeout))
})
