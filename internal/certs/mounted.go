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
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/certwatcher"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
)

// setupMounted has what is mounted served with, and followed whenever it is renewed.
func setupMounted(_ context.Context, mgr manager.Manager, _ Options, c *Certs) error {
	watcher, err := certwatcher.New(filepath.Join(c.dir, certFile), filepath.Join(c.dir, keyFile))
	if err != nil {
		return fmt.Errorf("reading the mounted serving certificate: %w; check that the Secret with it is mounted at %s, as --cert-dir has it", err, c.dir)
	}
	m := &mounted{certs: c, watcher: watcher, renewed: make(chan struct{}, 1)}
	if _, err := m.read(); err != nil {
		return err
	}
	// It is called at once, and then on each change.
	watcher.RegisterCallback(func(tls.Certificate) {
		select {
		case m.renewed <- struct{}{}:
		default:
		}
	})
	return mgr.Add(m)
}

// mounted follows what is mounted.
type mounted struct {
	certs   *Certs
	watcher *certwatcher.CertWatcher
	renewed chan struct{}
}

// NeedLeaderElection returns false: each replica serves.
func (*mounted) NeedLeaderElection() bool { return false }

// Start implements manager.Runnable.
func (m *mounted) Start(ctx context.Context) error {
	log := logf.FromContext(ctx).WithName("certs")
	ended := make(chan error, 1)
	go func() { ended <- m.watcher.Start(ctx) }()
	timer := time.NewTimer(0)
	defer timer.Stop()
	told := ""
	for {
		select {
		case err := <-ended:
			return err
		case <-m.renewed:
		case <-timer.C:
		}
		wait, err := m.follow(ctx)
		if err != nil {
			if told != err.Error() { // Each look would find the same.
				log.Error(err, "The serving certificate stays as it was; it is tried again", "dir", m.certs.dir)
			}
			told, wait = err.Error(), lookInterval
		} else {
			told = ""
		}
		if wait > 0 {
			timer.Reset(wait)
		}
	}
}

func (m *mounted) follow(ctx context.Context) (time.Duration, error) {
	offered, err := m.read()
	if err != nil {
		return 0, err
	}
	_, wait, err := m.certs.follow(ctx, offered, pair{})
	return wait, err
}

// read returns what is mounted. The CA bundle is absent where the certificate's authority is
// one that everybody trusts.
func (m *mounted) read() (pair, error) {
	var p pair
	for name, content := range map[string]*[]byte{certFile: &p.cert, keyFile: &p.key, caFile: &p.ca} {
		var err error
		*content, err = os.ReadFile(filepath.Join(m.certs.dir, name))
		if err != nil && (name != caFile || !errors.Is(err, os.ErrNotExist)) {
			return pair{}, fmt.Errorf("reading the mounted serving certificate: %w", err)
		}
	}
	if len(p.ca) > 0 && !x509.NewCertPool().AppendCertsFromPEM(p.ca) {
		return pair{}, fmt.Errorf("the mounted %s has no PEM-encoded certificate of an authority, "+
			"and the API server would take it for no webhook: put one there, or remove it where the API server's host trusts the authority",
			filepath.Join(m.certs.dir, caFile))
	}
	return p, nil
}
