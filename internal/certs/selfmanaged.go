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

// fieldOwner is who injects the CA bundle, in managedFields.
const fieldOwner = "kausality-cert-rotator"

// setupSelfManaged adds the rotator, which fills the Secret on one replica, and on
// every replica a controller that brings the Secret into the files: no kubelet
// does, as a Pod that mounts the Secret could not start to fill it.
func setupSelfManaged(ctx context.Context, mgr manager.Manager, opts Options, c *Certs) error {
	key := client.ObjectKeyFromObject(c.object)
	files := &fileWriter{client: mgr.GetClient(), certs: c}
	if err := files.ensureSecret(ctx, mgr.GetAPIReader()); err != nil {
		return err
	}
	if err := files.setupWithManager(mgr); err != nil {
		return err
	}
	var webhooks []rotator.WebhookInfo
	if opts.ValidatingWebhookConfiguration != "" {
		webhooks = append(webhooks, rotator.WebhookInfo{Name: opts.ValidatingWebhookConfiguration, Type: rotator.Validating})
	}
	host := opts.ServiceName + "." + opts.Namespace + ".svc"
	if err := rotator.AddRotator(mgr, &rotator.CertRotator{
		SecretKey:             key,
		CertDir:               opts.Dir,
		CAName:                "kausality-ca",
		CAOrganization:        "kausality",
		DNSName:               host,
		ExtraDNSNames:         append([]string{host + ".cluster.local"}, opts.ExtraDNSNames...),
		IsReady:               make(chan struct{}),
		Webhooks:              webhooks,
		FieldOwner:            fieldOwner,
		RequireLeaderElection: opts.LeaderElection,
		ControllerName:        opts.ControllerName,
	}); err != nil {
		return fmt.Errorf("setting up the rotation of the serving certificate: %w", err)
	}
	return nil
}

// fileWriter brings the certificate of the Secret into the files that the webhook
// server reads.
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
	cert, key, ca := secret.Data[certFile], secret.Data[keyFile], secret.Data[caFile]
	if len(cert) == 0 || len(key) == 0 || len(ca) == 0 {
		logf.FromContext(ctx).V(1).Info("The Secret holds no certificate yet")
		return reconcile.Result{}, nil
	}
	// The key first: whoever reads between the two finds a pair that does not
	// match, keeps what it has, and is told of the second.
	if err := writeFile(filepath.Join(w.certs.dir, keyFile), key); err != nil {
		return reconcile.Result{}, err
	}
	if err := writeFile(filepath.Join(w.certs.dir, certFile), cert); err != nil {
		return reconcile.Result{}, err
	}
	w.certs.publish(ca)
	return reconcile.Result{}, nil
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
