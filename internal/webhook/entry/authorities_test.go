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

package entry

import (
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
)

// TestReadAuthorities shows what is refused at the start.
func TestReadAuthorities(t *testing.T) {
	dir := t.TempDir()
	for name, tc := range map[string]struct {
		content string
		want    string
	}{
		"absent":          {want: "no such file"},
		"empty":           {content: "\n", want: "has no PEM-encoded certificate"},
		"garbage":         {content: "nope", want: "has no PEM-encoded certificate"},
		"something else":  {content: "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n", want: "has no PEM-encoded certificate"},
		"a cut off block": {content: "-----BEGIN CERTIFICATE-----\nMIIB", want: "has no PEM-encoded certificate"},
	} {
		file := filepath.Join(dir, name)
		if tc.content != "" {
			if err := os.WriteFile(file, []byte(tc.content), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := ReadAuthorities(file); err == nil || !strings.Contains(err.Error(), tc.want) || !strings.Contains(err.Error(), file) {
			t.Errorf("%s: %v, want an error that names the file and has %q", name, err, tc.want)
		}
	}
	if _, err := ReadAuthorities(dir); err == nil {
		t.Error("a directory is taken for a file of authorities")
	}
}

// logged collects the messages of a logger.
type logged struct {
	mu    sync.Mutex
	lines []string
}

func (l *logged) logger() logr.Logger {
	return funcr.New(func(_, args string) {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.lines = append(l.lines, args)
	}, funcr.Options{})
}

// with returns how many lines have a text.
func (l *logged) with(text string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := 0
	for _, line := range l.lines {
		if strings.Contains(line, text) {
			n++
		}
	}
	return n
}

// TestAuthoritiesOfAFileThatIsBad shows that what a file had counts on while it is bad, that
// this is told once, and that what it has next counts.
func TestAuthoritiesOfAFileThatIsBad(t *testing.T) {
	file := filepath.Join(t.TempDir(), "ca.crt")
	first, second := newAuthority(t, "first"), newAuthority(t, "second")
	first.write(t, file)
	authorities, err := ReadAuthorities(file)
	if err != nil {
		t.Fatal(err)
	}
	pool := func(a *authority) *x509.CertPool {
		p := x509.NewCertPool()
		p.AddCert(a.cert)
		return p
	}
	var said logged
	type state struct {
		First, Second bool
		Bad, Good     int
	}
	for _, step := range []struct {
		name string
		does func() error
		want state
	}{
		{"as it was", func() error { return nil }, state{First: true}},
		{"garbage", func() error { return os.WriteFile(file, []byte("nope"), 0o600) }, state{First: true, Bad: 1}},
		{"gone", func() error { return os.Remove(file) }, state{First: true, Bad: 1}},
		{"another", func() error { second.write(t, file); return nil }, state{Second: true, Bad: 1, Good: 1}},
		{"gone again", func() error { return os.Remove(file) }, state{Second: true, Bad: 2, Good: 1}},
	} {
		if err := step.does(); err != nil {
			t.Fatal(err)
		}
		var now *x509.CertPool
		for range 3 {
			now = authorities.current(said.logger())
		}
		got := state{
			First: now.Equal(pool(first)), Second: now.Equal(pool(second)),
			Bad: said.with("has become bad"), Good: said.with("is good again"),
		}
		if diff := cmp.Diff(step.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", step.name, diff)
		}
	}
}

// TestProbesOfAServerThatAsksForCertificates shows that the look whether the port answers, which
// shows no certificate, does not keep it from the log whose certificate is refused; and that
// a file that has become bad is told of, though nobody connects.
func TestProbesOfAServerThatAsksForCertificates(t *testing.T) {
	file := filepath.Join(t.TempDir(), "ca.crt")
	ours, theirs := newAuthority(t, "ours"), newAuthority(t, "theirs")
	ours.write(t, file)
	authorities, err := ReadAuthorities(file)
	if err != nil {
		t.Fatal(err)
	}
	var said logged
	ctx := logf.IntoContext(t.Context(), said.logger())
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	certificate := ours.issue(t, "operator", x509.ExtKeyUsageServerAuth)
	server := NewServer("127.0.0.1", 0, func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return &certificate, nil },
		Clients{Authorities: authorities})
	server.Address = listener.Addr().String()
	go func() { _ = server.serve(ctx, listener) }()

	probe := func() {
		t.Helper()
		request := httptest.NewRequestWithContext(ctx, http.MethodGet, "/readyz", http.NoBody)
		for deadline := time.Now().Add(10 * time.Second); ; {
			err := server.StartedChecker()(request)
			if err == nil {
				return
			}
			if time.Now().After(deadline) {
				t.Fatal(err)
			}
		}
	}
	eventually := func(text string) {
		t.Helper()
		for deadline := time.Now().Add(10 * time.Second); said.with(text) == 0; {
			if time.Now().After(deadline) {
				t.Fatalf("the log does not have %q: %q", text, said.lines)
			}
		}
	}
	probe()
	for deadline := time.Now().Add(10 * time.Second); isKnown(&server.own); {
		if time.Now().After(deadline) {
			t.Fatal("the look was not refused, and would show nothing")
		}
	}
	conn, err := (&tls.Dialer{Config: &tls.Config{
		InsecureSkipVerify: true, Certificates: []tls.Certificate{theirs.issue(t, "apiserver", x509.ExtKeyUsageClientAuth)},
	}}).DialContext(ctx, "tcp", server.Address)
	if err == nil {
		defer conn.Close() //nolint:errcheck // It is refused.
	}
	eventually("the certificate of the client")
	if n := said.with("didn't provide a certificate"); n != 0 {
		t.Errorf("the looks are told of %d times", n)
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	probe()
	probe()
	if n := said.with("has become bad"); n != 1 {
		t.Errorf("that the file has become bad is told %d times, want once: %q", n, said.lines)
	}
}

// isKnown reports whether anything is left of addresses.
func isKnown(addresses *sync.Map) bool {
	left := false
	addresses.Range(func(any, any) bool {
		left = true
		return false
	})
	return left
}
