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
	"cmp"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"github.com/blang/semver/v4"
	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"
)

// inVersion are the ClusterRoles whose rules are in the ClusterServiceVersion: what the operator needs
// wherever it runs. Others are applied as they are: kausality-access has rules that the controller
// manager fills in.
//
// No Role is: of an operator for all namespaces OLM makes ClusterRoles of them, by which it would read
// all Secrets.
var inVersion = []string{"kausality-manager-role", "kausality-metrics-auth-role", "kausality-record-protection-role"}

// madeByOLM are the objects that OLM makes of the ClusterServiceVersion, or beside it.
var madeByOLM = []string{
	"ServiceAccount/kausality-controller-manager",
	"Service/kausality-webhook-service",
	"ClusterRoleBinding/kausality-manager-rolebinding",
	"ClusterRoleBinding/kausality-metrics-auth-rolebinding",
	"ClusterRoleBinding/kausality-record-protection-rolebinding",
}

// record refers to AllowanceRecords, which people look at beside objects of our other kinds.
var record = v1alpha1.APIResourceReference{Kind: "AllowanceRecord", Version: "v1alpha1"}

// resources are what people look at beside an object of ours.
var resources = map[string][]v1alpha1.APIResourceReference{
	"AllowancePolicy": {
		record, {Kind: "MutatingWebhookConfiguration", Version: "v1"},
		{Kind: "ValidatingWebhookConfiguration", Version: "v1"}, {Kind: "MutatingAdmissionPolicy", Version: "v1"},
	},
	"GeneratingPolicy": {record, {Kind: "ServiceAccount", Version: "v1"}},
	"UpgradeAllowance": {record},
	"AllowanceRecord":  {{Kind: "AllowancePolicy", Version: "v1alpha1"}},
}

func build(folder string) ([]*unstructured.Unstructured, error) {
	built, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), folder)
	if err != nil {
		return nil, err
	}
	var objects []*unstructured.Unstructured
	for _, resource := range built.Resources() {
		raw, err := resource.MarshalJSON()
		if err != nil {
			return nil, err
		}
		object := &unstructured.Unstructured{}
		if err := object.UnmarshalJSON(raw); err != nil {
			return nil, err
		}
		objects = append(objects, object)
	}
	return objects, nil
}

// assemble makes the ClusterServiceVersion, and returns the objects that are beside it.
func assemble(o options, objects []*unstructured.Unstructured) (*v1alpha1.ClusterServiceVersion, []*unstructured.Unstructured, error) {
	csv, err := base(o)
	if err != nil {
		return nil, nil, err
	}
	var rest []*unstructured.Unstructured
	for _, object := range objects {
		beside, err := place(o, csv, object)
		if err != nil {
			return nil, nil, fmt.Errorf("%s %s: %w", object.GetKind(), object.GetName(), err)
		}
		if beside {
			unplaced(object)
			rest = append(rest, object)
		}
	}
	strategy := &csv.Spec.InstallStrategy.StrategySpec
	if len(strategy.DeploymentSpecs) != 1 || len(strategy.ClusterPermissions) != 1 || len(csv.Spec.WebhookDefinitions) == 0 {
		return nil, nil, errors.New("config/olm has no Deployment, no ClusterRole or no webhook")
	}
	for i := range csv.Spec.WebhookDefinitions {
		csv.Spec.WebhookDefinitions[i].DeploymentName = strategy.DeploymentSpecs[0].Name
	}
	slices.SortFunc(csv.Spec.CustomResourceDefinitions.Owned, func(a, b v1alpha1.CRDDescription) int { return cmp.Compare(a.Name, b.Name) })
	return csv, rest, nil
}

