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
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"os"
	"sync"
	"testing"
	"time"
)

// TestDoors shows that whoever opens connections without end keeps nobody out, and no
// connection that is known.
func TestDoors(t *testing.T) {
	const most, strangers = 20, 200
	mux := http.NewServeMux()
	mux.Handle("/validate"+KeyPattern, Known(one("secret"), http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})))
	server := httptest.NewUnstartedServer(mux)
	server.Listener = guarded{server.Listener, newDoors(most)}
	server.Config = newHTTPServer(t.Context(), mux, &sync.Map{})
	server.StartTLS()
	defer server.Close()

	asks := func(client *http.Client, wantReused bool) {
		t.Helper()
		ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{GotConn: func(info httptrace.GotConnInfo) {
			if info.Reused != wantReused {
				t.Errorf("the connection was reused: %v, want %v", info.Reused, wantReused)
			}
		}})
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, server.URL+"/validate/secret", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, answer.Body)
		_ = answer.Body.Close()
		if answer.StatusCode != http.StatusOK {
			t.Errorf("answered with %d", answer.StatusCode)
		}
	}
	asks(server.Client(), false)
	var silent []net.Conn
	for range strangers {
		conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", server.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		silent = append(silent, conn)
	}
	asks(server.Client(), true)
	late := transportOf(t, server)
	defer late.CloseIdleConnections()
	asks(&http.Client{Transport: late}, false)

	deadline := time.Now().Add(5 * time.Second)
	for i, conn := range silent[:strangers-most] {
		_ = conn.SetReadDeadline(deadline)
		if _, err := conn.Read(make([]byte, 1)); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("connection %d is still open: %v", i, err)
		}
	}
}

// TestFair shows whose connections go.
func TestFair(t *testing.T) {
	d := newDoors(3)
	enter := func(from string) (*visitor, *visitor) {
		v := &visitor{doors: d, from: from}
		return v, d.enter(v)
	}
	server, _ := enter("server")
	first, _ := enter("stranger")
	second, _ := enter("stranger")
	if _, gone := enter("stranger"); gone != first {
		t.Errorf("of those from the address that has most, not the oldest goes: %v", gone)
	}
	if _, gone := enter("server"); gone != server {
		t.Errorf("of as many, not one from the same address goes: %v", gone)
	}
	d.leave(second)
	d.leave(second)
	if d.count > 3 {
		t.Errorf("%d strangers are counted", d.count)
	}
	if got := withVisitor(t.Context(), nil).Value(visitorKey{}); got != nil {
		t.Errorf("no connection is %v", got)
	}
}
