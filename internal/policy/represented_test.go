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

package policy

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kausality.io/operator/internal/change"
)

func TestAsField(t *testing.T) {
	autoscaler := func(version string) schema.GroupVersionKind {
		return schema.GroupVersionKind{Group: "autoscaling", Version: version, Kind: "HorizontalPodAutoscaler"}
	}
	const metrics, behavior = "metadata.annotations[autoscaling.alpha.kubernetes.io/metrics]", "metadata.annotations[autoscaling.alpha.kubernetes.io/behavior]"
	tests := map[string]struct {
		kind       schema.GroupVersionKind
		path, want string
	}{
		"metrics":                    {autoscaler("v1"), metrics, "spec.metrics"},
		"behavior":                   {autoscaler("v1"), behavior, "spec.behavior"},
		"a field is one":             {autoscaler("v1"), "spec.maxReplicas", "spec.maxReplicas"},
		"what stands for the status": {autoscaler("v1"), "metadata.annotations[autoscaling.alpha.kubernetes.io/conditions]", "metadata.annotations[autoscaling.alpha.kubernetes.io/conditions]"},
		"in the version that has it": {autoscaler("v2"), metrics, metrics},
		"the same on any other kind": {schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}, metrics, metrics},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			path, err := change.ParsePath(tt.path)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, AsField(tt.kind, change.Change{Path: path}).Path.String()); diff != "" {
				t.Errorf("path (-want +got):\n%s", diff)
			}
		})
	}
}
