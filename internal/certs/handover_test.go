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

package certs

import (
	"bytes"
	"encoding/pem"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/util/cert"
)

// signed returns a pair whose certificate is its own authority.
func signed(t *testing.T) pair {
	t.Helper()
	certPEM, keyPEM, err := cert.GenerateSelfSignedCertKey("webhook.ns.svc", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	return pair{cert: certPEM, key: keyPEM, ca: certPEM}
}

// TestHandover goes on with two replicas from one authority to another, step by step. What
// the columns have are the names of pairs.
func TestHandover(t *testing.T) {
	pairs := map[string]pair{"": {}, "old": signed(t), "new": signed(t)}
	// Of the same authority as "old".
	pairs["renewed"] = pair{cert: pairs["old"].cert, key: pairs["old"].key, ca: append([]byte("\n"), pairs["old"].ca...)}
	pairs["wrong"] = pair{cert: pairs["renewed"].cert, key: pairs["renewed"].key, ca: pairs["new"].ca}
	began := time.Now()
	expired := pairs["old"].leaf().NotAfter.Add(time.Second)

	type step struct {
		after           time.Duration
		at              time.Time // instead of after
		offered, former string
		told            bool

		serving, outgoing string
		trusts            []string
		wait              time.Duration
	}
	both := []string{"new", "old"}
	cases := map[string][]step{
		"the first certificate is served with at once": {
			{offered: "old", serving: "old", trusts: []string{"old"}},
		},
		"one of the same authority is served with at once": {
			{offered: "old", serving: "old", trusts: []string{"old"}},
			{offered: "renewed", serving: "renewed", trusts: []string{"old"}},
		},
		"another authority is trusted first": {
			{offered: "old", serving: "old", trusts: []string{"old"}},
			{offered: "new", serving: "old", outgoing: "old", trusts: both, wait: lookInterval},
			{after: time.Second, offered: "new", told: true, serving: "old", outgoing: "old", trusts: both, wait: ahead},
			{after: ahead, offered: "new", told: true, serving: "old", outgoing: "old", trusts: both, wait: time.Second},
			{after: ahead + time.Second, offered: "new", told: true, serving: "new", outgoing: "old", trusts: both, wait: after},
			{after: ahead + after, offered: "new", told: true, serving: "new", outgoing: "old", trusts: both, wait: time.Second},
			{after: ahead + after + time.Second, offered: "new", told: true, serving: "new", trusts: []string{"new"}},
		},
		"what the API server has forgotten is told again": {
			{offered: "old", serving: "old", trusts: []string{"old"}},
			{offered: "new", told: true, serving: "old", outgoing: "old", trusts: both, wait: ahead},
			{after: ahead - time.Second, offered: "new", serving: "old", outgoing: "old", trusts: both, wait: lookInterval},
			{after: ahead, offered: "new", told: true, serving: "old", outgoing: "old", trusts: both, wait: ahead},
		},
		"one that nobody would accept is not served with": {
			{offered: "old", serving: "old", trusts: []string{"old"}},
			{offered: "wrong", told: true, serving: "old", outgoing: "old", trusts: both, wait: lookInterval},
		},
		"one that nobody accepts any more is left at once": {
			{offered: "old", serving: "old", trusts: []string{"old"}},
			{at: expired, offered: "new", serving: "new", trusts: []string{"new"}},
		},
		"a replica that starts serves with what the others do": {
			{offered: "new", former: "old", serving: "old", outgoing: "old", trusts: both, wait: lookInterval},
		},
		"a replica that starts does not serve with what has expired": {
			{at: expired, offered: "new", former: "old", serving: "new", outgoing: "old", trusts: both, wait: after},
		},
		"a replica that was faster trusts what the others serve with": {
			{offered: "new", serving: "new", trusts: []string{"new"}},
			{offered: "new", former: "old", serving: "new", outgoing: "old", trusts: both, wait: after},
		},
	}
	for name, steps := range cases {
		t.Run(name, func(t *testing.T) {
			var h handover
			nameOf := func(p pair) string {
				for name, known := range pairs {
					if known.equal(p) {
						return name
					}
				}
				return "something else"
			}
			for i, s := range steps {
				now := s.at
				if now.IsZero() {
					now = began.Add(s.after)
				}
				offered := pairs[s.offered]
				wait := h.step(offered, pairs[s.former], now, func([]byte) bool { return s.told })
				got := step{
					after: s.after, at: s.at, offered: s.offered, former: s.former, told: s.told,
					serving: nameOf(h.serving), outgoing: nameOf(h.outgoing(offered)), wait: wait,
				}
				for _, name := range both {
					if contains(h.bundle(offered), pairs[name].ca) {
						got.trusts = append(got.trusts, name)
					}
				}
				if diff := cmp.Diff(s, got, cmp.AllowUnexported(step{})); diff != "" {
					t.Fatalf("step %d: -want +got\n%s", i, diff)
				}
			}
		})
	}
}

func TestWithFormer(t *testing.T) {
	now := time.Now()
	first, second := writtenAuthority(t), writtenAuthority(t)
	both := slices.Concat(second, first)
	for name, tc := range map[string]struct {
		bundle, former []byte
		now            time.Time
		want           [][]byte
	}{
		"no former one":          {bundle: first, now: now, want: [][]byte{first}},
		"the same":               {bundle: first, former: first, now: now, want: [][]byte{first}},
		"another one":            {bundle: second, former: first, now: now, want: [][]byte{second, first}},
		"another one, once more": {bundle: second, former: both, now: now, want: [][]byte{second, first}},
		"one that has expired":   {bundle: second, former: first, now: now.AddDate(100, 0, 0), want: [][]byte{second}},
		"the host's trust":       {former: first, now: now},
		"what is no certificate": {bundle: first, former: []byte("none"), now: now, want: [][]byte{first}},
	} {
		t.Run(name, func(t *testing.T) {
			got := WithFormer(tc.bundle, tc.former, tc.now)
			for _, want := range tc.want {
				if !contains(got, want) {
					t.Error("an authority is missing")
				}
			}
			if n := bytes.Count(got, []byte("BEGIN CERTIFICATE")); n != len(tc.want) {
				t.Errorf("%d authorities, want %d", n, len(tc.want))
			}
		})
	}
}

// writtenAuthority returns one authority, which comes behind the certificate that it has signed.
func writtenAuthority(t *testing.T) []byte {
	t.Helper()
	var last []byte
	for block, rest := pem.Decode(signed(t).ca); block != nil; block, rest = pem.Decode(rest) {
		last = pem.EncodeToMemory(block)
	}
	return last
}
