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

// Package alerts has Prometheus itself judge the alerts of config/prometheus.
package alerts

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"sigs.k8s.io/yaml"
)

const (
	root = "../.."
	// promtool is built by "make promtool".
	promtool = root + "/bin/promtool"
)

// rule is an alert, and group some of them, of which only the name matters here.
type (
	rule  struct{ Alert string }
	group struct{ Rules []rule }
)

// TestAlerts checks that each alert fires, and does not fire, when testdata/alerts.yaml says so.
func TestAlerts(t *testing.T) {
	var resource struct{ Spec map[string]any }
	read(t, root+"/config/prometheus/rules.yaml", &resource)
	rules, err := yaml.Marshal(resource.Spec)
	if err != nil {
		t.Fatal(err)
	}
	tests, err := os.ReadFile("testdata/alerts.yaml")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, content := range map[string][]byte{"rules.yaml": rules, "alerts.yaml": tests} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, args := range [][]string{
		{"check", "rules", "--lint=all", "--lint-fatal", filepath.Join(dir, "rules.yaml")},
		{"test", "rules", filepath.Join(dir, "alerts.yaml")},
	} {
		if out, err := exec.CommandContext(t.Context(), promtool, args...).CombinedOutput(); err != nil {
			t.Errorf("promtool %v: %v; if it is not built, run \"make promtool\" first\n%s", args, err, out)
		}
	}
}

// TestEachAlertIsTested checks that each alert is expected once at least, and once not to be.
func TestEachAlertIsTested(t *testing.T) {
	var resource struct{ Spec struct{ Groups []group } }
	read(t, root+"/config/prometheus/rules.yaml", &resource)
	var tests struct {
		Tests []struct {
			Alerts []struct {
				Name     string `json:"alertname"`
				Expected []any  `json:"exp_alerts"`
			} `json:"alert_rule_test"`
		}
	}
	read(t, "testdata/alerts.yaml", &tests)
	fires, rests := map[string]bool{}, map[string]bool{}
	for _, test := range tests.Tests {
		for _, alert := range test.Alerts {
			if len(alert.Expected) > 0 {
				fires[alert.Name] = true
			} else {
				rests[alert.Name] = true
			}
		}
	}
	for _, g := range resource.Spec.Groups {
		for _, r := range g.Rules {
			if !fires[r.Alert] || !rests[r.Alert] {
				t.Errorf("alert %s: expected to fire: %t, and not to: %t; test both", r.Alert, fires[r.Alert], rests[r.Alert])
			}
		}
	}
}

func read(t *testing.T, file string, into any) {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(raw, into); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
}
