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

package generating

import (
	"context"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kausality.io/operator/internal/generate"
)

// snapshot reads from caches for one evaluation what the policy's service account may read.
type snapshot struct {
	ctx    context.Context //nolint:containedctx // a Snapshot is asked within one evaluation, which has that context
	of     *entry
	served *served
	from   *watches
	rights *reviews
	// followed are the kinds that were read.
	followed func(schema.GroupVersionKind)
}

var _ generate.Snapshot = snapshot{}

// KindOf implements generate.Snapshot.
func (s snapshot) KindOf(of schema.GroupVersionResource) (schema.GroupVersionKind, bool, error) {
	r, ok, err := s.served.ofResource(of)
	return r.gvk, ok, err
}

// IsNamespaced implements generate.Snapshot.
func (s snapshot) IsNamespaced(kind schema.GroupVersionKind) (namespaced, served bool, err error) {
	r, ok, err := s.served.ofKind(kind)
	return r.namespaced, ok, err
}

// Get implements generate.Snapshot.
func (s snapshot) Get(of schema.GroupVersionResource, namespace, name string) (map[string]any, error) {
	r, err := s.follow(of, namespace, name)
	if err != nil {
		return nil, err
	}
	found, err := s.from.get(s.ctx, r.gvk, namespace, name)
	if err != nil || found == nil {
		return nil, err
	}
	return found.Object, nil
}

// List implements generate.Snapshot.
func (s snapshot) List(of schema.GroupVersionResource, namespace string, selector labels.Selector) ([]map[string]any, error) {
	r, err := s.follow(of, namespace, "")
	if err != nil {
		return nil, err
	}
	found, err := s.from.list(s.ctx, r.gvk, namespace, selector)
	if err != nil {
		return nil, err
	}
	out := make([]map[string]any, 0, len(found))
	for i := range found {
		out = append(out, found[i].Object)
	}
	return out, nil
}

// follow asks whether the service account may read, and watches what it reads.
func (s snapshot) follow(of schema.GroupVersionResource, namespace, name string) (resource, error) {
	r := s.served.byGVR[of]
	if err := s.rights.requireRead(s.ctx, s.of.account, of.GroupResource(), namespace, name); err != nil {
		return r, err
	}
	s.followed(r.gvk)
	if err := s.from.follow(s.ctx, r, s.of.Name); err != nil {
		return r, err
	}
	return r, s.from.current(r.gvk)
}
