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
	"io/fs"
	"os"
	"path/filepath"

	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"
)

// Prefix and namespace of what is installed, as all overlays say.
const (
	prefix    = "kausality-"
	namespace = "kausality-system"
)

// object is a Kubernetes object as it is in YAML.
type object = map[string]any

// id tells objects of an installation apart.
type id struct{ kind, namespace, name string }

func idOf(o object) id {
	meta, _ := o["metadata"].(object)
	kind, _ := o["kind"].(string)
	name, _ := meta["name"].(string)
	ns, _ := meta["namespace"].(string)
	return id{kind, ns, name}
}

// root is where the folder config is in memory.
const root = "/config/"

// sources are the kustomizations in the folder config, in memory, so that overlays can be
// added to them that nobody installs.
type sources struct{ fs filesys.FileSystem }

func readSources(config string) (*sources, error) {
	s := &sources{filesys.MakeFsInMemory()}
	folder := os.DirFS(config)
	return s, fs.WalkDir(folder, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".yaml" {
			return err
		}
		raw, err := fs.ReadFile(folder, path)
		if err != nil {
			return err
		}
		return s.fs.WriteFile(root+path, raw)
	})
}

// with returns config/default with further folders of config: resources, and components.
func (s *sources) with(resources, components []string) ([]object, error) {
	raw, err := s.fs.ReadFile(root + "default/kustomization.yaml")
	if err != nil {
		return nil, err
	}
	k := object{}
	if err := yaml.Unmarshal(raw, &k); err != nil {
		return nil, fmt.Errorf("config/default/kustomization.yaml: %w", err)
	}
	list, _ := k["resources"].([]any)
	for _, r := range resources {
		list = append(list, "../"+r)
	}
	k["resources"] = list
	var named []any
	for _, c := range components {
		named = append(named, "../"+c)
	}
	k["components"] = named
	if raw, err = yaml.Marshal(k); err != nil {
		return nil, err
	}
	if err := s.fs.WriteFile(root+"chart/kustomization.yaml", raw); err != nil {
		return nil, err
	}
	return s.build("chart")
}

// build returns the objects of one overlay.
func (s *sources) build(overlay string) ([]object, error) {
	built, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(s.fs, root+overlay)
	if err != nil {
		return nil, fmt.Errorf("config/%s: %w", overlay, err)
	}
	var objects []object
	for _, resource := range built.Resources() {
		o, err := resource.Map()
		if err != nil {
			return nil, err
		}
		withoutNamespace(o)
		objects = append(objects, o)
	}
	return objects, nil
}

// withoutNamespace takes the namespace off objects that are in none: kustomize knows the
// scope of older kinds only.
func withoutNamespace(o object) {
	switch o["kind"] {
	case "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding":
		if meta, ok := o["metadata"].(object); ok {
			delete(meta, "namespace")
		}
	}
}
