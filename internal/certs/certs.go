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

// Package certs provides the serving certificate of the webhooks: made and rotated
// by the operator itself, or mounted by whoever does that elsewhere, such as
// cert-manager. Either way it is in files that the webhook server reloads.
package certs

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/manager"
)

// Mode says who makes the serving certificate.
type Mode string

const (
	// ModeSelfManaged has the operator make an authority and a certificate, keep
	// both in a Secret that its replicas share, and rotate them.
	ModeSelfManaged Mode = "self-managed"
	// ModeMounted reads what somebody else puts and renews in the directory.
	ModeMounted Mode = "mounted"
)

// Names of the files in the directory and of the keys of the Secret.
const (
	certFile = corev1.TLSCertKey
	keyFile  = corev1.TLSPrivateKeyKey
	caFile   = corev1.ServiceAccountRootCAKey
)

// Options of Setup.
type Options struct {
	// Mode is ModeSelfManaged if empty.
	Mode Mode
	// Dir is where the webhook server reads tls.crt and tls.key. In ModeMounted
	// ca.crt is there too.
	Dir string
	// Namespace of the operator.
	Namespace string
	// SecretName is the Secret of ModeSelfManaged.
	SecretName string
	// ServiceName is the Service of the webhooks. The certificate is for its name
	// in the cluster.
	ServiceName string
	// ExtraDNSNames are further names to make the certificate for, such as
	// "localhost" where the API server calls the operator by URL. Addresses are
	// not possible.
	ExtraDNSNames []string
	// ValidatingWebhookConfiguration is the installed configuration of the
	// webhooks of our own kinds, which ModeSelfManaged injects the CA bundle
	// into. In ModeMounted whoever makes the certificate does.
	ValidatingWebhookConfiguration string
	// LeaderElection says that one of several replicas is elected. It makes and
	// rotates the certificate, all others take it from the Secret.
	LeaderElection bool
	// ControllerName is the name of the rotator in logs and metrics, which must
	// be unique in a process; "cert-rotator" if empty.
	ControllerName string
	// Clock is the real one if nil.
	Clock clock.PassiveClock
}

// Certs tells of the certificate in use. It is safe for concurrent use.
type Certs struct {
	dir     string
	clock   clock.PassiveClock
	ready   chan struct{}
	changed chan event.GenericEvent
	// object stands for the certificate in events.
	object *corev1.Secret

	once sync.Once
	mu   sync.RWMutex
	ca   []byte
}

// Setup adds to mgr what keeps the files and the CA bundle up to date on every
// replica. It asks the API server once, before mgr starts.
func Setup(ctx context.Context, mgr manager.Manager, opts Options) (*Certs, error) {
	if opts.Clock == nil {
		opts.Clock = clock.RealClock{}
	}
	c := &Certs{
		dir:     opts.Dir,
		clock:   opts.Clock,
		ready:   make(chan struct{}),
		changed: make(chan event.GenericEvent, 1),
		object:  &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: opts.Namespace, Name: opts.SecretName}},
	}
	switch opts.Mode {
	case ModeSelfManaged, "":
		return c, setupSelfManaged(ctx, mgr, opts, c)
	case ModeMounted:
		return c, setupMounted(mgr, c)
	default:
		return nil, fmt.Errorf("certificate mode %q is unknown: use %s or %s", opts.Mode, ModeSelfManaged, ModeMounted)
	}
}

// Ready is closed once the files are there for the first time: the webhook server
// cannot start before.
func (c *Certs) Ready() <-chan struct{} { return c.ready }

// CABundle is what the API server verifies the webhooks with, PEM-encoded. It is
// empty until Ready, and in ModeMounted also if there is no ca.crt: the API server
// then trusts what its host trusts.
func (c *Certs) CABundle() []byte {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return bytes.Clone(c.ca)
}

// Changed tells when CABundle is there and when it has changed since. Several
// changes may be told as one. It is for one receiver.
func (c *Certs) Changed() <-chan event.GenericEvent { return c.changed }

// Healthz is a check for probes: it fails while there is no certificate to serve
// with, or one that clients refuse.
func (c *Certs) Healthz(*http.Request) error {
	pair, err := tls.LoadX509KeyPair(filepath.Join(c.dir, certFile), filepath.Join(c.dir, keyFile))
	if errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("there is no serving certificate in %s yet", c.dir)
	}
	if err != nil {
		return fmt.Errorf("the serving certificate in %s cannot be used: %w", c.dir, err)
	}
	switch now := c.clock.Now(); {
	case now.Before(pair.Leaf.NotBefore):
		return fmt.Errorf("the serving certificate in %s is not valid before %s", c.dir, pair.Leaf.NotBefore.Format(time.RFC3339))
	case now.After(pair.Leaf.NotAfter):
		return fmt.Errorf("the serving certificate in %s expired at %s", c.dir, pair.Leaf.NotAfter.Format(time.RFC3339))
	}
	return nil
}

// publish makes ca the CA bundle. It is called after the files are written.
func (c *Certs) publish(ca []byte) {
	c.mu.Lock()
	same := bytes.Equal(c.ca, ca)
	c.ca = bytes.Clone(ca)
	c.mu.Unlock()
	tell := !same
	c.once.Do(func() {
		close(c.ready)
		tell = true
	})
	if !tell {
		return
	}
	select {
	case c.changed <- event.GenericEvent{Object: c.object}:
	default: // one is waiting to be told already
	}
}
