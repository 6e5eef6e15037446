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
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"

	"k8s.io/client-go/rest"
)

// apiServerName returns the name of the process of the nth API server, counted from zero.
func apiServerName(n int) string {
	if n == 0 {
		return string(APIServer)
	}
	return string(APIServer) + "-" + strconv.Itoa(n+1)
}

// isAPIServer reports whether a process is one of the API servers.
func isAPIServer(name string) bool {
	return name == string(APIServer) || strings.HasPrefix(name, string(APIServer)+"-")
}

// APIServerNames returns the names of the processes of the API servers: the first is APIServer.
func (cp *ControlPlane) APIServerNames() []string {
	names := make([]string, 0, len(cp.hosts))
	for n := range cp.hosts {
		names = append(names, apiServerName(n))
	}
	return names
}

// startMoreAPIServers starts the API servers after the first.
func (cp *ControlPlane) startMoreAPIServers(ctx context.Context, etcd string) error {
	for len(cp.hosts) < cp.opts.APIServers {
		name, host := apiServerName(len(cp.hosts)), ""
		cp.opts.Progress("starting " + name)
		err := cp.launchWithPort(ctx, func(port int) Program {
			host = HostPort(port)
			return cp.apiServer(name, etcd, port)
		})
		if err != nil {
			return err
		}
		cp.hosts = append(cp.hosts, host)
	}
	return nil
}

// At returns a configuration that reaches the nth API server, counted from zero, as the given one
// reaches the first.
func (cp *ControlPlane) At(n int, cfg *rest.Config) *rest.Config {
	cfg = rest.CopyConfig(cfg)
	cfg.Host = "https://" + cp.hosts[n]
	return cfg
}

// Spread returns a configuration whose requests go to each of the API servers in turn, as through
// a load balancer that keeps no connections together.
func (cp *ControlPlane) Spread(cfg *rest.Config) *rest.Config {
	cfg = rest.CopyConfig(cfg)
	var asked atomic.Uint64
	cfg.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(req *http.Request) (*http.Response, error) {
			req = req.Clone(req.Context())
			req.URL.Host = cp.hosts[asked.Add(1)%uint64(len(cp.hosts))]
			return next.RoundTrip(req)
		})
	})
	return cfg
}

type roundTripper func(*http.Request) (*http.Response, error)

// RoundTrip makes a request.
func (r roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return r(req) }
