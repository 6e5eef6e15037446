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
	"crypto/tls"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"sigs.k8s.io/controller-runtime/pkg/certwatcher"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
)

// setupMounted has the CA bundle read again whenever the mounted certificate is
// renewed: the two come from the same Secret and change together.
func setupMounted(mgr manager.Manager, c *Certs) error {
	watcher, err := certwatcher.New(filepath.Join(c.dir, certFile), filepath.Join(c.dir, keyFile))
	if err != nil {
		return fmt.Errorf("reading the mounted serving certificate: %w; check that the Secret with it is mounted at %s", err, c.dir)
	}
	if _, err := readCA(c.dir); err != nil {
		return err
	}
	// It is called at once, and then on each change.
	watcher.RegisterCallback(func(tls.Certificate) {
		ca, err := readCA(c.dir)
		if err != nil {
			logf.Log.WithName("certs").Error(err, "The CA bundle stays as it was")
			return
		}
		c.publish(ca)
	})
	return mgr.Add(watcher)
}

// readCA returns the CA bundle, which is absent where the certificate's authority
// is one that everybody trusts.
func readCA(dir string) ([]byte, error) {
	ca, err := os.ReadFile(filepath.Join(dir, caFile))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("reading the CA bundle of the mounted serving certificate: %w", err)
	}
	return ca, nil
}
