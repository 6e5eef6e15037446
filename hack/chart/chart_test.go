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
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"helm.sh/helm/v3/pkg/lint"
	"helm.sh/helm/v3/pkg/lint/support"
	"helm.sh/helm/v3/pkg/releaseutil"
	"sigs.k8s.io/yaml"
)

const (
	configFolder = "../../config"
	chartFolder  = "../../charts/kausality"
	kubeVersion  = "v1.36.3"
)

// imageOfConfig are the values that name the image which config has.
var imageOfConfig = object{"repository": "controller", "tag": "latest"}

func TestTemplatesAreUpToDate(t *testing.T) {
	out := filepath.Join(t.TempDir(), "generated")
	if err := generate(configFolder, out); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(texts(t, out), texts(t, filepath.Join(chartFolder, "templates", "generated"))); diff != "" {
		t.Errorf("the chart is out of date, run \"make chart\" (-want +got):\n%s", diff)
	}
}

// TestInstallsTheSame compares objects of the chart with those of kustomize, one by one.
func TestInstallsTheSame(t *testing.T) {
	s, err := readSources(configFolder)
	if err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct {
		values    object
		namespace string
		// overlay is a folder of config; else it is config/default with what is named.
		overlay               string
		resources, components []string
		without               []id
	}{
		"as it comes":  {overlay: "default"},
		"cert-manager": {overlay: "default-certmanager", values: object{"certificates": object{"mode": "cert-manager"}}},
		"Prometheus":   {overlay: "default-prometheus", values: object{"prometheus": object{"enabled": true}}},
		"NetworkPolicies": {
			components: []string{"network-policy"},
			values:     object{"networkPolicy": object{"enabled": true}},
		},
		"requests":  {resources: []string{"access/requests"}, values: object{"access": object{"requests": true}}},
		"all kinds": {resources: []string{"access/all"}, values: object{"access": object{"all": true}}},
		"everything at once": {
			resources:  []string{"access/all"},
			components: []string{"certmanager", "network-policy", "prometheus"},
			values: object{
				"access": object{"all": true}, "certificates": object{"mode": "cert-manager"},
				"networkPolicy": object{"enabled": true}, "prometheus": object{"enabled": true},
			},
		},
		"without definitions": {
			values: object{"crds": object{"install": false}},
			without: []id{
				{kindDefinition, "", "allowancepolicies.kausality.io"},
				{kindDefinition, "", "generatingpolicies.kausality.io"},
				{kindDefinition, "", "allowancerecords.kausality.io"},
				{kindDefinition, "", "upgradeallowances.kausality.io"},
			},
		},
		"without workloads": {
			values:  object{"access": object{"workloads": false}},
			without: []id{{"ClusterRole", "", "kausality-access-workloads"}},
		},
		"another namespace": {namespace: "safety"},
		"another namespace, with cert-manager": {
			namespace: "safety", components: []string{"certmanager"},
			values: object{"certificates": object{"mode": "cert-manager"}},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			var want []object
			var err error
			if tc.overlay != "" {
				want, err = s.build(tc.overlay)
			} else {
				want, err = s.with(tc.resources, tc.components)
			}
			if err != nil {
				t.Fatal(err)
			}
			release := namespace
			if tc.namespace != "" {
				release = tc.namespace
				want = moved(t, want, release)
			}
			compared := byID(want)
			for _, key := range append(tc.without, id{"Namespace", "", release}) {
				if _, has := compared[key]; !has {
					t.Fatalf("kustomize does not install %v", key)
				}
				delete(compared, key)
			}
			got, err := rendered(tc.values, release)
			if err != nil {
				t.Fatal(err)
			}
			if len(byID(got)) != len(got) {
				t.Error("the chart has an object twice")
			}
			charted := byID(got)
			for key := range charted {
				if _, has := compared[key]; !has {
					t.Errorf("only the chart installs %v", key)
				}
			}
			for key, o := range compared {
				if diff := cmp.Diff(o, charted[key]); diff != "" {
					t.Errorf("the chart installs something else than kustomize (-kustomize +helm): %v\n%s", key, diff)
				}
			}
		})
	}
}

