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
	"fmt"
	"reflect"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	logf "sigs.k8s.io/controller-runtime/pkg/log"

	"kausality.io/operator/internal/controller/requeue"
	"kausality.io/operator/internal/objectcache"
)

// request is how the webhook is made to see a holder.
type request struct {
	// status is true for a request for the status sub-resource, which bumps no
	// generation.
	status bool
	// costly is true where each write counts for somebody else: what is used up
	// then waits in the record for the holder's next write (D8).
	costly bool
}

// ledgerRequest chooses the request for a kind. The status of Kubernetes' own
// kinds is admitted with the metadata kept; that of custom resources is not (D6).
func ledgerRequest(gvk schema.GroupVersionKind) request {
	obj, err := clientgoscheme.Scheme.New(gvk)
	if err != nil {
		return request{costly: true}
	}
	return request{status: reflect.ValueOf(obj).Elem().FieldByName("Status").IsValid()}
}

// mayWrite reports whether a holder may be written of our own accord now, and has it looked at again
// when it may. Until then what is to be written is in the record.
func (r *Reconciler) mayWrite(obj *unstructured.Unstructured, next *requeue.Soonest) bool {
	gvk, now := obj.GroupVersionKind(), r.Clock.Now()
	req := objectcache.RequestFor(gvk, client.ObjectKeyFromObject(obj))
	wait := r.lulls.Wait(req, obj.GetResourceVersion(), r.Policies.Index().Known(gvk.GroupKind()), now)
	if wait > 0 {
		next.At(now.Add(wait))
	}
	return wait == 0
}

// rewrite makes the webhook write the ledger of a holder anew, by a patch that
// changes nothing, and returns the holder as it is then. Where it had no effect,
// because the webhook cannot be reached, or does not know of the record yet, it
// is made again after a while, though not for ever.
func (r *Reconciler) rewrite(ctx context.Context, v view, next *requeue.Soonest) (*unstructured.Unstructured, error) {
	retry, due := r.rewrites.start(v.obj, v.now)
	if !due {
		next.At(retry)
		return v.obj, nil
	}
	patched := v.obj.DeepCopy()
	nothing := client.RawPatch(types.MergePatchType, []byte("{}"))
	var err error
	if ledgerRequest(v.obj.GroupVersionKind()).status {
		err = r.Status().Patch(ctx, patched, nothing)
	} else {
		err = r.Patch(ctx, patched, nothing)
	}
	switch {
	case apierrors.IsNotFound(err):
		return v.obj, nil // deleted: its own event follows
	case err != nil:
		return nil, fmt.Errorf("cannot have the ledger of %s %s brought up to date: %w",
			v.obj.GetKind(), client.ObjectKeyFromObject(v.obj), err)
	case patched.GetUID() != v.obj.GetUID():
		return v.obj, nil // recreated: its own event follows
	}
	if patched.GetResourceVersion() == v.obj.GetResourceVersion() {
		if log := logf.FromContext(ctx); r.rewrites.hasGivenUp(v.obj) {
			log.Info("What is to be written into the ledger stays in the record, as the object did not change whenever this was tried. "+
				"It is tried again when the object changes; see whether the webhooks are asked about it", "version", v.obj.GetResourceVersion())
		} else {
			log.V(1).Info("The ledger did not change; the webhook may not have been reached")
		}
		next.At(retry)
		return v.obj, nil
	}
	r.rewrites.done(patched)
	return patched, nil
}
