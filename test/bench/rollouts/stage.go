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

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/test/bench/metrics"
	"kausality.io/operator/test/builders"
	"kausality.io/operator/test/controlplane"
)

const (
	// initiator rolls the Deployments, as one of those who may under the sample policies.
	initiator, initiators = "alice", "platform-team"
	// everything is a group of those who may do all that RBAC knows of.
	everything = "system:masters"
	// kept is how many ReplicaSets without Pods a Deployment keeps: as each block makes
	// one, each deletes one, as with a Deployment that has been rolled often.
	kept = 1
	// patience bounds each wait.
	patience = 5 * time.Minute
	// poll is how often is looked whether something has come true.
	poll = 100 * time.Millisecond
)

// stage is a cluster with all that is measured.
type stage struct {
	cp    *controlplane.ControlPlane
	admin client.Client
	alice client.Client
	// server is for what the API server says of itself.
	server rest.Interface
	// operator is for what the operator says of itself.
	operator *metrics.Scraper
	policies []*v1alpha1.AllowancePolicy
	// governed tells whether the policies are there.
	governed bool
	// image numbers the images that Deployments are rolled to.
	image int
}

func set(ctx context.Context) (_ *stage, err error) {
	s := &stage{}
	s.cp, err = controlplane.Start(ctx, controlplane.Options{Progress: func(line string) { fmt.Fprintln(os.Stderr, line) }})
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.cp.Stop())
		}
	}()
	for who, config := range map[*client.Client]*rest.Config{
		&s.admin: s.cp.AdminConfig(), &s.alice: s.cp.ConfigAs(initiator, initiators, everything),
	} {
		config.WarningHandler, config.QPS = rest.NoWarnings{}, -1
		if *who, err = client.New(config, client.Options{Scheme: controlplane.NewScheme()}); err != nil {
			return nil, err
		}
	}
	clients, err := kubernetes.NewForConfig(s.cp.AdminConfig())
	if err != nil {
		return nil, err
	}
	s.server = clients.RESTClient()
	install := controlplane.OperatorOptions{Binary: filepath.Join(*root, "bin", "manager"), Overlay: filepath.Join(*root, "config", "dev")}
	if *pprof != "" {
		install.ExtraFlags = append(install.ExtraFlags, "--pprof-bind-address="+*pprof)
	}
	if _, err = controlplane.InstallOperator(ctx, s.cp, install); err != nil {
		return nil, err
	}
	s.operator, err = metrics.NewScraper(ctx, s.admin, s.cp.MetricsURL(controlplane.DefaultOperatorName), metav1.NamespaceDefault)
	if err != nil {
		return nil, err
	}
	if s.policies, err = readPolicies(); err != nil {
		return nil, err
	}
	for _, w := range worlds {
		if err := s.furnish(ctx, w); err != nil {
			return nil, fmt.Errorf("making the Deployments in %s: %w", w, err)
		}
	}
	return s, nil
}

// furnish makes the Deployments of a world, and waits until their Pods are there.
func (s *stage) furnish(ctx context.Context, w world) error {
	if err := s.admin.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: string(w)}}); err != nil {
		return err
	}
	// Pods need the service account of their namespace.
	err := wait.PollUntilContextTimeout(ctx, poll, patience, true, func(ctx context.Context) (bool, error) {
		err := s.admin.Get(ctx, client.ObjectKey{Namespace: string(w), Name: "default"}, &corev1.ServiceAccount{})
		return err == nil, client.IgnoreNotFound(err)
	})
	if err != nil {
		return err
	}
	for i := range *deployments {
		d := builders.MakeDeployment(string(w), name(i)).Replicas(int32(*replicas)).Image("web:0").RevisionHistoryLimit(kept).Obj()
		if err := s.alice.Create(ctx, d); err != nil {
			return err
		}
	}
	return s.untilRolled(ctx, w)
}
