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

package holder

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/controller/conditions"
	"kausality.io/operator/internal/controller/requeue"
	"kausality.io/operator/internal/record"
)

// reasonDenied is the reason of the condition.
const reasonDenied = "Denied"

// show brings what the holder shows up to date with b, which a look has found: nil where nothing is
// blocked.
func (r *Reconciler) show(ctx context.Context, v view, b *v1alpha1.Blocked, next *requeue.Soonest) error {
	shown, err := r.shownBlocked(ctx, v, b, next)
	if err != nil {
		return err
	}
	return r.showBlocked(ctx, v, shown, next)
}

// showBlocked shows on the holder whether it is blocked: one write when that
// begins, and one when it ends, which wakes controllers that have given up (D13).
func (r *Reconciler) showBlocked(ctx context.Context, v view, b *v1alpha1.Blocked, next *requeue.Soonest) error {
	patch := blockedPatch(v.obj, b)
	if patch == nil || !r.mayWrite(v.obj, next) {
		return nil
	}
	target := &unstructured.Unstructured{}
	target.SetGroupVersionKind(v.obj.GroupVersionKind())
	target.SetNamespace(v.obj.GetNamespace())
	target.SetName(v.obj.GetName())
	var err error
	if v.obj.GroupVersionKind().GroupKind() == conditions.Deployments {
		err = r.Status().Patch(ctx, target, client.RawPatch(types.StrategicMergePatchType, patch))
	} else {
		err = r.Patch(ctx, target, client.RawPatch(types.MergePatchType, patch))
	}
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("cannot show on %s %s whether a change of its children is blocked: %w",
			v.obj.GetKind(), client.ObjectKeyFromObject(v.obj), err)
	}
	return nil
}

// shownBlocked returns what the holder is to show: b where it shows that already, and what
// the API server has otherwise: a cached record may be older than the end of the block, and to show
// that again would wake whoever waits once more. Where somebody writes over it without an end,
// nothing is shown until that is forgotten; records and Events tell of it.
func (r *Reconciler) shownBlocked(ctx context.Context, v view, b *v1alpha1.Blocked, next *requeue.Soonest) (*v1alpha1.Blocked, error) {
	if b == nil {
		return nil, nil
	}
	if until, loops := r.Loops.GoesOn(v.request(), r.Clock.Now()); loops {
		next.At(until)
		return nil, nil
	}
	if conditions.ShowsBlocked(v.obj) {
		return b, nil
	}
	rec, err := r.Records.Live(ctx, record.TargetOf(v.obj))
	if err != nil || rec == nil {
		return nil, err
	}
	return rec.Status.Blocked, nil
}

// blockedPatch returns what makes the holder show it; nil where it does already.
func blockedPatch(obj *unstructured.Unstructured, b *v1alpha1.Blocked) []byte {
	var patch map[string]any
	switch isDeployment, shown := obj.GroupVersionKind().GroupKind() == conditions.Deployments, conditions.ShowsBlocked(obj); {
	case shown == (b != nil):
		return nil
	case isDeployment && b != nil:
		since := b.Since.UTC().Format(time.RFC3339)
		patch = map[string]any{"status": conditions.OfDeployment(v1alpha1.ConditionBlocked, reasonDenied, b.Message, since, since)}
	case isDeployment:
		patch = map[string]any{"status": conditions.RemovedOfDeployment(v1alpha1.ConditionBlocked)}
	case b != nil:
		patch = annotationPatch(obj, b.Message)
	default:
		patch = annotationPatch(obj, nil)
	}
	raw, err := json.Marshal(patch)
	if err != nil {
		panic("a patch of strings that cannot be encoded: " + err.Error())
	}
	return raw
}

func annotationPatch(obj *unstructured.Unstructured, value any) map[string]any {
	return map[string]any{"metadata": map[string]any{"annotations": map[string]any{conditions.BlockedKey(obj): value}}}
}