// place puts an object into the ClusterServiceVersion, or reports that it is to be applied beside it.
func place(o options, csv *v1alpha1.ClusterServiceVersion, object *unstructured.Unstructured) (bool, error) {
	strategy := &csv.Spec.InstallStrategy.StrategySpec
	switch object.GetKind() {
	case "Deployment":
		d, err := as[appsv1.Deployment](object)
		if err != nil {
			return false, err
		}
		d.Spec.Template.Spec.Containers[0].Image = o.image
		strategy.DeploymentSpecs = append(strategy.DeploymentSpecs, v1alpha1.StrategyDeploymentSpec{Name: d.Name, Spec: d.Spec, Label: d.Labels})
		archLabels(csv, d.Spec.Template.Spec)
		return false, nil
	case "ClusterRole":
		if !slices.Contains(inVersion, object.GetName()) {
			return true, nil
		}
		role, err := as[rbacv1.ClusterRole](object)
		if err != nil {
			return false, err
		}
		if len(strategy.ClusterPermissions) == 0 {
			strategy.ClusterPermissions = []v1alpha1.StrategyDeploymentPermissions{{ServiceAccountName: "kausality-controller-manager"}}
		}
		strategy.ClusterPermissions[0].Rules = append(strategy.ClusterPermissions[0].Rules, role.Rules...)
		return false, nil
	case "ValidatingWebhookConfiguration":
		c, err := as[admissionregistrationv1.ValidatingWebhookConfiguration](object)
		if err != nil {
			return false, err
		}
		for _, w := range c.Webhooks {
			csv.Spec.WebhookDefinitions = append(csv.Spec.WebhookDefinitions, webhook(w))
		}
		return false, nil
	case "MutatingWebhookConfiguration":
		c, err := as[admissionregistrationv1.MutatingWebhookConfiguration](object)
		if err != nil {
			return false, err
		}
		for _, w := range c.Webhooks {
			csv.Spec.WebhookDefinitions = append(csv.Spec.WebhookDefinitions, mutating(w))
		}
		return false, nil
	case "CustomResourceDefinition":
		crd, err := as[apiextensionsv1.CustomResourceDefinition](object)
		if err != nil {
			return false, err
		}
		csv.Spec.CustomResourceDefinitions.Owned = append(csv.Spec.CustomResourceDefinitions.Owned, describe(crd))
		return true, nil
	default:
		return !slices.Contains(madeByOLM, object.GetKind()+"/"+object.GetName()), nil
	}
}

// base returns what the ClusterServiceVersion says to people.
func base(o options) (*v1alpha1.ClusterServiceVersion, error) {
	raw, err := os.ReadFile(filepath.Join(o.config, "olm", "kausality.clusterserviceversion.yaml"))
	if err != nil {
		return nil, err
	}
	csv := &v1alpha1.ClusterServiceVersion{}
	if err := yaml.UnmarshalStrict(raw, csv); err != nil {
		return nil, err
	}
	if csv.Spec.Version.Version, err = semver.Parse(o.version); err != nil {
		return nil, fmt.Errorf("version %s: %w", o.version, err)
	}
	csv.Name = "kausality.v" + o.version
	if o.replaces != "" {
		csv.Spec.Replaces = "kausality.v" + o.replaces
	}
	csv.Annotations["containerImage"] = o.image
	csv.Spec.RelatedImages = []v1alpha1.RelatedImage{{Name: "manager", Image: o.image}}
	csv.Spec.InstallStrategy.StrategyName = v1alpha1.InstallStrategyNameDeployment
	icon, err := os.ReadFile(filepath.Join(o.config, "olm", "icon.svg"))
	if err != nil {
		return nil, err
	}
	csv.Spec.Icon = []v1alpha1.Icon{{Data: base64.StdEncoding.EncodeToString(icon), MediaType: "image/svg+xml"}}
	csv.Annotations["alm-examples"], err = examples(filepath.Join(o.config, "olm", "examples"))
	return csv, err
}

// examples returns the objects in a folder, as consoles want them.
func examples(folder string) (string, error) {
	paths, err := filepath.Glob(filepath.Join(folder, "*.yaml"))
	if err != nil {
		return "", err
	}
	var all []any
	for _, path := range paths {
		raw, err := os.ReadFile(path)
		if err != nil {
			return "", err
		}
		var example map[string]any
		if err := yaml.Unmarshal(raw, &example); err != nil {
			return "", fmt.Errorf("%s: %w", path, err)
		}
		all = append(all, example)
	}
	text, err := json.MarshalIndent(all, "", "  ")
	return string(text), err
}

