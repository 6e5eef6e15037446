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
func (c *Clock) Over(next http.RoundTripper) http.RoundTripper {
	return Listen(next, func() func(*http.Response) {
		sent := c.local()
		return func(resp *http.Response) {
			if said, err := http.ParseTime(resp.Header.Get("Date")); err == nil {
				c.answered(sent, c.local(), said)
			}
		}
	})
}

// Listen has a function hear of what the API server itself answers, and not of what servers behind it do: asked is
// called when something is sent, and what it returns when the answer to that is there.
func Listen(next http.RoundTripper, asked func() (answered func(*http.Response))) http.RoundTripper {
	return listener{next, asked}
}

type listener struct {
	next  http.RoundTripper
	asked func() (answered func(*http.Response))
}

// WrappedRoundTripper returns what is asked; client-go looks for it.
func (l listener) WrappedRoundTripper() http.RoundTripper { return l.next }

// RoundTrip implements http.RoundTripper.
func (l listener) RoundTrip(r *http.Request) (*http.Response, error) {
	answered := l.asked()
	resp, err := l.next.RoundTrip(r)
	if err == nil && isOurs(r.URL.Path) {
		answered(resp)
	}
	return resp, err
}

func isOurs(path string) bool {
	for _, prefix := range ours {
		if strings.HasPrefix(path, prefix) {
			return true
		}
	}
	return false
}
