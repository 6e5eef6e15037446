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

package controlplane

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
)

// Ports are taken from below the range that systems hand out to outgoing
// connections, or a component that is started again could find its port taken
// by somebody's connection.
const (
	portMin = 20000
	portMax = 30000
	// portTries is more than enough as long as most ports are free.
	portTries = 100
)

// FreePorts returns n loopback ports that nobody listens on at the moment.
// Somebody else may be quicker to take one, so callers try again with others
// when that happens.
func FreePorts(ctx context.Context, n int) ([]int, error) {
	var (
		config    net.ListenConfig
		listeners []net.Listener
		ports     []int
		lastErr   error
	)
	// Held until all are found, or one might be found twice.
	defer func() {
		for _, listener := range listeners {
			_ = listener.Close() // Nothing was received on it.
		}
	}()
	for range portTries {
		if len(ports) == n {
			return ports, nil
		}
		port := portMin + rand.IntN(portMax-portMin)
		listener, err := config.Listen(ctx, "tcp", HostPort(port))
		if err != nil {
			lastErr = err
			continue
		}
		listeners = append(listeners, listener)
		ports = append(ports, port)
	}
	return nil, fmt.Errorf("no free port on %s between %d and %d: %w", loopback, portMin, portMax, lastErr)
}

// HostPort returns a port of the loopback interface, as an address.
func HostPort(port int) string { return net.JoinHostPort(loopback, strconv.Itoa(port)) }
