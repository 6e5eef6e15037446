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

package composition

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/upgrade"
)

// Compositions knows which revision of its Composition a composite resource is composed by.
type Compositions struct{ *Revisions }

// Of implements upgrade.Source.
func (c Compositions) Of(ctx context.Context, r upgrade.Request) ([]upgrade.Version, error) {
	name := c.named(r.Parent)
	if name == "" {
		return nil, nil
	}
	found, why, err := c.get(ctx, name)
	if err != nil {
		return nil, err
	}
	v := version(name, found)
	v.Unknown = why
	return []upgrade.Version{v}, nil
}

// Named implements upgrade.Leaver.
func (c Compositions) Named(obj *unstructured.Unstructured) string { return c.named(obj) }

// Left implements upgrade.Leaver.
func (c Compositions) Left(ctx context.Context, before, after *unstructured.Unstructured) (left, next upgrade.Version, ok bool) {
	old, now := c.named(before), c.named(after)
	if old == "" || old == now {
		return upgrade.Version{}, upgrade.Version{}, false
	}
	// What cannot be read is known by its name.
	was, _, _ := c.get(ctx, old)
	is, _, _ := c.get(ctx, now)
	return version(old, was), version(now, is), true
}

func version(name string, r revision) upgrade.Version {
	return upgrade.Version{Trigger: v1alpha1.UpgradeOfComposition, Revision: name, Digest: r.digest, Created: r.created}
}
