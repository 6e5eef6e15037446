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

// Package cluster reads what the commands show: objects, their AllowanceRecords and
// the AllowancePolicies. It reads as the user does, and what that user may not read
// is said rather than guessed.
package cluster

import (
	"fmt"
	"io"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/api/v1alpha1"
	kausalitydiscovery "kausality.io/operator/internal/discovery"
	"kausality.io/operator/internal/storedversion"
)

// As kubectl does: a person asks for many objects at once, and then for nothing.
const (
	qps   = 50
	burst = 300
)

// Cluster is what the flags of a command lead to.
type Cluster struct {
	client.Client

	// Namespace that the flags, or the kubeconfig, name.
	Namespace string

	mapper    apimeta.RESTMapper
	discovery discovery.DiscoveryInterface
	storing   *storing
	// marked are the definitions that a system marks as its own, nil until somebody asks.
	marked map[string][]string
}

// Connect reaches the cluster. The API server's warnings are written to warnings.
func Connect(flags genericclioptions.RESTClientGetter, warnings io.Writer) (*Cluster, error) {
	return ConnectWith(flags, rest.NewWarningWriter(warnings, rest.WarningWriterOptions{Deduplicate: true}))
}

// Yourself is for a connection that impersonates nobody, whatever the flags say.
func Yourself(config *rest.Config) { config.Impersonate = rest.ImpersonationConfig{} }

// ConnectWith reaches the cluster, and hands over the API server's warnings.
func ConnectWith(
	flags genericclioptions.RESTClientGetter, warnings rest.WarningHandler, options ...func(*rest.Config),
) (*Cluster, error) {
	config, err := flags.ToRESTConfig()
	if err != nil {
		return nil, fmt.Errorf("finding the cluster: %w", err)
	}
	config = rest.CopyConfig(config)
	config.QPS, config.Burst = qps, burst
	config.WarningHandler = warnings
	for _, option := range options {
		option(config)
	}
	namespace, _, err := flags.ToRawKubeConfigLoader().Namespace()
	if err != nil {
		return nil, fmt.Errorf("finding the namespace: %w", err)
	}
	mapper, err := flags.ToRESTMapper()
	if err != nil {
		return nil, fmt.Errorf("asking what the cluster serves: %w", err)
	}
	discovery, err := flags.ToDiscoveryClient()
	if err != nil {
		return nil, fmt.Errorf("asking what the cluster serves: %w", err)
	}
	scheme := runtime.NewScheme()
	utilruntime.Must(v1alpha1.AddToScheme(scheme))
	utilruntime.Must(authenticationv1.AddToScheme(scheme))
	utilruntime.Must(admissionregistrationv1.AddToScheme(scheme))
	c, err := client.New(config, client.Options{Scheme: scheme, Mapper: mapper})
	if err != nil {
		return nil, fmt.Errorf("reaching the cluster: %w", err)
	}
	return New(c, namespace, discovery), nil
}

// New returns a cluster that a client reaches, with what it serves as its mapper and discovery say. It patches objects in
// the version in which they are stored: in the one that it prefers, a write may lose what only that version has.
func New(c client.Client, namespace string, served discovery.DiscoveryInterface) *Cluster {
	kinds := &storing{served: served, known: map[schema.GroupVersionKind]*kausalitydiscovery.Resource{}}
	return &Cluster{
		Client: &storedversion.Client{Client: c, Kinds: kinds}, Namespace: namespace,
		mapper: c.RESTMapper(), discovery: served, storing: kinds,
	}
}

// Discovery asks what the cluster serves.
func (c *Cluster) Discovery() discovery.DiscoveryInterface { return c.discovery }
