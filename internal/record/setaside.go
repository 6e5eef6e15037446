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

package record

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/approved"
	"kausality.io/operator/internal/ledger"
)

const (
	// setAsideLimit is how long it is known what an object was like that nobody owns.
	setAsideLimit = 24 * time.Hour
	// returnedLimit is how long the controller may take to adopt what an initiator gave back. It does
	// so at once, and the API server ends a request after a minute.
	returnedLimit = 2 * time.Minute
)

// SetAsideDigest identifies, by a digest with a key, what an object is like, but for its status and
// whose it is. What Kausality says on it is no part of that, nor the node of a Pod, which the scheduler
// chooses while it is being adopted.
func SetAsideDigest(obj *unstructured.Unstructured, key string) string {
	annotations := map[string]any{}
	for name, value := range obj.GetAnnotations() {
		if !ledger.IsOurs(name) {
			annotations[name] = value
		}
	}
	labels := map[string]any{}
	for name, value := range obj.GetLabels() {
		labels[name] = value
	}
	content := maps.Clone(obj.Object)
	delete(content, "status")
	content["metadata"] = map[string]any{"annotations": annotations, "labels": labels}
	if spec, ok := content["spec"].(map[string]any); ok && obj.GetKind() == "Pod" {
		spec = maps.Clone(spec)
		delete(spec, "nodeName")
		content["spec"] = spec
	}
	return approved.Print(string(obj.GetUID())+key, content)
}

// IsSetAside reports whether an object is as it was when its parent released it.
func IsSetAside(rec *v1alpha1.AllowanceRecord, obj *unstructured.Unstructured, key string, now time.Time) bool {
	child := setAside(rec, obj.GetUID())
	return child != nil && isLike(child.Digest, obj, key) && now.Before(child.Time.Add(setAsideLimit))
}

// Returned says who had the target of a record adopt an object, where that was a moment ago and the
// object is as it was left then; else it is nil.
func Returned(rec *v1alpha1.AllowanceRecord, obj *unstructured.Unstructured, key string, now time.Time) *v1alpha1.ReturnedChild {
	child := setAside(rec, obj.GetUID())
	if child == nil || child.Returned == nil || !now.Before(SetAsideUntil(child)) || !isLike(child.Returned.Digest, obj, key) {
		return nil
	}
	return child.Returned
}

func isLike(digest string, obj *unstructured.Unstructured, key string) bool {
	return digest != "" && digest == SetAsideDigest(obj, key)
}

func setAside(rec *v1alpha1.AllowanceRecord, uid types.UID) *v1alpha1.SetAsideChild {
	if rec == nil {
		return nil
	}
	i := slices.IndexFunc(rec.Status.SetAside, func(c v1alpha1.SetAsideChild) bool { return c.UID == uid })
	if i < 0 {
		return nil
	}
	return &rec.Status.SetAside[i]
}

// SetAside notes in the record of a parent, which it creates where there is none, what a child is
// like that it releases, or what somebody made for it. What was known of the object before does not
// count any more.
func (s *Store) SetAside(ctx context.Context, parent v1alpha1.TargetReference, child v1alpha1.SetAsideChild) error {
	child.Time = metav1.NewTime(s.clock.Now())
	if child.Returned != nil {
		child.Returned = child.Returned.DeepCopy()
		child.Returned.Time = child.Time
	}
	return s.Update(ctx, parent, true, func(status *v1alpha1.AllowanceRecordStatus) bool {
		status.SetAside = withSetAside(status.SetAside, child)
		return true
	})
}

// Return notes that an initiator had the parent adopt an object that was set aside. Nothing is noted
// where the record does not know it any more. A record that the cache does not have yet is found when
// it is to be made.
func (s *Store) Return(ctx context.Context, parent v1alpha1.TargetReference, child types.UID, returned v1alpha1.ReturnedChild) error {
	returned.Time = metav1.NewTime(s.clock.Now())
	return s.Update(ctx, parent, true, func(status *v1alpha1.AllowanceRecordStatus) bool {
		status.SetAside = slices.Clone(status.SetAside)
		for i := range status.SetAside {
			if status.SetAside[i].UID == child {
				status.SetAside[i].Returned = &returned
			}
		}
		return true // The cache may not have it yet; the write finds that out.
	})
}

// ForgetSetAside removes what was set aside and is over by now.
func (s *Store) ForgetSetAside(ctx context.Context, parent v1alpha1.TargetReference) error {
	return s.Update(ctx, parent, false, func(status *v1alpha1.AllowanceRecordStatus) bool {
		had, now := len(status.SetAside), s.clock.Now()
		status.SetAside = slices.DeleteFunc(slices.Clone(status.SetAside), func(c v1alpha1.SetAsideChild) bool { return !now.Before(SetAsideUntil(&c)) })
		return len(status.SetAside) < had
	})
}

// SetAsideUntil returns when it is over that an object is set aside: it was adopted since an initiator
// gave it back, or will not be.
func SetAsideUntil(child *v1alpha1.SetAsideChild) time.Time {
	if child.Returned != nil {
		return child.Returned.Time.Add(returnedLimit)
	}
	return child.Time.Add(setAsideLimit)
}

// withSetAside adds an object to those that are set aside, and drops the oldest where there is no room.
func withSetAside(all []v1alpha1.SetAsideChild, child v1alpha1.SetAsideChild) []v1alpha1.SetAsideChild {
	out := slices.DeleteFunc(slices.Clone(all), func(c v1alpha1.SetAsideChild) bool { return c.UID == child.UID })
	slices.SortStableFunc(out, func(a, b v1alpha1.SetAsideChild) int { return cmp.Compare(a.Time.UnixNano(), b.Time.UnixNano()) })
	if drop := len(out) - v1alpha1.MaxSetAside + 1; drop > 0 {
		out = out[drop:]
	}
	return append(out, child)
}
