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
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	"kausality.io/operator/internal/change"
	"kausality.io/operator/internal/discovery"
)

// errOutdated says that an object has been written since the request was begun. The API server
// does not store the request then, and asks again if it begins it anew.
var errOutdated = fmt.Errorf("the object is another one by now: %w", errNothingToJudge)

// findLost replaces the objects of a request that came in another version than policies name, where that may lack
// fields of the object: neither the old object nor the new one of such a request has these, as the API server
// decodes what it has stored in the version of the request before anybody is asked. The old one becomes what the
// version of the policies has of it, and the new one what it will read. What cannot be read is noted: a refusal
// stands without it.
func (g *Gatherer) findLost(ctx context.Context, r *request, requested string) error {
	if r.old == nil || r.subresource == subresourceScale {
		return nil
	}
	losing := g.Kinds.Losing(r.resource, requested)
	if losing == nil {
		return nil
	}
	was, err := g.asStored(ctx, r, r.old.GetResourceVersion())
	if err != nil {
		return r.noteUnread(err)
	}
	r.uncounted = r.new != nil && sameContent(r.old, r.new)
	before := losing.Read(was.Object)
	r.noteLost(requested, before, losing.Read(r.old.Object), g.Kinds.Schema(r.gvk))
	r.old = withContent(r.old, before)
	if losing.Converted {
		r.old.Object[fieldMetadata] = metadataAsRead(was, r.old)
	}
	if r.new != nil {
		r.new = withContent(r.new, losing.Read(r.new.Object))
	}
	return nil
}

// noteLost notes what an object loses that is sent in a version.
func (r *request) noteLost(requested string, was, sent map[string]any, declared change.Schema) {
	r.version = requested
	r.lost = change.Find(was, sent, change.Options{Schema: declared})
}

// noteUnread notes that the object could not be read as it is. It returns the error where there is nothing to judge.
func (r *request) noteUnread(err error) error {
	if errors.Is(err, errNothingToJudge) {
		return err
	}
	r.unread = err
	return nil
}

// asStored returns the object of a request in the version that policies name, as it is before the request: from the
// cache where that has it at a resource version, else from the API server.
func (g *Gatherer) asStored(ctx context.Context, r *request, found string) (*unstructured.Unstructured, error) {
	key := types.NamespacedName{Namespace: r.namespace, Name: r.objectName()}
	uid := r.old.GetUID()
	if obj, err := g.Objects.Get(ctx, r.gvk, key); err == nil && obj.GetUID() == uid && obj.GetResourceVersion() == found {
		return obj, nil
	}
	doubtLost.read()
	obj, err := g.Objects.Live(ctx, r.gvk, key)
	return isStill(obj, err, uid, found)
}

// isStill returns an object that was read, if it is the one that a request is about, at the same resource version.
func isStill(obj *unstructured.Unstructured, err error, uid types.UID, found string) (*unstructured.Unstructured, error) {
	switch {
	case apierrors.IsNotFound(err):
		return nil, errOutdated
	case err != nil:
		return nil, fmt.Errorf("reading what the version of the request does not have: %w", err)
	case obj.GetUID() != uid:
		return nil, errOutdated
	case obj.GetResourceVersion() == found:
		return obj, nil
	}
	if order, err := resourceversion.CompareResourceVersion(obj.GetResourceVersion(), found); err == nil && order > 0 {
		return nil, errOutdated
	}
	return nil, fmt.Errorf("%s %s/%s was read as it was before, and not as the request found it", obj.GetKind(), obj.GetNamespace(), obj.GetName())
}

// sameContent reports whether two objects differ in nothing that counts up a generation.
func sameContent(a, b *unstructured.Unstructured) bool {
	return equality.Semantic.DeepEqual(counting(a), counting(b))
}

// counting returns an object without its metadata and status.
func counting(obj *unstructured.Unstructured) map[string]any {
	content := maps.Clone(obj.Object)
	delete(content, fieldMetadata)
	delete(content, subresourceStatus)
	return content
}

// withContent returns an object with other content than it has.
func withContent(obj *unstructured.Unstructured, content map[string]any) *unstructured.Unstructured {
	content = maps.Clone(content)
	for _, field := range []string{"apiVersion", "kind", fieldMetadata} {
		delete(content, field)
		if value, ok := obj.Object[field]; ok {
			content[field] = value
		}
	}
	return &unstructured.Unstructured{Object: content}
}

