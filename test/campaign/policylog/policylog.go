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

// Package policylog tells from the audit log what AllowancePolicies said at a time, as the API server stored
// them. It shares no code with the operator.
package policylog

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kausality.io/operator/test/campaign/audit"
)

// Policy is what matters of the spec of an AllowancePolicy.
type Policy struct {
	For struct {
		APIGroup string `json:"apiGroup"`
		Kind     string `json:"kind"`
	} `json:"for"`
	Subjects     []Subject `json:"subjects"`
	Initializing *Section  `json:"initializing"`
	Maintaining  *Section  `json:"maintaining"`
	Deleting     *Section  `json:"deleting"`
	Rules        []Rule    `json:"rules"`
	// Consumption says when an object has settled, where its status does not tell.
	Consumption struct {
		When string `json:"when"`
	} `json:"consumption"`
	// FailurePolicy is Ignore where it is empty.
	FailurePolicy string `json:"failurePolicy"`
	// UncausedChanges is Hold where it is empty.
	UncausedChanges string `json:"uncausedChanges"`
	// NamespaceSelector and ObjectSelector say which objects of the kind it is for; nil for all.
	NamespaceSelector *metav1.LabelSelector `json:"namespaceSelector"`
	ObjectSelector    *metav1.LabelSelector `json:"objectSelector"`

	Name string `json:"-"`
	// Since is when the policy came, From is when it was in effect for certain, and Until is
	// when its end was asked for.
	Since, From, Until time.Time `json:"-"`
	// Unbroken is since when it, or what it edits, was in effect without a gap: what all
	// versions say holds while an edit is on its way.
	Unbroken time.Time `json:"-"`
}

// Subject is somebody that a policy names.
type Subject struct {
	Kind        string `json:"kind"`
	Name        string `json:"name"`
	Namespace   string `json:"namespace"`
	MayInitiate bool   `json:"mayInitiate"`
}

// Section is one of a policy.
type Section struct {
	Policies []Permission `json:"policies"`
}

// Rule is what a change of a field lets happen.
type Rule struct {
	Trigger    string       `json:"trigger"`
	Conditions []string     `json:"conditions"`
	Policies   []Permission `json:"policies"`
}

// Permission is an entry of a policy.
type Permission struct {
	Target struct {
		APIGroup string `json:"apiGroup"`
		Resource string `json:"resource"`
	} `json:"target"`
	Verbs     []string `json:"verbs"`
	Mutations []struct {
		JSONPath string   `json:"jsonPath"`
		Verbs    []string `json:"verbs"`
	} `json:"mutations"`
	Subjects   []Subject `json:"subjects"`
	Conditions []string  `json:"conditions"`
}

// Moment is how long the API server may take to hear what its webhooks are.
const Moment = 2 * time.Second

// Log answers what policies say at a time.
type Log []*Policy

// Read returns all versions of policies, in which kinds and resources are named as they are known.
func Read(all []*audit.Life, kinds audit.Kinds) (Log, error) {
	var out Log
	for _, l := range all {
		var latest *Policy
		for _, v := range l.Versions {
			if latest == nil || v.Before.Generation != v.Generation {
				p := &Policy{Name: v.Name, Since: v.By.Received, From: audit.Forever, Until: audit.Forever, Unbroken: audit.Forever}
				if err := json.Unmarshal(v.Raw["spec"], p); err != nil {
					return nil, fmt.Errorf("AllowancePolicy %s: %w", v.Name, err)
				}
				p.name(kinds)
				if latest != nil {
					latest.Until = v.By.Received
					p.Unbroken = latest.Unbroken
				}
				latest = p
				out = append(out, p)
			}
			enforced := slices.ContainsFunc(v.Status.Conditions, func(c audit.Condition) bool {
				return c.Type == "Enforced" && c.Status == "True" && c.ObservedGeneration == v.Generation
			})
			if enforced && latest.From.Equal(audit.Forever) {
				latest.From = v.By.Answered.Add(Moment)
				if latest.Unbroken.Equal(audit.Forever) {
					latest.Unbroken = latest.From
				}
			}
		}
		if latest != nil && !l.Asked.IsZero() {
			latest.Until = l.Asked
		}
	}
	return out, nil
}

// name has the policy name kinds and resources as they are known.
func (p *Policy) name(kinds audit.Kinds) {
	p.For.Kind = kinds.Kind(p.For.APIGroup, p.For.Kind)
	for _, s := range p.Sections() {
		if s == nil {
			continue
		}
		for i := range s.Policies {
			target := &s.Policies[i].Target
			target.Resource = kinds.Resource(target.APIGroup, target.Resource)
		}
	}
}

// For returns the policies for a kind, at any time.
func (l Log) For(kind string) Log {
	return slices.DeleteFunc(slices.Clone(l), func(p *Policy) bool { return p.For.Kind != kind })
}

// During returns the policies for a kind that were in effect all through an interval. One without an
// initiator goes on with what policies that name its kind begin, and needs a parent.
func (l Log) During(kind string, hasParent bool, from, to time.Time) []*Policy {
	var out []*Policy
	for _, p := range l {
		if p.For.Kind == kind && !p.From.After(from) && !p.Until.Before(to) && (p.Initiates() || hasParent) {
			out = append(out, p)
		}
	}
	return out
}

