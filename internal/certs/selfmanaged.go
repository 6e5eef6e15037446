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
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/open-policy-agent/cert-controller/pkg/rotator"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

// formerPrefix is before the keys of what was served with before, in the Secret: a replica that
// starts while others still do so serves with it, too.
const formerPrefix = "former-"

// setupSelfManaged adds the rotator, which fills the Secret on one replica, and on
// every replica a controller that serves with what the Secret has: no kubelet
// brings it, as a Pod that mounts the Secret could not start to fill it. The rotator tells
// the API server of no authority, as it would do so too late.
func setupSelfManaged(ctx context.Context, mgr manager.Manager, opts Options, c *Certs) error {
	key := client.ObjectKeyFromObject(c.object)
	files := &fileWriter{client: mgr.GetClient(), certs: c}
	if err := files.ensureSecret(ctx, mgr.GetAPIReader()); err != nil {
		return err
	}
	if err := files.setupWithManager(mgr); err != nil {
		return err
	}
	host := opts.ServiceName + "." + opts.Namespace + ".svc"
	if err := rotator.AddRotator(withPersistence{mgr}, &rotator.CertRotator{
		SecretKey:             key,
		CertDir:               opts.Dir,
		CAName:                "kausality-ca",
		CAOrganization:        "kausality",
		DNSName:               host,
		ExtraDNSNames:         append([]string{host + ".cluster.local"}, opts.ExtraDNSNames...),
		IsReady:               make(chan struct{}),
		RequireLeaderElection: opts.LeaderElection,
		ControllerName:        opts.ControllerName,
	}); err != nil {
		return fmt.Errorf("setting up the rotation of the serving certificate: %w", err)
	}
	return nil
}

// fileWriter serves with the certificate of the Secret.
type fileWriter struct {
	client client.Client
	reader client.Reader
	certs  *Certs
}

// setupWithManager watches the Secret through a cache of its own, which holds no
// other.
func (w *fileWriter) setupWithManager(mgr manager.Manager) error {
	secret := w.certs.object
	secrets, err := cache.New(mgr.GetConfig(), cache.Options{
		HTTPClient: mgr.GetHTTPClient(),
		Scheme:     mgr.GetScheme(),
		Mapper:     mgr.GetRESTMapper(),
		ByObject: map[client.Object]cache.ByObject{&corev1.Secret{}: {
			Namespaces: map[string]cache.Config{secret.Namespace: {
				FieldSelector: fields.OneTermEqualSelector("metadata.name", secret.Name),
			}},
		}},
	})
	if err != nil {
		return fmt.Errorf("preparing to watch Secret %s/%s: %w", secret.Namespace, secret.Name, err)
	}
	if err := mgr.Add(everyReplica{secrets}); err != nil {
		return err
	}
	w.reader = secrets
	files, err := controller.New("cert-files", mgr, controller.Options{
		Reconciler:         w,
		NeedLeaderElection: new(false),
	})
	if err != nil {
		return err
	}
	return files.Watch(source.Kind(secrets, &corev1.Secret{}, &handler.TypedEnqueueRequestForObject[*corev1.Secret]{}))
}

// everyReplica starts a cache on replicas that are not elected, too.
type everyReplica struct{ cache.Cache }

// NeedLeaderElection implements manager.LeaderElectionRunnable.
func (everyReplica) NeedLeaderElection() bool { return false }

// Reconcile implements reconcile.Reconciler.
func (w *fileWriter) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	secret := &corev1.Secret{}
	err := w.reader.Get(ctx, req.NamespacedName, secret)
	if apierrors.IsNotFound(err) {
		// The rotator fills an empty Secret, but makes none.
		return reconcile.Result{}, w.ensureSecret(ctx, w.reader)
	}
	if err != nil {
		return reconcile.Result{}, fmt.Errorf("reading Secret %s: %w", req, err)
	}
	offered := pairIn(secret, "")
	if offered.isEmpty() || len(offered.ca) == 0 {
		logf.FromContext(ctx).V(1).Info("The Secret holds no certificate yet")
		return reconcile.Result{}, nil
	}
	former := pairIn(secret, formerPrefix)
	outgoing, wait, err := w.certs.follow(ctx, offered, former)
	if err != nil {
		return reconcile.Result{}, err
	}
	if err := w.leave(w.certs.serving()); err != nil {
		return reconcile.Result{}, err
	}
	if former.isEmpty() != outgoing.isEmpty() {
		secret = secret.DeepCopy()
		putPair(secret, formerPrefix, outgoing)
		if err := w.client.Update(ctx, secret); err != nil {
			return reconcile.Result{}, fmt.Errorf("noting in Secret %s what is still served with: %w", req, err)
		}
	}
	return reconcile.Result{RequeueAfter: wait}, nil
}

// leave has the files be what is served with. Nothing of the operator reads them; the rotator
// waits for them, and people look at them.
func (w *fileWriter) leave(serving pair) error {
	if err := writeFile(filepath.Join(w.certs.dir, keyFile), serving.key); err != nil {
		return err
	}
	return writeFile(filepath.Join(w.certs.dir, certFile), serving.cert)
}

// pairIn returns the certificate under keys of a Secret that begin so.
func pairIn(secret *corev1.Secret, prefix string) pair {
	return pair{cert: secret.Data[prefix+certFile], key: secret.Data[prefix+keyFile], ca: secret.Data[prefix+caFile]}
}

// putPair puts a certificate under such keys, or drops these where there is none.
func putPair(secret *corev1.Secret, prefix string, p pair) {
	for name, content := range map[string][]byte{certFile: p.cert, keyFile: p.key, caFile: p.ca} {
		if len(content) == 0 {
			delete(secret.Data, prefix+name)
			continue
		}
		secret.Data[prefix+name] = content
	}
}

// ensureSecret creates the Secret where it is missing. Installed from our
// manifests it is there, and the right to create it is not needed.
func (w *fileWriter) ensureSecret(ctx context.Context, reader client.Reader) error {
	want := w.certs.object
	err := reader.Get(ctx, client.ObjectKeyFromObject(want), &corev1.Secret{})
	if !apierrors.IsNotFound(err) {
		if err != nil {
			return fmt.Errorf("reading Secret %s/%s for the serving certificate: %w", want.Namespace, want.Name, err)
		}
		return nil
	}
	err = w.client.Create(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{
		Namespace: want.Namespace,
		Name:      want.Name,
		Labels:    map[string]string{"app.kubernetes.io/name": "kausality"},
	}})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("creating Secret %s/%s for the serving certificate: %w; create it, with no data", want.Namespace, want.Name, err)
	}
	return nil
}

// writeFile replaces a file at once, unless it has that content already: a reader
// sees the old content or the new.
func writeFile(path string, content []byte) error {
	if current, err := os.ReadFile(path); err == nil && bytes.Equal(current, content) {
		return nil
	}
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("making the directory of the serving certificate: %w", err)
	}
	// Readable by the operator alone, as os.CreateTemp has it.
	temporary, err := os.CreateTemp(dir, ".tmp-*")
	if err != nil {
		return fmt.Errorf("writing the serving certificate: %w", err)
	}
	defer func() { _ = os.Remove(temporary.Name()) }()
	_, err = temporary.Write(content)
	if closeErr := temporary.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		err = os.Rename(temporary.Name(), path)
	}
	if err != nil {
		return fmt.Errorf("writing the serving certificate: %w", err)
	}
	return nil
}
