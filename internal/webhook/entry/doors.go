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
	"container/list"
	"context"
	"crypto/tls"
	"net"
	"sync"
)

// mostStrangers is how many connections there may be over which nobody has shown a key
// yet. Three API servers with as many requests in flight as they take by default open
// fewer at once; each takes some tens of KiB.
const mostStrangers = 2048

// doors are the connections over which nobody has shown a key yet. There are not more of
// them than most: who comes next has the one closed that has been there for the longest, of
// those from the address that has most of them. Who opens any number of connections thus
// closes its own, and an API server, which shows a key within milliseconds, gets in.
type doors struct {
	most int

	mu sync.Mutex
	// strangers are by their addresses, the oldest first.
	strangers map[string]*list.List
	count     int
}

func newDoors(most int) *doors {
	return &doors{most: most, strangers: map[string]*list.List{}}
}

// guarded is a listener with doors.
type guarded struct {
	net.Listener
	doors *doors
}

// Accept implements net.Listener.
func (g guarded) Accept() (net.Conn, error) {
	c, err := g.Listener.Accept()
	if err != nil {
		return nil, err
	}
	v := &visitor{Conn: c, doors: g.doors, from: hostOf(c.RemoteAddr())}
	if tooMany := g.doors.enter(v); tooMany != nil {
		connectionsDropped.Inc()
		_ = tooMany.Close()
	}
	return v, nil
}

// hostOf returns an address without its port.
func hostOf(addr net.Addr) string {
	host, _, err := net.SplitHostPort(addr.String())
	if err != nil {
		return addr.String()
	}
	return host
}

// visitor is a connection.
type visitor struct {
	net.Conn
	doors *doors
	from  string
	// place is where it is among the strangers of its address, nil where it is none.
	place *list.Element
}

// Close implements net.Conn.
func (v *visitor) Close() error {
	v.doors.leave(v)
	return v.Conn.Close()
}

// enter counts a connection as a stranger's, and returns the one that has to go for it, nil
// where there is room.
func (d *doors) enter(v *visitor) *visitor {
	d.mu.Lock()
	defer d.mu.Unlock()
	of, ok := d.strangers[v.from]
	if !ok {
		of = list.New()
		d.strangers[v.from] = of
	}
	v.place = of.PushBack(v)
	d.count++
	if d.count <= d.most {
		return nil
	}
	for _, others := range d.strangers {
		if others.Len() > of.Len() {
			of = others
		}
	}
	oldest, _ := of.Front().Value.(*visitor)
	d.forget(oldest)
	return oldest
}

// leave counts a connection as a stranger's no more: it is closed, or known.
func (d *doors) leave(v *visitor) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.forget(v)
}

func (d *doors) forget(v *visitor) {
	if v.place == nil {
		return
	}
	of := d.strangers[v.from]
	of.Remove(v.place)
	v.place = nil
	d.count--
	if of.Len() == 0 {
		delete(d.strangers, v.from)
	}
}

type visitorKey struct{}

// withVisitor returns the context of what is asked over a connection.
func withVisitor(ctx context.Context, c net.Conn) context.Context {
	if over, ok := c.(*tls.Conn); ok {
		c = over.NetConn()
	}
	if v, ok := c.(*visitor); ok {
		return context.WithValue(ctx, visitorKey{}, v)
	}
	return ctx
}

// welcome has the connection of a request stay: over it somebody has shown a key.
func welcome(ctx context.Context) {
	if v, ok := ctx.Value(visitorKey{}).(*visitor); ok {
		v.doors.leave(v)
	}
}