// Ever returns the policies for a kind that may have been in effect at some time of an interval.
func (l Log) Ever(kind string, from, to time.Time) []*Policy {
	var out []*Policy
	for _, p := range l {
		if p.For.Kind == kind && !p.Since.After(to) && !p.Until.Add(Moment).Before(from) {
			out = append(out, p)
		}
	}
	return out
}

// Closes reports whether any of those for a kind that were in effect all through an interval has
// it that nothing goes on while nobody can be asked: one is enough.
func (l Log) Closes(kind string, from, to time.Time) bool {
	return slices.ContainsFunc(l.During(kind, true, from, to), func(p *Policy) bool { return p.FailurePolicy == "Fail" })
}

// Standing returns the policies for a kind that were in effect all through an interval, by whatever edit
// of them. One without an initiator goes on only with what policies that name its resource begin.
func (l Log) Standing(kind, resource string, from, to time.Time) []*Policy {
	stands := func(p *Policy) bool { return !p.Unbroken.After(from) && !p.Until.Before(to) }
	var out []*Policy
	for _, p := range l {
		if p.For.Kind != kind || !stands(p) {
			continue
		}
		if p.Initiates() || slices.ContainsFunc(l, func(above *Policy) bool {
			return above.For.Kind != kind && above.Initiates() && above.Bounds(resource, nil) && stands(above)
		}) {
			out = append(out, p)
		}
	}
	return out
}

// Came reports whether a policy for a kind came or went in an interval.
func (l Log) Came(kind string, from, to time.Time) bool {
	return slices.ContainsFunc(l, func(p *Policy) bool {
		in := func(t time.Time) bool { return !t.Before(from) && !t.After(to) }
		effect := p.From
		if effect.Equal(audit.Forever) {
			effect = p.Until
		}
		return p.For.Kind == kind && (in(p.Since) || in(effect) || in(p.Until) || p.Since.Before(from) && effect.After(to))
	})
}

// Initiates reports whether the policy lets anybody begin something.
func (p *Policy) Initiates() bool {
	return slices.ContainsFunc(p.Subjects, func(s Subject) bool { return s.MayInitiate })
}

// Sections returns all entries of a policy, of whatever section or rule.
func (p *Policy) Sections() []*Section {
	out := []*Section{p.Initializing, p.Maintaining, p.Deleting}
	for i := range p.Rules {
		out = append(out, &Section{p.Rules[i].Policies})
	}
	return out
}

// Bounds reports whether the policy bounds children of a resource while their parent is
// steady, or in the phase of a section.
func (p *Policy) Bounds(resource string, in *Section) bool {
	if resource == "controllerrevisions" {
		// What keeps the history of Pods goes with them.
		return (p.For.Kind == "StatefulSet" || p.For.Kind == "DaemonSet") && in != p.Deleting && p.Bounds("pods", in)
	}
	if in != nil && in != p.Maintaining {
		return in.Names(resource)
	}
	if p.Maintaining.Names(resource) {
		return true
	}
	return slices.ContainsFunc(p.Rules, func(r Rule) bool { return (&Section{r.Policies}).Names(resource) })
}

// Names reports whether an entry of the section is about a resource.
func (s *Section) Names(resource string) bool {
	return s != nil && slices.ContainsFunc(s.Policies, func(e Permission) bool { return e.Target.Resource == resource })
}

// Lets reports whether an entry lets a change of a resource happen.
func (e *Permission) Lets(resource string, c audit.Change) bool {
	if e.Target.Resource != resource {
		return false
	}
	has := func(verbs []string, verb string) bool {
		return slices.Contains(verbs, verb) || slices.Contains(verbs, "*")
	}
	switch c.Verb {
	case audit.Makes:
		return has(e.Verbs, "Create")
	case audit.Ends:
		return has(e.Verbs, "Delete")
	}
	if len(e.Mutations) == 0 {
		return has(e.Verbs, "Update")
	}
	for _, m := range e.Mutations {
		if audit.Within(c.Path, PathOf(m.JSONPath)) && (len(m.Verbs) == 0 || has(m.Verbs, c.Verb)) {
			return true
		}
	}
	return false
}

// PathOf reads a path of a policy.
func PathOf(text string) []string {
	text = strings.NewReplacer("[", ".", "]", "").Replace(text)
	return strings.Split(text, ".")
}

// Is reports whether the subject is somebody.
func (s *Subject) Is(user string, groups []string) bool {
	switch s.Kind {
	case "User":
		return s.Name == user
	case "Group":
		return slices.Contains(groups, s.Name)
	default:
		return user == "system:serviceaccount:"+s.Namespace+":"+s.Name
	}
}

// Knows reports whether any of the policies names somebody; as one who may initiate, if asked
// so.
func Knows(all []*Policy, w *audit.Write, initiating bool) bool {
	return slices.ContainsFunc(all, func(p *Policy) bool {
		return slices.ContainsFunc(p.Subjects, func(s Subject) bool {
			return (s.MayInitiate || !initiating) && s.Is(w.User, w.Groups)
		})
	})
}
