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

package baseline

import (
	"encoding/hex"
	"strings"
	"time"
	"unique"

	"k8s.io/apimachinery/pkg/types"

	"kausality.io/operator/api/v1alpha1"
)

// entry is what an object is like, in little space: there may be very many. Objects of a
// kind have the same fields for the most part.
type entry struct {
	uid        types.UID
	generation int64
	// policies is the creation time of the newest policy by which an operator looked at it, in Unix
	// seconds; zero where that is not known.
	policies int64
	// paths are those of the fields, in lines, and digests the bytes of theirs, one after
	// the other.
	paths   unique.Handle[string]
	digests string
	// sizes are those of the digests where they are not all of one size.
	sizes string
	// parents are the ids of those that the object names, in lines.
	parents string
}

// entryOf makes an entry of the content of an object. policies is the creation time of the newest
// policy in effect for it.
func entryOf(uid types.UID, content *v1alpha1.ApprovedContent, policies time.Time) entry {
	paths := make([]string, 0, len(content.Digests))
	var digests strings.Builder
	sizes := make([]byte, 0, len(content.Digests))
	for _, d := range content.Digests {
		raw, err := hex.DecodeString(d.Digest)
		if err != nil || len(raw) > maxDigest {
			continue // None of ours.
		}
		paths = append(paths, d.Path)
		digests.Write(raw)
		sizes = append(sizes, byte(len(raw))) //nolint:gosec // maxDigest bounds it
	}
	return entry{
		uid: uid, generation: content.Generation, policies: seconds(policies),
		paths: unique.Make(strings.Join(paths, "\n")), digests: digests.String(), sizes: unique.Make(string(sizes)).Value(),
		parents: strings.Join(content.Parents, "\n"),
	}
}

// seconds returns a time in Unix seconds, 0 for none.
func seconds(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.Unix()
}

// maxDigest is more than any digest has, in bytes.
const maxDigest = 255

// content returns what entryOf was given.
func (e entry) content() *v1alpha1.ApprovedContent {
	out := &v1alpha1.ApprovedContent{Generation: e.generation}
	if e.parents != "" {
		out.Parents = strings.Split(e.parents, "\n")
	}
	if e.sizes == "" {
		return out
	}
	at := 0
	for i, path := range strings.Split(e.paths.Value(), "\n") {
		size := int(e.sizes[i])
		out.Digests = append(out.Digests, v1alpha1.ContentDigest{Path: path, Digest: hex.EncodeToString([]byte(e.digests[at : at+size]))})
		at += size
	}
	return out
}
