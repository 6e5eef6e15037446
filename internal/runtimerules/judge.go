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

package runtimerules

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// Outcome is what becomes of a call.
type Outcome int

// The outcomes.
const (
	// Refused is for a call that nothing allows.
	Refused Outcome = iota
	// Allowed is for one that a rule allows.
	Allowed
	// Undecided is for one that cannot be judged: no later rule is asked, which might be
	// more generous than the one that could not be.
	Undecided
	// Asking is for one that can be judged when the verdict's questions have been answered.
	Asking
	// Unimplemented is for a method that a pattern allows and the API does not have.
	Unimplemented
)

// Verdict is the judgement of a call.
type Verdict struct {
	// Outcome is what becomes of it.
	Outcome Outcome
	// Step is the rule that decided; nil where none did.
	Step *Step
	// Reason says why, for people.
	Reason string
	// Request is what is to be sent in place of the request: with ids in full. It is nil
	// where nobody has looked at the request.
	Request proto.Message
	// Questions are what has to be found out first.
	Questions []Question
}

// Rule returns the rule that decided; nil where none did.
func (v Verdict) Rule() *Rule {
	if v.Step == nil {
		return nil
	}
	return v.Step.Rule
}

// maxObstacles is how many rules a refusal names.
const maxObstacles = 3

// Plan returns what the file says of a method; nil for one that the API does not have.
func (r *Rules) Plan(path string) *Plan { return r.plans[path] }

// Unknown returns the verdict on a call of a method that the API does not have. It is never
// forwarded, since nobody knows what it does.
func (r *Rules) Unknown(path string) Verdict {
	for _, rule := range r.patterns {
		switch {
		case !matches(rule.Method, path):
		case rule.Action == Deny:
			return Verdict{Reason: fmt.Sprintf("%s denies it", rule)}
		case len(rule.Conditions) == 0:
			return Verdict{Outcome: Unimplemented, Reason: "runtime.v1 has no such method that could be judged"}
		}
	}
	return Verdict{Reason: "no rule allows it"}
}

// ReadsRequest reports whether the rules ask for anything that is in the request.
func (p *Plan) ReadsRequest() bool {
	return len(p.Steps) > 0 && len(p.Steps[0].conditions) > 0
}

// Judge returns the verdict on a call. The request is looked at where ReadsRequest says so.
func (p *Plan) Judge(request proto.Message, facts Facts) Verdict {
	var obstacles []string
	for _, step := range p.Steps {
		held := step.test(request, facts)
		switch held.truth {
		case fails:
			obstacles = append(obstacles, held.obstacle)
			continue
		case unasked:
			return Verdict{Outcome: Asking, Step: step, Questions: held.questions}
		case unknown:
			return Verdict{Outcome: Undecided, Step: step, Reason: fmt.Sprintf("%s cannot be judged: %v", step.Rule, held.err)}
		case holds:
		}
		if step.Rule.Action == Deny {
			return Verdict{Step: step, Reason: fmt.Sprintf("%s denies it", step.Rule)}
		}
		return step.allow(request, facts)
	}
	return Verdict{Reason: refusal(obstacles)}
}

// refusal names what would have allowed the call. It depends on what is in the rules and
// the request, and not on whether something exists.
func refusal(obstacles []string) string {
	if len(obstacles) == 0 {
		return "no rule allows it"
	}
	if more := len(obstacles) - maxObstacles; more > 0 {
		obstacles = append(obstacles[:maxObstacles:maxObstacles], fmt.Sprintf("%d more rules do not apply", more))
	}
	return strings.Join(obstacles, "; ")
}

// allow returns the verdict of a rule whose conditions hold.
func (s *Step) allow(request proto.Message, facts Facts) Verdict {
	if len(s.filters) > 0 {
		switch _, pod := facts.pod(); pod.truth {
		case unasked:
			return Verdict{Outcome: Asking, Step: s, Questions: []Question{pod.question}}
		case unknown:
			return Verdict{Outcome: Undecided, Step: s, Reason: fmt.Sprintf("%s cannot filter: %v", s.Rule, pod.err)}
		case fails:
			// Nothing of the list would remain, and a kubelet that is shown an empty list
			// starts everything again.
			return Verdict{Step: s, Reason: fmt.Sprintf("%s filters by the caller's Pod, and the caller is in none", s.Rule)}
		case holds:
		}
	}
	return Verdict{Outcome: Allowed, Step: s, Reason: fmt.Sprintf("%s allows it", s.Rule), Request: s.complete(request, facts)}
}

