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
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"
)

// TestOverlaysInstallTheSame compares what the overlays install with config/default: they
// differ in components only, and config/dev in the Deployment, which runs elsewhere, and in wide rights.
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
			want = append(slices.DeleteFunc(slices.Clone(complete), func(r string) bool { return r == "../manager" }), "../access/all", "../access/requests", "access_role_binding.yaml")
			slices.Sort(want)
		}
		if diff := cmp.Diff(want, resources(overlay)); diff != "" {
			t.Errorf("config/%s installs something else than config/default (-want +got):\n%s", overlay, diff)
		}
	}
}

// TestOperatorRolesNameWhatTheyAllow looks for rights in the operator's roles that nobody has
// chosen: to anything, or to Secrets of others.
func TestOperatorRolesNameWhatTheyAllow(t *testing.T) {
	paths, err := filepath.Glob("rbac/*role.yaml")
	if err != nil {
		t.Fatal(err)
	}
	looked := 0
	for _, path := range append(paths, "access/workloads/role.yaml") {
		if base := filepath.Base(path); strings.HasPrefix(base, "allowance") || strings.HasPrefix(base, "upgradeallowance") || strings.HasPrefix(base, "generatingpolicy") {
			continue // It is for people.
		}
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var role rbacv1.ClusterRole
		if err := yaml.Unmarshal(raw, &role); err != nil {
			t.Fatal(err)
		}
		looked++
		for _, rule := range role.Rules {
			all := slices.Concat(rule.APIGroups, rule.Resources, rule.Verbs)
			if slices.Contains(all, "*") {
				t.Errorf("%s allows anything: %v", path, rule)
			}
			if role.Kind == "ClusterRole" && slices.Contains(rule.Resources, "secrets") {
				t.Errorf("%s is about everybody's Secrets: %v", path, rule)
			}
		}
	}
	if looked < 8 {
		t.Errorf("only %d roles were found", looked)
	}
}
