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
	"errors"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"
)

// Rules are those of a file, compiled. They do not change.
type Rules struct {
	// List is in the order of the file.
	List []*Rule

	plans map[string]*Plan
	// patterns are those of the rules that stand for more than one method, for methods that
	// the API does not have.
	patterns []*Rule
}

// Plan is what a file says of one method.
type Plan struct {
	// Method is the method.
	Method *Method
	// Steps are the rules that are about it, in order, up to the first that always decides.
	Steps []*Step
}

// Step is a rule as it is about one method.
type Step struct {
	// Rule is the rule as it was written.
	Rule *Rule

	conditions []condition
	filters    []filter
}

// condition is one whose field has been found.
type condition struct {
	field path
	// equals is the value that is asked for; where it is none, the caller's Pod is.
	equals protoreflect.Value
	// owner says that the field has the id of a container.
	owner bool
}

// filter is one whose fields have been found.
type filter struct {
	// list is empty where the message as a whole is kept or not.
	list    path
	element path
	owner   bool
}

// Parse reads and compiles a file. Its error is *ProblemsError.
func Parse(file string, text []byte) (*Rules, error) {
	list, problems := parse(file, text)
	if err := problems.err(); err != nil {
		return nil, err
	}
	c := compiler{problems: problems, byPattern: map[string][]*Method{}, all: Methods()}
	rules := &Rules{List: list, plans: make(map[string]*Plan, len(c.all))}
	for _, method := range c.all {
		rules.plans[method.Path] = &Plan{Method: method}
	}
	for _, rule := range list {
		for _, method := range c.methods(rule) {
			step, plan := c.step(rule, method), rules.plans[method.Path]
			if !plan.decided() {
				plan.Steps = append(plan.Steps, step)
			}
		}
		if strings.Contains(rule.Method, "*") {
			rules.patterns = append(rules.patterns, rule)
		}
	}
	if err := problems.err(); err != nil {
		return nil, err
	}
	return rules, nil
}

// decided reports whether the last of the rules decides each call, so that none after it
// is asked.
func (p *Plan) decided() bool {
	return len(p.Steps) > 0 && len(p.Steps[len(p.Steps)-1].conditions) == 0
}

// compiler finds what rules name in the API.
type compiler struct {
	problems *ProblemsError
	all      []*Method
	// byPattern is kept, as thousands of rules may have the same few patterns.
	byPattern map[string][]*Method
}

// methods returns the methods that a rule is about.
func (c *compiler) methods(rule *Rule) []*Method {
	found, known := c.byPattern[rule.Method]
	if !known {
		for _, method := range c.all {
			if matches(rule.Method, method.Path) {
				found = append(found, method)
			}
		}
		c.byPattern[rule.Method] = found
	}
	if len(found) == 0 {
		what := "is no method of runtime.v1"
		if strings.Contains(rule.Method, "*") {
			what = "matches no method of runtime.v1; a \"*\" stands for characters of one segment"
		}
		c.problems.addf(rule.Line, "%q %s: %s", rule.Method, what, c.nearestMethod(rule.Method))
	}
	return found
}

func (c *compiler) nearestMethod(written string) string {
	paths := make([]string, 0, len(c.all))
	for _, method := range c.all {
		paths = append(paths, method.Path)
	}
	if near, ok := nearest(written, paths); ok {
		return "did you mean " + near + "?"
	}
	// Only the last part was written, perhaps.
	for _, path := range paths {
		if strings.EqualFold(path[strings.LastIndex(path, "/")+1:], strings.TrimPrefix(written, "/")) {
			return "did you mean " + path + "?"
		}
	}
	return "methods look like " + paths[0]
}

// step finds the fields of a rule in the messages of a method.
func (c *compiler) step(rule *Rule, method *Method) *Step {
	step := &Step{Rule: rule}
	for _, written := range rule.Conditions {
		field, err := resolve(method.request.Descriptor(), written.Field)
		if err != nil {
			c.problems.addf(written.Line, "condition of %s: %v", method.Path, err)
			continue
		}
		compiled := condition{field: field, owner: written.Operator == BelongsToPod}
		if err := comparison(field.leaf(), written.Source != ""); err != nil {
			c.problems.addf(written.Line, "condition of %s: %s %v", method.Path, written.Field, err)
			continue
		}
		if written.Value != nil {
			if compiled.equals, err = typed(field.leaf(), written.Value); err != nil {
				c.problems.addf(written.Line, "condition of %s: the value is not one that %s has: %v", method.Path, written.Field, err)
				continue
			}
		}
		step.conditions = append(step.conditions, compiled)
	}
	for _, written := range rule.Filters {
		compiled, err := newFilter(method, written)
		if err != nil {
			c.problems.addf(written.Line, "filter of %s: %v", method.Path, err)
			continue
		}
		step.filters = append(step.filters, compiled)
	}
	return step
}

// comparison reports why a field cannot be compared with a value, or with an id.
func comparison(field protoreflect.FieldDescriptor, id bool) error {
	if err := scalar(field); err != nil {
		return err
	}
	if id && field.Kind() != protoreflect.StringKind {
		return errors.New("is no string, and the id of a Pod or container is one")
	}
	return nil
}

func newFilter(method *Method, written Filter) (filter, error) {
	element := method.response.Descriptor()
	out := filter{owner: written.Operator == BelongsToPod}
	if written.Field == Self {
		if !method.Streams {
			return out, errors.New("the field . is for methods that answer with a stream; name a list of the response")
		}
	} else {
		list, err := resolve(element, written.Field)
		if err != nil {
			return out, err
		}
		if !list.leaf().IsList() || list.leaf().Message() == nil {
			return out, errors.New(written.Field + " is no list of messages")
		}
		out.list, element = list, list.leaf().Message()
	}
	field, err := resolve(element, written.FilterField)
	if err != nil {
		return out, err
	}
	if err := comparison(field.leaf(), true); err != nil {
		return out, errors.New(written.FilterField + " " + err.Error())
	}
	out.element = field
	return out, nil
}
