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
// cert-manager. Either way another authority is trusted before anything is served that it
// has signed.
package certs

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
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
	// Dir is where ModeMounted finds tls.crt, tls.key and ca.crt, and where ModeSelfManaged
	// leaves the first two of what is served with.
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
	// Installed reports whether a webhook configuration, of either kind, is an installed one
	// of the webhooks of our own kinds, which the CA bundle is injected into, unless an
	// annotation has cert-manager do so. The bundle is injected nowhere if it is nil.
	Installed func(client.Object) bool
	// Admission is the name of the other webhook configurations that have the CA bundle,
	// written by somebody else.
	Admission string
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
	dir   string
	clock clock.PassiveClock
	ready chan struct{}
	// changed has an item for each who is told of changes.
	changed []chan event.GenericEvent
	// object stands for the certificate in events.
	object *corev1.Secret
	// told reports whether all webhook configurations have an authority.
	told func(ctx context.Context, ca []byte) bool

	// stepping is held while the handover goes on.
	stepping sync.Mutex
	handover handover

	once    sync.Once
	mu      sync.RWMutex
	ca      []byte
	current *tls.Certificate
}

// Setup adds to mgr what keeps the certificate and the CA bundle up to date on every
// replica. It asks the API server once, before mgr starts.
func Setup(ctx context.Context, mgr manager.Manager, opts Options) (*Certs, error) {
	if opts.Clock == nil {
		opts.Clock = clock.RealClock{}
	}
	c := &Certs{
		dir:     opts.Dir,
		clock:   opts.Clock,
		ready:   make(chan struct{}),
		changed: []chan event.GenericEvent{make(chan event.GenericEvent, 1), make(chan event.GenericEvent, 1)},
		object:  &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: opts.Namespace, Name: opts.SecretName}},
	}
	c.told = announcements{live: mgr.GetAPIReader(), own: opts.Installed, admission: opts.Admission}.have
	setup := setupSelfManaged
	switch opts.Mode {
	case ModeSelfManaged, "":
	case ModeMounted:
		setup = setupMounted
	default:
		return nil, fmt.Errorf("certificate mode %q is unknown: use %s or %s", opts.Mode, ModeSelfManaged, ModeMounted)
	}
	if err := setup(ctx, mgr, opts, c); err != nil {
		return nil, err
	}
	return c, setupInjection(mgr, opts, c)
}

// Ready is closed once there is a certificate: the webhook server cannot start before.
func (c *Certs) Ready() <-chan struct{} { return c.ready }

// CABundle returns what the API server verifies the webhooks with, PEM-encoded. It is
// empty until Ready, and in ModeMounted also if there is no ca.crt: the API server
// then trusts what its host trusts.
func (c *Certs) CABundle() []byte {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return bytes.Clone(c.ca)
}

// Changed tells when CABundle is there and when it has changed since. Several
// changes may be told as one. It is for one receiver.
func (c *Certs) Changed() <-chan event.GenericEvent { return c.changed[0] }

// GetCertificate returns what the webhook server serves with.
func (c *Certs) GetCertificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if c.current == nil {
		return nil, errors.New("there is no serving certificate yet")
	}
	return c.current, nil
}

// Healthz returns a check for probes: it fails while there is no certificate to serve
// with, or one that clients refuse.
func (c *Certs) Healthz(*http.Request) error {
	current, err := c.GetCertificate(nil)
	if err != nil {
		return err
	}
	switch now := c.clock.Now(); {
	case now.Before(current.Leaf.NotBefore):
		return fmt.Errorf("the serving certificate is not valid before %s", current.Leaf.NotBefore.Format(time.RFC3339))
	case now.After(current.Leaf.NotAfter):
		return fmt.Errorf("the serving certificate expired at %s", current.Leaf.NotAfter.Format(time.RFC3339))
	}
	return nil
}

// follow goes on towards a certificate that is offered, and has it served with and trusted as
// far as that is. It returns what others may still serve with, and when to go on.
func (c *Certs) follow(ctx context.Context, offered, former pair) (outgoing pair, wait time.Duration, err error) {
	c.stepping.Lock()
	defer c.stepping.Unlock()
	if _, err := tls.X509KeyPair(offered.cert, offered.key); err != nil {
		return pair{}, 0, fmt.Errorf("the certificate that is offered cannot be served with: %w", err)
	}
	before := c.handover.serving
	wait = c.handover.step(offered, former, c.clock.Now(), func(ca []byte) bool { return c.told(ctx, ca) })
	serving := c.handover.serving
	current, err := tls.X509KeyPair(serving.cert, serving.key)
	if err != nil {
		return pair{}, 0, fmt.Errorf("the serving certificate cannot be used: %w", err)
	}
	if !before.isEmpty() && !before.equal(serving) {
		logf.FromContext(ctx).Info("Serving with another certificate", "expires", current.Leaf.NotAfter)
	}
	c.publish(&current, c.handover.bundle(offered))
	return c.handover.outgoing(offered), wait, nil
}

// serving returns what is served with, empty before there is anything.
func (c *Certs) serving() pair {
	c.stepping.Lock()
	defer c.stepping.Unlock()
	return c.handover.serving
}

// publish has the certificate served with, and ca be the CA bundle.
func (c *Certs) publish(current *tls.Certificate, ca []byte) {
	c.mu.Lock()
	tell := !bytes.Equal(c.ca, ca)
	c.ca, c.current = ca, current
	c.mu.Unlock()
	c.once.Do(func() {
		close(c.ready)
		tell = true
	})
	if !tell {
		return
	}
	for _, changed := range c.changed {
		select {
		case changed <- event.GenericEvent{Object: c.object}:
		default: // one is waiting to be told already
		}
	}
}
