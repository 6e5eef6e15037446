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
	"errors"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"kausality.io/operator/internal/generate"
	"kausality.io/operator/internal/generate/kept"
)

// old returns what an object was before a request that it keeps, nil where that has created it.
func (l *look) old(ctx context.Context, asked map[string]any) (map[string]any, error) {
	uid, _ := asked["uid"].(string)
	if uid == "" {
		return nil, nil
	}
	if err := l.kept.current(secretKind); err != nil {
		return nil, err
	}
	object, err := l.kept.get(ctx, secretKind, l.Namespace, kept.NameFor(types.UID(uid), l.of.UID))
	if err != nil {
		return nil, err
	}
	if object != nil {
		before, err := keptOn(object)
		if err == nil {
			return before.OldObject, nil
		}
	}
	return nil, &generate.Error{Reason: generate.ReasonRead, Detail: "the policy generates from what the trigger was before, and nobody has kept that: change the trigger"}
}

// settleOld drops what is kept of an object before requests other than the one that the object keeps: it is
// gone, was changed since, or a request failed. It reports whether to look again, as a request may be under
// way.
func (l *look) settleOld(ctx context.Context, trigger generate.ID, object *unstructured.Unstructured) (again bool, err error) {
	counts := ""
	if object != nil {
		uid, _ := l.Notary.RequestsOn(trigger, object)[l.of.Name]["uid"].(string)
		counts = kept.NameFor(types.UID(uid), l.of.UID)
	}
	var errs []error
	for _, name := range l.requests.secretsOf(request{l.of.Name, trigger}) {
		switch {
		case name == counts:
		case object != nil && l.Clock.Since(l.requests.seen(name)) < carriedOutWithin:
			again = true
		default:
			errs = append(errs, l.dropSecret(ctx, name))
		}
	}
	return again, errors.Join(errs...)
}
