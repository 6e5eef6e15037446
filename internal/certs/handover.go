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
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"time"
)

const (
	// ahead is how long another authority is in all webhook configurations before anything is
	// served that only it has signed: far longer than an API server takes to see a write of one.
	ahead = 30 * time.Second
	// after is how long the one before is trusted once nothing is served any more that it has
	// signed: far longer than replicas differ in when they hear of the other.
	after = 10 * time.Minute
	// lookInterval is the time between two looks whether it is in all of them.
	lookInterval = time.Second
)

// pair is a serving certificate, its key, and the authorities by which clients verify it,
// all of them PEM-encoded.
type pair struct{ cert, key, ca []byte }

func (p pair) isEmpty() bool { return len(p.cert) == 0 || len(p.key) == 0 }

func (p pair) equal(o pair) bool {
	return bytes.Equal(p.cert, o.cert) && bytes.Equal(p.key, o.key) && bytes.Equal(p.ca, o.ca)
}

// leaf returns the certificate that can be served with; nil where it cannot.
func (p pair) leaf() *x509.Certificate {
	both, err := tls.X509KeyPair(p.cert, p.key)
	if err != nil {
		return nil
	}
	return both.Leaf
}

// isGood reports whether clients that trust its authorities accept the pair.
func (p pair) isGood(now time.Time) bool {
	leaf := p.leaf()
	return leaf != nil && !now.Before(leaf.NotBefore) && !now.After(leaf.NotAfter) && verifies(p.ca, leaf)
}

// verifies reports whether one of the authorities has signed a certificate, whenever that is
// valid. Where none are named, clients know them.
func verifies(ca []byte, leaf *x509.Certificate) bool {
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(ca) {
		return len(ca) == 0
	}
	_, err := leaf.Verify(x509.VerifyOptions{Roots: roots, CurrentTime: leaf.NotBefore, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny}})
	return err == nil
}

// handover is how a replica comes from one certificate to the next. One of the same authority
// is served with at once. Another authority has to be trusted first, or each new connection of
// an API server fails that has not heard of it; and the one before stays trusted, as replicas
// do not change at the same moment. It is not safe for concurrent use.
type handover struct {
	// serving is what is served with, and previous what was before, while that may still be
	// served with elsewhere.
	serving, previous pair
	// announced is since when the offered authority has been in all webhook configurations,
	// and kept since when previous is kept; zero while it is not.
	announced, kept time.Time
}

// step goes on towards what is offered, which is not empty. former is what another replica may
// still serve with, empty where none does. told reports whether all webhook configurations
// have an authority. It returns when to go on, zero where there is nothing to wait for.
func (h *handover) step(offered, former pair, now time.Time, told func(ca []byte) bool) time.Duration {
	if h.serving.isEmpty() {
		h.serving = offered
		if former.isGood(now) {
			h.serving = former // As the others do: it has begun while this one was not there.
		}
	}
	if !former.isEmpty() && !former.equal(h.serving) && !former.equal(h.previous) {
		h.previous, h.kept = former, now
	}
	leaf := h.serving.leaf()
	switch {
	case h.serving.equal(offered):
	case h.serving.isGood(now) && !offered.isGood(now):
		return lookInterval // Nobody would accept it; whoever made it makes another.
	case leaf == nil, !h.serving.isGood(now), verifies(offered.ca, leaf):
		h.serving, h.announced = offered, time.Time{}
	case !told(offered.ca):
		h.announced = time.Time{}
		return lookInterval
	case h.announced.IsZero():
		h.announced = now
		return ahead
	case now.Sub(h.announced) < ahead:
		return ahead - now.Sub(h.announced)
	default:
		h.previous, h.kept = h.serving, now
		h.serving, h.announced = offered, time.Time{}
	}
	if h.previous.isEmpty() {
		return 0
	}
	if left := after - now.Sub(h.kept); left > 0 {
		return left
	}
	h.previous = pair{}
	return 0
}

// outgoing returns what was served with before the offered authority, empty once nobody does.
func (h *handover) outgoing(offered pair) pair {
	if !h.serving.equal(offered) {
		return h.serving
	}
	return h.previous
}

// bundle returns what clients are to trust: the authorities of what is offered, and of what is
// served with elsewhere or was a moment ago.
func (h *handover) bundle(offered pair) []byte {
	out := bytes.Clone(offered.ca)
	if len(out) == 0 {
		return nil
	}
	for _, p := range []pair{h.serving, h.previous} {
		if !contains(out, p.ca) {
			out = append(append(bytes.TrimRight(out, "\n"), '\n'), p.ca...)
		}
	}
	return out
}

// contains reports whether a bundle has all certificates of another one.
func contains(bundle, ca []byte) bool {
	known := map[string]bool{}
	for block, rest := pem.Decode(bundle); block != nil; block, rest = pem.Decode(rest) {
		known[string(block.Bytes)] = true
	}
	for block, rest := pem.Decode(ca); block != nil; block, rest = pem.Decode(rest) {
		if !known[string(block.Bytes)] {
			return false
		}
	}
	return true
}

// WithFormer returns a bundle and, behind it, the authorities of a former one that have not
// expired: what they have signed is served with until everybody has another certificate. An empty
// bundle stays so, as the host's trust is enough.
func WithFormer(bundle, former []byte, now time.Time) []byte {
	if len(bundle) == 0 {
		return nil
	}
	out := bytes.Clone(bundle)
	for block, rest := pem.Decode(former); block != nil; block, rest = pem.Decode(rest) {
		authority, err := x509.ParseCertificate(block.Bytes)
		if single := pem.EncodeToMemory(block); err == nil && now.Before(authority.NotAfter) && !contains(out, single) {
			out = append(append(bytes.TrimRight(out, "\n"), '\n'), single...)
		}
	}
	return out
}
