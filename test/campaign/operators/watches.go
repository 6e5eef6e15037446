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

package operators

import (
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// watchProxy stands between the operators and the API server, and cuts their
// connections.
type watchProxy struct {
	server *httptest.Server
	cut    atomic.Bool

	mu sync.Mutex
	// expired is until when a watch that would go on from somewhere hears that this is
	// compacted.
	expired time.Time
}

func startWatchProxy(api *rest.Config) (*watchProxy, error) {
	target, err := url.Parse(api.Host)
	if err != nil {
		return nil, err
	}
	// Whoever calls brings a token of their own.
	transport, err := rest.TransportFor(&rest.Config{TLSClientConfig: rest.TLSClientConfig{CAData: api.CAData}})
	if err != nil {
		return nil, err
	}
	p := &watchProxy{}
	quiet := log.New(io.Discard, "", 0)
	forward := &httputil.ReverseProxy{
		Rewrite:   func(r *httputil.ProxyRequest) { r.SetURL(target) },
		Transport: transport, FlushInterval: -1, ErrorLog: quiet,
		ErrorHandler: func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
	}
	p.server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case p.cut.Load():
			panic(http.ErrAbortHandler)
		case p.compacted(r):
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusGone)
			_, _ = io.WriteString(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Expired","code":410,"message":"too old resource version"}`)
		default:
			forward.ServeHTTP(w, r)
		}
	}))
	p.server.EnableHTTP2 = true
	p.server.Config.ErrorLog = quiet
	p.server.StartTLS()
	return p, nil
}

// compacted reports whether a request is a watch that would go on from what is gone.
func (p *watchProxy) compacted(r *http.Request) bool {
	query := r.URL.Query()
	p.mu.Lock()
	defer p.mu.Unlock()
	from := query.Get("resourceVersion")
	return query.Has("watch") && from != "" && from != "0" && time.Now().Before(p.expired)
}

// lose cuts all connections and lets none through.
func (p *watchProxy) lose() {
	p.cut.Store(true)
	p.server.CloseClientConnections()
}

// resume lets connections through. For a moment what watches would go on from is
// compacted, so that they have to list anew.
func (p *watchProxy) resume() {
	p.mu.Lock()
	p.expired = time.Now().Add(time.Second)
	p.mu.Unlock()
	p.cut.Store(false)
}

func (p *watchProxy) close() {
	p.server.CloseClientConnections()
	p.server.Close()
}

// redirect makes a kubeconfig lead to the proxy.
func (p *watchProxy) redirect(kubeconfig string) error {
	config, err := clientcmd.LoadFromFile(kubeconfig)
	if err != nil {
		return err
	}
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: p.server.Certificate().Raw})
	for name := range config.Clusters {
		config.Clusters[name] = &clientcmdapi.Cluster{Server: p.server.URL, CertificateAuthorityData: ca}
	}
	if err := clientcmd.WriteToFile(*config, kubeconfig); err != nil {
		return fmt.Errorf("redirecting %s: %w", kubeconfig, err)
	}
	return nil
}
