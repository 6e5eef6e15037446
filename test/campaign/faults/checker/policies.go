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
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// policy is what matters of the spec of an AllowancePolicy.
type policy struct {
	For struct {
		Kind string `json:"kind"`
	} `json:"for"`
	Subjects []struct {
		Kind        string `json:"kind"`
		Name        string `json:"name"`
		Namespace   string `json:"namespace"`
		MayInitiate bool   `json:"mayInitiate"`
	} `json:"subjects"`
	Initializing section `json:"initializing"`
	Deleting     section `json:"deleting"`
	Maintaining  section `json:"maintaining"`
	Rules        []struct {
		Trigger  string       `json:"trigger"`
		Policies []permission `json:"policies"`
	} `json:"rules"`

	name string
	// since is when the policy came to be, from is since when it says that it is enforced,
	// with a moment for the API server to hear of it, and until is when it was told to
	// end.
	since, from, until time.Time
}

// section is one of a policy.
type section struct {
	Policies []permission `json:"policies"`
}

// permission is what an entry of a policy names.
type permission struct {
	Target struct {
		Resource string `json:"resource"`
	} `json:"target"`
	Verbs     []string `json:"verbs"`
	Mutations []struct {
		JSONPath string   `json:"jsonPath"`
		Verbs    []string `json:"verbs"`
	} `json:"mutations"`
}

// lets tells whether the entry lets a change happen.
func (e *permission) lets(c change) bool {
	if c.verb == wholeObject {
		return slices.ContainsFunc(e.Verbs, func(verb string) bool { return strings.EqualFold(verb, c.path) })
	}
	if len(e.Mutations) == 0 {
		return slices.Contains(e.Verbs, "Update")
	}
	for _, m := range e.Mutations {
		if within(c.path, m.JSONPath) && (len(m.Verbs) == 0 || slices.Contains(m.Verbs, c.verb)) {
			return true
		}
	}
	return false
}

// lets tells whether the section lets all changes of a child happen: one that does not name
// its resource restricts nothing.
func (s *section) lets(resource string, changes []change) bool {
	about := func(e permission) bool { return e.Target.Resource == resource }
	if !slices.ContainsFunc(s.Policies, about) {
		return true
	}
	return !slices.ContainsFunc(changes, func(c change) bool {
		return !slices.ContainsFunc(s.Policies, func(e permission) bool { return about(e) && e.lets(c) })
	})
}

// moment is how long the API server may take to hear what its webhooks are.
const moment = 2 * time.Second

// policiesOf are all versions of policies that were in effect at some time.
func policiesOf(all []*life) ([]*policy, error) {
	var out []*policy
	for _, l := range all {
		var latest *policy
		for _, v := range l.versions {
			if latest == nil || v.before.Metadata.Generation != v.Metadata.Generation {
				p := &policy{name: v.Metadata.Name, since: v.by.Received, from: forever, until: forever}
				if err := json.Unmarshal(v.RawSpec, p); err != nil {
					return nil, fmt.Errorf("AllowancePolicy %s: %w", v.Metadata.Name, err)
				}
				if latest != nil {
					latest.until = v.by.Received
					// An edit: what both versions say holds without a gap.
					if !latest.from.Equal(forever) {
						p.from = v.by.Received
					}
				}
				latest = p
				out = append(out, p)
			}
			enforced := apimeta.FindStatusCondition(v.Status.Conditions, "Enforced")
			if latest.from.Equal(forever) && enforced != nil && enforced.Status == metav1.ConditionTrue && enforced.ObservedGeneration == v.Metadata.Generation {
				latest.from = v.by.Answered.Add(moment)
			}
		}
		if latest != nil && !l.goneSince.IsZero() {
			latest.until = l.goneSince
		}
	}
	return out, nil
}

// rulebook answers what policies say at a time.
type rulebook []*policy

// of are the policies for a kind that were in effect all through the interval: those
// without an initiator go on only with what policies that name their kind begin.
func (r rulebook) of(kind string, from, to time.Time) []*policy {
	var out []*policy
	for _, p := range r {
		if p.For.Kind != kind || p.from.After(from) || p.until.Before(to) {
			continue
		}
		if p.initiates() || slices.ContainsFunc(r, func(above *policy) bool {
			return above.For.Kind != kind && above.initiates() && above.names(strings.ToLower(kind)+"s") &&
				!above.from.After(from) && !above.until.Before(to)
		}) {
			out = append(out, p)
		}
	}
	return out
}

// ever are those that may have been in effect at some time of the interval: what they let
// happen is nothing to wonder about.
func (r rulebook) ever(kind string, from, to time.Time) []*policy {
	var out []*policy
	for _, p := range r {
		if p.For.Kind == kind && !p.since.After(to) && !p.until.Before(from) {
			out = append(out, p)
		}
	}
	return out
}

// bounded tells whether children of a resource were bounded by a kind of parents all
// through the interval.
func (r rulebook) bounded(kind, resource string, from, to time.Time) bool {
	return slices.ContainsFunc(r.of(kind, from, to), func(p *policy) bool { return p.names(resource) })
}

func (p *policy) initiates() bool {
	for _, s := range p.Subjects {
		if s.MayInitiate {
			return true
		}
	}
	return false
}

// names tells whether the policy is about children of a resource.
func (p *policy) names(resource string) bool {
	about := func(e permission) bool { return e.Target.Resource == resource }
	if slices.ContainsFunc(p.Maintaining.Policies, about) {
		return true
	}
	for i := range p.Rules {
		if slices.ContainsFunc(p.Rules[i].Policies, about) {
			return true
		}
	}
	return false
}

// maintains tells whether the policy lets a child of a resource be created or deleted at
// any time.
func (p *policy) maintains(resource string, c change) bool {
	return slices.ContainsFunc(p.Maintaining.Policies, func(e permission) bool {
		return e.Target.Resource == resource && c.verb == wholeObject &&
			slices.ContainsFunc(e.Verbs, func(verb string) bool { return strings.EqualFold(verb, c.path) })
	})
}

// subject tells whether the policy names somebody, as one who may initiate if asked so.
func (p *policy) subject(user string, groups []string, initiating bool) bool {
	for _, s := range p.Subjects {
		if initiating && !s.MayInitiate {
			continue
		}
		switch {
		case s.Kind == "User" && s.Name == user,
			s.Kind == "Group" && slices.Contains(groups, s.Name),
			s.Kind == "ServiceAccount" && user == "system:serviceaccount:"+s.Namespace+":"+s.Name:
			return true
		}
	}
	return false
}

// mayInitiate tells whether any of the policies lets somebody start a chain.
func mayInitiate(all []*policy, user string, groups []string) bool {
	return slices.ContainsFunc(all, func(p *policy) bool { return p.subject(user, groups, true) })
}
