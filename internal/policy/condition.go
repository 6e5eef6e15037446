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
	"context"
	"errors"
	"fmt"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/interpreter"
	celconfig "k8s.io/apiserver/pkg/apis/cel"

	"kausality.io/operator/internal/nullsafe"
)

// Condition is a compiled CEL expression that yields true or false (D14).
//
// Selections are null-safe: where any part of object.a.b['c'] is absent, the
// whole is null, has() of it is false, and size(), in, all(), exists() and the
// like take it for empty. A function of an absent value, or an ordering
// comparison with one, is an error.
type Condition struct {
	scope   scope
	source  string
	program cel.Program
}

// compileCondition compiles source once; evaluating it costs no compilation.
func compileCondition(in scope, source string) (*Condition, error) {
	env, err := in()
	if err != nil {
		return nil, err
	}
	parsed, issues := env.Parse(source)
	if issues.Err() != nil {
		return nil, nullsafe.CompileError(issues)
	}
	nullsafe.Rewrite(parsed, env.Variables())
	checked, issues := env.Check(parsed)
	if issues.Err() != nil {
		return nil, nullsafe.CompileError(issues)
	}
	if t := checked.OutputType(); !t.IsExactType(cel.BoolType) && !t.IsExactType(cel.DynType) {
		return nil, fmt.Errorf("the expression must yield true or false, and yields %s", cel.FormatCELType(t))
	}
	program, err := env.Program(checked, cel.InterruptCheckFrequency(celconfig.CheckFrequency))
	if err != nil {
		return nil, fmt.Errorf("the expression cannot be run: %w", err)
	}
	return &Condition{scope: in, source: source, program: program}, nil
}

// Source returns the expression as the policy has it.
func (c *Condition) Source() string { return c.source }

// EvalError is why a condition could not be evaluated for an object. It names no values of
// the object, which may be secret.
type EvalError struct {
	// Source is the expression.
	Source string
	// Why says what happened, and what to look at.
	Why string
	// Err is what it comes from, if anything.
	Err error
}

// Error implements error.
func (e *EvalError) Error() string { return fmt.Sprintf("condition %q %s", e.Source, e.Why) }

// Unwrap returns what the error comes from.
func (e *EvalError) Unwrap() error { return e.Err }

// Eval evaluates the condition. An error, an EvalError, means that it does not hold.
// The cost of a call is limited to what the API server grants one expression, and to what
// is left of the budget.
func (c *Condition) Eval(ctx context.Context, in Activation) (bool, error) {
	if in.Budget.spent() {
		return false, &EvalError{Source: c.source, Why: "was not evaluated: the expressions before it cost all that they may together; make them look at less"}
	}
	result, details, err := c.program.ContextEval(ctx, &in)
	in.Budget.spend(details)
	if err != nil {
		var ended interpreter.EvalCancelledError
		switch {
		case ctx.Err() != nil:
			return false, &EvalError{Source: c.source, Why: fmt.Sprintf("was interrupted: %v", context.Cause(ctx)), Err: context.Cause(ctx)}
		case errors.As(err, &ended) && ended.Cause == interpreter.CostLimitExceeded:
			return false, &EvalError{Source: c.source, Why: "costs more than one expression may: make it look at less"}
		}
		return false, &EvalError{Source: c.source, Why: "fails for this object: a field that it needs is absent or of another type"}
	}
	holds, ok := result.(types.Bool)
	if !ok {
		return false, &EvalError{Source: c.source, Why: "yields neither true nor false for this object"}
	}
	return bool(holds), nil
}
