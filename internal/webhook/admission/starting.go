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

package admission

import "net/http"

// WhenReady has a webhook answer nobody before it knows what to judge by, nor while the API
// server does not know the operator: to the API server the operator is away then, and the
// failurePolicy of each webhook says what becomes of requests. An answer without policies would let through what nobody
// has allowed, and lose what an initiator grants. Where the API server reaches the
// operator through a Service, readiness keeps requests away, but for the moment in
// which a container is back and its old endpoint still stands.
func WhenReady(ready func(*http.Request) error, webhook http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := ready(r); err != nil {
			http.Error(w, "kausality cannot judge now, try again: "+err.Error(), http.StatusServiceUnavailable)
			return
		}
		webhook.ServeHTTP(w, r)
	})
}
