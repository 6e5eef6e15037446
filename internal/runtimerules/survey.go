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
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"
)

// Answer is what a file says to the calls of a method.
type Answer struct {
	// Method is its path.
	Method string
	// Verdicts are the answers in the order in which they are tried; the last is given to
	// what none before it is for.
	Verdicts []string
}

// Answers returns what the file says to each method of the API, ordered by path.
func (r *Rules) Answers() []Answer {
	all := Methods()
	out := make([]Answer, 0, len(all))
	for _, method := range all {
		plan := r.plans[method.Path]
		answer := Answer{Method: method.Path}
		for _, step := range plan.Steps {
			answer.Verdicts = append(answer.Verdicts, step.verdict())
		}
		if !plan.decided() {
			answer.Verdicts = append(answer.Verdicts, "deny: no rule allows it")
		}
		out = append(out, answer)
	}
	return out
}

// verdict returns what a rule does, for people.
func (s *Step) verdict() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s by %s", s.Rule.Action, s.Rule)
	for i, c := range s.Rule.Conditions {
		word := "if"
		if i > 0 {
			word = "and"
		}
		fmt.Fprintf(&b, " %s %s", word, c)
	}
	for _, f := range s.Rule.Filters {
		fmt.Fprintf(&b, ", keeping %s", f)
	}
	return b.String()
}

// Notes returns what a file allows, or does not, perhaps without its author wanting it.
func (r *Rules) Notes() []Problem {
	out := r.idle()
	filtered := r.filters()
	for _, method := range Methods() {
		for _, step := range r.plans[method.Path].Steps {
			if step.Rule.Action != Allow {
				continue
			}
			if why := step.root(method); why != "" {
				out = append(out, Problem{step.Rule.Line, method.Path + " is worth root on the node: " + why})
			}
			if filtered && !step.restricted() && method.showsPods() {
				out = append(out, Problem{step.Rule.Line,
					method.Path + " shows what is of any Pod, and other rules filter: filter it by the caller's Pod as well"})
			}
		}
	}
	slices.SortStableFunc(out, func(a, b Problem) int { return a.Line - b.Line })
	return out
}

// idle returns the rules that no call reaches.
func (r *Rules) idle() []Problem {
	reached := map[*Rule]bool{}
	for _, plan := range r.plans {
		for _, step := range plan.Steps {
			reached[step.Rule] = true
		}
	}
	var out []Problem
	for _, rule := range r.List {
		if !reached[rule] {
			out = append(out, Problem{rule.Line, fmt.Sprintf("%s never applies: rules above it decide all calls of %s", rule, rule.Method)})
		}
	}
	return out
}

// filters reports whether any rule holds something of a response back.
func (r *Rules) filters() bool {
	return slices.ContainsFunc(r.List, func(rule *Rule) bool { return len(rule.Filters) > 0 })
}

// root returns why a rule is as good as root on the node for whoever may use it; empty where
// it is not known to be.
func (s *Step) root(method *Method) string {
	switch method.Path[strings.LastIndex(method.Path, "/")+1:] {
	case "CreateContainer", "RunPodSandbox":
		return "the request may ask for privileges, mounts of the host and a foreign cgroup, also within the caller's own Pod"
	case "RestorePod":
		return "what is restored may have any privileges"
	case "CheckpointContainer", "CheckpointPod":
		return "it writes memory, with what is secret there, to any path of the host"
	case "Exec", "ExecSync", "Attach":
		if !s.owned() {
			return "it reaches into any container, the privileged ones among them; restrict ContainerId by " + string(BelongsToPod)
		}
	}
	return ""
}

// owned reports whether the rule is only about containers of the caller's Pod.
func (s *Step) owned() bool {
	return slices.ContainsFunc(s.conditions, func(c condition) bool { return c.owner })
}

// restricted reports whether the rule is only about the caller's Pod, or some containers.
func (s *Step) restricted() bool {
	return len(s.filters) > 0 || len(s.conditions) > 0
}

// showsPods reports whether responses say something of Pods that the request need not
// name.
func (m *Method) showsPods() bool {
	if strings.Contains(m.Path, "Image") {
		return false
	}
	fields := m.response.Descriptor().Fields()
	for i := range fields.Len() {
		field := fields.Get(i)
		if field.IsList() && field.Kind() == protoreflect.MessageKind && field.Message().Name() != "MetricDescriptor" {
			return true
		}
	}
	return false
}
