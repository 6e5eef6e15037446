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

package cluster

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"kausality.io/operator/internal/cli/exit"
)

func TestOneObject(t *testing.T) {
	for args, several := range map[string]bool{
		"":                           false,
		"deployment/a":               false,
		"deployment a":               false,
		"deployment/a deployment/b":  true,
		"deployment/a b":             true,
		"deployment a b":             true,
		"deployment a deployment/b":  true,
		"deployment/a configmap/b c": true,
	} {
		err := OneObject(&cobra.Command{Use: "why [KIND/NAME]"}, strings.Fields(args))
		if (err != nil) != several {
			t.Errorf("%q: %v, want several: %v", args, err, several)
		}
		if err != nil && (exit.Code(err) != exit.Usage || !strings.Contains(err.Error(), "why takes one object")) {
			t.Errorf("%q: says %q with code %d", args, err, exit.Code(err))
		}
	}
}