// archLabels say on which architectures it runs, as the Deployment does.
func archLabels(csv *v1alpha1.ClusterServiceVersion, pod corev1.PodSpec) {
	for _, term := range pod.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms {
		for _, e := range term.MatchExpressions {
			if e.Key == corev1.LabelArchStable {
				for _, arch := range e.Values {
					csv.Labels["operatorframework.io/arch."+arch] = "supported"
				}
			}
		}
	}
}

// webhook returns a webhook as OLM wants it, which makes its Service.
func webhook(w admissionregistrationv1.ValidatingWebhook) v1alpha1.WebhookDescription {
	target := intstr.FromInt32(9443)
	return v1alpha1.WebhookDescription{
		GenerateName:            w.Name,
		Type:                    v1alpha1.ValidatingAdmissionWebhook,
		ContainerPort:           443,
		TargetPort:              &target,
		Rules:                   w.Rules,
		FailurePolicy:           w.FailurePolicy,
		SideEffects:             w.SideEffects,
		AdmissionReviewVersions: w.AdmissionReviewVersions,
		WebhookPath:             w.ClientConfig.Service.Path,
	}
}

// mutating returns the same for one that fills something in.
func mutating(w admissionregistrationv1.MutatingWebhook) v1alpha1.WebhookDescription {
	d := webhook(admissionregistrationv1.ValidatingWebhook{
		Name: w.Name, ClientConfig: w.ClientConfig, Rules: w.Rules, FailurePolicy: w.FailurePolicy,
		SideEffects: w.SideEffects, AdmissionReviewVersions: w.AdmissionReviewVersions,
	})
	d.Type, d.ReinvocationPolicy = v1alpha1.MutatingAdmissionWebhook, w.ReinvocationPolicy
	return d
}

// describe says of a kind what its definition says.
func describe(crd *apiextensionsv1.CustomResourceDefinition) v1alpha1.CRDDescription {
	served := crd.Spec.Versions[0]
	schema := served.Schema.OpenAPIV3Schema
	d := v1alpha1.CRDDescription{
		Name:        crd.Name,
		Version:     served.Name,
		Kind:        crd.Spec.Names.Kind,
		DisplayName: spaced(crd.Spec.Names.Kind),
		Description: schema.Description,
		Resources:   resources[crd.Spec.Names.Kind],
	}
	spec, status := schema.Properties["spec"].Properties, schema.Properties["status"].Properties
	for _, field := range slices.Sorted(maps.Keys(spec)) {
		d.SpecDescriptors = append(d.SpecDescriptors, v1alpha1.SpecDescriptor{Path: field, DisplayName: spaced(field), Description: spec[field].Description})
	}
	for _, field := range slices.Sorted(maps.Keys(status)) {
		s := v1alpha1.StatusDescriptor{Path: field, DisplayName: spaced(field), Description: status[field].Description}
		if field == "conditions" {
			s.XDescriptors = []string{"urn:alm:descriptor:io.kubernetes.conditions"}
		}
		d.StatusDescriptors = append(d.StatusDescriptors, s)
	}
	return d
}

// spaced returns a name for people: "Failure Policy" for failurePolicy.
func spaced(name string) string {
	var out strings.Builder
	for i, r := range name {
		switch {
		case i == 0:
			out.WriteRune(unicode.ToUpper(r))
			continue
		case unicode.IsUpper(r) && !unicode.IsUpper(rune(name[i-1])):
			out.WriteByte(' ')
		}
		out.WriteRune(r)
	}
	return out.String()
}

// unplaced leaves the namespace to OLM. Subjects of bindings keep theirs, as OLM applies them as they are.
func unplaced(object *unstructured.Unstructured) {
	object.SetNamespace("")
	unstructured.RemoveNestedField(object.Object, "metadata", "namespace")
	unstructured.RemoveNestedField(object.Object, "metadata", "creationTimestamp")
	labels := object.GetLabels()
	delete(labels, "app.kubernetes.io/managed-by")
	object.SetLabels(labels)
}

func fileName(object *unstructured.Unstructured) string {
	return strings.ToLower(object.GetKind()) + "_" + object.GetName() + ".yaml"
}

// as returns an object of a known type; a field that the type does not have is an error.
func as[T any](object *unstructured.Unstructured) (*T, error) {
	typed := new(T)
	return typed, runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(object.Object, typed, true)
}
