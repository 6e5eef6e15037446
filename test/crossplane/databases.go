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

package crossplane

import (
	"context"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kausality.io/operator/test/controlplane"
)

// DatabaseGroup is the group of the databases that Start offers.
const DatabaseGroup = "example.com"

// Databases returns what defines databases in the given group, with what they are
// composed of: kinds DatabaseClaim and XDatabase, whose instances are cluster-scoped,
// and the namespaced kind Database, whose instances are, too. Policies of a spec that
// are about a group of its own meet nobody else's databases.
func Databases(group string) ([]*unstructured.Unstructured, error) {
	content, err := manifests.ReadFile("manifests/databases.yaml")
	if err != nil {
		return nil, err
	}
	return controlplane.Decode([]byte(strings.ReplaceAll(string(content), DatabaseGroup, group)))
}

// offerDatabases lets people have databases.
func (in *installation) offerDatabases(ctx context.Context) error {
	objects, err := Databases(DatabaseGroup)
	if err != nil {
		return err
	}
	return in.cp.Apply(ctx, objects)
}