// TestValues looks for what an admin says in what is installed.
func TestValues(t *testing.T) {
	container := "spec.template.spec.containers.0."
	tests := map[string]struct {
		values object
		of     id
		path   string
		want   any
	}{
		"replicas": {values: object{"replicas": 3}, of: deployment, path: "spec.replicas", want: 3.0},
		"image": {
			values: object{"image": object{"repository": "example.org/k", "tag": "v1"}}, of: deployment,
			path: container + "image", want: "example.org/k:v1",
		},
		"image of the chart's version": {
			values: object{"image": object{"repository": "example.org/k", "tag": ""}}, of: deployment,
			path: container + "image", want: "example.org/k:v0.1.0",
		},
		"image by digest": {
			values: object{"image": object{"repository": "example.org/k", "digest": "sha256:" + strings.Repeat("0", 64)}}, of: deployment,
			path: container + "image", want: "example.org/k@sha256:" + strings.Repeat("0", 64),
		},
		"pull policy": {values: object{"image": object{"pullPolicy": "Always"}}, of: deployment, path: container + "imagePullPolicy", want: "Always"},
		"pull secrets": {
			values: object{"image": object{"pullSecrets": []any{object{"name": "s"}}}}, of: deployment,
			path: "spec.template.spec.imagePullSecrets", want: []any{object{"name": "s"}},
		},
		"resources": {
			values: object{"resources": object{"limits": object{"memory": "2Gi"}}}, of: deployment,
			path: container + "resources.limits.memory", want: "2Gi",
		},
		"Go's memory":    {values: object{"goMemoryLimit": "1800MiB"}, of: deployment, path: container + "env.0.value", want: "1800MiB"},
		"priority class": {values: object{"priorityClassName": "mine"}, of: deployment, path: "spec.template.spec.priorityClassName", want: "mine"},
		"node selector": {
			values: object{"nodeSelector": object{"pool": "1"}}, of: deployment,
			path: "spec.template.spec.nodeSelector", want: object{"pool": "1"},
		},
		"tolerations": {
			values: object{"tolerations": []any{object{"operator": "Exists"}}}, of: deployment,
			path: "spec.template.spec.tolerations", want: []any{object{"operator": "Exists"}},
		},
		"flags come last": {
			values: object{"extraArgs": []any{"--zap-devel"}, "certificates": object{"mode": "cert-manager"}}, of: deployment,
			path: container + "args.-1", want: "--zap-devel",
		},
		"issuer": {
			values: object{"certificates": object{"mode": "cert-manager", "issuerRef": object{"kind": "ClusterIssuer", "name": "internal"}}},
			of:     certificate, path: "spec.issuerRef", want: object{"kind": "ClusterIssuer", "name": "internal"},
		},
		"rules": {
			values: object{"access": object{"rules": []any{object{"apiGroups": []any{"g"}, "resources": []any{"r"}, "verbs": []any{"get"}}}}},
			of:     id{"ClusterRole", "", "kausality-access-rules"}, path: "rules",
			want: []any{object{"apiGroups": []any{"g"}, "resources": []any{"r"}, "verbs": []any{"get"}}},
		},
		"rules are aggregated": {
			values: object{"access": object{"rules": []any{object{"apiGroups": []any{"g"}, "resources": []any{"r"}, "verbs": []any{"get"}}}}},
			of:     id{"ClusterRole", "", "kausality-access-rules"}, path: "metadata.labels",
			want: object{"app.kubernetes.io/name": "kausality", "rbac.kausality.io/aggregate-to-operator": "true"},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			objects, err := rendered(tc.values, namespace)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, get(t, byID(objects)[tc.of], tc.path)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.path, diff)
			}
		})
	}
	t.Run("another issuer installs none", func(t *testing.T) {
		objects, err := rendered(tests["issuer"].values, namespace)
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range objects {
			if o["kind"] == "Issuer" {
				t.Errorf("%v is installed, which signs nothing", idOf(o))
			}
		}
	})
}

func TestRefusedValues(t *testing.T) {
	for name, tc := range map[string]struct {
		values object
		want   string
	}{
		"no image":                  {values: object{"image": object{"repository": ""}}, want: "image.repository is empty"},
		"a value that is not there": {values: object{"replicaCount": 3}, want: "replicaCount"},
		"no such certificates":      {values: object{"certificates": object{"mode": "olm"}}, want: "certificates/mode"},
		"no flag":                   {values: object{"extraArgs": []any{"zap-devel"}}, want: "extraArgs/0"},
		"no digest":                 {values: object{"image": object{"digest": "latest"}}, want: "image/digest"},
		"too few replicas":          {values: object{"replicas": -1}, want: "replicas"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := rendered(tc.values, namespace)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("the chart says %v; wanted it to name %q", err, tc.want)
			}
		})
	}
}

// TestEveryValueIsDescribed compares the schema with the values that there are.
func TestEveryValueIsDescribed(t *testing.T) {
	raw, err := os.ReadFile(filepath.Join(chartFolder, "values.schema.json"))
	if err != nil {
		t.Fatal(err)
	}
	schema := object{}
	if err := json.Unmarshal(raw, &schema); err != nil {
		t.Fatal(err)
	}
	c := load(t)
	properties, _ := schema["properties"].(object)
	delete(properties, "global")
	compareKeys(t, "", properties, c.Values)
}

func compareKeys(t *testing.T, at string, properties, values object) {
	t.Helper()
	if diff := cmp.Diff(slices.Sorted(maps.Keys(properties)), slices.Sorted(maps.Keys(values))); diff != "" {
		t.Errorf("values%s: schema and values.yaml name others (-schema +values):\n%s", at, diff)
	}
	for key, property := range properties {
		p, _ := property.(object)
		if below, ok := p["properties"].(object); ok && key != "issuerRef" {
			v, _ := values[key].(object)
			compareKeys(t, at+"."+key, below, v)
		} else if p["description"] == nil {
			t.Errorf("values%s.%s: the schema does not say what it is", at, key)
		}
	}
}

