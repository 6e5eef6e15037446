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
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/operator-framework/api/pkg/manifests"
	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	"github.com/operator-framework/api/pkg/validation"
	validationerrors "github.com/operator-framework/api/pkg/validation/errors"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

const root = "../.."

// explained are warnings of validators that stay, and why.
var explained = map[string]string{
	// Node affinity is compared with what an image is built for, which is asked of a registry. "make
	// docker-buildx" builds for what the Deployment names.
	`["error/error"]`:             "no image is published where tests run",
	"unable to inspect the image": "no image is published where tests run",
}

func TestBundleIsUpToDate(t *testing.T) {
	out := t.TempDir()
	if err := run(options{config: root + "/config", out: out, version: "0.1.0", image: "controller:latest"}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(files(t, out), files(t, root)); diff != "" {
		t.Errorf("the bundle is out of date, run \"make bundle\" (-want +got):\n%s", diff)
	}
}

// TestValidators has all validators of operator-framework judge the bundle.
func TestValidators(t *testing.T) {
	bundle := load(t)
	objects := []any{bundle}
	for _, object := range bundle.Objects {
		objects = append(objects, object)
	}
	for _, result := range validation.AllValidators.Validate(append(objects, bundle.CSV, map[string]string{"k8s-version": "1.36"})...) {
		for _, err := range result.Errors {
			t.Errorf("%s: %v", result.Name, err)
		}
		for _, warning := range result.Warnings {
			if explanation(warning) == "" {
				t.Errorf("%s: a warning that nobody has explained: %v", result.Name, warning)
			}
		}
	}
}

func explanation(warning validationerrors.Error) string {
	for part, why := range explained {
		if strings.Contains(warning.Error(), part) {
			return why
		}
	}
	return ""
}

// TestScorecard is what scorecard's own tests check.
func TestScorecard(t *testing.T) {
	bundle := load(t)
	var examples []struct {
		Kind string         `json:"kind"`
		Spec map[string]any `json:"spec"`
	}
	if err := json.Unmarshal([]byte(bundle.CSV.Annotations["alm-examples"]), &examples); err != nil {
		t.Fatal(err)
	}
	byKind := map[string]map[string]any{}
	for _, e := range examples {
		byKind[e.Kind] = e.Spec
	}
	for _, crd := range bundle.V1CRDs {
		kind := crd.Spec.Names.Kind
		spec := byKind[kind]
		if len(spec) == 0 {
			t.Errorf("%s has no example with a spec", kind)
		}
		schema := crd.Spec.Versions[0].Schema.OpenAPIV3Schema
		owned := description(t, bundle.CSV, crd.Name)
		if len(owned.Resources) == 0 || owned.Description == "" || owned.DisplayName == "" {
			t.Errorf("%s: neither resources, description nor display name may be left out: %+v", kind, owned)
		}
		for field := range schema.Properties["spec"].Properties {
			if _, has := spec[field]; !has {
				t.Errorf("the example of %s says nothing about spec.%s", kind, field)
			}
			if !slices.ContainsFunc(owned.SpecDescriptors, func(d v1alpha1.SpecDescriptor) bool { return d.Path == field && d.Description != "" }) {
				t.Errorf("%s: spec.%s has no descriptor", kind, field)
			}
		}
		for field := range spec {
			if _, has := schema.Properties["spec"].Properties[field]; !has {
				t.Errorf("the example of %s has spec.%s, which the definition does not", kind, field)
			}
		}
		for field := range schema.Properties["status"].Properties {
			if !slices.ContainsFunc(owned.StatusDescriptors, func(d v1alpha1.StatusDescriptor) bool { return d.Path == field && d.Description != "" }) {
				t.Errorf("%s: status.%s has no descriptor", kind, field)
			}
		}
	}
}

func description(t *testing.T, csv *v1alpha1.ClusterServiceVersion, name string) v1alpha1.CRDDescription {
	t.Helper()
	for _, owned := range csv.Spec.CustomResourceDefinitions.Owned {
		if owned.Name == name {
			return owned
		}
	}
	t.Fatalf("%s is not owned", name)
	return v1alpha1.CRDDescription{}
}

// TestPermissions looks for rights that OLM would make wider than config has them.
func TestPermissions(t *testing.T) {
	bundle := load(t)
	strategy := bundle.CSV.Spec.InstallStrategy.StrategySpec
	if len(strategy.Permissions) > 0 {
		t.Error("OLM makes ClusterRoles of permissions, where an operator is for all namespaces: leave them Roles of the bundle")
	}
	for _, permissions := range strategy.ClusterPermissions {
		for _, rule := range permissions.Rules {
			if slices.Contains(slices.Concat(rule.APIGroups, rule.Resources, rule.Verbs), "*") || slices.Contains(rule.Resources, "secrets") {
				t.Errorf("%v is more than the operator needs", rule)
			}
		}
	}
	installed := map[string][]rbacv1.PolicyRule{}
	var inCSV []rbacv1.PolicyRule
	objects, err := build(root + "/config/default")
	if err != nil {
		t.Fatal(err)
	}
	objects = append(objects, recordProtection(t)...)
	for _, object := range objects {
		if object.GetKind() != "ClusterRole" && object.GetKind() != "Role" {
			continue
		}
		role, err := as[rbacv1.ClusterRole](object)
		if err != nil {
			t.Fatal(err)
		}
		switch {
		case slices.Contains(inVersion, role.Name):
			inCSV = append(inCSV, role.Rules...)
		case role.Name != "kausality-certificate-role": // OLM makes the certificate.
			installed[role.Name] = role.Rules
		}
	}
	if diff := cmp.Diff(inCSV, strategy.ClusterPermissions[0].Rules); diff != "" {
		t.Errorf("the operator may something else than where kustomize installs it (-kustomize +OLM):\n%s", diff)
	}
	bundled := map[string][]rbacv1.PolicyRule{}
	for _, object := range bundle.Objects {
		if object.GetKind() == "ClusterRole" || object.GetKind() == "Role" {
			role, err := as[rbacv1.ClusterRole](object)
			if err != nil {
				t.Fatal(err)
			}
			bundled[role.Name] = role.Rules
		}
		if object.GetKind() == "RoleBinding" && object.GetNamespace() != "" {
			t.Errorf("%s names its namespace, which is OLM's to choose", object.GetName())
		}
	}
	if diff := cmp.Diff(installed, bundled); diff != "" {
		t.Errorf("roles differ from those that kustomize installs (-kustomize +OLM):\n%s", diff)
	}
}

// recordProtection returns the role that only a bundle has.
func recordProtection(t *testing.T) []*unstructured.Unstructured {
	t.Helper()
	objects, err := build(root + "/config/olm")
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(objects, func(o *unstructured.Unstructured) bool { return o.GetName() != "kausality-record-protection-role" })
}

// TestInstallation checks what OLM goes by.
func TestInstallation(t *testing.T) {
	bundle := load(t)
	csv := bundle.CSV
	for _, mode := range csv.Spec.InstallModes {
		if mode.Supported != (mode.Type == v1alpha1.InstallModeTypeAllNamespaces) {
			t.Errorf("install mode %s: supported is %t; OLM would set a namespaceSelector on the webhook", mode.Type, mode.Supported)
		}
	}
	for _, object := range bundle.Objects {
		// registry+v1 has no others.
		if kinds := []string{
			"ClusterServiceVersion", "CustomResourceDefinition", "ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding", "Service", "ServiceAccount", "PodDisruptionBudget",
		}; !slices.Contains(kinds, object.GetKind()) {
			t.Errorf("OLM installs no %s: %s", object.GetKind(), object.GetName())
		}
	}
	for _, w := range csv.Spec.WebhookDefinitions {
		for _, rule := range w.Rules {
			if !slices.Equal(rule.APIGroups, []string{"kausality.io"}) {
				t.Errorf("webhook %s is about %v: OLM has a place for those of our own kinds only", w.GenerateName, rule.APIGroups)
			}
		}
		if w.DeploymentName != "kausality-controller-manager" || w.WebhookPath == nil {
			t.Errorf("webhook %s reaches nobody: %+v", w.GenerateName, w)
		}
	}
	if !slices.ContainsFunc(csv.Spec.WebhookDefinitions, func(w v1alpha1.WebhookDescription) bool {
		return w.WebhookPath != nil && *w.WebhookPath == "/validate-kausality-io-v1alpha1-allowancepolicy"
	}) {
		t.Error("no webhook is the one by which the operator knows that it is installed")
	}
	pod := csv.Spec.InstallStrategy.StrategySpec.DeploymentSpecs[0].Spec.Template.Spec
	if len(pod.Volumes) > 0 || len(pod.Containers[0].VolumeMounts) > 0 {
		t.Error("OLM mounts the certificate itself")
	}
	for _, flag := range []string{"--cert-mode=mounted", "--protect-records", "--namespace=$(POD_NAMESPACE)"} {
		if !slices.Contains(pod.Containers[0].Args, flag) {
			t.Errorf("the operator runs without %s", flag)
		}
	}
	if len(csv.Spec.RelatedImages) != 1 || csv.Spec.RelatedImages[0].Image != pod.Containers[0].Image {
		t.Errorf("related images are %v, where %s runs", csv.Spec.RelatedImages, pod.Containers[0].Image)
	}
	if csv.Labels["operatorframework.io/arch.amd64"] != "supported" || csv.Spec.MinKubeVersion == "" || len(csv.Spec.Icon) != 1 {
		t.Error("architecture, version of Kubernetes or icon are missing")
	}
}

// TestVersions has a release replace the one before.
func TestVersions(t *testing.T) {
	out := t.TempDir()
	if err := run(options{config: root + "/config", out: out, version: "1.2.3", image: "example.org/k@sha256:1", replaces: "1.2.2"}); err != nil {
		t.Fatal(err)
	}
	bundle, err := manifests.GetBundleFromDir(filepath.Join(out, "bundle"))
	if err != nil {
		t.Fatal(err)
	}
	got := []string{bundle.CSV.Name, bundle.CSV.Spec.Version.String(), bundle.CSV.Spec.Replaces, bundle.CSV.Spec.RelatedImages[0].Image, bundle.CSV.Annotations["containerImage"]}
	if diff := cmp.Diff([]string{"kausality.v1.2.3", "1.2.3", "kausality.v1.2.2", "example.org/k@sha256:1", "example.org/k@sha256:1"}, got); diff != "" {
		t.Error(diff)
	}
	if err := run(options{config: root + "/config", out: t.TempDir(), version: "v1"}); err == nil {
		t.Error("v1 is taken for a version")
	}
}

func load(t *testing.T) *manifests.Bundle {
	t.Helper()
	bundle, err := manifests.GetBundleFromDir(root + "/bundle")
	if err != nil {
		t.Fatal(err)
	}
	return bundle
}

// files returns the files that are written, by path.
func files(t *testing.T, folder string) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, pattern := range []string{"bundle.Dockerfile", "bundle/*/*.yaml", "bundle/*/*/*.yaml"} {
		paths, err := filepath.Glob(filepath.Join(folder, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			raw, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			relative, err := filepath.Rel(folder, path)
			if err != nil {
				t.Fatal(err)
			}
			if filepath.Ext(path) == ".yaml" {
				if err := yaml.Unmarshal(raw, new(any)); err != nil {
					t.Errorf("%s: %v", relative, err)
				}
			}
			out[relative] = string(raw)
		}
	}
	return out
}
