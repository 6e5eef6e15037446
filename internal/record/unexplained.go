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
// of what it granted in its last two seconds. What differs at a generation that was seen are new
// defaults; of metadata no generation tells, and it has no defaults.
func Unexplained(
	knows *v1alpha1.AllowanceRecordStatus, content *v1alpha1.ApprovedContent, policies []*policy.Policy, effective ledger.Ledger,
) []v1alpha1.ContentDigest {
	was := knows.Approved
	if was == nil || content == nil || len(content.Digests) == 0 {
		return nil
	}
	fields := ChangedSince(was, content, policies)
	if IsSeen(was, content.Generation) {
		fields = slices.DeleteFunc(fields, func(d v1alpha1.ContentDigest) bool { return !isOfMetadata(d.Path) })
	}
	if len(fields) == 0 || slices.ContainsFunc(effective, func(e ledger.Entry) bool { return isNews(e, knows) }) {
		return nil
	}
	return fields
}

// isNews reports whether what is known of an object knows nothing of a grant. Of an object that counts no
// generations, and where a grant is for the next one that may never come, such as that for a label,
// the generation does not tell: it stays newer than what was known until the grant is used up. A grant
// that is pending may be known before what it is for.
func isNews(e ledger.Entry, knows *v1alpha1.AllowanceRecordStatus) bool {
	if was := knows.Approved.Generation; e.IsWithheld() || was > 0 && e.Generation <= was {
		return false
	}
	is := func(a v1alpha1.Allowance) bool { return ledger.NewEntry(a).ID() == ledger.NewEntry(e.Allowance).ID() }
	return !slices.ContainsFunc(knows.Active, is) || slices.ContainsFunc(knows.PendingGrants, func(p v1alpha1.PendingGrant) bool {
		return slices.ContainsFunc(p.Allowances, func(a v1alpha1.Allowance) bool { return ledger.KeyOf(&a) == e.Key() && a.Initiator == e.Initiator })
	})
}

func isOfMetadata(path string) bool { return strings.HasPrefix(path, "metadata.") }

// StillUnexplained returns the fields in found that are still unexplained. found has the fields
// that differed from what was approved when somebody looked, with their approved digests. A field
// is explained once it is put back, once approved has it as the object does, or once a grant
// that is newer than found is about it. had are the IDs of the grants that there were then: an object
// that counts no generations has no others by which to tell.
func StillUnexplained(
	found, approved, content *v1alpha1.ApprovedContent, policies []*policy.Policy, effective ledger.Ledger, had []string,
) []v1alpha1.ContentDigest {
	return slices.DeleteFunc(otherwise(found, content, policies), func(d v1alpha1.ContentDigest) bool {
		now, known := digestOf(content, d.Path)
		then, was := digestOf(approved, d.Path)
		return approved != nil && now == then && known == was ||
			slices.ContainsFunc(effective, func(e ledger.Entry) bool {
				isNewer := e.Generation > found.Generation || found.Generation == 0 && !slices.Contains(had, e.ID())
				return !e.IsWithheld() && isNewer && isAbout(e, d.Path)
			})
	})
}

// isAbout reports whether a grant came of a change of the field at a path, or allows one there.
func isAbout(e ledger.Entry, path string) bool {
	hop, _ := e.LastHop()
	return slices.ContainsFunc([]string{e.Mutation, hop.Field}, func(of string) bool {
		return of != "" && (isAtOrAbove(of, path) || isAtOrAbove(path, of))
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

// IsSeen reports whether a generation of an object proves that nobody has changed more than its metadata
// since its content was approved. Of objects that count none, such as ConfigMaps, it proves nothing.
func IsSeen(was *v1alpha1.ApprovedContent, generation int64) bool {
	return generation > 0 && was.Generation == generation
}

// IsMoved reports whether a generation of an object proves that somebody has changed it since its content
// was approved.
func IsMoved(was *v1alpha1.ApprovedContent, generation int64) bool {
	return generation > 0 && was.Generation > 0 && was.Generation != generation
}

// IsScaled reports whether the field at a path was last set through the scale sub-resource,
// as autoscalers do, which go on while nobody looks; since may be nil.
func IsScaled(obj *unstructured.Unstructured, path string, since *metav1.Time) bool {
	return path == scaledPath && slices.ContainsFunc(obj.GetManagedFields(), func(f metav1.ManagedFieldsEntry) bool {
		return f.Subresource == scaleSubresource && f.Time != nil && !f.Time.Before(since)
	})
}

// LastChange returns when an object was last changed but for its status, in whole seconds. It proves that
// there was a change, and never that there was none: who only takes something away, or clears what is said of
// managers, leaves no time.
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
