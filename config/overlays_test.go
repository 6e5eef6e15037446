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

// Package config_test compares the installations that config offers.
package config_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

// TestOverlaysInstallTheSame compares what the overlays install with config/default: they
// differ in components only, and config/dev in the Deployment, which runs elsewhere.
func TestOverlaysInstallTheSame(t *testing.T) {
	resources := func(overlay string) []string {
		t.Helper()
		raw, err := os.ReadFile(filepath.Join(overlay, "kustomization.yaml"))
		if err != nil {
			t.Fatal(err)
		}
		var k struct {
			Resources []string `json:"resources"`
		}
		if err := yaml.Unmarshal(raw, &k); err != nil {
			t.Fatal(err)
		}
		slices.Sort(k.Resources)
		return k.Resources
	}
	complete := resources("default")
	overlays, err := filepath.Glob("default-*")
	if err != nil || len(overlays) < 2 {
		t.Fatalf("overlays %v: %v", overlays, err)
	}
	for _, overlay := range append(overlays, "dev") {
		want := complete
		if overlay == "dev" {
			want = slices.DeleteFunc(slices.Clone(complete), func(r string) bool { return r == "../manager" })
		}
		if diff := cmp.Diff(want, resources(overlay)); diff != "" {
			t.Errorf("config/%s installs something else than config/default (-want +got):\n%s", overlay, diff)
		}
	}
}
