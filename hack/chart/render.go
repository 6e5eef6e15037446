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
	"fmt"
	"maps"
	"slices"
	"strings"
)

// extra is what an installation has where a condition on the values of the chart holds.
type extra struct {
	condition             string
	resources, components []string
}

// extras are the variants of config/default. Those that only add objects do so whatever else
// is chosen; certManager changes objects, too.
var (
	certManager = extra{condition: `eq .Values.certificates.mode "cert-manager"`, components: []string{"certmanager"}}
	adding      = []extra{
		{condition: `.Values.networkPolicy.enabled`, components: []string{"network-policy"}},
		{condition: `.Values.prometheus.enabled`, components: []string{"prometheus"}},
		{condition: `.Values.access.all`, resources: []string{"access/all"}},
		{condition: `.Values.access.requests`, resources: []string{"access/requests"}},
	}
)

const kindDefinition = "CustomResourceDefinition"

// installCRDs is the value that says whether the chart has the definitions.
const installCRDs = ".Values.crds.install"

// conditions are those of objects that may be left out.
var conditions = map[id]string{
	{kindDefinition, "", "allowancepolicies.kausality.io"}:  installCRDs,
	{kindDefinition, "", "upgradeallowances.kausality.io"}:  installCRDs,
	{kindDefinition, "", "generatingpolicies.kausality.io"}: installCRDs,
	{kindDefinition, "", "allowancerecords.kausality.io"}:   installCRDs,
	{"ClusterRole", "", prefix + "access-workloads"}:        ".Values.access.workloads",
	{"Issuer", namespace, prefix + "selfsigned-issuer"}:     "not .Values.certificates.issuerRef",
}

// setting is a place in an object that a value of the chart fills in.
type setting struct {
	of   id
	path string
	// to makes what stands there of what config says.
	to func(is any) any
	// added is for what config does not have; everything else has to be there, so that a
	// value cannot lose its place unnoticed.
	added bool
}

var (
	deployment  = id{"Deployment", namespace, prefix + "controller-manager"}
	certificate = id{"Certificate", namespace, prefix + "serving-cert"}
)

var settings = []setting{
	{of: deployment, path: "spec.replicas", to: always(inline(".Values.replicas"))},
	{of: deployment, path: "spec.template.spec.imagePullSecrets", added: true, to: always(block(".Values.image.pullSecrets"))},
	{of: deployment, path: "spec.template.spec.nodeSelector", added: true, to: always(block(".Values.nodeSelector"))},
	{of: deployment, path: "spec.template.spec.tolerations", added: true, to: always(block(".Values.tolerations"))},
	{of: deployment, path: "spec.template.spec.priorityClassName", to: always(inline(".Values.priorityClassName | quote"))},
	{of: deployment, path: "spec.template.spec.containers.0.image", to: always(inline(`include "kausality.image" . | quote`))},
	{of: deployment, path: "spec.template.spec.containers.0.imagePullPolicy", added: true, to: always(either{
		Condition: ".Values.image.pullPolicy", Then: inline(".Values.image.pullPolicy"),
	})},
	{of: deployment, path: "spec.template.spec.containers.0.resources", to: always(block(".Values.resources"))},
	{of: deployment, path: "spec.template.spec.containers.0.env.0.value", to: always(inline(".Values.goMemoryLimit | quote"))},
	{of: deployment, path: "spec.template.spec.containers.0.args", to: func(is any) any {
		args, _ := is.([]any)
		return append(slices.Clone(args), items(".Values.extraArgs"))
	}},
	{of: certificate, path: "spec.issuerRef", to: func(is any) any { return orElse{".Values.certificates.issuerRef", is} }},
}

func always(value any) func(any) any { return func(any) any { return value } }

// apply puts the value's place into the object.
func (s setting) apply(o object) error {
	steps := strings.Split(s.path, ".")
	var here any = o
	for _, step := range steps[:len(steps)-1] {
		switch at := here.(type) {
		case object:
			here = at[step]
		case []any:
			if step != "0" || len(at) == 0 {
				return fmt.Errorf("%v has no %s: settings of the chart name another place than config", s.of, s.path)
			}
			here = at[0]
		}
	}
	parent, ok := here.(object)
	last := steps[len(steps)-1]
	if _, has := parent[last]; !ok || has == s.added {
		return fmt.Errorf("%v: that %s is there was taken to be %t: settings of the chart name another place than config", s.of, s.path, !s.added)
	}
	parent[last] = s.to(parent[last])
	return nil
}

