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

package builders

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"sigs.k8s.io/yaml"

	"kausality.io/operator/api/v1alpha1"
)

// SamplePolicies returns the policies that real Deployments roll under, of the repository at root.
func SamplePolicies(root string) ([]*v1alpha1.AllowancePolicy, error) {
	files, err := filepath.Glob(filepath.Join(root, "config", "samples", "kausality_v1alpha1_allowancepolicy_*.yaml"))
	if err != nil {
		return nil, err
	}
	if len(files) == 0 {
		return nil, errors.New("there are no sample policies: name the root of the repository with -root")
	}
	var out []*v1alpha1.AllowancePolicy
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		p := &v1alpha1.AllowancePolicy{}
		if err := yaml.UnmarshalStrict(text, p); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		out = append(out, p)
	}
	return out, nil
}
