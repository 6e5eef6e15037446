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

package servertime

import (
	"net/http"
	"strings"
)

// ours are the paths that the API server itself answers; it hands others on to servers with
// clocks of their own.
var ours = []string{"/api/v1/", "/apis/kausality.io/", "/apis/coordination.k8s.io/", "/apis/admissionregistration.k8s.io/"}

// Over has answers of the API server set the clock. It is for rest.Config.Wrap.
func (c *Clock) Over(next http.RoundTripper) http.RoundTripper { return listener{next, c} }

type listener struct {
	next  http.RoundTripper
	clock *Clock
}

// WrappedRoundTripper returns what is asked; client-go looks for it.
func (l listener) WrappedRoundTripper() http.RoundTripper { return l.next }

// RoundTrip implements http.RoundTripper.
func (l listener) RoundTrip(r *http.Request) (*http.Response, error) {
	sent := l.clock.local()
	resp, err := l.next.RoundTrip(r)
	if err != nil || !Answers(r.URL.Path) {
		return resp, err
	}
	if said, err := http.ParseTime(resp.Header.Get("Date")); err == nil {
		l.clock.answered(sent, l.clock.local(), said)
	}
	return resp, nil
}

// Answers reports whether the API server itself answers at a path, rather than a server behind it.
func Answers(path string) bool {
	for _, prefix := range ours {
		if strings.HasPrefix(path, prefix) {
			return true
		}
	}
	return false
}