// render makes the templates of the chart, by the names of their files.
func render(s *sources) (map[string]string, error) {
	base, err := objects(s, nil, nil)
	if err != nil {
		return nil, err
	}
	other, err := objects(s, certManager.resources, certManager.components)
	if err != nil {
		return nil, err
	}
	merged := map[id]any{}
	for key := range maps.Keys(base) {
		merged[key] = mergeObjects(certManager.condition, other[key], base[key])
	}
	for key := range maps.Keys(other) {
		merged[key] = mergeObjects(certManager.condition, other[key], base[key])
	}
	for _, x := range adding {
		with, err := objects(s, x.resources, x.components)
		if err != nil {
			return nil, err
		}
		for key, o := range with {
			if _, has := base[key]; !has {
				merged[key] = either{Condition: x.condition, Then: o}
			} else if template(o) != template(base[key]) {
				return nil, fmt.Errorf("%v is changed by what %s stands for, which is taken to add objects only", key, x.condition)
			}
		}
	}
	files := map[string]string{}
	for key, value := range merged {
		if key.kind == "Namespace" {
			continue // It is there before the chart is: the release is kept in it.
		}
		files[fileName(key)] = document(key, value)
	}
	return files, nil
}

// objects returns the objects of config/default and of what is added to it, with places for values.
func objects(s *sources, resources, components []string) (map[id]object, error) {
	built, err := s.with(resources, components)
	if err != nil {
		return nil, err
	}
	byID := map[id]object{}
	for _, o := range built {
		byID[idOf(o)] = o
	}
	for _, set := range settings {
		if o, has := byID[set.of]; has {
			if err := set.apply(o); err != nil {
				return nil, err
			}
		}
	}
	for key, o := range byID {
		label(key, o)
	}
	return byID, nil
}

// label says of an object that Helm has installed it, and of a definition that it stays: with
// it all policies and records would go.
func label(key id, o object) {
	meta, _ := o["metadata"].(object)
	labels, _ := meta["labels"].(object)
	if labels == nil {
		labels = object{}
	}
	labels["app.kubernetes.io/managed-by"] = inline(".Release.Service")
	labels["helm.sh/chart"] = inline(`include "kausality.chart" .`)
	meta["labels"] = labels
	if key.kind == kindDefinition {
		annotations, _ := meta["annotations"].(object)
		if annotations == nil {
			annotations = object{}
		}
		annotations["helm.sh/resource-policy"] = "keep"
		meta["annotations"] = annotations
	}
}

// mergeObjects merges two objects, of which one may be missing.
func mergeObjects(condition string, then, otherwise object) any {
	switch {
	case then == nil:
		return either{Condition: condition, Otherwise: otherwise}
	case otherwise == nil:
		return either{Condition: condition, Then: then}
	default:
		return merge(condition, then, otherwise)
	}
}

// document returns the template of one object.
func document(key id, value any) string {
	wanted := conditions[key]
	if alternative, ok := value.(either); ok {
		condition := alternative.Condition
		value = alternative.Then
		if value == nil {
			condition, value = "not ("+condition+")", alternative.Otherwise
		}
		if wanted != "" {
			condition = "and (" + condition + ") (" + wanted + ")"
		}
		wanted = condition
	}
	o, _ := value.(object)
	text := template(o)
	if wanted == "" {
		return text
	}
	return "{{- if " + wanted + " }}\n" + text + "{{- end }}\n"
}

// fileName returns the file name of an object's template: its kind and its name.
func fileName(key id) string {
	name := strings.TrimPrefix(key.name, prefix)
	if key.kind == kindDefinition {
		name, _, _ = strings.Cut(name, ".")
	}
	return strings.ToLower(key.kind) + "-" + name + ".yaml"
}
