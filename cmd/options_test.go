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
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/client-go/util/cert"
)

// TestWebhookClients shows which files and names of clients are refused at the start, by which
// flag and file.
func TestWebhookClients(t *testing.T) {
	dir := t.TempDir()
	good, bad, absent := filepath.Join(dir, "good"), filepath.Join(dir, "bad"), filepath.Join(dir, "absent")
	certificate, _, err := cert.GenerateSelfSignedCertKey("authority", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	for file, content := range map[string][]byte{good: certificate, bad: []byte("nope")} {
		if err := os.WriteFile(file, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const ca, names = "--webhook-client-ca-file", "--webhook-client-names"
	for name, tc := range map[string]struct {
		flags []string
		want  []string // parts of the error
	}{
		"none":                  {},
		"authorities":           {flags: []string{ca, good}},
		"authorities and names": {flags: []string{ca, good, names, "a, b"}},
		"no such file":          {flags: []string{ca, absent}, want: []string{ca, absent, "no such file"}},
		"garbage":               {flags: []string{ca, bad}, want: []string{ca, bad, "no PEM-encoded certificate"}},
		"a directory":           {flags: []string{ca, dir}, want: []string{ca, dir}},
		"names alone":           {flags: []string{names, "a"}, want: []string{names, "says nothing without " + ca}},
		"names that are none":   {flags: []string{ca, good, names, ", "}, want: []string{names, "names nobody"}},
	} {
		t.Run(name, func(t *testing.T) {
			opts := options{}
			flags := flag.NewFlagSet("manager", flag.ContinueOnError)
			flags.SetOutput(io.Discard)
			opts.bind(flags)
			if err := flags.Parse(tc.flags); err != nil {
				t.Fatal(err)
			}
			err := opts.validate()
			if (err != nil) != (len(tc.want) > 0) {
				t.Fatalf("%v, want an error: %v", err, len(tc.want) > 0)
			}
			for _, part := range tc.want {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("%q does not have %q", err, part)
				}
			}
			if asks := opts.webhookClients.Authorities != nil; err == nil && asks != (len(tc.flags) > 0) {
				t.Errorf("a certificate is asked for: %v", asks)
			}
		})
	}
}
