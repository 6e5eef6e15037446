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

package provider

import (
	"context"
	"fmt"
	"sync"
	"time"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/test/crossplane/cloud"
	"kausality.io/operator/test/crossplane/provider/apis/instance"
)

// The conditions by which providers that do not wait for the cloud tell about it, as
// upjet has them.
const (
	asyncOperation     xpv2.ConditionType = "AsyncOperation"
	lastAsyncOperation xpv2.ConditionType = "LastAsyncOperation"
)

// workTimeout bounds what the provider has begun and does not wait for.
const workTimeout = time.Minute

// work is what was begun, and which generations were looked at, by UID.
type work struct {
	mu   sync.Mutex
	busy map[types.UID]bool
	seen map[types.UID]int64
}

// running reports whether something was begun for an object and has not ended.
func (w *work) running(object client.Object) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.busy[object.GetUID()]
}

func (w *work) setRunning(object client.Object, running bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.busy == nil {
		w.busy = map[types.UID]bool{}
	}
	w.busy[object.GetUID()] = running
}

// firstLook reports whether nobody has asked about this generation of an object.
func (w *work) firstLook(object client.Object) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.seen == nil {
		w.seen = map[types.UID]int64{}
	}
	first := w.seen[object.GetUID()] != object.GetGeneration()
	w.seen[object.GetUID()] = object.GetGeneration()
	return first
}

// begin asks the cloud for a change and does not wait for it.
func (e *external) begin(verb cloud.Verb, name string, wanted cloud.Parameters) error {
	if e.work.running(e.object) {
		return fmt.Errorf("%s is at work on %s", e.kind, name)
	}
	e.work.setRunning(e.object, true)
	if instance.Has(e.object, instance.Async) {
		e.object.SetConditions(ongoing(e.object))
	}
	// The reconciler goes on with its own.
	object, ok := e.object.DeepCopyObject().(Instance)
	if !ok {
		return fmt.Errorf("a copy of %T is none", e.object)
	}
	patient := e.cloud
	patient.HTTP = nil
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), workTimeout)
		defer cancel()
		_, err := patient.Do(ctx, verb, name, wanted)
		e.work.setRunning(object, false)
		if !instance.Has(object, instance.AsyncSilent) {
			e.report(ctx, object, err)
			e.lookAgain(object, 0)
		}
	}()
	return nil
}

// report writes what came of something that was begun. That the object has gone
// meanwhile is of no interest.
func (c *connector) report(ctx context.Context, object Instance, outcome error) {
	_ = retry.RetryOnConflict(retry.DefaultBackoff, func() error { // Who cannot write does not report.
		if err := c.kube.Get(ctx, client.ObjectKeyFromObject(object), object); err != nil {
			return err
		}
		object.SetConditions(last(object, outcome), finished(object))
		return c.kube.Status().Update(ctx, object)
	})
}

func ongoing(object client.Object) xpv2.Condition {
	return condition(object, asyncOperation, corev1.ConditionFalse, "Ongoing")
}

func finished(object client.Object) xpv2.Condition {
	return condition(object, asyncOperation, corev1.ConditionTrue, "Finished")
}

func last(object client.Object, outcome error) xpv2.Condition {
	if outcome == nil {
		return condition(object, lastAsyncOperation, corev1.ConditionTrue, "Success")
	}
	return condition(object, lastAsyncOperation, corev1.ConditionFalse, "ApplyFailure").WithMessage(outcome.Error())
}

func condition(object client.Object, kind xpv2.ConditionType, status corev1.ConditionStatus, reason xpv2.ConditionReason) xpv2.Condition {
	return xpv2.Condition{
		Type: kind, Status: status, Reason: reason,
		LastTransitionTime: metav1.Now(), ObservedGeneration: object.GetGeneration(),
	}
}
