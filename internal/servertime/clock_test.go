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
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestAgree(t *testing.T) {
	const s = time.Second
	cases := map[string]struct{ believed, least, most, want time.Duration }{
		"clocks that may be equal are":    {0, -s, s, 0},
		"ahead by a minute":               {0, 60 * s, 61 * s, 60 * s},
		"behind by a minute":              {0, -61 * s, -60 * s, -60 * s},
		"what is known is kept":           {60*s + s/2, 60 * s, 61 * s, 60*s + s/2},
		"a slow answer says less":         {60 * s, 30 * s, 61 * s, 60 * s},
		"a step of the API server counts": {60 * s, 0, s, s},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, agree(tc.believed, tc.least, tc.most)); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}

// TestAgreement checks that replicas agree whatever their clocks say: each is at most as wrong
// as an answer takes, and a second.
func TestAgreement(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		server := time.Unix(1_700_000_000, 0)
		truth := time.Duration(rapid.Int64Range(-int64(time.Hour), int64(time.Hour)).Draw(t, "ahead"))
		c := &Clock{}
		for range rapid.IntRange(1, 20).Draw(t, "answers") {
			server = server.Add(time.Duration(rapid.Int64Range(0, int64(time.Minute)).Draw(t, "later")))
			there := time.Duration(rapid.Int64Range(0, int64(2*time.Second)).Draw(t, "there"))
			back := time.Duration(rapid.Int64Range(0, int64(2*time.Second)).Draw(t, "back"))
			local := server.Add(-truth)
			c.answered(local.Add(-there), local.Add(back), server.Truncate(time.Second))
			if wrong := (c.ahead - truth).Abs(); wrong > there+back+granularity {
				t.Fatalf("ahead by %s, is said to be so by %s, which is wrong by %s", truth, c.ahead, wrong)
			}
		}
	})
}

// answers is an API server whose clock is ahead.
type answers time.Duration

func (a answers) RoundTrip(*http.Request) (*http.Response, error) {
	said := time.Now().Add(time.Duration(a)).UTC().Format(http.TimeFormat)
	return &http.Response{Header: http.Header{"Date": {said}}, Body: io.NopCloser(strings.NewReader(""))}, nil
}

func TestOver(t *testing.T) {
	cases := map[string]struct {
		path string
		want time.Duration
	}{
		"the API server itself": {"/apis/coordination.k8s.io/v1/namespaces/x/leases/y", time.Minute},
		"somebody behind it":    {"/apis/metrics.k8s.io/v1beta1/pods", 0},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := New()
			req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://localhost"+tc.path, http.NoBody)
			if err != nil {
				t.Fatal(err)
			}
			resp, err := c.Over(answers(time.Minute)).RoundTrip(req)
			if err != nil {
				t.Fatal(err)
			}
			if err := resp.Body.Close(); err != nil {
				t.Fatal(err)
			}
			for what, got := range map[string]time.Duration{"Ahead": c.Ahead(), "Now": time.Until(c.Now()), "Since": c.Since(time.Now())} {
				if wrong := (got - tc.want).Abs(); wrong > 2*time.Second {
					t.Errorf("%s is %s, want about %s", what, got, tc.want)
				}
			}
		})
	}
}
