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

package catalog

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
	logf "sigs.k8s.io/controller-runtime/pkg/log"

	"kausality.io/operator/internal/gate"
	"kausality.io/operator/internal/policy"
	"kausality.io/operator/internal/record"
)

// gated returns the kinds whose objects are watched for their gates: those that External
// entries of policies may be about, and those that linger.
func (r *Reconciler) gated(ctx context.Context, policies []*policy.Policy) []schema.GroupVersionKind {
	behind := r.Gates.Behind(ctx, policies...)
	out := make([]schema.GroupVersionKind, 0, len(behind)+len(r.lingering))
	for _, resource := range behind {
		out = append(out, resource.GVK)
	}
	for _, kind := range r.lingering {
		if _, served := r.Kinds.ByKind(kind); !served && r.Kinds.Known() {
			continue // Its objects went with it; records outlive them.
		}
		if !slices.ContainsFunc(out, func(k schema.GroupVersionKind) bool { return k.GroupKind() == kind.GroupKind() }) {
			out = append(out, kind)
		}
	}
	r.watchedGates = out
	return out
}

// stillGated returns the kinds of which some object is as its gate left it, with the provider
// that such an object notes. Before the
// first look, which may come after a policy went while nobody watched, records tell:
// each such object has one.
func (r *Reconciler) stillGated(ctx context.Context) map[schema.GroupVersionKind][]string {
	out := map[schema.GroupVersionKind][]string{}
	if !r.Catalog.Begun() {
		for _, kind := range r.recorded(ctx) {
			out[kind] = nil
		}
		return out
	}
	for _, kind := range r.watchedGates {
		for obj, err := range r.Holders.List(ctx, kind) {
			if err != nil {
				out[kind] = nil
				break
			}
			if state := gate.ReadState(obj.GetAnnotations()); state.Adopted() {
				out[kind] = []string{state.Provider}
				break
			}
		}
	}
	return out
}

// recorded returns the kinds of which an object under its gate has a record.
func (r *Reconciler) recorded(ctx context.Context) []schema.GroupVersionKind {
	records, err := r.Records.Gated(ctx)
	if err != nil {
		logf.FromContext(ctx).Error(err, "Cannot tell which objects have a gate that no policy asks for any more")
		return nil
	}
	var out []schema.GroupVersionKind
	for i := range records {
		if kind := record.GVK(records[i].Spec.TargetRef); !slices.Contains(out, kind) {
			out = append(out, kind)
		}
	}
	return out
}
