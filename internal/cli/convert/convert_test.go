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

package convert_test

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"kausality.io/operator/internal/cli/check"
	"kausality.io/operator/internal/cli/convert"
	"kausality.io/operator/internal/cli/exit"
	"kausality.io/operator/internal/cli/text"
)

var update = flag.Bool("update", false, "write what the tests get to the files of what they want")

// run runs the command.
func run(t *testing.T, stdin string, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	var out, errOut bytes.Buffer
	cmd := convert.Command(genericiooptions.IOStreams{In: strings.NewReader(stdin), Out: &out, ErrOut: &errOut})
	cmd.SetArgs(append([]string{}, args...)) // nil would be those of the test
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	err = cmd.ExecuteContext(t.Context())
	return out.String(), errOut.String(), err
}

func TestConvert(t *testing.T) {
	for _, name := range []string{"ancestor", "capture", "short", "lossy", "upgrade", "generating", "generating-lossy"} {
		t.Run(name, func(t *testing.T) {
			stdout, stderr, err := run(t, "", "-f", filepath.Join("testdata", name+".in.yaml"))
			if err != nil {
				t.Fatal(err)
			}
			for file, got := range map[string]string{name + ".out.yaml": stdout, name + ".txt": stderr} {
				path := filepath.Join("testdata", file)
				if *update {
					if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
						t.Fatal(err)
					}
				}
				want, err := os.ReadFile(path)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); diff != "" {
					t.Errorf("%s differs (-want +got):\n%s", path, diff)
				}
			}
			if name == "upgrade" {
				return // Nothing checks these without a cluster.
			}
			report, err := check.Run(t.Context(), check.Options{Files: []string{"-"}, Stdin: strings.NewReader(stdout)})
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range report.Findings {
				if f.Severity == check.SeverityError {
					t.Errorf("the API server would refuse what was converted: %s: %s", f.Field, f.Message)
				}
			}
		})
	}
}

// What is in full already stays as it is.
func TestConvertTwice(t *testing.T) {
	once, _, err := run(t, "", "-f", "testdata/ancestor.in.yaml")
	if err != nil {
		t.Fatal(err)
	}
	twice, told, err := run(t, once, "-f", "-", "--strict")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(once, twice); diff != "" || told != "" {
		t.Errorf("told %q, and what was converted differs (-once +twice):\n%s", told, diff)
	}
}

// What was converted generates what Kyverno would, where Kyverno would.
func TestConvertedPoliciesGenerate(t *testing.T) {
	report, err := check.Run(t.Context(), check.Options{Files: []string{"testdata/generating.cases.yaml"}})
	if err != nil {
		t.Fatal(err)
	}
	if !report.Sound(false) || len(report.Cases) != 9 {
		t.Errorf("%d cases, want 9, all of them sound:\n%s", len(report.Cases), report.Text(text.Terminal{Width: text.DefaultWidth}, true))
	}
}

func TestConvertSaysWhichNameComesTwice(t *testing.T) {
	const policy = `{apiVersion: kausality.io/v1alpha1, kind: AllowancePolicy, metadata: {name: p}, spec: {for: {apiGroup: apps, apiVersion: v1, kind: Deployment}}}`
	_, told, err := run(t, policy+"\n---\n"+policy, "-f", "-")
	if err != nil {
		t.Fatal(err)
	}
	if want := "<stdin>:3: lost: metadata.name\n    another AllowancePolicy p is from <stdin>:1: the cluster would keep one of them\n"; told != want {
		t.Errorf("told %q, want %q", told, want)
	}
}

func TestConvertFails(t *testing.T) {
	tests := map[string]struct {
		args  []string
		stdin string
		code  int
		want  string
	}{
		"no files":         {code: exit.Usage, want: "which policies?"},
		"no such file":     {args: []string{"-f", "none.yaml"}, code: exit.Usage, want: "none.yaml cannot be read: no such file or directory"},
		"no such format":   {args: []string{"-f", "-", "-o", "xml"}, code: exit.Usage, want: "--output=xml is none of json, yaml"},
		"lost, and strict": {args: []string{"-f", "testdata/lossy.in.yaml", "--strict"}, code: exit.Findings, want: "not everything can be converted"},
		"no YAML":          {args: []string{"-f", "-"}, stdin: "a: [", code: exit.Findings, want: "not all files could be read"},
		"nothing in it":    {args: []string{"-f", "-"}, stdin: "# nothing", code: exit.Findings, want: "there is no policy to convert in -"},
		"not of its type": {
			args:  []string{"-f", "-"},
			stdin: "{apiVersion: policies.kyverno.io/v1, kind: GeneratingPolicy, metadata: {name: p}, spec: {variables: [{name: 1, expression: a}], matchConstraints: {resourceRules: [{apiGroups: [\"\"], apiVersions: [v1], operations: [CREATE], resources: [pods]}]}, generate: [{expression: 'generator.apply(\"a\", [object])'}]}}",
			code:  exit.Findings, want: "nothing in - can be converted",
		},
		"all of it lost":    {args: []string{"-f", "-"}, stdin: "kind: ConfigMap", code: exit.Findings, want: "nothing in - can be converted"},
		"a broken CRD file": {args: []string{"-f", "-", "--crds", "testdata/none"}, code: exit.Usage, want: "testdata/none cannot be read"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			stdout, _, err := run(t, tc.stdin, tc.args...)
			if err == nil || !strings.Contains(err.Error(), tc.want) || exit.Code(err) != tc.code {
				t.Errorf("got %v (code %d), want %q (code %d)", err, exit.Code(err), tc.want, tc.code)
			}
			if stdout != "" {
				t.Errorf("written all the same:\n%s", stdout)
			}
		})
	}
}

func TestConvertToJSON(t *testing.T) {
	stdout, _, err := run(t, "", "-f", "testdata/capture.in.yaml", "-o", "json")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"kind": "List"`, `"name": "attested"`, `"name": "pods"`} {
		if !strings.Contains(stdout, want) {
			t.Errorf("%s is not in\n%s", want, stdout)
		}
	}
}
