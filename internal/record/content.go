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
	known := policy.Known(obj.GroupVersionKind().GroupKind(), policies)
	fields := approved.Fields(string(obj.GetUID())+key, known.WithoutOwnAnnotations(lineage.WithoutBooks(obj.Object)), triggersOf(policies))
	if len(fields) == 0 {
		return nil
	}
	out := &v1alpha1.ApprovedContent{Generation: obj.GetGeneration()}
	for _, f := range fields {
		out.Digests = append(out.Digests, v1alpha1.ContentDigest{Path: f.Path.String(), Digest: f.Print})
	}
	return out
}

// triggersOf returns the fields whose changes policies withhold.
func triggersOf(policies []*policy.Policy) []change.Pattern {
	var out []change.Pattern
	for _, p := range policies {
		if p.Action != v1alpha1.ActionDeny {
			continue
		}
		for _, r := range p.Rules {
			out = append(out, r.Trigger)
		}
	}
	return out
}

// ChangedSince returns the fields that an object has otherwise than by earlier content of it,
// with their earlier digests, as far as policies are about them. Fields that only the later
// content identifies were not looked at before.
func ChangedSince(earlier, content *v1alpha1.ApprovedContent, policies []*policy.Policy) []v1alpha1.ContentDigest {
	if earlier == nil || content == nil {
		return nil
	}
	now := make(map[string]string, len(content.Digests))
	patterns := make([]change.Pattern, 0, len(content.Digests))
	for _, d := range content.Digests {
		now[d.Path] = d.Digest
		if path, err := change.ParsePath(d.Path); err == nil {
			patterns = append(patterns, change.Pattern(path))
		}
	}
	triggers := triggersOf(policies)
	touched := func(by []change.Pattern, path change.Path) bool {
		return slices.ContainsFunc(by, func(p change.Pattern) bool { return p.Touches(path) })
	}
	var out []v1alpha1.ContentDigest
	for _, d := range earlier.Digests {
		path, err := change.ParsePath(d.Path)
		digest, known := now[d.Path]
		switch {
		case err != nil, digest == d.Digest, !touched(triggers, path):
		case !known && touched(patterns, path):
			// Another policy, or another generation of it, took the fields apart otherwise.
		default:
			out = append(out, d)
		}
	}
	return out
}
