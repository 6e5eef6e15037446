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
	"context"
	"encoding/json"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/internal/generate/plan"
)

// bare applies the clones with another value, as Kausality does, and returns how long that takes. Nobody else does
// anything meanwhile: less than that a change of the source cannot take on this machine.
func (s *stage) bare(ctx context.Context, value string) (phase, error) {
	_, clones, err := s.secrets(ctx)
	if err != nil {
		return phase{}, err
	}
	group, groupCtx := errgroup.WithContext(ctx)
	group.SetLimit(*writers)
	began := time.Now()
	for i := range clones {
		clone := &clones[i]
		group.Go(func() error {
			text, err := json.Marshal(map[string]any{
				"apiVersion": "v1", "kind": "Secret", "type": clone.Object["type"], "stringData": map[string]string{sourceKey: value},
				"metadata": map[string]any{
					"namespace": clone.GetNamespace(), "name": clone.GetName(), "labels": clone.GetLabels(), "annotations": clone.GetAnnotations(),
				},
			})
			if err != nil {
				return err
			}
			return s.admin.Patch(groupCtx, clone, client.RawPatch(types.ApplyPatchType, text), client.ForceOwnership, client.FieldOwner(plan.FieldManager))
		})
	}
	if err := group.Wait(); err != nil {
		return phase{}, fmt.Errorf("applying the clones: %w", err)
	}
	return phase{Seconds: time.Since(began).Seconds()}, nil
}
