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
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/interception"
	"kausality.io/operator/test/controlplane"
)

const (
	namespace = "bench"
	initiator = "alice"
	group     = "bench.example.org"
	// setTimeout bounds each wait while the stage is set.
	setTimeout = time.Minute
	// poll is how often is looked whether something has come true.
	poll = 100 * time.Millisecond
)

var holders = schema.GroupVersionResource{Group: group, Version: "v1", Resource: "holders"}

// The holders never say that they have settled, so that what they are created with
// stays open: one entry.
const policyYAML = `
metadata: {name: bench}
spec:
  for: {apiGroup: bench.example.org, apiVersion: v1, kind: Holder}
  subjects:
  - {kind: User, name: alice, mayInitiate: true}
  consumption: {ttl: 240h}
  initializing:
    policies:
    - target: {apiGroup: bench.example.org, apiVersion: v1, resource: holders}
      relation: ControllerChild
      verbs: [Create]
`

// stage is a control plane with an operator that has followed one holder, and is away.
type stage struct {
	cp    *controlplane.ControlPlane
	admin client.Client
	// raw sends what is already encoded, operator does so in the name of the operator:
	// nobody else may write ledgers and records.
	raw, operator rest.Interface
	// pprof is where the operator can be profiled.
	pprof string
	// links is the folder of the link to the executable that is run.
	links string
	// first are the holder, and its record, that all others are copies of.
	first pair
	// made is how many holders there are.
	made int
}

func set(ctx context.Context) (_ *stage, err error) {
	s := &stage{}
	if s.links, err = os.MkdirTemp("", "bench-holders-"); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(s.links))
		}
	}()
	quiet, err := noAudit()
	if err != nil {
		return nil, err
	}
	defer os.Remove(quiet) //nolint:errcheck // It is read by then.
	s.cp, err = controlplane.Start(ctx, controlplane.Options{
		Components: controlplane.StorageOnly(), Nodes: -1, Progress: func(line string) { fmt.Fprintln(os.Stderr, line) },
		ExtraAPIServerFlags: []string{"--audit-policy-file=" + quiet},
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
	if s.raw, err = rest.UnversionedRESTClientFor(rawConfig(s.cp.AdminConfig())); err != nil {
		return nil, err
	}
	if s.operator, err = rest.UnversionedRESTClientFor(rawConfig(s.cp.ConfigAs(controlplane.OperatorUser, "system:masters"))); err != nil {
		return nil, err
	}
	if s.pprof, err = freeAddress(ctx); err != nil {
		return nil, err
	}
	if err := s.choose(words(*binaries)[0]); err != nil {
		return nil, err
	}
	_, err = controlplane.InstallOperator(ctx, s.cp, controlplane.OperatorOptions{
		Binary: s.link(), Overlay: filepath.Join(*root, "config", "dev"),
		ExtraFlags: append(words(*flags), "--pprof-bind-address="+s.pprof), Env: words(*env),
	})
	if err != nil {
		return nil, err
	}
	if err := s.govern(ctx); err != nil {
		return nil, err
	}
	if err := s.makeFirst(ctx); err != nil {
		return nil, fmt.Errorf("making the first holder: %w", err)
	}
	return s, nil
}

// link is the path of the executable that is run.
func (s *stage) link() string { return filepath.Join(s.links, "operator") }

// choose makes an executable in root the one that is run from the next start on.
func (s *stage) choose(binary string) error {
	path, err := filepath.Abs(filepath.Join(*root, binary))
	if err != nil {
		return err
	}
	if err := os.Remove(s.link()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return os.Symlink(path, s.link())
}

// words returns the words of a comma-separated list.
func words(list string) []string {
	return strings.FieldsFunc(list, func(r rune) bool { return r == ',' })
}

// noAudit writes an audit policy by which nothing is logged: there is nobody to read it.
func noAudit() (string, error) {
	file, err := os.CreateTemp("", "audit-policy-*.yaml")
	if err != nil {
		return "", err
	}
	_, err = file.WriteString("apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: None}]\n")
	return file.Name(), errors.Join(err, file.Close())
}

func freeAddress(ctx context.Context) (string, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return listener.Addr().String(), listener.Close()
}

// govern makes the kind of the holders, and the policy for it, and returns once it is
// enforced.
func (s *stage) govern(ctx context.Context) error {
	policy := &v1alpha1.AllowancePolicy{}
	if err := yaml.UnmarshalStrict([]byte(policyYAML), policy); err != nil {
		return err
	}
	if err := s.admin.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}); err != nil {
		return err
	}
	if err := s.admin.Create(ctx, definition()); err != nil {
		return err
	}
	if err := s.admin.Create(ctx, policy); err != nil {
		return err
	}
	err := wait.PollUntilContextTimeout(ctx, poll, setTimeout, true, func(ctx context.Context) (bool, error) {
		err := s.admin.Get(ctx, client.ObjectKeyFromObject(policy), policy)
		return apimeta.IsStatusConditionTrue(policy.Status.Conditions, v1alpha1.ConditionEnforced), err
	})
	if err != nil {
		return fmt.Errorf("waiting for the policy to be enforced: %w", err)
	}
	return nil
}

func definition() *apiextensionsv1.CustomResourceDefinition {
	return &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: holders.Resource + "." + group},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: group, Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: holders.Resource, Singular: "holder", Kind: "Holder", ListKind: "HolderList"},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: holders.Version, Served: true, Storage: true,
				Subresources: &apiextensionsv1.CustomResourceSubresources{Status: &apiextensionsv1.CustomResourceSubresourceStatus{}},
				Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{
					Type: "object", XPreserveUnknownFields: new(true),
				}},
			}},
		},
	}
}

// makeFirst has an initiator make a holder, waits until the operator has followed it,
// and ends the operator.
func (s *stage) makeFirst(ctx context.Context) error {
	c, err := dynamic.NewForConfig(s.cp.ConfigAs(initiator, "system:masters"))
	if err != nil {
		return err
	}
	made, err := c.Resource(holders).Namespace(namespace).Create(ctx, holder(0), metav1.CreateOptions{})
	if err != nil {
		return err
	}
	last, since := "", time.Now()
	err = wait.PollUntilContextTimeout(ctx, poll, setTimeout, true, func(ctx context.Context) (bool, error) {
		if s.first, err = s.readFirst(ctx, made.GetUID()); err != nil || s.first.record == nil {
			return false, err
		}
		if now := s.first.versions(); now != last {
			last, since = now, time.Now()
		}
		return s.first.complete() && time.Since(since) > 5*time.Second, nil
	})
	if err != nil {
		return fmt.Errorf("waiting for its record: %w", err)
	}
	s.made = 1
	if err := s.cp.Shutdown(controlplane.DefaultOperatorName); err != nil {
		return err
	}
	// Nobody answers these any more. The operator makes them again.
	rendered := metav1.ObjectMeta{Name: interception.DefaultName}
	return errors.Join(
		s.admin.Delete(ctx, &admissionregistrationv1.MutatingWebhookConfiguration{ObjectMeta: rendered}),
		s.admin.Delete(ctx, &admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: rendered}),
		s.admin.Delete(ctx, &admissionregistrationv1.MutatingAdmissionPolicyBinding{ObjectMeta: rendered}),
		s.admin.Delete(ctx, &admissionregistrationv1.MutatingAdmissionPolicy{ObjectMeta: rendered}),
	)
}
