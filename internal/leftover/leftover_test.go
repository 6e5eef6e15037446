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

package leftover

import (
	"flag"
	"io"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCheck(t *testing.T) {
	for name, tc := range map[string]struct {
		arguments []string
		want      string
	}{
		"nothing is left": {arguments: []string{"--namespace", "kausality-system", "--leader-elect=false"}},
		"flags end":       {arguments: []string{"--leader-elect", "--"}},
		"a value of a flag that is true or false": {
			arguments: []string{"--namespace", "false", "--leader-elect", "false", "--nope"},
			want: `"false" "--nope": no flag takes this, and what is behind it is not read as flags; ` +
				"a flag that is true or false has its value behind a =: write --leader-elect=false",
		},
		"a value behind two flags": {
			arguments: []string{"--leader-elect=true", "false"},
			want: `"false": no flag takes this, and what is behind it is not read as flags; ` +
				"a flag that is true or false has its value behind a =: write --flag=false",
		},
		"a word": {
			arguments: []string{"serve", "--leader-elect"},
			want: `"serve" "--leader-elect": no flag takes this, and what is behind it is not read as flags; ` +
				"remove it, or write the flag that it belongs to before it",
		},
		"flags behind the end of flags": {
			arguments: []string{"--", "--leader-elect"},
			want: `"--leader-elect": no flag takes this, and what is behind it is not read as flags; ` +
				"remove it, or write the flag that it belongs to before it",
		},
	} {
		t.Run(name, func(t *testing.T) {
			flags := flag.NewFlagSet("manager", flag.ContinueOnError)
			flags.SetOutput(io.Discard)
			flags.Bool("leader-elect", false, "")
			flags.String("namespace", "", "")
			if err := flags.Parse(tc.arguments); err != nil {
				t.Fatal(err)
			}
			got := ""
			if err := Check(tc.arguments, flags.Args()); err != nil {
				got = err.Error()
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestRefuse(t *testing.T) {
	for name, tc := range map[string]struct {
		arguments []string
		want      string
	}{
		"none":    {},
		"a value": {[]string{"false"}, `"false": no flag takes this; a flag that is true or false has its value behind a =: write --flag=false`},
		"a word":  {[]string{"rules", "on"}, `"rules" "on": no flag takes this; remove it, or write the flag that it belongs to before it`},
	} {
		got := ""
		if err := Refuse(tc.arguments); err != nil {
			got = err.Error()
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
