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
// is no part of it, but what people say there is.
func ContentOf(obj *unstructured.Unstructured, policies []*policy.Policy, key string) *v1alpha1.ApprovedContent {
	uid, triggers := string(obj.GetUID())+key, triggersOf(policies)
	choices := choicesOf(obj, policies)
	fields := obj.Object
	if len(choices) > 0 {
		fields = lineage.WithoutBooks(fields)
	}
	out := &v1alpha1.ApprovedContent{Generation: obj.GetGeneration()}
	known := policy.Known(obj.GroupVersionKind().GroupKind(), policies)
	for _, f := range approved.Fields(uid, known.WithoutOwnAnnotations(fields), triggers) {
		if isBook := lineage.IsBook(f.Path); !isBook || len(choices) == 0 {
			out.Digests = append(out.Digests, digest(f, isBook))
		}
	}
	for _, c := range choices {
		if touched(triggers, c.Path) {
			out.Digests = append(out.Digests, digest(approved.Field{Path: c.Path, Print: approved.Print(uid, c.Value)}, true))
		}
	}
	if len(out.Digests) == 0 {
		return nil
	}
	return out
}

// choicesOf returns what an object says in the fields in which Crossplane keeps its books and that
// are for people to say.
func choicesOf(obj *unstructured.Unstructured, policies []*policy.Policy) []lineage.Choice {
	for _, p := range policies {
		if choices := lineage.Choices(p, obj); len(choices) > 0 {
			return choices
		}
	}
	return nil
}

// absent is the digest of a field that is called as one in which Crossplane keeps its books, where
// there is none. An empty one says nothing of such a field: operators wrote it before they looked.
const absent = "00000000000000000000000000000000"

// digest returns the digest of a field.
func digest(f approved.Field, isBook bool) v1alpha1.ContentDigest {
	if isBook && f.Print == "" {
		f.Print = absent
	}
	return v1alpha1.ContentDigest{Path: f.Path.String(), Digest: f.Print}
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
// content identifies were absent where a rule was about all fields there, and else not looked at before.
func ChangedSince(earlier, content *v1alpha1.ApprovedContent, policies []*policy.Policy) []v1alpha1.ContentDigest {
	if earlier == nil || content == nil {
		return nil
	}
	return append(otherwise(earlier, content, policies), added(earlier, content, policies)...)
}

// otherwise returns the fields that earlier content identifies and that later content has otherwise, with
// their earlier digests.
func otherwise(earlier, content *v1alpha1.ApprovedContent, policies []*policy.Policy) []v1alpha1.ContentDigest {
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
	apart := approved.Apart(triggers)
	var out []v1alpha1.ContentDigest
	for _, d := range earlier.Digests {
		path, err := change.ParsePath(d.Path)
		digest, known := now[d.Path]
		switch {
		case err != nil, digest == d.Digest, !touched(triggers, path):
		case !known && touched(patterns, path) && !isEmptied(path, apart, now):
			// Another policy, or another generation of it, took the fields apart otherwise.
		case lineage.IsBook(path) && isUnsaid(d, path, known, policies):
		default:
			out = append(out, d)
		}
	}
	return out
}

// isEmptied reports whether a field is gone with all others beside it, of which now has the digests: it
// identifies the place as a whole then, which rules are about.
func isEmptied(path change.Path, apart []change.Path, now map[string]string) bool {
	return slices.ContainsFunc(apart, func(root change.Path) bool {
		_, whole := now[root.String()]
		return whole && isFieldOf(path, root)
	})
}

// added returns the fields that only later content identifies, of places that the earlier one has taken
// apart for a rule about all of it: they were absent.
func added(earlier, content *v1alpha1.ApprovedContent, policies []*policy.Policy) []v1alpha1.ContentDigest {
	before := pathsOf(earlier)
	var out []v1alpha1.ContentDigest
	for _, root := range approved.Apart(triggersOf(policies)) {
		if !isTakenApart(root, before, policies) {
			continue
		}
		for _, d := range content.Digests {
			path, err := change.ParsePath(d.Path)
			if err != nil || d.Digest == "" || d.Digest == absent || !isFieldOf(path, root) ||
				slices.ContainsFunc(before, func(p change.Path) bool { return len(p) > len(root) && p.Overlaps(path) }) {
				continue
			}
			was := digest(approved.Field{Path: path}, lineage.IsBook(path))
			if !lineage.IsBook(path) || !isUnsaid(was, path, true, policies) {
				out = append(out, was)
			}
		}
	}
	return out
}

// isTakenApart reports whether paths are those of content that has a place taken apart into all of its
// fields: it says that there are none, or identifies one that no narrower rule is about.
func isTakenApart(root change.Path, paths []change.Path, policies []*policy.Policy) bool {
	narrower := slices.DeleteFunc(triggersOf(policies), func(p change.Pattern) bool {
		return len(approved.Apart([]change.Pattern{p})) > 0
	})
	return slices.ContainsFunc(paths, func(p change.Path) bool {
		return slices.Equal(p, root) || isFieldOf(p, root) && !touched(narrower, p)
	})
}

// isFieldOf reports whether a path is that of a field of what is at another one.
func isFieldOf(path, at change.Path) bool {
	return len(path) == len(at)+1 && slices.Equal(path[:len(at)], at)
}

func pathsOf(content *v1alpha1.ApprovedContent) []change.Path {
	out := make([]change.Path, 0, len(content.Digests))
	for _, d := range content.Digests {
		if path, err := change.ParsePath(d.Path); err == nil {
			out = append(out, path)
		}
	}
	return out
}

// isUnsaid reports whether an earlier digest of a field of Crossplane's books tells of no change by
// anybody else: nobody looked at the field, or it was absent and still is, or Crossplane fills it in. An
// object that gets its first such fields may have had the others looked for elsewhere.
func isUnsaid(earlier v1alpha1.ContentDigest, path change.Path, known bool, policies []*policy.Policy) bool {
	fillsIn := func(p *policy.Policy) bool { return lineage.KeepsBooks(p, p.For.GroupKind()) }
	return earlier.Digest == "" || !known && lineage.IsUpdatePolicy(path) ||
		earlier.Digest == absent && (!known || lineage.IsFilledIn(path) && slices.ContainsFunc(policies, fillsIn))
}

// touched reports whether one of the patterns is about a path, or about what is above or below it.
func touched(by []change.Pattern, path change.Path) bool {
	return slices.ContainsFunc(by, func(p change.Pattern) bool { return p.Touches(path) })
}