func TestLint(t *testing.T) {
	version, err := chartutil.ParseKubeVersion(kubeVersion)
	if err != nil {
		t.Fatal(err)
	}
	linted := lint.AllWithKubeVersion(chartFolder, object{"image": imageOfConfig}, namespace, version)
	for _, message := range linted.Messages {
		if message.Severity > support.InfoSev {
			t.Error(message)
		}
	}
}

// TestDefinitionsStay looks for what keeps policies and records when the chart is uninstalled.
func TestDefinitionsStay(t *testing.T) {
	kept := 0
	for _, o := range raw(t) {
		if o["kind"] == kindDefinition {
			annotations, _ := get(t, o, "metadata.annotations").(object)
			if annotations["helm.sh/resource-policy"] != "keep" {
				t.Errorf("%v goes with the chart, and all objects with it", idOf(o))
			}
			kept++
		}
	}
	if kept != 4 {
		t.Errorf("the chart has %d definitions", kept)
	}
}

func load(t *testing.T) *chart.Chart {
	t.Helper()
	c, err := loader.Load(chartFolder)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// renderChart returns what Helm makes of the chart.
func renderChart(values object, release string) ([]object, error) {
	c, err := loader.Load(chartFolder)
	if err != nil {
		return nil, err
	}
	given := object{"image": imageOfConfig}
	given = chartutil.CoalesceTables(maps.Clone(values), given)
	capabilities := chartutil.DefaultCapabilities.Copy()
	version, err := chartutil.ParseKubeVersion(kubeVersion)
	if err != nil {
		return nil, err
	}
	capabilities.KubeVersion = *version
	all, err := chartutil.ToRenderValues(c, given, chartutil.ReleaseOptions{Name: "k", Namespace: release, Revision: 1, IsInstall: true}, capabilities)
	if err != nil {
		return nil, err
	}
	files, err := engine.Render(c, all)
	if err != nil {
		return nil, err
	}
	delete(files, "kausality/templates/NOTES.txt")
	var objects []object
	for _, text := range files {
		for _, document := range releaseutil.SplitManifests(text) {
			o := object{}
			if err := yaml.Unmarshal([]byte(document), &o); err != nil {
				return nil, err
			}
			if len(o) > 0 {
				objects = append(objects, o)
			}
		}
	}
	return objects, nil
}

func raw(t *testing.T) []object {
	t.Helper()
	objects, err := renderChart(object{}, namespace)
	if err != nil {
		t.Fatal(err)
	}
	return objects
}

// rendered returns the chart's objects without what names the tool.
func rendered(values object, release string) ([]object, error) {
	if values == nil {
		values = object{}
	}
	objects, err := renderChart(values, release)
	for _, o := range objects {
		withoutTool(o)
	}
	return objects, err
}

func withoutTool(o object) {
	meta, _ := o["metadata"].(object)
	for field, keys := range map[string][]string{
		"labels":      {"app.kubernetes.io/managed-by", "helm.sh/chart"},
		"annotations": {"helm.sh/resource-policy"},
	} {
		if of, ok := meta[field].(object); ok {
			for _, key := range keys {
				delete(of, key)
			}
			if len(of) == 0 {
				delete(meta, field)
			}
		}
	}
}

// byID returns objects as JSON has them, so that numbers compare.
func byID(objects []object) map[id]object {
	out := map[id]object{}
	for _, o := range objects {
		withoutTool(o)
		out[idOf(o)] = asJSON(o)
	}
	return out
}

func asJSON(o object) object {
	raw, err := json.Marshal(o)
	if err != nil {
		panic(err)
	}
	out := object{}
	if err := json.Unmarshal(raw, &out); err != nil {
		panic(err)
	}
	return out
}

// moved returns the objects in another namespace, wherever they name it.
func moved(t *testing.T, objects []object, to string) []object {
	t.Helper()
	var out []object
	for _, o := range objects {
		raw, err := json.Marshal(o)
		if err != nil {
			t.Fatal(err)
		}
		there := object{}
		if err := json.Unmarshal([]byte(strings.ReplaceAll(string(raw), namespace, to)), &there); err != nil {
			t.Fatal(err)
		}
		out = append(out, there)
	}
	return out
}

func texts(t *testing.T, folder string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, entry := range entries {
		text, err := os.ReadFile(filepath.Join(folder, entry.Name()))
		if err != nil {
			t.Fatal(err)
		}
		out[entry.Name()] = string(text)
	}
	return out
}

// get returns the value at a path. A number in the path is an index of a list; -1 is the last item.
func get(t *testing.T, o object, path string) any {
	t.Helper()
	var here any = o
	for step := range strings.SplitSeq(path, ".") {
		switch at := here.(type) {
		case object:
			here = at[step]
		case []any:
			if len(at) == 0 {
				return nil
			}
			here = at[0]
			if step == "-1" {
				here = at[len(at)-1]
			}
		default:
			t.Fatalf("%s: there is nothing before %s", path, step)
		}
	}
	return here
}
