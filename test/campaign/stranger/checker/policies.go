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
)

// policy is what matters of the spec of an AllowancePolicy.
type policy struct {
	For struct {
		Kind string `json:"kind"`
	} `json:"for"`
	Subjects     []subject `json:"subjects"`
	Initializing *section  `json:"initializing"`
	Maintaining  *section  `json:"maintaining"`
	Deleting     *section  `json:"deleting"`
	Rules        []rule    `json:"rules"`

	name string
	// since is when the policy came, from is when it was in effect for certain, and until is
	// when its end was asked for.
	since, from, until time.Time
}

// subject is somebody that a policy names.
type subject struct {
	Kind        string `json:"kind"`
	Name        string `json:"name"`
	Namespace   string `json:"namespace"`
	MayInitiate bool   `json:"mayInitiate"`
}

// section is one of a policy, and rule what a change of a field lets happen.
type (
	section struct {
		Policies []permission `json:"policies"`
	}
	rule struct {
		Trigger  string       `json:"trigger"`
		Policies []permission `json:"policies"`
	}
)

// permission is an entry of a policy.
type permission struct {
	Target struct {
		Resource string `json:"resource"`
	} `json:"target"`
	Verbs     []string `json:"verbs"`
	Mutations []struct {
		JSONPath string   `json:"jsonPath"`
		Verbs    []string `json:"verbs"`
	} `json:"mutations"`
	Subjects   []subject `json:"subjects"`
	Conditions []string  `json:"conditions"`
}

// moment is how long the API server may take to hear what its webhooks are.
const moment = 2 * time.Second

// rulebook answers what policies say at a time.
type rulebook []*policy

// policiesOf are all versions of policies.
func policiesOf(all []*life) (rulebook, error) {
	var out rulebook
	for _, l := range all {
		var latest *policy
		for _, v := range l.versions {
			if latest == nil || v.before.generation != v.generation {
				p := &policy{name: v.name, since: v.by.received, from: forever, until: forever}
				if err := json.Unmarshal(v.raw["spec"], p); err != nil {
					return nil, fmt.Errorf("AllowancePolicy %s: %w", v.name, err)
				}
				if latest != nil {
					latest.until = v.by.received
				}
				latest = p
				out = append(out, p)
			}
			enforced := slices.ContainsFunc(v.status.Conditions, func(c condition) bool {
				return c.Type == "Enforced" && c.Status == "True" && c.ObservedGeneration == v.generation
			})
			if enforced && latest.from.Equal(forever) {
				latest.from = v.by.answered.Add(moment)
			}
		}
		if latest != nil && !l.asked.IsZero() {
			latest.until = l.asked
		}
	}
	return out, nil
}

// during are those for a kind that were in effect all through an interval. One without an
// initiator goes on with what policies that name its kind begin, and needs a parent.
func (r rulebook) during(kind string, hasParent bool, from, to time.Time) []*policy {
	var out []*policy
	for _, p := range r {
		if p.For.Kind == kind && !p.from.After(from) && !p.until.Before(to) && (p.initiates() || hasParent) {
			out = append(out, p)
		}
	}
	return out
}

// ever are those for a kind that may have been in effect at some time of an interval.
func (r rulebook) ever(kind string, from, to time.Time) []*policy {
	var out []*policy
	for _, p := range r {
		if p.For.Kind == kind && !p.since.After(to) && !p.until.Add(moment).Before(from) {
			out = append(out, p)
		}
	}
	return out
}

// came reports whether a policy for a kind came or went in an interval.
func (r rulebook) came(kind string, from, to time.Time) bool {
	return slices.ContainsFunc(r, func(p *policy) bool {
		in := func(t time.Time) bool { return !t.Before(from) && !t.After(to) }
		effect := p.from
		if effect.Equal(forever) {
			effect = p.until
		}
		return p.For.Kind == kind && (in(p.since) || in(effect) || in(p.until) || p.since.Before(from) && effect.After(to))
	})
}

func (p *policy) initiates() bool {
	return slices.ContainsFunc(p.Subjects, func(s subject) bool { return s.MayInitiate })
}

// sections are all entries of a policy, of whatever section or rule.
func (p *policy) sections() []*section {
	out := []*section{p.Initializing, p.Maintaining, p.Deleting}
	for i := range p.Rules {
		out = append(out, &section{p.Rules[i].Policies})
	}
	return out
}

// bounds reports whether the policy bounds children of a resource while their parent is
// steady, or in the phase of a section.
func (p *policy) bounds(resource string, in *section) bool {
	if resource == revisions {
		// What keeps the history of Pods goes with them.
		return (p.For.Kind == kinds[statefulSets] || p.For.Kind == kinds[daemonSets]) && in != p.Deleting && p.bounds(pods, in)
	}
	if in != nil && in != p.Maintaining {
		return in.names(resource)
	}
	if p.Maintaining.names(resource) {
		return true
	}
	return slices.ContainsFunc(p.Rules, func(r rule) bool { return (&section{r.Policies}).names(resource) })
}

// names reports whether an entry of the section is about a resource.
func (s *section) names(resource string) bool {
	return s != nil && slices.ContainsFunc(s.Policies, func(e permission) bool { return e.Target.Resource == resource })
}

// lets reports whether an entry lets a change of a resource happen.
func (e *permission) lets(resource string, c change) bool {
	if e.Target.Resource != resource {
		return false
	}
	has := func(verbs []string, verb string) bool {
		return slices.Contains(verbs, verb) || slices.Contains(verbs, "*")
	}
	switch c.verb {
	case makes:
		return has(e.Verbs, "Create")
	case ends:
		return has(e.Verbs, "Delete")
	}
	if len(e.Mutations) == 0 {
		return has(e.Verbs, "Update")
	}
	for _, m := range e.Mutations {
		if within(c.path, pathOf(m.JSONPath)) && (len(m.Verbs) == 0 || has(m.Verbs, c.verb)) {
			return true
		}
	}
	return false
}

// pathOf reads a path of a policy.
func pathOf(text string) []string {
	text = strings.NewReplacer("[", ".", "]", "").Replace(text)
	return strings.Split(text, ".")
}

// is reports whether the subject is somebody.
func (s *subject) is(user string, groups []string) bool {
	switch s.Kind {
	case "User":
		return s.Name == user
	case "Group":
		return slices.Contains(groups, s.Name)
	default:
		return user == "system:serviceaccount:"+s.Namespace+":"+s.Name
	}
}

// knows reports whether any of the policies names somebody; as one who may initiate, if asked
// so.
func knows(all []*policy, w *write, initiating bool) bool {
	return slices.ContainsFunc(all, func(p *policy) bool {
		return slices.ContainsFunc(p.Subjects, func(s subject) bool {
			return (s.MayInitiate || !initiating) && s.is(w.user, w.groups)
		})
	})
}
