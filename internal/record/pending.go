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
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"

	"github.com/crossplane/crossplane-runtime/v2/pkg/fieldpath"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/approved"
	"kausality.io/operator/internal/change"
	"kausality.io/operator/internal/lineage"
)

// Content is one field of an object with its value, such as the replicas that a
// Scale sets.
type Content struct {
	// Path of the field.
	Path string
	// Value of the field.
	Value int64
}

// NewPending makes the pending grant of a request whose answer could not carry
// the grants (D11). It is for what the request writes: scaled where it is given,
// and else everything that counts of holder as it is afterwards, with the metadata that
// the grant is about, by its hash. The allowances may leave out their generation where
// it is not known yet. cleared are the paths whose withheld change the grant ends.
//
// The id is the same for the same arguments. The time is for Store.AddPending to
// set.
func NewPending(scaled *Content, holder *unstructured.Unstructured, grants []v1alpha1.Allowance, cleared []string) v1alpha1.PendingGrant {
	p := v1alpha1.PendingGrant{
		Allowances: grants,
		Cleared:    slices.Compact(slices.Sorted(slices.Values(cleared))),
	}
	if scaled != nil {
		p.Path, p.Value = scaled.Path, &scaled.Value
	} else {
		p.ContentHash = hashFor(p, holder)
	}
	raw, err := json.Marshal(p)
	if err != nil {
		// A PendingGrant is made of strings, numbers, and lists and maps of them.
		panic("record: a pending grant that cannot be encoded: " + err.Error())
	}
	sum := sha256.Sum256(raw)
	p.ID = hex.EncodeToString(sum[:8])
	p.Allowances = withContent(grants, p.ContentHash)
	return p
}

// withContent returns the grants with the content that they are for in each entry that withholds something, so
// that an approval which names it approves nothing newer. Observed without it: an operator was away while
// somebody changed an object, and the command that it then showed approved the next change as well.
func withContent(grants []v1alpha1.Allowance, hash string) []v1alpha1.Allowance {
	out := slices.Clone(grants)
	for i := range out {
		if out[i].Relation == v1alpha1.RelationWithheld && out[i].Content == "" && hash != "" {
			out[i].Content = hash[:approved.DigestLength]
		}
	}
	return out
}

// IsPending reports whether a digest in an approval is that of a change at a path which a pending grant withholds,
// and the holder still has that content.
func IsPending(rec *v1alpha1.AllowanceRecord, holder *unstructured.Unstructured, path, digest string) bool {
	return rec != nil && slices.ContainsFunc(rec.Status.PendingGrants, func(p v1alpha1.PendingGrant) bool {
		return Counts(p, holder) && slices.ContainsFunc(p.Allowances, func(a v1alpha1.Allowance) bool {
			return a.Relation == v1alpha1.RelationWithheld && a.Mutation == path && a.Content == digest
		})
	})
}

// hashFor returns the hash of the content that a pending grant is for. Of metadata, only the fields
// that the grant withholds or approves are part of it.
func hashFor(p v1alpha1.PendingGrant, holder *unstructured.Unstructured) string {
	content := contentHash(holder)
	fields := slices.Clone(p.Cleared)
	for _, a := range p.Allowances {
		if a.Relation == v1alpha1.RelationWithheld {
			fields = append(fields, a.Mutation)
		}
	}
	values := map[string]any{}
	for _, text := range fields {
		if path, err := change.ParsePath(text); err == nil && path.IsMetadata() {
			values[text], _ = path.Value(holder.Object)
		}
	}
	if len(values) == 0 {
		return content
	}
	return change.CanonicalHash(map[string]any{"content": content, "metadata": values})
}

// contentHash returns a hash of everything that counts in an object, but for what its system
// writes into it for itself, empty values of its Go types included.
func contentHash(obj *unstructured.Unstructured) string {
	return change.HashOfCounted(lineage.WithoutBooks(obj.Object))
}

// withPending returns pending grants with another one, which replaces the same one made before. It
// comes last, as what was asked for last counts.
func withPending(grants []v1alpha1.PendingGrant, p v1alpha1.PendingGrant) []v1alpha1.PendingGrant {
	return append(slices.DeleteFunc(grants, func(old v1alpha1.PendingGrant) bool { return old.ID == p.ID }), p)
}

// Counts reports whether a pending grant counts for holder: it does while holder
// has exactly the content that it was granted for.
func Counts(p v1alpha1.PendingGrant, holder *unstructured.Unstructured) bool {
	if holder == nil {
		return false
	}
	if p.ContentHash != "" {
		return hashFor(p, holder) == p.ContentHash
	}
	if p.Path == "" || p.Value == nil {
		return false
	}
	value, err := fieldpath.Pave(holder.Object).GetInteger(p.Path)
	return err == nil && value == *p.Value
}

// IsAfter reports whether holder is newer than the version that the request of a pending grant found.
// Only then does its content say whether the grant is folded in, or its content gone: the version that
// was found may have had the content already, or have lost it.
func IsAfter(p v1alpha1.PendingGrant, holder *unstructured.Unstructured) bool {
	if p.After == "" {
		return true
	}
	order, err := resourceversion.CompareResourceVersion(holder.GetResourceVersion(), p.After)
	return err != nil || order > 0
}

// isLost reports whether the content of a pending grant is gone from holder, or was never stored. holder may be
// nil: nothing is known of it.
func isLost(p v1alpha1.PendingGrant, holder *unstructured.Unstructured) bool {
	return holder != nil && p.After != "" && IsAfter(p, holder) && !Counts(p, holder)
}

// Returning filters the pending grants of a record to those that would count again if holder got their
// content: it has lost that since, or it was never stored. The operator removes them at its next look.
// It returns nil if there are none. Both arguments may be nil.
func Returning(rec *v1alpha1.AllowanceRecord, holder *unstructured.Unstructured) *v1alpha1.AllowanceRecord {
	if rec == nil {
		return nil
	}
	var gone []v1alpha1.PendingGrant
	for _, p := range rec.Status.PendingGrants {
		if isLost(p, holder) {
			gone = append(gone, p)
		}
	}
	if len(gone) == 0 {
		return nil
	}
	return &v1alpha1.AllowanceRecord{Spec: rec.Spec, Status: v1alpha1.AllowanceRecordStatus{PendingGrants: gone}}
}

// Allowances returns the allowances of a pending grant that counts for holder, with the
// generation that holder has where the request could not know it.
func Allowances(p v1alpha1.PendingGrant, holder *unstructured.Unstructured) []v1alpha1.Allowance {
	generation := holder.GetGeneration()
	out := make([]v1alpha1.Allowance, 0, len(p.Allowances))
	for _, a := range p.Allowances {
		a := *a.DeepCopy()
		if a.Generation == 0 {
			a.Generation = generation
		}
		if last := len(a.Trace) - 1; last >= 0 && a.Trace[last].Generation == 0 {
			a.Trace[last].Generation = generation
		}
		out = append(out, a)
	}
	return out
}
