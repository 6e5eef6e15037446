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

package certs

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// TestLogger has conflicts of the rotator be no errors, and all else what it is.
func TestLogger(t *testing.T) {
	const message = "could not refresh CA and server certs"
	conflict := fmt.Errorf("writing: %w", apierrors.NewConflict(corev1.Resource("secrets"), "certificate", errors.New("modified")))
	tests := map[string]struct {
		name      string
		err       error
		verbosity int
		want      []string
	}{
		"a conflict of the rotator":     {name: rotationLogger, err: conflict},
		"a conflict that is asked for":  {name: rotationLogger, err: conflict, verbosity: 1, want: []string{"info"}},
		"another error of the rotator":  {name: rotationLogger, err: errors.New("broken"), want: []string{"error"}},
		"a conflict of somebody else":   {name: "admission", err: conflict, want: []string{"error"}},
		"a conflict outside of loggers": {err: conflict, want: []string{"error"}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			var got []string
			log := Logger(funcr.New(func(_, args string) {
				kind := "error"
				if strings.Contains(args, `"level"=`) {
					kind = "info"
				}
				if !strings.Contains(args, message) {
					t.Errorf("logged %q, which does not say what happened", args)
				}
				got = append(got, kind)
			}, funcr.Options{Verbosity: tc.verbosity}))
			if tc.name != "" {
				log = log.WithName(tc.name)
			}
			log.Error(tc.err, message)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("logged (-want +got):\n%s", diff)
			}
		})
	}
}
