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

package trace

import (
	"cmp"
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/cli/cluster"
	"kausality.io/operator/internal/generate"
	"kausality.io/operator/internal/generate/plan"
)

// Made is an object that a GeneratingPolicy made because of the one that was asked about.
type Made struct {
	// Object that was made.
	Object v1alpha1.GeneratingReference `json:"object"`
	// Policy that made it.
	Policy string `json:"policy"`
	// For says what the one that was asked about is to it: its policy, trigger or source.
	For Role `json:"for"`
}

// Role is what an object is to one that was made.
type Role string

const (
	rolePolicy  Role = "policy"
	roleTrigger Role = "trigger"
	roleSource  Role = "source"
)

// madeBecauseOf returns the objects that policies made because of the target.
func madeBecauseOf(ctx context.Context, c *cluster.Cluster, target cluster.Target) ([]Made, error) {
	policies, err := c.GeneratingPolicies(ctx)
	if err != nil {
		return nil, err
	}
	of := generate.ID{Group: target.GVK.Group, Kind: target.GVK.Kind, Namespace: target.Namespace, Name: target.Name}
	var out []Made
	for i := range policies {
		p := &policies[i]
		if of.GroupKind() == generatingKind && of.Name != p.Name {
			continue
		}
		for _, kind := range p.Status.Kinds {
			made, err := c.MadeBy(ctx, p.Name, schema.GroupVersionKind(kind))
			if err != nil {
				return nil, err
			}
			for id, marks := range made {
				if role, ok := roleOf(of, marks); ok {
					out = append(out, Made{Object: v1alpha1.GeneratingReference(id), Policy: p.Name, For: role})
				}
			}
		}
	}
	slices.SortFunc(out, func(a, b Made) int {
		return cmp.Or(cmp.Compare(a.Policy, b.Policy), generate.ID(a.Object).Compare(generate.ID(b.Object)))
	})
	return out, nil
}

// roleOf says what an object is to one that was made, and whether it has to do with it.
func roleOf(object generate.ID, marks *plan.Marks) (Role, bool) {
	switch {
	case object.GroupKind() == generatingKind && object.Name == marks.Policy.Name:
		return rolePolicy, true
	case slices.ContainsFunc(marks.Triggers, func(by generate.ID) bool { return by.Of() == object }):
		return roleTrigger, true
	case marks.Source != nil && *marks.Source == object:
		return roleSource, true
	default:
		return "", false
	}
}
