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
	"context"
	"errors"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/wait"
)

// endings is a rotation that ends with an error each time it is started, until there is none left.
type endings []error

func (*endings) NeedLeaderElection() bool { return true }

func (e *endings) Start(context.Context) error {
	if len(*e) == 0 {
		return nil
	}
	err := (*e)[0]
	*e = (*e)[1:]
	return err
}

func TestRotationThatCannotBegin(t *testing.T) {
	t.Parallel()
	missing := fmt.Errorf("acquiring secret: %w", apierrors.NewNotFound(corev1.Resource("secrets"), "certificate"))
	unmounted := errors.New("could not mount certs")
	tests := map[string]struct {
		endings endings
		want    error
		left    int
	}{
		"begins at once":               {},
		"the Secret is deleted":        {endings: endings{missing}},
		"the Secret cannot be written": {endings: endings{wait.ErrorInterrupted(errors.New("timed out"))}},
		"it ends once it has begun":    {endings: endings{unmounted, missing}, want: unmounted, left: 1},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := persistent{&tc.endings}.Start(t.Context())
			if !errors.Is(err, tc.want) || len(tc.endings) != tc.left {
				t.Errorf("got %v with %d endings left, want %v with %d", err, len(tc.endings), tc.want, tc.left)
			}
		})
	}
	t.Run("the operator stops meanwhile", func(t *testing.T) {
		t.Parallel()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := (persistent{&endings{missing, missing}}).Start(ctx); err != nil {
			t.Errorf("got %v, want nil: whoever stops it is not told of an error", err)
		}
	})
}
