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

// Command chart writes the templates of the Helm chart from what kustomize builds of config, so
// that both install the same. What is beside templates/generated is written by hand.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	config := flag.String("config", "../../config", "the folder of the kustomizations")
	out := flag.String("out", "../../charts/kausality/templates/generated", "the folder that the templates are written to, and nothing else is in")
	flag.Parse()
	if err := generate(*config, *out); err != nil {
		fmt.Fprintf(os.Stderr, "chart: %v\n", err)
		os.Exit(1)
	}
}

func generate(config, out string) error {
	s, err := readSources(config)
	if err != nil {
		return err
	}
	files, err := render(s)
	if err != nil {
		return err
	}
	if err := os.RemoveAll(out); err != nil {
		return err
	}
	if err := os.MkdirAll(out, 0o750); err != nil {
		return err
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(out, name), []byte(text), 0o600); err != nil {
			return err
		}
	}
	return nil
}
