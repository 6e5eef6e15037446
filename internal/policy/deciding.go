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

package policy

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"kausality.io/operator/api/v1alpha1"
)

// DecidingField is a field of which at most one of the policies in effect for an
// object can have its way; all else that policies say adds up (D19).
type DecidingField string

// The deciding fields, by their paths.
const (
	FieldInitializingWhen DecidingField = "spec.initializing.when"
	FieldConsumptionWhen  DecidingField = "spec.consumption.when"
	FieldTTL              DecidingField = "spec.consumption.ttl"
	FieldMaxOpen          DecidingField = "spec.consumption.maxOpen"
)

// Deciding returns the policy whose field counts for an object for which policies
// are in effect, the oldest first: the oldest one that has the field. It returns nil
// where none has.
func Deciding(policies []*Policy, f DecidingField) *Policy {
	for _, p := range policies {
		if _, says := p.deciding[f]; says {
			return p
		}
	}
	return nil
}

// TTL returns how long an allowance lasts where only time can tell, for an object for
// which policies are in effect, the oldest first.
func TTL(policies []*Policy) time.Duration {
	if p := Deciding(policies, FieldTTL); p != nil {
		return p.Consumption.TTL
	}
	return DefaultTTL
}

// MaxOpen returns how long an allowance may be open before that shows, for an object for
// which policies are in effect, the oldest first.
func MaxOpen(policies []*Policy) time.Duration {
	if p := Deciding(policies, FieldMaxOpen); p != nil {
		return p.Consumption.MaxOpen
	}
	return DefaultMaxOpen
}

// Superseded is a field of a policy that does not count for an object.
type Superseded struct {
	// Field is the one.
	Field DecidingField
	// By is the policy that says something else in it, and is older.
	By *Policy
}

// Superseded returns what of the policy does not count for an object for which it
// and others are in effect, the oldest first, in the order of the fields' paths.
func (p *Policy) Superseded(policies []*Policy) []Superseded {
	var out []Superseded
	for f, value := range p.deciding {
		if winner := Deciding(policies, f); winner != nil && winner.deciding[f] != value {
			out = append(out, Superseded{Field: f, By: winner})
		}
	}
	slices.SortFunc(out, func(a, b Superseded) int { return strings.Compare(string(a.Field), string(b.Field)) })
	return out
}

// Void reports whether the policy could as well not be there for an object for which
// it and others are in effect, the oldest first: all its deciding fields are
// superseded, and the rest of it says nothing, or no more than one of the older
// policies does.
func (p *Policy) Void(policies []*Policy) bool {
	superseded := p.Superseded(policies)
	if len(superseded) == 0 || len(superseded) < len(p.deciding) {
		return false
	}
	return p.adding == "" || slices.ContainsFunc(policies[:max(0, slices.Index(policies, p))], func(older *Policy) bool {
		return older.adding == p.adding
	})
}

// decidingOf collects the deciding fields that compiled, as text to compare.
func decidingOf(p *Policy, spec *v1alpha1.AllowancePolicySpec, errs field.ErrorList) map[DecidingField]string {
	fields := map[DecidingField]string{}
	if p.InitializingWhen != nil {
		fields[FieldInitializingWhen] = strings.TrimSpace(p.InitializingWhen.source)
	}
	if p.Consumption.When != nil {
		fields[FieldConsumptionWhen] = strings.TrimSpace(p.Consumption.When.source)
	}
	if p.knowledge != nil {
		maps.Copy(fields, fieldsOfKnowledge(spec.Knowledge))
	}
	if c := spec.Consumption; c != nil {
		if c.TTL != nil && !reports(errs, FieldTTL) {
			fields[FieldTTL] = p.Consumption.TTL.String()
		}
		if c.MaxOpen != nil && !reports(errs, FieldMaxOpen) {
			fields[FieldMaxOpen] = p.Consumption.MaxOpen.String()
		}
	}
	return fields
}

func reports(errs field.ErrorList, f DecidingField) bool {
	return slices.ContainsFunc(errs, func(err *field.Error) bool { return err.Field == string(f) })
}

// addingOf returns the text of all in a policy that adds up with others, to compare;
// empty where nothing does.
func addingOf(spec *v1alpha1.AllowancePolicySpec) string {
	rest := spec.DeepCopy()
	rest.NamespaceSelector, rest.ObjectSelector, rest.Consumption, rest.Knowledge, rest.TargetStatus = nil, nil, nil, nil, ""
	if rest.Initializing != nil {
		rest.Initializing.When = ""
	}
	if len(rest.Subjects) == 0 && len(rest.Rules) == 0 && rest.FailurePolicy != v1alpha1.FailurePolicyFail &&
		(rest.Initializing == nil || len(rest.Initializing.Policies) == 0) &&
		(rest.Deleting == nil || len(rest.Deleting.Policies) == 0) &&
		(rest.Maintaining == nil || len(rest.Maintaining.Policies) == 0) {
		return ""
	}
	text, err := json.Marshal(rest)
	if err != nil {
		// A spec is made of strings, booleans, and lists and maps of them.
		panic("policy: a spec that cannot be encoded: " + err.Error())
	}
	return string(text)
}
