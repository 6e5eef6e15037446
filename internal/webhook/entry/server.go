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
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
)

const (
	// headTime is how long somebody may take to connect and to say what is asked, but for
	// the body.
	headTime = 10 * time.Second
	// idleTime is how long a connection stays over which nothing is asked: longer than an
	// API server keeps it.
	idleTime = 100 * time.Second
	// maxHead limits the length of a request without its body, in bytes.
	maxHead = 64 << 10
	// farewellTime is how long requests are answered once the operator ends, with the word that
	// the next one be asked elsewhere. An API server keeps connections: what it has just sent
	// over one that is closed at that moment is answered by nobody.
	farewellTime = time.Second
	// goodbyeTime limits how long requests may take once the operator ends.
	goodbyeTime = time.Minute
	// dialTime bounds the look whether the port answers.
	dialTime = 10 * time.Second
)

// Server serves webhooks as the server of controller-runtime does, to which they are
// registered, and bounds what strangers may have of it: how many connections, and how long
// each of them takes.
type Server struct {
	webhook.Server

	// Address to listen on.
	Address string
	// Certificate is what to serve with, which may change.
	Certificate func(*tls.ClientHelloInfo) (*tls.Certificate, error)
	// Clients are who may connect.
	Clients Clients

	started, leaving atomic.Bool
	// own are the addresses from which it has just asked itself without a certificate, where
	// it asks for one: that this fails is not to be told, as nothing else would be for it.
	own sync.Map
}

// NewServer makes a Server that listens on a port.
func NewServer(host string, port int, certificate func(*tls.ClientHelloInfo) (*tls.Certificate, error), clients Clients) *Server {
	return &Server{
		Server:  webhook.NewServer(webhook.Options{Host: host, Port: port}),
		Address: net.JoinHostPort(host, strconv.Itoa(port)), Certificate: certificate, Clients: clients,
	}
}

// Start implements manager.Runnable.
func (s *Server) Start(ctx context.Context) error {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", s.Address)
	if err != nil {
		return fmt.Errorf("listening for the API server: %w", err)
	}
	return s.serve(ctx, listener)
}

// serve returns when all is answered that was asked until the context ended.
func (s *Server) serve(ctx context.Context, listener net.Listener) error {
	cfg := &tls.Config{GetCertificate: s.Certificate, MinVersion: tls.VersionTLS12}
	s.Clients.Configure(cfg, logf.FromContext(ctx).WithName("entry"))
	// What is being answered goes on where the operator ends.
	srv := newHTTPServer(context.WithoutCancel(ctx), s.untilLeaving(s.WebhookMux()), &s.own)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		<-ctx.Done()
		s.leaving.Store(true)
		<-time.After(farewellTime)
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), goodbyeTime)
		defer cancel()
		if err := srv.Shutdown(ctx); err != nil {
			logf.FromContext(ctx).Error(err, "Not everything was answered that the API server had asked")
		}
	}()
	s.started.Store(true)
	if err := srv.Serve(tls.NewListener(guarded{listener, newDoors(mostStrangers)}, cfg)); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serving webhooks: %w", err)
	}
	<-ended
	return nil
}

// untilLeaving has connections end with their next answer once the operator ends.
func (s *Server) untilLeaving(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s.leaving.Load() {
			w.Header().Set("Connection", "close")
		}
		next.ServeHTTP(w, r)
	})
}

// newHTTPServer makes the server of connections, which are guarded. What goes wrong with those
// from its own addresses is not told of.
func newHTTPServer(ctx context.Context, handler http.Handler, own *sync.Map) *http.Server {
	return &http.Server{
		Handler:           handler,
		BaseContext:       func(net.Listener) context.Context { return ctx },
		ConnContext:       withVisitor,
		ReadHeaderTimeout: headTime,
		IdleTimeout:       idleTime,
		MaxHeaderBytes:    maxHead,
		ErrorLog:          log.New(&seldomLog{ctx: ctx, own: own, every: rate.Sometimes{Interval: strangersInterval}}, "", 0),
	}
}

// seldomLog writes what is wrong with connections into the log, as anybody may have it say.
type seldomLog struct {
	ctx   context.Context //nolint:containedctx // It has the logger.
	own   *sync.Map
	every rate.Sometimes
}

// handshakeFailed is how net/http begins to tell that a connection never came to be.
const handshakeFailed = "http: TLS handshake error from "

// Write implements io.Writer.
func (l *seldomLog) Write(text []byte) (int, error) {
	if rest, ok := strings.CutPrefix(string(text), handshakeFailed); ok {
		from, _, _ := strings.Cut(rest, ": ")
		if _, ours := l.own.LoadAndDelete(from); ours {
			return len(text), nil
		}
	}
	l.every.Do(func() {
		logf.FromContext(l.ctx).WithName("entry").Info("A connection to the webhooks failed; there may be more of them than lines here",
			"reason", strings.TrimSpace(string(text)))
	})
	return len(text), nil
}

// StartedChecker implements webhook.Server: it looks whether the port answers.
func (s *Server) StartedChecker() healthz.Checker {
	dialer := &net.Dialer{Timeout: dialTime}
	return func(r *http.Request) error {
		if !s.started.Load() {
			return errors.New("the webhooks are not served yet")
		}
		s.Clients.look(logf.FromContext(r.Context()).WithName("entry"))
		ctx, cancel := context.WithTimeout(r.Context(), dialTime)
		defer cancel()
		conn, err := dialer.DialContext(ctx, "tcp", s.Address)
		if err != nil {
			return fmt.Errorf("the webhooks cannot be reached: %w", err)
		}
		defer conn.Close() //nolint:errcheck // Nothing is asked over it.
		if s.Clients.Authorities != nil {
			s.own.Store(conn.LocalAddr().String(), true)
		}
		asked := tls.Client(conn, &tls.Config{InsecureSkipVerify: true}) //nolint:gosec // It asks itself, and says nothing.
		if err := asked.HandshakeContext(ctx); err != nil {
			return fmt.Errorf("the webhooks cannot be reached: %w", err)
		}
		return asked.Close()
	}
}
