//go:build linux

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

package proxy

import (
	"context"
	"errors"
	"net"
	"sync"

	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/peer"

	"kausality.io/operator/internal/cri/caller"
	"kausality.io/operator/internal/runtimerules"
)

// connection is one of a client. It belongs to who opened it, whoever uses it later.
type connection struct {
	share *share
	peer  caller.Peer

	mu sync.Mutex
	// known is who it is, when the runtime has said so.
	known *runtimerules.Caller
}

// AuthType implements credentials.AuthInfo.
func (*connection) AuthType() string { return "peer of a unix socket" }

// connectionOf returns that by which a call came.
func connectionOf(ctx context.Context) (*connection, bool) {
	p, ok := peer.FromContext(ctx)
	if !ok {
		return nil, false
	}
	c, ok := p.AuthInfo.(*connection)
	return c, ok
}

// who returns the caller. The runtime is asked until it has once answered.
func (c *connection) who(ctx context.Context, ask func(context.Context, []string) runtimerules.Caller) runtimerules.Caller {
	if c.peer.Err != nil {
		return runtimerules.Caller{Err: c.peer.Err}
	}
	c.mu.Lock()
	known := c.known
	c.mu.Unlock()
	if known != nil {
		return *known
	}
	found := ask(ctx, c.peer.Containers)
	if found.Err == nil {
		c.mu.Lock()
		c.known = &found
		c.mu.Unlock()
	}
	return found
}

// handshake finds out who connects, before anything is read of them.
type handshake struct {
	server *Server
}

var (
	_ credentials.TransportCredentials = handshake{}

	errNoSocket = errors.New("not a unix socket")
	errServer   = errors.New("these are credentials of a server")
)

// ServerHandshake implements credentials.TransportCredentials.
func (h handshake) ServerHandshake(conn net.Conn) (net.Conn, credentials.AuthInfo, error) {
	socket, ok := conn.(*net.UnixConn)
	if !ok {
		return nil, nil, errNoSocket
	}
	who := h.server.identify(socket)
	share, err := h.server.shares.connect(key(who))
	if err != nil {
		h.server.metrics.refusedConnections.Inc()
		return nil, nil, err
	}
	if errors.Is(who.Err, caller.ErrForeign) {
		h.server.foreign.Store(true)
	}
	h.server.metrics.connections.Inc()
	return &counted{Conn: conn, done: sync.OnceFunc(func() {
		share.disconnect()
		h.server.metrics.connections.Dec()
	})}, &connection{share: share, peer: who}, nil
}

// key returns by whom limits are counted.
func key(who caller.Peer) string {
	switch {
	case who.Err != nil:
		return unknown
	case len(who.Containers) > 0:
		return who.Containers[0]
	}
	return host
}

// ClientHandshake implements credentials.TransportCredentials.
func (handshake) ClientHandshake(context.Context, string, net.Conn) (net.Conn, credentials.AuthInfo, error) {
	return nil, nil, errServer
}

// Info implements credentials.TransportCredentials.
func (handshake) Info() credentials.ProtocolInfo {
	return credentials.ProtocolInfo{SecurityProtocol: "unix"}
}

// Clone implements credentials.TransportCredentials.
func (h handshake) Clone() credentials.TransportCredentials { return h }

// OverrideServerName implements credentials.TransportCredentials.
func (handshake) OverrideServerName(string) error { return nil }

// counted is a connection that says when it is closed.
type counted struct {
	net.Conn
	done func()
}

// Close implements net.Conn.
func (c *counted) Close() error {
	c.done()
	return c.Conn.Close()
}
