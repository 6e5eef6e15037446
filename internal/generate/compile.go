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

package generate

import (
	"fmt"
	"regexp"

	"github.com/google/cel-go/cel"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"

	"kausality.io/operator/api/v1alpha1"
)

// Policy is a compiled GeneratingPolicy. It is immutable, and safe for concurrent use.
type Policy struct {
	// Name of the policy.
	Name string
	// Evaluation is what its spec says of when it is evaluated.
	Evaluation v1alpha1.GeneratingEvaluation

	matcher    matcher
	conditions []*expression
	variables  map[string]*expression
	generate   []*expression
	// usesNamespace is true where an expression uses namespaceObject.
	usesNamespace bool
	// sources are what its expressions are known to read, whatever the trigger.
	sources []Source
	// needsRequest is true where an expression uses request or oldObject.
	needsRequest bool
	// usesOld is true where a generate expression uses oldObject.
	usesOld bool
	// budget is what its expressions may cost together for one trigger.
	budget uint64
}

// NeedsRequest reports whether only a request says what the policy asks: its expressions use request
// or oldObject. An object is a trigger then only by a request that TakesRequest.
func (p *Policy) NeedsRequest() bool { return p.needsRequest }

// UsesNamespace reports whether an expression uses namespaceObject.
func (p *Policy) UsesNamespace() bool { return p.usesNamespace }

// identifier is what CEL takes for a name.
var identifier = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

var (
	specPath  = field.NewPath("spec")
	matchPath = specPath.Child("matchConstraints")
)

// compiler compiles one policy.
type compiler struct {
	out      *Policy
	errs     field.ErrorList
	warnings []string
	// used are the variables that an expression uses.
	used sets.Set[string]
	// constants are the variables that are literal strings.
	constants map[string]string
}

// Compile compiles a policy. What cannot work is an error with the path of the field; what
// cannot matter is a warning.
func Compile(name string, spec *v1alpha1.GeneratingPolicySpec) (*Policy, []string, field.ErrorList) {
	c := &compiler{
		out: &Policy{
			Name: name, Evaluation: spec.Evaluation, variables: map[string]*expression{},
			budget: celconfig.RuntimeCELCostBudget,
		},
		used: sets.New[string](), constants: map[string]string{},
	}
	reading, err := readingEnv()
	if err != nil {
		return nil, nil, field.ErrorList{field.InternalError(specPath, err)}
	}
	c.matchConstraints(spec.MatchConstraints)
	reading = c.compileVariables(reading, spec.Variables)
	c.compileConditions(reading, spec.MatchConditions)
	c.compileGenerate(reading, spec.Generate)
	if _, _, err := serviceaccount.SplitUsername(spec.ServiceAccount); err != nil && spec.ServiceAccount != "" {
		c.invalid(specPath.Child("serviceAccount"), spec.ServiceAccount, "must be the user name of a service account, such as system:serviceaccount:NAMESPACE:NAME")
	}
	if len(c.errs) > 0 {
		return nil, nil, c.errs
	}
	for i, v := range spec.Variables {
		if !c.used.Has(v.Name) {
			c.warnf(specPath.Child("variables").Index(i), "no expression uses variables.%s", v.Name)
		}
	}
	return c.out, c.warnings, nil
}

func (c *compiler) invalid(at *field.Path, value any, detail string) {
	c.errs = append(c.errs, field.Invalid(at, value, detail))
}

func (c *compiler) warnf(at *field.Path, format string, args ...any) {
	c.warnings = append(c.warnings, fmt.Sprintf("%s: ", at)+fmt.Sprintf(format, args...))
}

