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

package target

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"kausality.io/operator/internal/change"
	"kausality.io/operator/internal/controller/conditions"
	"kausality.io/operator/internal/lifecycle"
	"kausality.io/operator/internal/objectcache"
)

// show makes an object show the policies in effect for it, if it does not.
func (r *Reconciler) show(ctx context.Context, req objectcache.Request, obj *unstructured.Unstructured, t target) (reconcile.Result, error) {
	if r.Rate <= 0 || obj.GetDeletionTimestamp() != nil {
		return reconcile.Result{}, nil
	}
	where, now := r.placeFor(req.GVK(), t.mark), r.Clock.Now()
	until, loops := r.Loops.GoesOn(req, now)
	if loops {
		t.show = nil // It is what is missed the least.
	}
	in, text, differs := t.mark.differs(where, t.show)
	if !differs && loops {
		return reconcile.Result{RequeueAfter: until.Sub(now)}, nil
	}
	if !differs {
		return reconcile.Result{}, nil
	}
	wanted := string(in) + ": " + text
	behind, lost := r.pace.fate(req, obj.GetResourceVersion(), wanted, now)
	if behind {
		r.known.touch(req)
		return reconcile.Result{}, nil // The event of the write follows.
	}
	if lost && in == inCondition && r.losing.add(req.GVK().GroupKind()) {
		logf.FromContext(ctx).Info("The controller of a kind does not keep conditions of others; an annotation takes its place", "kind", req.GVK().Kind)
		return r.show(ctx, req, obj, t)
	}
	if after := r.waits(req, obj.GetResourceVersion()); after > 0 {
		return reconcile.Result{RequeueAfter: after}, nil
	}
	progress := lifecycle.Of(obj, r.Policies.Index().For(obj.GroupVersionKind().GroupKind()))
	if due, again := r.pace.due(req, t.parent, obj.GetResourceVersion(), wanted, progress.Settled || progress.Timed, now); !due {
		return reconcile.Result{RequeueAfter: again}, nil
	}
	t.showed = true
	r.known.set(req, t)
	version, err := r.write(ctx, req, t.mark, in, text)
	if apierrors.IsInvalid(err) && in == inCondition && req.GVK().GroupKind() != conditions.Deployments {
		r.losing.give(req.GVK().GroupKind())
		return r.show(ctx, req, obj, t)
	}
	if err != nil {
		return reconcile.Result{}, err
	}
	r.pace.done(req, version)
	r.known.touch(req)
	return reconcile.Result{}, nil
}

// waits returns for how long an object in a version has to be left to its controllers.
func (r *Reconciler) waits(req objectcache.Request, version string) time.Duration {
	return r.lulls.Wait(req, version, r.Policies.Index().Known(req.GVK().GroupKind()), r.Clock.Now())
}

// write makes an object show a text in a place, and returns the version that came of
// it; none where the object is gone.
func (r *Reconciler) write(ctx context.Context, req objectcache.Request, m mark, in place, text string) (string, error) {
	obj := &unstructured.Unstructured{}
	obj.SetGroupVersionKind(req.GVK())
	obj.SetNamespace(req.Key().Namespace)
	obj.SetName(req.Key().Name)
	w := m.write(req, in, text, r.Clock.Now())
	var err error
	if w.status {
		err = r.Client.Status().Patch(ctx, obj, w.patch, w.opts...)
	} else {
		err = r.Client.Patch(ctx, obj, w.patch)
	}
	switch {
	case apierrors.IsNotFound(err), apimeta.IsNoMatchError(err), apierrors.IsConflict(err):
		return "", nil // Gone, with its kind, or another one by its UID: its own event follows.
	case err != nil:
		r.pace.failed(req)
		return "", fmt.Errorf("cannot show on %s %s which policies are in effect for it: %w", req.GVK().Kind, req.Key(), err)
	}
	return obj.GetResourceVersion(), nil
}

// conditionsPath is where kinds keep their conditions.
var conditionsPath = func() change.Path {
	path, err := change.ParsePath("status.conditions")
	if err != nil {
		panic(err) // It is a constant.
	}
	return path
}()

// placeFor chooses where an object of a kind shows the policies in effect for it. Of
// Kubernetes' own kinds only Deployments are known to keep conditions of others, and
// an annotation on one bumps its generation, and is copied (D10, D13). A custom
// resource has the condition where its kind declares conditions to be a map by type,
// which can be applied without touching others; and goes on with the annotation where
// it has that, because conditions did not last before.
func (r *Reconciler) placeFor(gvk schema.GroupVersionKind, m mark) place {
	if gvk.GroupKind() == conditions.Deployments {
		return inCondition
	}
	if _, annotated := m.texts[inAnnotation]; annotated || clientgoscheme.Scheme.Recognizes(gvk) || r.losing.has(gvk.GroupKind()) {
		return inAnnotation
	}
	resource, ok := r.Kinds.ByKind(gvk)
	declared := r.Kinds.Schema(gvk)
	if !ok || declared == nil || !slices.Contains(resource.Subresources, "status") ||
		!slices.Equal(declared.ListKeys(conditionsPath), []string{"type"}) {
		return inAnnotation
	}
	return inCondition
}

// maxLost is how many conditions of a kind may get lost before it gets no more.
const maxLost = 2

// losingKinds are those whose controllers drop conditions of others. Its zero value is
// ready for use.
type losingKinds struct {
	mu   sync.Mutex
	lost map[schema.GroupKind]int
}

// add notes a condition that got lost, and reports whether the kind gets no more from now on.
func (l *losingKinds) add(kind schema.GroupKind) bool { return l.count(kind, 1) }

// give up on a kind.
func (l *losingKinds) give(kind schema.GroupKind) { l.count(kind, maxLost) }

func (l *losingKinds) count(kind schema.GroupKind, n int) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if kind == conditions.Deployments {
		return false
	}
	if l.lost == nil {
		l.lost = map[schema.GroupKind]int{}
	}
	l.lost[kind] += n
	return l.lost[kind] >= maxLost
}

// has reports whether a kind gets no conditions any more.
func (l *losingKinds) has(kind schema.GroupKind) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lost[kind] >= maxLost
}
