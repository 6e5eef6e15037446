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

package admission

import (
	"context"
	"errors"
	"fmt"
	"maps"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"kausality.io/operator/internal/change"
	"kausality.io/operator/internal/decision"
	"kausality.io/operator/internal/record"
)

// errNothingBehind says that the object behind a sub-resource does not exist, so
// that there is nothing to judge; the API server will say so itself.
var errNothingBehind = fmt.Errorf("no object behind the sub-resource: %w", errNothingToJudge)

// decode reads a request. A scale becomes an update of the replicas of the object
// behind it, and an eviction the deletion of its Pod: admission sees only a Scale
// and an Eviction (D6, D11).
func (v *Validator) decode(ctx context.Context, req admission.Request) (*request, error) {
	r, err := v.Gatherer.decode(ctx, req, true)
	if err != nil {
		return nil, err
	}
	switch req.SubResource {
	case subresourceScale:
		err = v.behindScale(ctx, r, requestedVersion(req))
	case subresourceEviction:
		err = v.behindEviction(ctx, r)
	}
	return r, err
}

// requestedVersion returns the version that the requester used. The API server may have converted the request to
// another one for the webhook.
func requestedVersion(req admission.Request) string {
	if req.RequestResource == nil {
		return req.Resource.Version
	}
	return req.RequestResource.Version
}

func (v *Validator) behindScale(ctx context.Context, r *request, requested string) error {
	before, err := scaleReplicas(r.old)
	if err != nil {
		return fmt.Errorf("old scale of %s %s/%s: %w", r.resource.Resource, r.namespace, r.name, err)
	}
	after, err := scaleReplicas(r.new)
	if err != nil {
		return fmt.Errorf("scale of %s %s/%s: %w", r.resource.Resource, r.namespace, r.name, err)
	}
	r.resource = v.named(r.resource)
	uid, found := r.old.GetUID(), r.old.GetResourceVersion()
	behind, err := v.behind(ctx, r, func(obj *unstructured.Unstructured) bool { return obj.GetUID() == uid })
	if err != nil {
		return err
	}
	path, err := change.ParsePath(v.Kinds.ReplicasPath(r.resource, requested))
	if err != nil {
		return fmt.Errorf("replicas path of %s: %w", r.resource.Resource, err)
	}
	r.gvk = behind.GroupVersionKind()
	r.old, r.new = behind.DeepCopy(), behind.DeepCopy()
	if err := v.scaleLost(ctx, r, requested, found); err != nil {
		return err
	}
	if err := errors.Join(path.Set(r.old.Object, before), path.Set(r.new.Object, after)); err != nil {
		return fmt.Errorf("replicas of %s %s/%s: %w", r.gvk.Kind, r.namespace, r.name, err)
	}
	r.old.SetResourceVersion(found) // the cache may be behind
	r.scale = &record.Content{Path: path.String(), Value: after}
	if before != after {
		// The API server counts up the generation after this hook.
		r.new.SetGeneration(nextGeneration(r.old, nil, []change.Change{{Path: path, Verb: change.Mutate}}))
	}
	return nil
}

// named returns a resource in the version that policies name: a sub-resource may reach the webhook in another version,
// as the one that they name may have none.
func (g *Gatherer) named(resource schema.GroupVersionResource) schema.GroupVersionResource {
	kind, ok := g.Kinds.GroupKindFor(resource)
	if !ok {
		return resource
	}
	called, ok := g.Policies.Index().Called(kind)
	if !ok {
		return resource
	}
	if named, ok := g.Kinds.ResourceFor(called); ok {
		return named
	}
	return resource
}

// behindStatus replaces the objects of a status write, which came in another version than policies name, by the
// object as that version has it. Such a write changes the status alone, whose fields are assumed to be called the same
// in both versions: the API server converts an object, and nobody can ask it to convert a status.
func (g *Gatherer) behindStatus(ctx context.Context, r *request, requested string) error {
	if replaced, err := g.statusLost(ctx, r, requested); replaced || err != nil {
		return err
	}
	uid, generation := r.old.GetUID(), r.old.GetGeneration()
	behind, err := g.behind(ctx, r, func(obj *unstructured.Unstructured) bool {
		return obj.GetUID() == uid && obj.GetGeneration() == generation
	})
	if err != nil {
		return err
	}
	for _, obj := range []*unstructured.Unstructured{r.old, r.new} {
		content := maps.Clone(behind.Object)
		for _, field := range []string{fieldMetadata, "status"} {
			delete(content, field)
			if value, ok := obj.Object[field]; ok {
				content[field] = value
			}
		}
		obj.Object = content
	}
	return nil
}

func (v *Validator) behindEviction(ctx context.Context, r *request) error {
	behind, err := v.behind(ctx, r, func(*unstructured.Unstructured) bool { return true })
	if err != nil {
		return err
	}
	dryRun, _, err := unstructured.NestedStringSlice(r.new.Object, "deleteOptions", "dryRun")
	if err != nil {
		return fmt.Errorf("deleteOptions of the eviction of Pod %s/%s: %w", r.namespace, r.name, err)
	}
	// kubectl drain says so in the body, of which the API server does not tell.
	r.dryRun = r.dryRun || len(dryRun) > 0
	r.gvk = behind.GroupVersionKind()
	r.operation = decision.Delete
	r.old, r.new = behind, nil
	return nil
}

// behind reads the object behind a sub-resource: from the cache where it holds
// the very object, else from the API server.
func (g *Gatherer) behind(ctx context.Context, r *request, same func(*unstructured.Unstructured) bool) (*unstructured.Unstructured, error) {
	gvk, ok := g.Kinds.KindFor(r.resource)
	if !ok {
		return nil, errNothingBehind
	}
	key := types.NamespacedName{Namespace: r.namespace, Name: r.name}
	if obj, err := g.Objects.Get(ctx, gvk, key); err == nil && same(obj) {
		return obj, nil
	}
	doubtUncached.read()
	obj, err := g.Objects.Live(ctx, gvk, key)
	if apierrors.IsNotFound(err) {
		return nil, errNothingBehind
	}
	if err != nil {
		return nil, fmt.Errorf("reading %s %s: %w", gvk.Kind, key, err)
	}
	return obj, nil
}

func scaleReplicas(scale *unstructured.Unstructured) (int64, error) {
	if scale == nil {
		return 0, errors.New("the request carries none")
	}
	n, _, err := unstructured.NestedInt64(scale.Object, "spec", "replicas")
	if err != nil {
		return 0, errors.New("spec.replicas is not a number")
	}
	return n, nil
}
