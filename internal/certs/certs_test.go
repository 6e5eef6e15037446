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
	"context"
	"crypto/tls"
	"crypto/x509"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	"k8s.io/client-go/util/cert"
	testingclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
)

// writePair writes a new certificate and its key to dir, and returns the
// certificate.
func writePair(t *testing.T, dir string) *x509.Certificate {
	t.Helper()
	certPEM, keyPEM, err := cert.GenerateSelfSignedCertKey("webhook.ns.svc", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string][]byte{certFile: certPEM, keyFile: keyPEM, caFile: certPEM} {
		if err := writeFile(filepath.Join(dir, name), content); err != nil {
			t.Fatal(err)
		}
	}
	pair, err := tls.X509KeyPair(certPEM, keyPEM)
	if err != nil {
		t.Fatal(err)
	}
	return pair.Leaf
}

func TestHealthz(t *testing.T) {
	dir := t.TempDir()
	leaf := writePair(t, dir)
	m := mounted{certs: &Certs{dir: dir}}
	offered, err := m.read()
	if err != nil {
		t.Fatal(err)
	}
	cases := map[string]struct {
		none bool
		now  time.Time
		want string // part of the error
	}{
		"valid":         {now: leaf.NotBefore.Add(time.Hour)},
		"not yet valid": {now: leaf.NotBefore.Add(-time.Second), want: "not valid before"},
		"expired":       {now: leaf.NotAfter.Add(time.Second), want: "expired"},
		"none":          {none: true, now: leaf.NotBefore, want: "no serving certificate"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := &Certs{dir: dir, clock: testingclock.NewFakePassiveClock(tc.now), ready: make(chan struct{})}
			if !tc.none {
				if _, _, err := c.follow(t.Context(), offered, pair{}); err != nil {
					t.Fatal(err)
				}
			}
			err := c.Healthz(nil)
			switch {
			case tc.want == "" && err != nil:
				t.Errorf("error %v, want none", err)
			case tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)):
				t.Errorf("error %v, want one with %q", err, tc.want)
			}
		})
	}
}

// fakeManager remembers what is added to it.
type fakeManager struct {
	manager.Manager
	added []manager.Runnable
}

func (f *fakeManager) Add(r manager.Runnable) error {
	f.added = append(f.added, r)
	return nil
}

func (f *fakeManager) GetAPIReader() client.Reader { return fake.NewClientBuilder().Build() }

func TestMounted(t *testing.T) {
	dir := t.TempDir()
	if _, err := Setup(t.Context(), &fakeManager{}, Options{Mode: ModeMounted, Dir: dir}); err == nil {
		t.Fatal("no certificate is mounted, and there is no error")
	}

	writePair(t, dir)
	mgr := &fakeManager{}
	certs, err := Setup(t.Context(), mgr, Options{Mode: ModeMounted, Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	m, ok := mgr.added[0].(*mounted)
	if !ok {
		t.Fatalf("a %T follows the files", mgr.added[0])
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- m.Start(ctx) }()
	expectChange(t, certs, dir)
	<-certs.Ready()

	// The watcher reads again when the files change.
	before := certs.CABundle()
	writePair(t, dir)
	if err := m.watcher.ReadCertificate(); err != nil {
		t.Fatal(err)
	}
	expectChange(t, certs, dir)
	if !contains(certs.CABundle(), before) {
		t.Error("the authority before is not trusted any more")
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// TestMountedAuthorityThatIsNone shows that what the API server would not take is not offered
// to it: at the start it is refused, and later told of once.
func TestMountedAuthorityThatIsNone(t *testing.T) {
	dir := t.TempDir()
	writePair(t, dir)
	if err := os.WriteFile(filepath.Join(dir, caFile), []byte("nope"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := Setup(t.Context(), &fakeManager{}, Options{Mode: ModeMounted, Dir: dir})
	if err == nil || !strings.Contains(err.Error(), filepath.Join(dir, caFile)) {
		t.Fatalf("%v, want an error that names the file", err)
	}

	writePair(t, dir)
	mgr := &fakeManager{}
	certs, err := Setup(t.Context(), mgr, Options{Mode: ModeMounted, Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	m, ok := mgr.added[0].(*mounted)
	if !ok {
		t.Fatalf("a %T follows the files", mgr.added[0])
	}
	var told atomic.Int32
	ctx, cancel := context.WithCancel(logf.IntoContext(t.Context(), funcr.New(func(_, args string) {
		if strings.Contains(args, "stays as it was") {
			told.Add(1)
		}
	}, funcr.Options{})))
	ended := make(chan error, 1)
	go func() { ended <- m.Start(ctx) }()
	expectChange(t, certs, dir)
	if err := os.WriteFile(filepath.Join(dir, caFile), []byte("nope"), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 5 {
		m.renewed <- struct{}{} // The look before has begun once there is room for it.
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if n := told.Load(); n != 1 {
		t.Errorf("a bad file is told of %d times, want once", n)
	}
}

func expectChange(t *testing.T, certs *Certs, dir string) {
	t.Helper()
	select {
	case <-certs.Changed():
	case <-time.After(10 * time.Second):
		t.Fatal("no change is told")
	}
	want, err := os.ReadFile(filepath.Join(dir, caFile))
	if err != nil {
		t.Fatal(err)
	}
	if !contains(certs.CABundle(), want) {
		t.Error("the CA bundle has not the mounted one")
	}
}

func TestUnknownMode(t *testing.T) {
	if _, err := Setup(t.Context(), &fakeManager{}, Options{Mode: "magic"}); err == nil {
		t.Error("an unknown mode is accepted")
	}
}
