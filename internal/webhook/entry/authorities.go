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
	"crypto/x509"
	"fmt"
	"os"
	"sync"

	"github.com/go-logr/logr"
)

// Authorities are those of a file that sign the certificates of clients. The file is read for
// each connection, so that they can be renewed. While it cannot be read, or has none in it, those
// count that it had before: with nobody trusted no request would be answered, and most of
// them would pass unjudged.
type Authorities struct {
	file string

	mu   sync.Mutex
	pool *x509.CertPool
	// bad is set while the file is.
	bad bool
}

// ReadAuthorities reads a file for the first time, when it has to be good.
func ReadAuthorities(file string) (*Authorities, error) {
	pool, err := readPool(file)
	if err != nil {
		return nil, err
	}
	return &Authorities{file: file, pool: pool}, nil
}

// current returns the authorities that count now, and tells once when the file has become
// bad, and when it is good again.
func (a *Authorities) current(log logr.Logger) *x509.CertPool {
	a.mu.Lock()
	defer a.mu.Unlock()
	pool, err := readPool(a.file)
	switch {
	case err != nil && !a.bad:
		log.Error(err, "The file of the authorities of clients has become bad: those that it had before still count. "+
			"It is read again for each connection", "file", a.file)
	case err == nil && a.bad:
		log.Info("The file of the authorities of clients is good again", "file", a.file)
	}
	a.bad = err != nil
	if err == nil {
		a.pool = pool
	}
	return a.pool
}

// readPool reads the certificates of a file.
func readPool(file string) (*x509.CertPool, error) {
	bundle, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("reading the authorities of clients: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(bundle) {
		return nil, fmt.Errorf("%s has no PEM-encoded certificate of an authority of clients", file)
	}
	return pool, nil
}