// metadataAsRead returns the metadata of an object that was read, with what is left out of those that are cached
// as the request has it: conversion webhooks keep fields in annotations.
func metadataAsRead(read, sent *unstructured.Unstructured) map[string]any {
	held, _ := read.Object[fieldMetadata].(map[string]any)
	out := &unstructured.Unstructured{Object: map[string]any{fieldMetadata: maps.Clone(held)}}
	out.SetManagedFields(sent.GetManagedFields())
	if applied, ok := sent.GetAnnotations()[corev1.LastAppliedConfigAnnotation]; ok {
		annotations := out.GetAnnotations() // a copy
		if annotations == nil {
			annotations = map[string]string{}
		}
		annotations[corev1.LastAppliedConfigAnnotation] = applied
		out.SetAnnotations(annotations)
	}
	held, _ = out.Object[fieldMetadata].(map[string]any)
	return held
}

// statusLost replaces the objects of a status write in a version that alone has a status, where that lacks fields.
// Nothing tells what a webhook would convert such an object to.
func (g *Gatherer) statusLost(ctx context.Context, r *request, requested string) (replaced bool, err error) {
	losing := g.Kinds.Losing(r.resource, requested)
	if losing == nil || losing.Converted {
		return false, nil
	}
	was, err := g.asStored(ctx, r, r.old.GetResourceVersion())
	if err != nil {
		return false, r.noteUnread(err)
	}
	r.replace(requested, losing, was, r.old.Object, r.new.Object, g.Kinds.Schema(r.gvk))
	return true, nil
}

// replace makes the objects of a request what the version of the policies reads of them before and after it. sent and
// written are what another version has of them, in which the fields are called the same.
func (r *request) replace(requested string, losing *discovery.Losing, was *unstructured.Unstructured, sent, written map[string]any, declared change.Schema) {
	before := losing.Read(was.Object)
	r.noteLost(requested, before, losing.Read(sent), declared)
	after := withContent(was, losing.Read(written))
	if metadata, ok := written[fieldMetadata]; ok {
		after.Object[fieldMetadata] = metadata
	}
	metadata := r.old.Object[fieldMetadata]
	r.old, r.new = withContent(was, before), after
	r.old.Object[fieldMetadata] = metadata
}

// scaleLost replaces the objects behind a scale in a version that lacks fields of them. Nothing tells what a webhook
// would convert such an object to.
func (v *Validator) scaleLost(ctx context.Context, r *request, requested, found string) error {
	losing := v.Kinds.Losing(r.resource, requested)
	if losing == nil || losing.Converted {
		return nil
	}
	was := r.old // What is behind the scale may be that already.
	if was.GetResourceVersion() != found {
		var err error
		if was, err = v.asStored(ctx, r, found); err != nil {
			return r.noteUnread(err)
		}
	}
	doubtLost.read()
	gvk := r.gvk
	gvk.Version = requested
	older, err := v.Objects.LiveIn(ctx, gvk, types.NamespacedName{Namespace: r.namespace, Name: r.name})
	if older, err = isStill(older, err, was.GetUID(), found); err != nil {
		return r.noteUnread(err)
	}
	before, after := losing.Read(was.Object), losing.Read(older.Object)
	r.noteLost(requested, before, after, v.Kinds.Schema(r.gvk))
	r.old, r.new = withContent(was, before).DeepCopy(), withContent(was, after).DeepCopy()
	return nil
}

// lossWarnings returns what a requester is told whose request loses fields.
func (r *request) lossWarnings() []string {
	const most = 8
	var removed, reset []string
	for i, c := range r.lost {
		switch {
		case i == most:
			return []string{r.lossWarning(removed, reset, len(r.lost)-most)}
		case c.Verb == change.Delete:
			removed = append(removed, c.Path.String())
		default:
			reset = append(reset, c.Path.String())
		}
	}
	if len(r.lost) == 0 {
		return nil
	}
	return []string{r.lossWarning(removed, reset, 0)}
}

// lossWarning says which fields an object loses, and of which others it gets the default.
func (r *request) lossWarning(removed, reset []string, more int) string {
	var what []string
	if len(removed) > 0 {
		what = append(what, "removes "+strings.Join(removed, ", "))
	}
	if len(reset) > 0 {
		what = append(what, "resets "+strings.Join(reset, ", "))
	}
	if more > 0 {
		what = append(what, fmt.Sprintf("loses %d more", more))
	}
	return fmt.Sprintf("kausality: this request for %s in version %s also %s, which that version does not have; use version %s",
		objectText(r.gvk.Kind, r.objectName()), r.version, strings.Join(what, " and "), r.resource.Version)
}
