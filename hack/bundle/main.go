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

// Command bundle writes the bundle for OLM from what kustomize builds of config/olm: a
// ClusterServiceVersion with what OLM makes itself, and the other objects beside it.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"sigs.k8s.io/yaml"
)

// options say what is built, and of what.
type options struct {
	config, out              string
	version, image, replaces string
}

func main() {
	var o options
	flag.StringVar(&o.config, "config", "../../config", "the folder of the kustomizations")
	flag.StringVar(&o.out, "out", "../..", "the folder for bundle.Dockerfile and the folder bundle, which nothing else is in")
	flag.StringVar(&o.version, "version", "0.1.0", "the version, without a v")
	flag.StringVar(&o.image, "image", "controller:latest", "the image of the operator")
	flag.StringVar(&o.replaces, "replaces", "", "the version that it replaces, without a v")
	flag.Parse()
	if err := run(o); err != nil {
		fmt.Fprintf(os.Stderr, "bundle: %v\n", err)
		os.Exit(1)
	}
}

func run(o options) error {
	objects, err := build(filepath.Join(o.config, "olm"))
	if err != nil {
		return err
	}
	csv, rest, err := assemble(o, objects)
	if err != nil {
		return err
	}
	folder := filepath.Join(o.out, "bundle")
	if err := os.RemoveAll(folder); err != nil {
		return err
	}
	manifest := filepath.Join(folder, "manifests", "kausality.clusterserviceversion.yaml")
	if err := write(manifest, csv); err != nil {
		return err
	}
	for _, object := range rest {
		if err := write(filepath.Join(folder, "manifests", fileName(object)), object.Object); err != nil {
			return err
		}
	}
	if err := write(filepath.Join(folder, "metadata", "annotations.yaml"), map[string]any{"annotations": annotations}); err != nil {
		return err
	}
	if err := write(filepath.Join(folder, "tests", "scorecard", "config.yaml"), scorecard()); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(o.out, "bundle.Dockerfile"), []byte(dockerfile()), 0o600)
}

func write(path string, object any) error {
	raw, err := yaml.Marshal(object)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		return err
	}
	return os.WriteFile(path, raw, 0o600)
}
