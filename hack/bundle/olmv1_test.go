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
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/yaml"
)

// TestOLMv1 has the rules that operator-controller, OLM v1, checks before it renders a bundle
// (internal/operator-controller/rukpak/render/registryv1/validators), which is no module that
// could be called, and the names that it renders.
func TestOLMv1(t *testing.T) {
	bundle := load(t)
	csv := bundle.CSV

	text, err := os.ReadFile(root + "/bundle/metadata/annotations.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var metadata struct{ Annotations map[string]string }
	if err := yaml.Unmarshal(text, &metadata); err != nil {
		t.Fatal(err)
	}
	if metadata.Annotations["operators.operatorframework.io.bundle.package.v1"] == "" {
		t.Error("the package has no name")
	}

	// The Service of a Deployment with webhooks, and the Secret with its certificate.
	deployments := map[string]bool{}
	for _, d := range csv.Spec.InstallStrategy.StrategySpec.DeploymentSpecs {
		if deployments[d.Name] {
			t.Errorf("two Deployments are named %s", d.Name)
		}
		deployments[d.Name] = true
		service := strings.ReplaceAll(d.Name, ".", "-") + "-service"
		for name, invalid := range map[string][]string{
			d.Name: validation.IsDNS1123Subdomain(d.Name), service: validation.IsDNS1035Label(service),
			service + "-cert": validation.IsDNS1123Subdomain(service + "-cert"),
		} {
			if len(invalid) > 0 {
				t.Errorf("%s is no name: %v", name, invalid)
			}
		}
		if d.Spec.Selector == nil || len(d.Spec.Selector.MatchLabels) == 0 {
			t.Errorf("a Service would select nothing of Deployment %s", d.Name)
		}
	}

	definitions := map[string]bool{}
	for _, crd := range bundle.V1CRDs {
		if definitions[crd.Name] {
			t.Errorf("two definitions are named %s", crd.Name)
		}
		definitions[crd.Name] = true
	}
	for _, owned := range csv.Spec.CustomResourceDefinitions.Owned {
		if !definitions[owned.Name] {
			t.Errorf("%s is owned, and not in the bundle", owned.Name)
		}
	}

	names := map[string]bool{}
	for _, w := range csv.Spec.WebhookDefinitions {
		checkWebhook(t, &w, deployments)
		// A webhook configuration has this name; one by hand or by another OLM is not taken over.
		name := string(w.Type) + " " + strings.TrimSuffix(w.GenerateName, "-")
		if names[name] {
			t.Errorf("two webhooks are %s", name)
		}
		names[name] = true
	}
}

func checkWebhook(t *testing.T, w *v1alpha1.WebhookDescription, deployments map[string]bool) {
	t.Helper()
	if w.Type == v1alpha1.ConversionWebhook {
		t.Errorf("webhook %s is for conversion: it takes rules of its own", w.GenerateName)
	}
	if invalid := validation.IsDNS1123Subdomain(strings.TrimSuffix(w.GenerateName, "-")); len(invalid) > 0 {
		t.Errorf("%s is no name: %v", w.GenerateName, invalid)
	}
	if !deployments[w.DeploymentName] {
		t.Errorf("webhook %s is of no Deployment of the bundle: %s", w.GenerateName, w.DeploymentName)
	}
	for _, rule := range w.Rules {
		for _, group := range []string{"*", "olm.operatorframework.io", "admissionregistration.k8s.io"} {
			if slices.Contains(rule.APIGroups, group) {
				t.Errorf("webhook %s is about the group %s, which it may not be", w.GenerateName, group)
			}
		}
	}
}
