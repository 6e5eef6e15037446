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

package main

import (
	"testing"
)

func TestQuoted(t *testing.T) {
	tests := map[string]struct {
		args []string
		want string
	}{
		"plain":      {args: []string{"get", "deployment/web", "--replicas=3"}, want: "get deployment/web --replicas=3"},
		"a glob":     {args: []string{"kausality.io/approve=*"}, want: "'kausality.io/approve=*'"},
		"JSON":       {args: []string{"-p", `{"spec":{"replicas":7}}`}, want: `-p '{"spec":{"replicas":7}}'`},
		"whitespace": {args: []string{"a b"}, want: "'a b'"},
		"a quote":    {args: []string{"it's"}, want: `'it'\''s'`},
		"nothing":    {args: []string{""}, want: "''"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if got := quoted(tc.args); got != tc.want {
				t.Errorf("got %s, want %s", got, tc.want)
			}
		})
	}
}

func TestAnswer(t *testing.T) {
	tests := map[string]struct {
		want      answer
		out       string
		succeeded bool
		ok        bool
	}{
		"nothing asked":          {succeeded: true, ok: true},
		"said, spaced otherwise": {want: answer{says: []string{"web 5/5"}}, out: "NAME  READY\nweb   5/5\n", succeeded: true, ok: true},
		"not said":               {want: answer{says: []string{"web 5/5"}}, out: "web 4/5", succeeded: true},
		"refused as wanted":      {want: answer{refused: true, says: []string{"Forbidden"}}, out: "Error (Forbidden)", ok: true},
		"not refused":            {want: answer{refused: true}, succeeded: true},
		"refused unexpectedly":   {out: "Forbidden"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if err := tc.want.check(tc.out, tc.succeeded); (err == nil) != tc.ok {
				t.Errorf("got %v", err)
			}
		})
	}
}
