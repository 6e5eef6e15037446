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

package kro

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	krov1alpha1 "github.com/kubernetes-sigs/kro/api/v1alpha1"
	"sigs.k8s.io/yaml"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/derive/draft"
)

var update = flag.Bool("update", false, "write what is derived now to testdata")

func readRGD(tb testing.TB, text string) *krov1alpha1.ResourceGraphDefinition {
	tb.Helper()
	rgd := &krov1alpha1.ResourceGraphDefinition{}
	if err := yaml.Unmarshal([]byte(text), rgd); err != nil {
		tb.Fatal(err)
	}
	return rgd
}

// golden is what a file of testdata has of a derivation.
type golden struct {
	Rows   []string     `json:"rows"`
	Notes  []draft.Note `json:"notes,omitempty"`
	Policy *v1alpha1.AllowancePolicy
}

func shownGolden(tb testing.TB, d *draft.Derivation) string {
	tb.Helper()
	g := golden{Notes: d.Notes, Policy: d.Policy}
	for _, r := range d.Rows {
		from, to := r.Field, r.Resource
		if from == "" {
			from = "(" + r.Observed + ")"
		}
		if r.Reaches != "" {
			to += " " + r.Reaches
		}
		g.Rows = append(g.Rows, from+" -> "+to+": "+r.Why)
	}
	out, err := yaml.Marshal(g)
	if err != nil {
		tb.Fatal(err)
	}
	return string(out)
}

// TestDerive derives each graph of testdata, and compares the result with the golden file beside it.
func TestDerive(t *testing.T) {
	files, err := filepath.Glob("testdata/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no graphs in testdata: %v", err)
	}
	for _, file := range files {
		if strings.HasSuffix(file, ".golden.yaml") {
			continue
		}
		t.Run(strings.TrimSuffix(filepath.Base(file), ".yaml"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			derived, err := Derive(readRGD(t, string(text)), Options{})
			if err != nil {
				t.Fatal(err)
			}
			got, beside := shownGolden(t, derived), strings.TrimSuffix(file, ".yaml")+".golden.yaml"
			if *update {
				if err := os.WriteFile(beside, []byte(got), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(beside)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("what is derived has changed; if it is right, run with -update (-want +got):\n%s", diff)
			}
		})
	}
}
