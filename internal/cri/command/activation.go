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

package command

import (
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"

	"github.com/coreos/go-systemd/v22/activation"
)

// inherited are sockets that systemd has made, by their paths. They stay when this process
// ends: connections wait there for the next.
type inherited map[string]net.Listener

// inherit takes over what systemd passes on, once.
func inherit() (inherited, error) {
	passed, err := activation.Listeners()
	if err != nil {
		return nil, fmt.Errorf("the sockets that systemd passes on: %w", err)
	}
	out := inherited{}
	for _, listener := range passed {
		socket, ok := listener.(*net.UnixListener)
		if !ok {
			return nil, errors.New("systemd passes on what is no unix socket of streams: in the .socket unit, name paths by ListenStream= only")
		}
		out[socket.Addr().String()] = socket
	}
	return out, nil
}

// listen takes the socket of a path that systemd has made, or makes it.
func (i inherited) listen(path string, mode os.FileMode, group int) (net.Listener, error) {
	if listener, found := i[path]; found {
		delete(i, path)
		return listener, nil
	}
	return listen(path, mode, group)
}

// rest returns an error if there is a socket that nobody has asked for: whoever connects would
// wait for ever.
func (i inherited) rest() error {
	paths := make([]string, 0, len(i))
	for path := range i {
		paths = append(paths, path)
	}
	if len(paths) == 0 {
		return nil
	}
	slices.Sort(paths)
	return fmt.Errorf("systemd passes on %s, which no --endpoint names: give each socket of the unit an --endpoint of the same path", strings.Join(paths, ", "))
}
