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

package check_test

import (
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kausality.io/operator/internal/cli/check"
	"kausality.io/operator/internal/cli/text"
)

var update = flag.Bool("update", false, "write what the tests get to the files of what they want")

func TestRun(t *testing.T) {
	tests := map[string]struct {
		opts  check.Options
		sound bool
		cases int
	}{
		"lint":    {opts: check.Options{Files: []string{"testdata/lint.yaml"}}},
		"failing": {opts: check.Options{Files: []string{"testdata/failing.yaml"}}, cases: 1},
		"widgets": {opts: check.Options{Files: []string{"testdata/widgets.yaml"}}, sound: true, cases: 6},
		"policies": {
			opts:  check.Options{Files: []string{"testdata/policies"}, CRDs: []string{"testdata/crds"}},
			sound: true,
		},
		"versions":           {opts: check.Options{Files: []string{"testdata/versions.yaml"}}},
		"misnamed":           {opts: check.Options{Files: []string{"testdata/misnamed.yaml"}}},
		"generating-lint":    {opts: check.Options{Files: []string{"testdata/generating-lint.yaml"}}},
		"generating":         {opts: check.Options{Files: []string{"testdata/generating.yaml"}}, sound: true, cases: 17},
		"generating-failing": {opts: check.Options{Files: []string{"testdata/generating-failing.yaml"}}, cases: 6},
		"samples":            {opts: check.Options{Files: []string{"../../../config/samples"}}, sound: true, cases: 19},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			report, err := check.Run(t.Context(), tc.opts)
			if err != nil {
				t.Fatal(err)
			}
			got := report.Text(text.Terminal{Width: text.DefaultWidth}, true)
			golden := "testdata/" + name + ".txt"
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); diff != "" {
				t.Errorf("the report differs (-want +got):\n%s", diff)
			}
			if report.Sound(false) != tc.sound {
				t.Errorf("sound is %t, want %t", !tc.sound, tc.sound)
			}
			if len(report.Cases) != tc.cases {
				t.Errorf("%d cases were run, want %d", len(report.Cases), tc.cases)
			}
		})
	}
}

func TestWarningsFailTheStrict(t *testing.T) {
	const stdin = `{apiVersion: kausality.io/v1alpha1, kind: AllowancePolicy, metadata: {name: p}, spec: {for: {apiGroup: apps, apiVersion: v1, kind: Deployment}}}`
	report, err := check.Run(t.Context(), check.Options{Files: []string{"-"}, Stdin: strings.NewReader(stdin)})
	if err != nil {
		t.Fatal(err)
	}
	if !report.Sound(false) || report.Sound(true) {
		t.Errorf("a policy with a warning is sound: %t, to the strict: %t", report.Sound(false), report.Sound(true))
	}
	if len(report.Findings) != 1 || report.Findings[0].File != "<stdin>" {
		t.Errorf("findings %v, want one in <stdin>", report.Findings)
	}
}

// The API server declares what every object has, also where the definition leaves that out.
func TestCustomResourcesHaveMetadata(t *testing.T) {
	const stdin = `
apiVersion: kausality.io/v1alpha1
kind: AllowancePolicy
metadata: {name: p}
spec:
  for: {apiGroup: example.com, apiVersion: v1, kind: Widget}
  subjects: [{kind: User, name: alice, mayInitiate: true}]
  rules:
  - trigger: metadata.annotations[example.com/class]
    conditions: ["object.kind == 'Widget' && object.apiVersion != '' && has(object.metadata.labels)", "object.metadata.label == 'x'"]
    policies: [{target: {apiVersion: v1, resource: configmaps}, relation: ControllerChild, mutations: [{jsonPath: data}]}]
`
	report, err := check.Run(t.Context(), check.Options{
		Files: []string{"-"}, Stdin: strings.NewReader(stdin), CRDs: []string{"testdata/crds"},
	})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range report.Findings {
		if strings.Contains(f.Message, "there is no field") {
			got = append(got, f.Message)
		}
	}
	want := []string{"in kind Widget, there is no field metadata.label"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("findings (-want +got):\n%s", diff)
	}
}

func TestNothingToCheck(t *testing.T) {
	tests := map[string]struct {
		files []string
		want  string
	}{
		"no such file":  {files: []string{"testdata/none.yaml"}, want: "testdata/none.yaml cannot be read: no such file or directory"},
		"nothing in it": {files: []string{"testdata/crds"}, want: "there is no AllowancePolicy, GeneratingPolicy or PolicyTest in testdata/crds"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := check.Run(t.Context(), check.Options{Files: tc.files})
			if err == nil || err.Error() != tc.want {
				t.Errorf("got %v, want %s", err, tc.want)
			}
		})
	}
}
