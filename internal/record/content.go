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
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/approved"
	"kausality.io/operator/internal/change"
	"kausality.io/operator/internal/lineage"
	"kausality.io/operator/internal/policy"
)

// ContentOf identifies what an object has of what its policies withhold, by digests with a
// key; nil where they withhold nothing. What systems write into an object for themselves
// is no part of it.
func ContentOf(obj *unstructured.Unstructured, policies []*policy.Policy, key string) *v1alpha1.ApprovedContent {
	var triggers []change.Pattern
	for _, p := range policies {
		if p.Action != v1alpha1.ActionDeny {
			continue
		}
		for _, r := range p.Rules {
			triggers = append(triggers, r.Trigger)
		}
	}
	fields := approved.Fields(string(obj.GetUID())+key, lineage.WithoutBooks(obj.Object), triggers)
	if len(fields) == 0 {
		return nil
	}
	out := &v1alpha1.ApprovedContent{Generation: obj.GetGeneration()}
	for _, f := range fields {
		out.Digests = append(out.Digests, v1alpha1.ContentDigest{Path: f.Path.String(), Digest: f.Print})
	}
	return out
}

// ChangedSince are the fields that content has otherwise than earlier content of the same
// object, with their earlier digests. Fields that only the later one identifies were not
// looked at before.
func ChangedSince(earlier, content *v1alpha1.ApprovedContent) []v1alpha1.ContentDigest {
	if earlier == nil || content == nil {
		return nil
	}
	now := map[string]string{}
	for _, d := range content.Digests {
		now[d.Path] = d.Digest
	}
	var out []v1alpha1.ContentDigest
	for _, d := range earlier.Digests {
		if digest, known := now[d.Path]; known && digest != d.Digest || !known && d.Digest != "" && isWithin(d.Path, content) {
			out = append(out, d)
		}
	}
	return out
}

// isWithin reports whether a field that content does not have is one that it would
// identify: a neighbor of it is, so that the field has gone.
func isWithin(path string, content *v1alpha1.ApprovedContent) bool {
	at, err := change.ParsePath(path)
	if err != nil || len(at) != 2 {
		return false
	}
	for _, d := range content.Digests {
		if other, err := change.ParsePath(d.Path); err == nil && len(other) == 2 && other[0] == at[0] {
			return true
		}
	}
	return false
}
