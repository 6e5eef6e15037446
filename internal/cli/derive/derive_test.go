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

package derive_test

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/cli/check"
	"kausality.io/operator/internal/cli/derive"
	"kausality.io/operator/internal/cli/exit"
	"kausality.io/operator/internal/cli/text"
)

var update = flag.Bool("update", false, "write what the tests get to the files of what they want")

// run runs the command.
func run(t *testing.T, stdin string, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	var out, errOut bytes.Buffer
	cmd := derive.Command(genericclioptions.NewConfigFlags(false), genericiooptions.IOStreams{In: strings.NewReader(stdin), Out: &out, ErrOut: &errOut})
	cmd.SetArgs(append([]string{}, args...)) // nil would be those of the test
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	err = cmd.ExecuteContext(t.Context())
	return out.String(), errOut.String(), err
}

// TestDerive begins with the specification's sample, as kro accepts it.
func TestDerive(t *testing.T) {
	for name, args := range map[string][]string{
		"webapp": {"--initiator", "group:platform"},
		"shop":   {"--crds", "testdata/crds.yaml", "--recreate", "--service-account", "kro/controller"},
		// The trigger's data, a clone, and a kind that is known by its definition only.
		"generating": {"--crds", "testdata/crds.yaml", "--initiator", "group:platform"},
	} {
		t.Run(name, func(t *testing.T) {
			stdout, stderr, err := run(t, "", append(args, "-f", filepath.Join("testdata", name+".in.yaml"))...)
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
			report, err := check.Run(t.Context(), check.Options{Files: []string{"-"}, Stdin: strings.NewReader(stdout)})
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range report.Findings {
				if f.Severity == check.SeverityError {
					t.Errorf("the API server would refuse what was derived: %s: %s", f.Field, f.Message)
				}
			}
		})
	}
}

func TestDeriveFails(t *testing.T) {
	const bad = "apiVersion: kro.run/v1alpha1\nkind: ResourceGraphDefinition\nmetadata: {name: x}\nspec: {schema: {kind: X}}\n"
	tests := map[string]struct {
		args  []string
		stdin string
		code  int
		want  string
	}{
		"no files":         {code: exit.Usage, want: "which graphs or GeneratingPolicies?"},
		"no such file":     {args: []string{"-f", "none.yaml"}, code: exit.Usage, want: "none.yaml cannot be read: no such file or directory"},
		"no such format":   {args: []string{"-f", "-", "-o", "xml"}, code: exit.Usage, want: "--output=xml is none of json, yaml"},
		"nobody":           {args: []string{"-f", "-", "--initiator", "alice"}, code: exit.Usage, want: "--initiator: \"alice\" is none of user:NAME"},
		"no account":       {args: []string{"-f", "-", "--service-account", "kro"}, code: exit.Usage, want: "--service-account: \"kro\" is no service account: it is named as NAMESPACE/NAME"},
		"no YAML":          {args: []string{"-f", "-"}, stdin: "a: [", code: exit.Findings, want: "not all could be derived from"},
		"nothing in it":    {args: []string{"-f", "-"}, stdin: "# nothing", code: exit.Findings, want: "there is neither a ResourceGraphDefinition nor a GeneratingPolicy in -"},
		"what kro refuses": {args: []string{"-f", "-"}, stdin: bad, code: exit.Findings, want: "not all could be derived from"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			stdout, _, err := run(t, tc.stdin, tc.args...)
			if err == nil || !strings.Contains(err.Error(), tc.want) || exit.Code(err) != tc.code || stdout != "" {
				t.Errorf("error %v with code %d, and %q was written", err, exit.Code(err), stdout)
			}
		})
	}
}

func TestDiff(t *testing.T) {
	group := "apps"
	policy := func(path string, verbs ...string) *v1alpha1.AllowancePolicy {
		p := &v1alpha1.AllowancePolicy{}
		p.Name = "kro-webapp"
		p.Spec.Rules = []v1alpha1.Rule{{Trigger: "spec.image", Policies: []v1alpha1.PolicyEntry{{
			Target: v1alpha1.Target{APIGroup: &group, APIVersion: "v1", Resource: "deployments"},
			Verbs:  verbs, Mutations: []v1alpha1.FieldMutation{{JSONPath: path}},
		}}}}
		return p
	}
	said, same := derive.Diff(policy("spec.a", "Update"), policy("spec.a"), text.Terminal{})
	if !same || said != "AllowancePolicy kro-webapp allows what is derived\n" {
		t.Errorf("Diff() = %q, %t", said, same)
	}
	said, same = derive.Diff(policy("spec.a"), policy("spec.b", "Create", "Update"), text.Terminal{})
	const want = `AllowancePolicy kro-webapp differs from what is derived
- spec.image: Create deployments.apps
+ spec.image: Update deployments.apps spec.a
- spec.image: Update deployments.apps spec.b
`
	if diff := cmp.Diff(want, said); same || diff != "" {
		t.Errorf("Diff() (-want +got):\n%s", diff)
	}
}

// TestMisnamed shows that what is ours and has no such name is not passed over.
func TestMisnamed(t *testing.T) {
	const in = "apiVersion: kausality.io/v1beta1\nkind: GeneratingPolicy\n"
	stdout, stderr, err := run(t, in, "-f", "-")
	const want = "kind GeneratingPolicy is of kausality.io/v1alpha1"
	if err == nil || stdout != "" || !strings.Contains(stderr, "<stdin>:1") || !strings.Contains(stderr, want) {
		t.Errorf("%v, writes %q and tells %q; want an error at <stdin>:1 with %q", err, stdout, stderr, want)
	}
}
