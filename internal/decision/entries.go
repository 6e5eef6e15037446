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

package decision

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/change"
	"kausality.io/operator/internal/policy"
)

// grantsOf returns the allowances of one rule: those of its entries, or, where it
// has none, one for anything in the cluster.
func (in *Input) grantsOf(r *policy.Rule, initiator string, trace []v1alpha1.TraceHop) []v1alpha1.Allowance {
	if r.AllowsAnything() {
		return []v1alpha1.Allowance{in.anything(initiator, trace)}
	}
	var out []v1alpha1.Allowance
	for _, e := range r.Entries {
		out = append(out, in.entries(e, initiator, trace)...)
	}
	return append(out, in.throughEntries(r.Through, initiator, trace)...)
}

// anything returns the allowance to do anything to any child.
func (in *Input) anything(initiator string, trace []v1alpha1.TraceHop) v1alpha1.Allowance {
	return v1alpha1.Allowance{
		Kind:       v1alpha1.Any,
		Mutation:   v1alpha1.Any,
		Generation: in.Child.Generation,
		Initiator:  initiator,
		Trace:      trace,
	}
}

// entries turns a policy entry into allowances, one per permitted thing (D4). A
// resource that is not served has no kind yet, and no objects to allow for.
func (in *Input) entries(e policy.Entry, initiator string, trace []v1alpha1.TraceHop) []v1alpha1.Allowance {
	base := v1alpha1.Allowance{Generation: in.Child.Generation, Initiator: initiator, Trace: trace}
	if e.IsExternal() {
		base.Relation = v1alpha1.RelationExternal
		base.External = e.External
		base.Mutations = slices.Sorted(slices.Values(e.ExternalVerbs))
		return []v1alpha1.Allowance{base}
	}
	if e.Kind.Empty() {
		return nil
	}
	base.APIGroup = entryGroup(e.Kind.Group)
	base.Kind = e.Kind.Kind
	one := func(mutation string, verbs []v1alpha1.MutationVerb) v1alpha1.Allowance {
		a := base
		a.Mutation, a.Verbs = mutation, verbs
		return a
	}
	if e.Create && e.Delete && anyField(e.Fields) {
		return []v1alpha1.Allowance{one(v1alpha1.Any, nil)}
	}
	var out []v1alpha1.Allowance
	if e.Create {
		out = append(out, one(v1alpha1.MutationCreateObject, nil))
	}
	if e.Delete {
		out = append(out, one(v1alpha1.MutationDeleteObject, nil))
	}
	for _, f := range e.Fields {
		out = append(out, one(f.Pattern.String(), fieldVerbs(f)))
	}
	return out
}

var allVerbs = []v1alpha1.MutationVerb{
	v1alpha1.MutationDelete, v1alpha1.MutationInsert, v1alpha1.MutationMutate,
}

// fieldVerbs returns the verbs of an allowance for a field: left out where all are
// meant, but for "*", which without verbs would include creation and deletion.
func fieldVerbs(f policy.FieldBound) []v1alpha1.MutationVerb {
	verbs := slices.Sorted(slices.Values(f.Verbs))
	all := len(verbs) == 0 || slices.Equal(slices.Compact(verbs), allVerbs)
	switch {
	case all && f.Pattern.String() == v1alpha1.Any:
		return allVerbs
	case all:
		return nil
	default:
		return verbs
	}
}

func anyField(fields []policy.FieldBound) bool {
	return slices.ContainsFunc(fields, func(f policy.FieldBound) bool {
		return f.Pattern.String() == v1alpha1.Any && slices.Equal(fieldVerbs(f), allVerbs)
	})
}

// targetsOf names the targets of a rule, to see whether each of them got
// something.
func targetsOf(r *policy.Rule) []string {
	if r.AllowsAnything() {
		return []string{v1alpha1.Any}
	}
	out := make([]string, 0, len(r.Entries)+len(r.Through))
	for _, e := range r.Through {
		out = append(out, e.Readers.Kind.String()+"/"+e.Resource.String())
	}
	for _, e := range r.Entries {
		if e.IsExternal() {
			out = append(out, fmt.Sprintf("%q", e.External)) // in the order of the keys
			continue
		}
		out = append(out, e.Resource.String())
	}
	return out
}

// capture reads the attestations of a hop from the holder as it is after the
// request. What is absent is left out.
func (in *Input) capture(captures []policy.Capture) map[string]string {
	var out map[string]string
	left := maxAttested
	for _, c := range captures {
		for _, path := range c.Pattern.Expand(in.Child.New) {
			value, ok := path.Value(in.Child.New)
			if !ok || value == nil {
				continue
			}
			key, text := attestationKey(c, path), attestation(value)
			if left -= len(key) + len(text); left < 0 {
				return out
			}
			if out == nil {
				out = map[string]string{}
			}
			out[key] = text
		}
	}
	return out
}

const (
	// maxAttested is how much of an object a hop attests at most, in bytes: what
	// somebody else wrote there must not fill the ledger, or nobody could be granted
	// anything any more (D4).
	maxAttested = 4 * 1024
	// maxAttestation is how long one value is at most; of a longer one the beginning
	// is kept.
	maxAttestation = 1024
	// maxField is how long the path of a hop is at most, in bytes.
	maxField = 256
)

// shortened returns the text of a path: of one whose keys are very long, that of a field above.
func shortened(path change.Path) string {
	for len(path) > 1 && len(path.String()) > maxField {
		path = path[:len(path)-1]
	}
	return path.String()
}

// attestationKey returns the path as the policy has it, or, where that has a wildcard,
// the concrete path.
func attestationKey(c policy.Capture, path change.Path) string {
	if strings.Contains(c.Text, "*") {
		return path.String()
	}
	return c.Text
}

func attestation(value any) string {
	text, ok := value.(string)
	if !ok {
		raw, err := json.Marshal(value)
		if err != nil {
			return ""
		}
		text = string(raw)
	}
	if len(text) > maxAttestation {
		return strings.ToValidUTF8(text[:maxAttestation], "") + "…"
	}
	return text
}
