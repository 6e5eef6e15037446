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
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/ledger"
	"kausality.io/operator/internal/policy"
)

const (
	// statusSubresource and scaleSubresource are by which managed fields say that a field
	// was set through them.
	statusSubresource, scaleSubresource = "status", "scale"
	// scaledPath is the field that autoscalers set through the latter.
	scaledPath = "spec.replicas"
)

// Unexplained returns the fields that an object of a content has otherwise than was known to be
// approved, with the digests of that, where it is not known why: by a grant in its effective
// ledger that is newer than what was known, as an operator that was killed may not have told
// of what it granted in its last two seconds. New defaults count up no generation; of
// metadata nothing does, and it has no defaults.
func Unexplained(was, content *v1alpha1.ApprovedContent, policies []*policy.Policy, effective ledger.Ledger) []v1alpha1.ContentDigest {
	if was == nil || content == nil || len(content.Digests) == 0 {
		return nil
	}
	fields := ChangedSince(was, content, policies)
	if IsSeen(was, content.Generation) {
		fields = slices.DeleteFunc(fields, func(d v1alpha1.ContentDigest) bool { return !strings.HasPrefix(d.Path, "metadata.") })
	}
	if slices.ContainsFunc(effective, func(e ledger.Entry) bool { return e.Generation > was.Generation }) {
		return nil
	}
	return fields
}

// StillUnexplained returns the fields in found that are still unexplained. found has the fields
// that differed from what was approved when somebody looked, with their approved digests. A field
// is explained once it is put back, once approved has it as the object does, or once a grant
// that is newer than found is about it.
func StillUnexplained(found, approved, content *v1alpha1.ApprovedContent, policies []*policy.Policy, effective ledger.Ledger) []v1alpha1.ContentDigest {
	return slices.DeleteFunc(ChangedSince(found, content, policies), func(d v1alpha1.ContentDigest) bool {
		now, known := digestOf(content, d.Path)
		then, was := digestOf(approved, d.Path)
		return approved != nil && now == then && known == was ||
			slices.ContainsFunc(effective, func(e ledger.Entry) bool {
				return !e.IsWithheld() && e.Generation > found.Generation && (isAtOrAbove(e.Mutation, d.Path) || isAtOrAbove(d.Path, e.Mutation))
			})
	})
}

func digestOf(content *v1alpha1.ApprovedContent, path string) (digest string, known bool) {
	if content == nil {
		return "", false
	}
	for _, d := range content.Digests {
		if d.Path == path {
			return d.Digest, true
		}
	}
	return "", false
}

// IsSeen reports whether a generation of an object is the one at which its content was
// approved, or none, as objects have whose kind counts none.
func IsSeen(was *v1alpha1.ApprovedContent, generation int64) bool {
	return generation == 0 || was.Generation == generation
}

// IsScaled reports whether the field at a path was last set through the scale sub-resource,
// as autoscalers do, which go on while nobody looks; since may be nil.
func IsScaled(obj *unstructured.Unstructured, path string, since *metav1.Time) bool {
	return path == scaledPath && slices.ContainsFunc(obj.GetManagedFields(), func(f metav1.ManagedFieldsEntry) bool {
		return f.Subresource == scaleSubresource && f.Time != nil && !f.Time.Before(since)
	})
}

// LastChange returns when an object was last changed but for its status, in whole seconds; who
// only takes something away leaves no time.
func LastChange(obj metav1.Object) time.Time {
	return newest(obj.GetManagedFields(), func(f metav1.ManagedFieldsEntry) bool { return f.Subresource != statusSubresource })
}

// newest returns the time of the newest of some entries, the zero time where none has one.
func newest(fields []metav1.ManagedFieldsEntry, is func(metav1.ManagedFieldsEntry) bool) time.Time {
	var last time.Time
	for _, f := range fields {
		if is(f) && f.Time != nil && f.Time.After(last) {
			last = f.Time.Time
		}
	}
	return last
}