// compileVariables returns the environment in which all variables are declared.
func (c *compiler) compileVariables(env *cel.Env, of []admissionregistrationv1.Variable) *cel.Env {
	at := specPath.Child("variables")
	c.atMost(at, len(of), MaxVariables)
	all := sets.New[string]()
	for _, v := range of {
		all.Insert(v.Name)
	}
	for i, v := range of {
		at := at.Index(i)
		switch _, twice := c.out.variables[v.Name]; {
		case !identifier.MatchString(v.Name):
			c.invalid(at.Child("name"), v.Name, "must be a name that CEL has, such as nsName: letters, digits and _")
			continue
		case twice:
			c.errs = append(c.errs, field.Duplicate(at.Child("name"), v.Name))
			continue
		}
		declared := cel.DynType
		if parsed, issues := env.Parse(v.Expression); issues.Err() == nil {
			if s, ok := constant(parsed.NativeRep().Expr()); ok {
				c.constants[v.Name] = s
			}
		}
		x := c.compile(env, v.Expression, at.Child("expression"), all)
		if x != nil && isScalar(x.output) {
			declared = x.output
		}
		// One that does not compile is declared all the same: what uses it is not wrong.
		c.out.variables[v.Name] = x
		extended, err := env.Extend(cel.Variable(varVariables+"."+v.Name, declared))
		if err != nil {
			c.errs = append(c.errs, field.InternalError(at, err))
			return env
		}
		env = extended
	}
	return env
}

// isScalar reports whether values of a type have no fields or items. What has some is of no
// type for those who use the variable, so that what is absent of it is null.
func isScalar(t *cel.Type) bool {
	switch t.Kind() {
	case cel.BoolKind, cel.IntKind, cel.UintKind, cel.DoubleKind, cel.StringKind, cel.BytesKind, cel.TimestampKind, cel.DurationKind:
		return true
	default:
		return false
	}
}

func (c *compiler) compileConditions(env *cel.Env, of []admissionregistrationv1.MatchCondition) {
	at := specPath.Child("matchConditions")
	c.atMost(at, len(of), MaxConditions)
	names := sets.New[string]()
	for i, condition := range of {
		at := at.Index(i)
		switch problems := validation.IsQualifiedName(condition.Name); {
		case condition.Name == "":
			c.errs = append(c.errs, field.Required(at.Child("name"), ""))
		case len(problems) > 0:
			c.invalid(at.Child("name"), condition.Name, problems[0])
		case names.Has(condition.Name):
			c.errs = append(c.errs, field.Duplicate(at.Child("name"), condition.Name))
		}
		names.Insert(condition.Name)
		at = at.Child("expression")
		x := c.compile(env, condition.Expression, at, nil)
		if x == nil {
			continue
		}
		if !x.output.IsExactType(cel.BoolType) && !x.output.IsExactType(cel.DynType) {
			c.invalid(at, condition.Expression, "must yield true or false, and yields "+cel.FormatCELType(x.output))
		}
		c.out.needsRequest = c.out.needsRequest || x.usesOld
		c.out.conditions = append(c.out.conditions, x)
	}
}

func (c *compiler) compileGenerate(env *cel.Env, of []v1alpha1.Generation) {
	at := specPath.Child("generate")
	if len(of) == 0 {
		c.errs = append(c.errs, field.Required(at, "a policy without it generates nothing"))
		return
	}
	c.atMost(at, len(of), MaxGenerations)
	env, err := env.Extend(cel.Variable(varGenerator, generatorType))
	if err != nil {
		c.errs = append(c.errs, field.InternalError(at, err))
		return
	}
	names := sets.New[string]()
	for i, generation := range of {
		at := at.Index(i)
		if generation.Name != "" && names.Has(generation.Name) {
			c.errs = append(c.errs, field.Duplicate(at.Child("name"), generation.Name))
		}
		names.Insert(generation.Name)
		x := c.compile(env, generation.Expression, at.Child("expression"), nil)
		if x == nil {
			continue
		}
		if !x.names.Has(varGenerator) {
			c.invalid(at.Child("expression"), generation.Expression, "applies nothing: call generator.ApplyAll(namespace, objects)")
		}
		c.out.needsRequest, c.out.usesOld = c.out.needsRequest || x.usesOld, c.out.usesOld || x.usesOld
		c.out.generate = append(c.out.generate, x)
	}
}

func (c *compiler) atMost(at *field.Path, n, limit int) {
	if n > limit {
		c.errs = append(c.errs, field.TooMany(at, n, limit))
	}
}
