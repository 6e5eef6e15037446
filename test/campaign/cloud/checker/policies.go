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

package checker

import (
	"fmt"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// Policies is what the policies say about who may have what changed outside.
type Policies struct {
	policies []allowancePolicy
}

// allowancePolicy is a policy, as far as it is of interest.
type allowancePolicy struct {
	Spec struct {
		For struct {
			Kind string `json:"kind"`
		} `json:"for"`
		ObjectSelector struct {
			MatchLabels map[string]string `json:"matchLabels"`
		} `json:"objectSelector"`
		Subjects []struct {
			Kind        string `json:"kind"`
			Name        string `json:"name"`
			MayInitiate bool   `json:"mayInitiate"`
		} `json:"subjects"`
		Initializing section `json:"initializing"`
		Deleting     section `json:"deleting"`
		Rules        []struct {
			section `json:",inline"`

			Trigger string   `json:"trigger"`
			Capture []string `json:"capture"`
		} `json:"rules"`
	} `json:"spec"`
}

type section struct {
	Policies []struct {
		Relation string   `json:"relation"`
		Verbs    []string `json:"verbs"`
	} `json:"policies"`
}

// allows reports whether a section lets something be done outside.
func (s section) allows(verb string) bool {
	for _, p := range s.Policies {
		if p.Relation == external && (slices.Contains(p.Verbs, verb) || slices.Contains(p.Verbs, "*")) {
			return true
		}
	}
	return false
}

// ReadPolicies reads policies.
func ReadPolicies(text []byte) (Policies, error) {
	var out Policies
	for document := range strings.SplitSeq(string(text), "\n---\n") {
		var p allowancePolicy
		if err := yaml.Unmarshal([]byte(document), &p); err != nil {
			return Policies{}, fmt.Errorf("reading the policies: %w", err)
		}
		out.policies = append(out.policies, p)
	}
	return out, nil
}

// about returns the policies for a kind.
func (all Policies) about(kind string) []allowancePolicy {
	return slices.DeleteFunc(slices.Clone(all.policies), func(p allowancePolicy) bool { return p.Spec.For.Kind != kind })
}

// initiates reports whether somebody may start something on objects of a kind.
func (all Policies) initiates(kind, user string, groups []string) bool {
	for _, p := range all.about(kind) {
		for _, s := range p.Spec.Subjects {
			if s.MayInitiate && (s.Kind == "User" && s.Name == user || s.Kind == "Group" && slices.Contains(groups, s.Name)) {
				return true
			}
		}
	}
	return false
}

// opens reports whether the change of a field of objects of a kind, or their creation,
// lets something be done outside.
func (all Policies) opens(kind, field, verb string) bool {
	for _, p := range all.about(kind) {
		if field == created && p.Spec.Initializing.allows(verb) {
			return true
		}
		for _, rule := range p.Spec.Rules {
			if rule.Trigger == field && rule.allows(verb) {
				return true
			}
		}
	}
	return false
}

// attested returns the annotations that a change of a field has to name.
func (all Policies) attested(kind, field string) []string {
	var out []string
	for _, p := range all.about(kind) {
		for _, rule := range p.Spec.Rules {
			if rule.Trigger != field {
				continue
			}
			for _, path := range rule.Capture {
				out = append(out, strings.TrimSuffix(strings.TrimPrefix(path, "metadata.annotations["), "]"))
			}
		}
	}
	return out
}

// deletes reports whether what an object of a kind with labels is outside may be deleted
// with it.
func (all Policies) deletes(kind string, labels map[string]string) bool {
	for _, p := range all.about(kind) {
		selected := true
		for key, value := range p.Spec.ObjectSelector.MatchLabels {
			selected = selected && labels[key] == value
		}
		if selected && p.Spec.Deleting.allows(remove) {
			return true
		}
	}
	return false
}
