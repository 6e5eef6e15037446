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
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/test/bench/metrics"
	"kausality.io/operator/test/controlplane"
)

// stage is the control plane with everything that is measured.
type stage struct {
	cp     *controlplane.ControlPlane
	admin  client.Client
	bare   string
	caller *http.Client
	// operator is for what the operator says of itself.
	operator *metrics.Scraper
	users    map[string]dynamic.Interface
}

// setTimeout bounds what the stage waits for.
const setTimeout = time.Minute

// set starts the control plane, the bare webhooks and the operator.
func set(ctx context.Context) (_ *stage, err error) {
	s := &stage{users: map[string]dynamic.Interface{}}
	s.cp, err = controlplane.Start(ctx, controlplane.Options{
		Components: controlplane.StorageOnly(), Nodes: -1, Progress: func(line string) { fmt.Fprintln(os.Stderr, line) },
	})
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.cp.Stop())
		}
	}()
	if s.admin, err = client.New(s.cp.AdminConfig(), client.Options{Scheme: controlplane.NewScheme()}); err != nil {
		return nil, err
	}
	if err := s.startBare(ctx); err != nil {
		return nil, err
	}
	install := controlplane.OperatorOptions{Binary: operatorBinary(), Overlay: filepath.Join(*root, "config", "dev")}
	if *pprof != "" {
		install.ExtraFlags = append(install.ExtraFlags, "--pprof-bind-address="+*pprof)
	}
	_, err = controlplane.InstallOperator(ctx, s.cp, install)
	if err != nil {
		return nil, err
	}
	if err := s.fill(ctx); err != nil {
		return nil, err
	}
	s.operator, err = metrics.NewScraper(ctx, s.admin, s.cp.MetricsURL(controlplane.DefaultOperatorName), namespace)
	if err != nil {
		return nil, err
	}
	return s, nil
}

// startBare starts this program as the bare webhooks.
func (s *stage) startBare(ctx context.Context) error {
	authority, certificate, key := s.cp.ServingFiles()
	ca, err := os.ReadFile(authority)
	if err != nil {
		return err
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(ca)
	s.caller = &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}}}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	err = s.cp.Launch(ctx, 1, func(ports []int) (controlplane.Program, error) {
		address := controlplane.HostPort(ports[0])
		s.bare = fmt.Sprintf("https://localhost:%d", ports[0])
		return controlplane.Program{
			Name: "bare", Path: self, Args: []string{"bare", address, certificate, key}, ReadyURL: "https://" + address + "/readyz",
		}, nil
	})
	if err != nil {
		return err
	}
	return createAll(ctx, s.admin, bareHooks(s.bare, ca)...)
}

// fill makes the kinds, the people and the objects.
func (s *stage) fill(ctx context.Context) error {
	objects := []client.Object{
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}},
		&rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: "bench"},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
			Subjects: []rbacv1.Subject{
				{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: initiator},
				{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: controller},
				{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: stranger},
			},
		},
	}
	for _, w := range worlds {
		objects = append(objects, w.definitions()...)
	}
	if err := createAll(ctx, s.admin, objects...); err != nil {
		return err
	}
	if err := s.untilServed(ctx); err != nil {
		return err
	}
	allowances, err := benchPolicies()
	if err != nil {
		return err
	}
	for i := range allowances {
		if err := createAll(ctx, s.admin, &allowances[i]); err != nil {
			return err
		}
	}
	if err := s.untilEnforced(ctx, len(allowances)); err != nil {
		return err
	}
	for worker := range *clients {
		if err := furnish(ctx, s.as, worker, *size); err != nil {
			return fmt.Errorf("making the objects of client %d: %w", worker, err)
		}
	}
	return nil
}

func (s *stage) untilServed(ctx context.Context) error {
	c, err := s.as(initiator)
	if err != nil {
		return err
	}
	return wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, setTimeout, true, func(ctx context.Context) (bool, error) {
		for _, w := range worlds {
			for _, resource := range []string{"parents", "children"} {
				_, err := c.Resource(w.parents().GroupVersion().WithResource(resource)).List(ctx, metav1.ListOptions{Limit: 1})
				if apierrors.IsNotFound(err) {
					return false, nil
				}
				if err != nil {
					return false, err
				}
			}
		}
		return true, nil
	})
}

func (s *stage) untilEnforced(ctx context.Context, policies int) error {
	return wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, setTimeout, true, func(ctx context.Context) (bool, error) {
		var list v1alpha1.AllowancePolicyList
		if err := s.admin.List(ctx, &list); err != nil {
			return false, err
		}
		enforced := 0
		for _, p := range list.Items {
			if strings.HasPrefix(p.Name, "bench-") && apimeta.IsStatusConditionTrue(p.Status.Conditions, v1alpha1.ConditionEnforced) {
				enforced++
			}
		}
		return enforced == policies, nil
	})
}

// as returns the client of a user, which nothing slows down.
func (s *stage) as(user string) (dynamic.Interface, error) {
	if c, ok := s.users[user]; ok {
		return c, nil
	}
	c, err := dynamic.NewForConfig(s.cp.ConfigAs(user))
	s.users[user] = c
	return c, err
}

// writeAsMuch has the bare mutating webhook write as much as Kausality does.
func (s *stage) writeAsMuch(ctx context.Context, sc scenario) error {
	text := ""
	if sc.holder != nil {
		c, err := s.as(initiator)
		if err != nil {
			return err
		}
		resource, name := sc.holder(kausality, 0)
		obj, err := c.Resource(resource).Namespace(namespace).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		text = obj.GetAnnotations()[v1alpha1.AnnotationPrefix+"allowances"]
		if text == "" {
			return fmt.Errorf("%s: %s %s has no ledger after the first requests", sc.name, resource.Resource, name)
		}
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.bare+patchPath, strings.NewReader(text))
	if err != nil {
		return err
	}
	resp, err := s.caller.Do(req)
	if err != nil {
		return err
	}
	return resp.Body.Close()
}
