//go:build linux

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

package command

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"kausality.io/operator/internal/cli/exit"
)

func TestCheck(t *testing.T) {
	const root = "warning: /runtime.v1.RuntimeService/RunPodSandbox is worth root on the node"
	for name, c := range map[string]struct {
		text  string
		flags []string
		code  int
		out   []string
		err   string
	}{
		"a good file": {
			text: "- method: /runtime.v1.RuntimeService/Version\n  action: allow\n",
			out: []string{
				"/runtime.v1.RuntimeService/Version\n  allow by rule 1 (line 1)\n",
				"/runtime.v1.RuntimeService/Exec\n  deny: no rule allows it\n",
			},
		},
		"a bad file":              {text: "- method: Version\n", code: exit.Findings, err: ":1: a rule needs \"action\""},
		"a warning":               {text: "- method: /*/RunPodSandbox\n  action: allow\n", out: []string{root}},
		"a warning as an error":   {text: "- method: /*/RunPodSandbox\n  action: allow\n", flags: []string{"--strict"}, code: exit.Findings, out: []string{root}, err: "there are warnings"},
		"a file that is too long": {text: strings.Repeat("#", 2<<20), code: exit.Findings, err: "may have 1048576"},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "rules.yaml")
			if err := os.WriteFile(file, []byte(c.text), 0o600); err != nil {
				t.Fatal(err)
			}
			streams, _, out, _ := genericiooptions.NewTestIOStreams()
			cmd := New(streams)
			cmd.SetArgs(append([]string{"check", file}, c.flags...))
			err := cmd.Execute()
			if diff := cmp.Diff(c.code, exit.Code(err)); diff != "" {
				t.Errorf("%v: %s", err, diff)
			}
			if err != nil && !strings.Contains(err.Error(), c.err) {
				t.Errorf("the error %v lacks %q", err, c.err)
			}
			for _, part := range c.out {
				if !strings.Contains(out.String(), part) {
					t.Errorf("the output lacks %q:\n%s", part, out)
				}
			}
		})
	}
}

func TestCheckOfNoFile(t *testing.T) {
	cmd := New(genericiooptions.NewTestIOStreamsDiscard())
	cmd.SetArgs([]string{"check", filepath.Join(t.TempDir(), "none.yaml")})
	if got := exit.Code(cmd.Execute()); got != exit.Usage {
		t.Errorf("exit code %d", got)
	}
}