// tested is what a rule's conditions say together.
type tested struct {
	answer
	questions []Question
	obstacle  string
}

// test asks all conditions. One that fails decides, though others are not known.
func (s *Step) test(request proto.Message, facts Facts) tested {
	var out tested
	for i, c := range s.conditions {
		one := c.test(request.ProtoReflect(), facts)
		if one.truth == unasked {
			out.questions = append(out.questions, one.question)
		}
		if one.truth > out.truth {
			out.answer = one
			if one.truth == fails {
				out.obstacle = fmt.Sprintf("%s asks that %s", s.Rule, s.Rule.Conditions[i])
			}
		}
	}
	return out
}

func (c condition) test(request protoreflect.Message, facts Facts) answer {
	value := c.field.value(request)
	switch {
	case c.owner:
		_, out := facts.owns(value.String())
		return out
	case c.equals.IsValid():
		return said(value.Equal(c.equals))
	}
	pod, out := facts.pod()
	if out.truth != holds {
		return out
	}
	return said(value.String() == pod)
}

// complete returns the request with the ids of containers in full: what a short one stands for
// may be another container by the time that the runtime looks.
func (s *Step) complete(request proto.Message, facts Facts) proto.Message {
	completed := false
	for _, c := range s.conditions {
		if !c.owner {
			continue
		}
		id := c.field.value(request.ProtoReflect()).String()
		full, _ := facts.owns(id)
		if full == id {
			continue
		}
		if !completed {
			request, completed = proto.Clone(request), true
		}
		holder := request.ProtoReflect()
		for _, field := range c.field[:len(c.field)-1] {
			holder = holder.Mutable(field).Message()
		}
		holder.Set(c.field.leaf(), protoreflect.ValueOfString(full))
	}
	return request
}

// Basis identifies what a verdict rests on: the rules for the method, up to the one that
// decided. It is the same for files that would judge the call alike.
func (p *Plan) Basis(decided *Step) string {
	sum := sha256.New()
	for _, step := range p.Steps {
		sum.Write([]byte(strconv.Quote(step.Rule.meaning())))
		if step == decided {
			break
		}
	}
	return string(sum.Sum(nil))
}

// Has reports whether the rules still begin with what an earlier verdict rested on.
func (p *Plan) Has(basis string) bool {
	for _, step := range p.Steps {
		if p.Basis(step) == basis {
			return true
		}
	}
	return false
}

// errUnknownField is for a request that says more than the rules can look at.
var errUnknownField = errors.New("it has a field that runtime.v1 does not have, and cannot be judged")

// Request reads a request. What could not be judged is refused rather than left out, as
// the runtime may know it.
func (m *Method) Request(data []byte) (proto.Message, error) {
	message := m.request.New().Interface()
	if err := proto.Unmarshal(data, message); err != nil {
		return nil, fmt.Errorf("it is no %s", m.request.Descriptor().Name())
	}
	if hasUnknown(message.ProtoReflect()) {
		return nil, errUnknownField
	}
	return message, nil
}

// hasUnknown reports whether a message, or one within it, has fields that its type lacks.
func hasUnknown(message protoreflect.Message) bool {
	if len(message.GetUnknown()) > 0 {
		return true
	}
	found := false
	message.Range(func(field protoreflect.FieldDescriptor, value protoreflect.Value) bool {
		switch {
		case field.IsMap():
			if field.MapValue().Message() != nil {
				value.Map().Range(func(_ protoreflect.MapKey, v protoreflect.Value) bool {
					found = hasUnknown(v.Message())
					return !found
				})
			}
		case field.Message() == nil:
		case field.IsList():
			for i := 0; i < value.List().Len() && !found; i++ {
				found = hasUnknown(value.List().Get(i).Message())
			}
		default:
			found = hasUnknown(value.Message())
		}
		return !found
	})
	return found
}
