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

package crossplane

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/clientcmd"

	"kausality.io/operator/test/controlplane"
	"kausality.io/operator/test/crossplane/cloud"
	"kausality.io/operator/test/crossplane/provider/apis/namespaced"
)

// ProviderName is the name of the provider's package and of its service account.
const ProviderName = "provider-aws"

// providerRevision is the revision of it in manifests/provider.yaml.
const providerRevision = "provider-aws-1"

// namespacedDefinition is the file that defines the namespaced kind.
const namespacedDefinition = "rds.aws.m.crossplane.io_rdsinstances.yaml"

// The kinds of the provider: managed resources come as custom resource definitions,
// which Crossplane 2 makes out of its own definitions.
var (
	providerRevisions  = schema.GroupVersionResource{Group: "pkg.crossplane.io", Version: "v1", Resource: "providerrevisions"}
	managedDefinitions = schema.GroupVersionKind{Group: "apiextensions.crossplane.io", Version: "v1alpha1", Kind: "ManagedResourceDefinition"}
)

// How often, and for how long, a kind is asked for that Crossplane defines.
const (
	definedPoll    = 50 * time.Millisecond
	definedTimeout = time.Minute
)

// cloudFlag is the provider's flag for where the cloud is.
const cloudFlag = "--cloud="

// startCloud starts an empty cloud, which remembers nothing.
func (in *installation) startCloud(ctx context.Context) error {
	in.Progress("starting " + Cloud)
	// What another cloud was asked for is of no interest.
	if err := os.Remove(CloudLog(in.cp)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return in.cp.Launch(ctx, 1, func(ports []int) (controlplane.Program, error) {
		address := controlplane.HostPort(ports[0])
		return controlplane.Program{
			Name:     Cloud,
			Path:     in.binary(Cloud),
			Args:     []string{"--address=" + address, "--log=" + CloudLog(in.cp)},
			ReadyURL: "http://" + address + cloud.ReadyPath,
		}, nil
	})
}

// CloudLog returns the file with what the cloud was asked for: a line for each call, and
// one for what came of it.
func CloudLog(cp *controlplane.ControlPlane) string {
	return filepath.Join(cp.Dir(), "cloud-calls.log")
}

// installProvider installs the provider as the package manager does, and starts it.
func (in *installation) installProvider(ctx context.Context) error {
	in.Progress("installing " + ProviderName)
	if err := in.apply(ctx, "provider.yaml"); err != nil {
		return err
	}
	if err := in.defineResources(ctx); err != nil {
		return err
	}
	return StartProvider(ctx, in.cp, ProviderOptions{BinDir: in.BinDir, Poll: in.Poll})
}

// defineResources defines the kinds of the provider, which its package owns: the
// cluster-scoped one as a custom resource definition, as packages did before
// Crossplane 2, the other one as a managed resource definition, of which Crossplane
// makes a custom resource definition.
func (in *installation) defineResources(ctx context.Context) error {
	client, err := dynamic.NewForConfig(in.cp.AdminConfig())
	if err != nil {
		return err
	}
	revision, err := client.Resource(providerRevisions).Get(ctx, providerRevision, metav1.GetOptions{})
	if err != nil {
		return err
	}
	var definitions []*unstructured.Unstructured
	for _, name := range []string{"rds.aws.crossplane.io_rdsinstances.yaml", namespacedDefinition} {
		read, err := manifest("crds/" + name)
		if err != nil {
			return err
		}
		definitions = append(definitions, read...)
	}
	for _, definition := range definitions {
		definition.SetOwnerReferences([]metav1.OwnerReference{*metav1.NewControllerRef(revision, revision.GroupVersionKind())})
		if scope, _, _ := unstructured.NestedString(definition.Object, "spec", "scope"); scope == "Namespaced" {
			definition.SetGroupVersionKind(managedDefinitions)
			if err := unstructured.SetNestedField(definition.Object, "Active", "spec", "state"); err != nil {
				return err
			}
		}
	}
	if err := in.cp.Apply(ctx, definitions); err != nil {
		return err
	}
	return in.untilDefined(ctx)
}

// ResourceDefinition defines the namespaced kind of the provider in another group,
// which no package owns: providers are installed by hand, too.
func ResourceDefinition(group string) (*unstructured.Unstructured, error) {
	content, err := manifests.ReadFile("manifests/crds/" + namespacedDefinition)
	if err != nil {
		return nil, err
	}
	objects, err := controlplane.Decode([]byte(strings.ReplaceAll(string(content), namespaced.GroupVersion.Group, group)))
	if err != nil {
		return nil, err
	}
	return objects[0], nil
}

// untilDefined waits for the kind that Crossplane defines.
func (in *installation) untilDefined(ctx context.Context) error {
	client, err := discovery.NewDiscoveryClientForConfig(in.cp.AdminConfig())
	if err != nil {
		return err
	}
	var last error
	err = wait.PollUntilContextTimeout(ctx, definedPoll, definedTimeout, true, func(context.Context) (bool, error) {
		_, last = client.ServerResourcesForGroupVersion(namespaced.GroupVersion.String())
		return last == nil, nil
	})
	if err != nil {
		return fmt.Errorf("crossplane does not define %s: %w", namespaced.GroupVersion, errors.Join(last, err))
	}
	return nil
}

// ProviderOptions say how a provider works.
type ProviderOptions struct {
	// Name tells the processes apart where there are several. Provider by default.
	Name string
	// BinDir holds the binaries, as in Options.
	BinDir string
	// Class is the label of what it works on; see package provider.
	Class string
	// Poll is how often it looks at what the cloud has. A minute by default.
	Poll time.Duration
	// ExtraFlags are added to, and win over, the flags of the provider.
	ExtraFlags []string
}

// StartProvider starts a provider process under the service account of the
// provider, beside the one that Start has started: one that works in another way, on
// resources of a class of its own.
func StartProvider(ctx context.Context, cp *controlplane.ControlPlane, opts ProviderOptions) error {
	if opts.Name == "" {
		opts.Name = Provider
	}
	if opts.BinDir == "" {
		opts.BinDir = defaultBinDir(cp)
	}
	if opts.Poll == 0 {
		opts.Poll = time.Minute
	}
	kubeconfig := filepath.Join(cp.Dir(), opts.Name+".kubeconfig")
	if err := cp.WriteKubeconfigFor(ctx, Namespace, ProviderName, kubeconfig); err != nil {
		return err
	}
	return cp.Launch(ctx, 1, func(ports []int) (controlplane.Program, error) {
		health := controlplane.HostPort(ports[0])
		return controlplane.Program{
			Name: opts.Name,
			Path: filepath.Join(opts.BinDir, Provider),
			Args: append([]string{
				cloudFlag + CloudURL(cp),
				"--class=" + opts.Class,
				"--poll=" + opts.Poll.String(),
				"--health-address=" + health,
			}, opts.ExtraFlags...),
			Env:      []string{clientcmd.RecommendedConfigPathEnvVar + "=" + kubeconfig},
			ReadyURL: "http://" + health + "/readyz",
		}, nil
	})
}

// CloudURL returns where the cloud serves, for a cloud.Client; "" where there is none.
func CloudURL(cp *controlplane.ControlPlane) string {
	for _, arg := range cp.Args(Cloud) {
		if address, found := strings.CutPrefix(arg, "--address="); found {
			return "http://" + address
		}
	}
	return ""
}
