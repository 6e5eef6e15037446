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

package upgrade

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"

	"kausality.io/operator/api/v1alpha1"
)

// digestSize is how many bytes of the digest of a spec are kept.
const digestSize = 16

// Stamp returns the annotations of an UpgradeAllowance that a user writes: those that it has,
// with who last changed its spec. before is what was there, nil where it is new. What a request
// says about the stamp itself counts for nothing.
func Stamp(before, after *v1alpha1.UpgradeAllowance, user string) map[string]string {
	out := maps.Clone(after.Annotations)
	if out == nil {
		out = map[string]string{}
	}
	now := Digest(&after.Spec)
	if before != nil && Digest(&before.Spec) == now {
		for _, key := range []string{v1alpha1.AnnotationChangedBy, v1alpha1.AnnotationChangedSpec} {
			delete(out, key)
			if value, had := before.Annotations[key]; had {
				out[key] = value
			}
		}
		return out
	}
	out[v1alpha1.AnnotationChangedBy], out[v1alpha1.AnnotationChangedSpec] = user, now
	return out
}

// IsStamped reports whether the stamp of an UpgradeAllowance is about the spec that it has.
func IsStamped(u *v1alpha1.UpgradeAllowance) bool {
	return u.Annotations[v1alpha1.AnnotationChangedBy] != "" && u.Annotations[v1alpha1.AnnotationChangedSpec] == Digest(&u.Spec)
}

// Digest identifies what a spec says, in hexadecimal digits: one that was decoded from JSON. It is
// empty for what cannot be encoded.
func Digest(spec any) string {
	encoded, err := json.Marshal(spec)
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(encoded)
	return hex.EncodeToString(sum[:digestSize])
}
