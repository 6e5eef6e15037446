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

// Command cert-manager runs the controllers of cert-manager that issue certificates inside
// the cluster, with the defaults of cert-manager's own command. Its webhook and CA injector
// are left out: no test is about them.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/cert-manager/cert-manager/pkg/controller"
	"github.com/cert-manager/cert-manager/pkg/controller/certificaterequests/approver"
	cacertificaterequests "github.com/cert-manager/cert-manager/pkg/controller/certificaterequests/ca"
	"github.com/cert-manager/cert-manager/pkg/controller/certificaterequests/selfsigned"
	"github.com/cert-manager/cert-manager/pkg/controller/certificates/issuing"
	"github.com/cert-manager/cert-manager/pkg/controller/certificates/keymanager"
	"github.com/cert-manager/cert-manager/pkg/controller/certificates/readiness"
	"github.com/cert-manager/cert-manager/pkg/controller/certificates/requestmanager"
	"github.com/cert-manager/cert-manager/pkg/controller/certificates/revisionmanager"
	"github.com/cert-manager/cert-manager/pkg/controller/certificates/trigger"
	"github.com/cert-manager/cert-manager/pkg/controller/issuers"
	_ "github.com/cert-manager/cert-manager/pkg/issuer/ca"         // The kind of issuer registers itself.
	_ "github.com/cert-manager/cert-manager/pkg/issuer/selfsigned" // The kind of issuer registers itself.
)

// enabled are the controllers that run.
var enabled = []string{
	issuers.ControllerName,
	approver.ControllerName,
	cacertificaterequests.CRControllerName,
	selfsigned.CRControllerName,
	issuing.ControllerName,
	keymanager.ControllerName,
	readiness.ControllerName,
	requestmanager.ControllerName,
	revisionmanager.ControllerName,
	trigger.ControllerName,
}

// What cert-manager's command does where its configuration says nothing.
const (
	workers        = 5
	minimumBackoff = time.Hour
	maximumBackoff = 32 * time.Hour
)

// headerTimeout bounds how long somebody may take to ask whether it is ready.
const headerTimeout = 5 * time.Second

// options say whom to talk to, and where to be asked.
type options struct {
	kubeconfig, namespace, health string
}

func main() {
	var o options
	flag.StringVar(&o.kubeconfig, "kubeconfig", os.Getenv("KUBECONFIG"), "kubeconfig of the API server")
	flag.StringVar(&o.namespace, "cluster-resource-namespace", "cert-manager", "where cluster issuers have their Secrets")
	flag.StringVar(&o.health, "health-address", "127.0.0.1:9403", "where to tell that the controllers run")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := o.run(ctx)
	stop()
	if err != nil {
		_, _ = fmt.Fprintln(os.Stderr, "cert-manager:", err)
		os.Exit(1)
	}
}

// run runs the controllers until ctx is done or one of them fails.
func (o options) run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var listen net.ListenConfig
	health, err := listen.Listen(ctx, "tcp", o.health)
	if err != nil {
		return err
	}
	contexts, err := controller.NewContextFactory(ctx, controller.ContextOptions{
		Kubeconfig:    o.kubeconfig,
		IssuerOptions: controller.IssuerOptions{ClusterResourceNamespace: o.namespace},
		CertificateOptions: controller.CertificateOptions{
			// Deletes the Secret with its Certificate, and makes it its child.
			EnableOwnerRef:                           true,
			CopiedAnnotationPrefixes:                 []string{"*", "-kubectl.kubernetes.io/", "-fluxcd.io/", "-argocd.argoproj.io/"},
			CertificateRequestMinimumBackoffDuration: minimumBackoff,
			CertificateRequestMaximumBackoffDuration: maximumBackoff,
		},
	})
	if err != nil {
		return fmt.Errorf("making clients: %w", err)
	}
	controllers := map[string]controller.Interface{}
	for _, name := range enabled {
		construct, ok := controller.Known()[name]
		if !ok {
			return fmt.Errorf("there is no controller %s", name)
		}
		if controllers[name], err = construct(contexts); err != nil {
			return fmt.Errorf("making controller %s: %w", name, err)
		}
	}
	// Building a context also makes the factories, which all contexts share.
	shared, err := contexts.Build()
	if err != nil {
		return err
	}
	shared.SharedInformerFactory.Start(ctx.Done())
	shared.KubeSharedInformerFactory.Start(ctx.Done())
	shared.HTTP01ResourceMetadataInformersFactory.Start(ctx.Done())
	go serveHealth(ctx, health)

	failures := make(chan error, len(controllers))
	var running sync.WaitGroup
	for name, c := range controllers {
		running.Go(func() {
			if err := c.Run(workers, ctx); err != nil {
				failures <- fmt.Errorf("running controller %s: %w", name, err)
				cancel()
			}
		})
	}
	running.Wait()
	close(failures)
	var failed error
	for err := range failures {
		failed = errors.Join(failed, err)
	}
	return failed
}

// serveHealth answers whoever asks, until ctx is done.
func serveHealth(ctx context.Context, listener net.Listener) {
	server := &http.Server{
		ReadHeaderTimeout: headerTimeout,
		Handler:           http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) }),
	}
	context.AfterFunc(ctx, func() { _ = server.Close() })
	_ = server.Serve(listener)
}
