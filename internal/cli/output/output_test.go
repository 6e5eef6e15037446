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

package output_test

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"kausality.io/operator/internal/cli/output"
	"kausality.io/operator/internal/cli/text"
)

func TestWrite(t *testing.T) {
	tests := map[string]struct {
		args    []string
		want    string
		wantErr string
	}{
		"text":    {want: "short"},
		"wide":    {args: []string{"-o", "wide"}, want: "long"},
		"yaml":    {args: []string{"-o", "yaml"}, want: "apiVersion: cli.kausality.io/v1alpha1\nkind: Finding\nname: web\n"},
		"unknown": {args: []string{"-o", "xml"}, wantErr: "--output=xml is none of json, kyaml, wide, yaml"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			flags, cmd := output.NewFlags(), &cobra.Command{}
			flags.AddTo(cmd)
			if err := cmd.ParseFlags(tc.args); err != nil {
				t.Fatal(err)
			}
			var out bytes.Buffer
			found := &struct {
				Name string `json:"name"`
			}{Name: "web"}
			err := flags.Write(&out, "Finding", found, func(text.Terminal) string {
				if flags.Wide() {
					return "long"
				}
				return "short"
			})
			got := ""
			if err != nil {
				got = err.Error()
			}
			if diff := cmp.Diff([]string{tc.want, tc.wantErr}, []string{out.String(), got}); diff != "" {
				t.Errorf("Write: -want, +got:\n%s", diff)
			}
		})
	}
}
